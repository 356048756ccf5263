// Linked into modules whose sources use MXNet's extension API: what its headers define, compiled once.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <tarsia/mxnet/op.h>
