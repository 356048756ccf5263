// Linked into modules with class operators: what makes ops of Tarsia of registered properties.
#define TARSIA_SUPPORT_OBJECT 1
#define TARSIA_INLINE_SOURCE 1
#include <mxnet/operator.h>
