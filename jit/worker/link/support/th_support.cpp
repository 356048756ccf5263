// Linked into modules that use TH or THC: their functions, but for those that run kernels.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <tarsia/th/library.h>
