// Linked into modules that use them: what <tarsia/math.h> does before and beside the loops of its functions.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <tarsia/math.h>
