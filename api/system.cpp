// The C functions about Tarsia itself: its version, a folder to search for wheels, freeing memory.
#include <tarsia/c_api.h>

#include <cstdlib>

#include "base/cuda/cuda_parts.h"
#include "registry/resources/last_error.h"

uint32_t tarsia_abi_version(void) {
  return TARSIA_ABI_VERSION;
}

const char* tarsia_version(void) {
  return TARSIA_VERSION;
}

void tarsia_add_site_packages(const char* dir) {
  tarsia::registry::guarded([&] { tarsia::add_site_packages(dir); });
}

void tarsia_free(void* memory) {
  std::free(memory);
}
