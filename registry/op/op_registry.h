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
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// A registered op. Keeps its library. Immutable.
class OpEntry : public Counted<OpEntry> {
 public:
  OpEntry(const tarsia_op* op, Ref<Library> library) : m_op(op), m_library(std::move(library)) {}
  const tarsia_op& op() const { return *m_op; }
  const Library& library() const { return *m_library; }

 private:
  friend class Counted<OpEntry>;
  void destroy() { delete this; }

  const tarsia_op* m_op;
  Ref<Library> m_library;
};

/// The ops of this process. Thread-safe. Holds the owner of each name. Replacing or removing an op gives up
/// that reference. Calls under way finish on the old code, which their bound op keeps.
class OpRegistry {
 public:
  /// Never destroyed: threads may call ops while the process exits.
  static OpRegistry& instance();

  /// Registers all ops of the library, and replaces those of the same names. For inconsistent descriptions,
  /// registers none and throws LoadError, which names op and function. Gives `warn`, before anything is
  /// registered, a text for each op of another library that is replaced and has another signature.
  void add(const Ref<Library>& library, const std::function<void(const std::string&)>& warn);

  /// Removes the library's ops that are still registered.
  void remove(const Library& library);

  /// Throws NotFound, with similar names.
  Ref<OpEntry> find(std::string_view name) const;

  /// Sorted.
  std::vector<std::string> names() const;

  /// Changes with every add and every remove that changes an op.
  std::uint64_t generation() const { return m_generation.load(std::memory_order_acquire); }

 private:
  mutable ForkSafeMutex m_mutex;
  std::map<std::string, Ref<OpEntry>, std::less<>> m_ops;
  std::atomic<std::uint64_t> m_generation{1};
};

}  // namespace tarsia::registry
