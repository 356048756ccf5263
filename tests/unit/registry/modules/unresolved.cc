// Uses a function that nobody defines.
#include <tarsia/op.h>

namespace gone {
int nowhere(const char*);
}
int lost() {
  return gone::nowhere("x");
}
TARSIA_EXPORT(lost)
