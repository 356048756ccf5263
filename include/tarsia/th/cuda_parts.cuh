/* What of CUDA THC/THC.h brings along: the runtime's API, where it is found. */
#if defined(__has_include)
#if __has_include(<cuda_runtime_api.h>) && !defined(__CUDACC_RTC__)
#include <cuda_runtime_api.h>
#endif
#endif
