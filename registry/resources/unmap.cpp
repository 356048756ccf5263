// Unmaps modules, and keeps the addresses of those with device code from being used again.
//
// Work-around: the CUDA runtime keeps kernels of a binary that it has dropped.
// Trigger: a library is loaded and unloaded before its device code was first used, and another one is mapped
// at the same addresses, as the system likes to do. Seen with the runtime of CUDA 13.0.
// Symptom: a launch from the second library crashes inside cuLibraryLoadData.
// Removal: a runtime that unregisters kernels at once is the oldest that is supported.
//
// The cause: __cudaUnregisterFatBinary drops the binary. If the binary has not been loaded yet, the table
// of kernels keeps its entries, keyed by the address of their host stub. A kernel registered later under
// the same address is found through the stale entry, which points to freed memory. So no address is handed
// out twice. The range of such a library stays reserved, inaccessible and without memory behind it. The
// kernel merges neighbouring reservations.
#include "registry/resources/unmap.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/fork.h"
#include "base/log.h"
#include "registry/crash/thread_record.h"
#include "registry/resources/call_context.h"
#include "registry/resources/reaper.h"

namespace tarsia::registry {

namespace {

struct AddressRange {
  std::uintptr_t base = 0;  ///< to be found by
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
};

AddressRange mapped_range(void* handle) {
  AddressRange range;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map) return range;
  range.base = map->l_addr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        AddressRange& range = *static_cast<AddressRange*>(argument);
        if (info->dlpi_addr != range.base) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD) continue;
          range.begin = std::min(range.begin, range.base + part.p_vaddr);
          range.end = std::max(range.end, range.base + part.p_vaddr + part.p_memsz);
        }
        return 1;
      },
      &range);
  constexpr std::uintptr_t k_page = 4096;
  range.begin &= ~(k_page - 1);
  range.end = (range.end + k_page - 1) & ~(k_page - 1);
  return range;
}

/// Whether it is mapped after it was closed: it has unique symbols, a thread has yet to run its destructors,
/// or someone else has opened it too.
bool is_still_mapped(const MappedModule& module) {
  Dl_info found;
  return dladdr(reinterpret_cast<void*>(module.range.begin()), &found) != 0 && module.path == found.dli_fname;
}

void close_described(std::unique_ptr<MappedModule> module) {
  const LoadingScope leaving(call_slot(), module->name);
  module->range.forget_owner();
  dlclose(module->handle);
  if (is_still_mapped(*module)) (void)module.release();
}

void close_and_reserve(std::unique_ptr<MappedModule> module) {
  const InLoader in_loader;
  const AddressRange range = mapped_range(module->handle);
  close_described(std::move(module));
  // Refused if the library is still mapped.
  if (range.begin < range.end)
    mmap(reinterpret_cast<void*>(range.begin), range.end - range.begin, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

}  // namespace

void unmap(std::unique_ptr<MappedModule> module) noexcept {
  const InLoader in_loader;
  close_described(std::move(module));
}

void unmap_when_idle(std::unique_ptr<MappedModule> module) noexcept {
  MappedModule* const kept = module.release();  // described until it is unmapped, which may be never
  try {
    when_idle(-1, [kept] { close_and_reserve(std::unique_ptr<MappedModule>(kept)); });
  } catch (const std::exception& e) {
    log().warn("a library stays mapped: {}", e.what());
  }
}

}  // namespace tarsia::registry
