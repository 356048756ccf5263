// Knows Tarsia and exports nothing.
#include <tarsia/op.h>

int forgotten() {
  return 1;
}
