// Where the code of mapped modules lies, for handlers of signals.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text_origin.h"

namespace tarsia::registry {

/// A mapped module. Records are never freed, so that handlers of signals can walk through them.
struct ModuleRecord {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  ///< where its address 0 lies; 0: none is described
  std::uintptr_t end = 0;
  std::string_view name;
  std::string_view bytes;  ///< of its file
  /// Tells what its checks found (registry/library/checked_code.h); null: it does not check itself.
  std::atomic<std::int32_t (*)(char* text, std::uint64_t bytes, std::int32_t wait)> take_findings{nullptr};
  std::span<const TextOrigin> origins;
  std::atomic<const void*> owner{nullptr};  ///< the registry's own record of it; null: it is being unmapped
  ModuleRecord* next = nullptr;
};

/// Describes a module from its mapping to its unmapping. `name`, `bytes` and `origins` must live as long.
class ModuleRange {
 public:
  ModuleRange() = default;
  ~ModuleRange();
  ModuleRange(const ModuleRange&) = delete;
  ModuleRange& operator=(const ModuleRange&) = delete;

  /// `handle`: of dlopen. Nothing happens if there is no memory for a record.
  void describe(void* handle, std::string_view name, std::string_view bytes,
                std::span<const TextOrigin> origins = {}, const void* owner = nullptr) noexcept;
  /// Adds how the module tells what its checks found.
  void describe_findings(std::int32_t (*take)(char* text, std::uint64_t bytes, std::int32_t wait)) noexcept;
  /// Says that the module is about to be unmapped: it has no owner, and tells no findings.
  void forget_owner() noexcept;
  /// Where its address 0 lies; 0: it is not described.
  std::uintptr_t begin() const noexcept;

 private:
  ModuleRecord* m_record = nullptr;
};

/// The module that has code at an address; null: none. For handlers of signals.
const ModuleRecord* find_module(std::uintptr_t address) noexcept;

/// The owner of the module that has code at an address; null: none has.
const void* find_owner(std::uintptr_t address) noexcept;

/// Calls `visit(record)` for each module that checks itself. For handlers of signals.
void for_each_checked_module(void (*visit)(const ModuleRecord& module, void* user), void* user) noexcept;

}  // namespace tarsia::registry
