// Calls the CUDA runtime for more than launches. Not loaded: it is not linked.
#include <tarsia/op.h>

extern "C" int cudaSetDevice(int);

int set_device(int device) {
  return cudaSetDevice(device);
}
TARSIA_EXPORT(set_device)
