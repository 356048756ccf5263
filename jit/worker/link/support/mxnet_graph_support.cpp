// Linked into modules whose sources use the JSON or the graphs of MXNet's extension API.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <tarsia/mxnet/graph.h>
