/* TH, the tensors of Lua's and of early PyTorch, for C extensions of that time:
 * docs/coming_from/c_extensions.md. */
#if !defined(__CUDACC_RTC__)
#include <tarsia/th/cpu.h>
#endif
