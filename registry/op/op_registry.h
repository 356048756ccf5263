// The registry of ops: name → op and the library that owns it.
#pragma once

#include <tarsia/op_abi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "registry/library/library.h"
#include "registry/op/op_entry.h"
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// The ops of this process. Thread-safe. Holds the owner of each name. Replacing or removing an op gives up
/// that reference. Calls under way finish on the old code, which their bound op keeps.
class OpRegistry {
 public:
  /// Never destroyed: threads may call ops while the process exits.
  static OpRegistry& instance();

  /// Registers all ops of the library, and replaces those of the same names. Adds its implementations of
  /// other ops to these. They stay when such an op is replaced, or gone for a while, as long as its signature
  /// is the same. For inconsistent descriptions, and implementations of ops that are not registered,
  /// registers none and throws LoadError, which names op and function. Gives `warn`, before anything is
  /// registered, a text for each op of another library that is replaced and has another signature, and for
  /// each implementation that is dropped.
  void add(const Ref<Library>& library, const std::function<void(const std::string&)>& warn);

  /// Removes the library's ops that are still registered, and the implementations that it added to others.
  void remove(const Library& library);

  /// The op of that name. For one that is not registered, the provider is asked. Throws NotFound, with
  /// similar names, and what the provider throws.
  Ref<OpEntry> find(std::string_view name) const;
  /// The same without the provider.
  Ref<OpEntry> find_registered(std::string_view name) const;

  /// Registers the op of a name and returns true, or returns false if it knows none.
  using Provider = bool (*)(std::string_view name);
  /// Sets who is asked for ops that are not registered. It is called without locks, by several threads at
  /// once. What it adds on its thread replaces nothing: an op that has the name by then stays.
  void provide_by(Provider provider) { m_provider.store(provider, std::memory_order_release); }

  /// Sorted.
  std::vector<std::string> names() const;

  /// Changes with every add and every remove that changes an op.
  std::uint64_t generation() const { return m_generation.load(std::memory_order_acquire); }

 private:
  /// Implementations that were added to an op of this signature.
  struct Added {
    std::string op, signature;
    Extension extension;
  };
  /// What a library's ops change, worked out for one state of the registry.
  struct Change {
    std::map<std::string, Ref<OpEntry>> entries;
    std::vector<Added> added;  ///< all of them, afterwards
    std::vector<std::string> warnings;
  };
  Ref<OpEntry> found_or_null(std::string_view name) const;
  [[noreturn]] void throw_not_found(std::string_view name) const;
  Change change_by(const Ref<Library>& library) const;
  /// The extensions of an op, the oldest first.
  static std::vector<Extension> extensions_of(const std::vector<Added>& added, std::string_view op);

  mutable ForkSafeMutex m_mutex;
  std::map<std::string, Ref<OpEntry>, std::less<>> m_ops;
  std::vector<Added> m_added;  ///< also to ops that are not there just now
  std::atomic<std::uint64_t> m_generation{1};
  std::atomic<Provider> m_provider{nullptr};
};

}  // namespace tarsia::registry
