// Linked into modules that use them: the functions of Tarsia's headers that are marked TARSIA_DETAIL_SUPPORT.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <tarsia/detail/loop_plan.h>
#include <tarsia/op.h>
