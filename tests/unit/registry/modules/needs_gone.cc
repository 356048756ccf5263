// Needs a library that is not found.
#include <tarsia/op.h>

extern "C" int gone_function();
int call_gone() {
  return gone_function();
}
TARSIA_EXPORT(call_gone)
