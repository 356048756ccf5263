// Lists of what modules were compiled from.
#include "cache/manifest.h"

using namespace tarsia::cache;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto manifest = Manifest::parse({reinterpret_cast<const char*>(data), size});
  if (!manifest) return 0;
  // What was read is what is written from then on.
  const std::string written = manifest->serialise();
  const auto again = Manifest::parse(written);
  if (!again || again->serialise() != written) __builtin_trap();
  for (const DependencySet& set : manifest->sets())
    static_cast<void>(module_key(set.module_key, set.dependencies));
  manifest->move_to(Place({{"include0", "/somewhere/include"}}));
  return 0;
}
