// A registered op: its description, with the implementations that other libraries have added.
#pragma once

#include <tarsia/op_abi.h>

#include <span>
#include <utility>
#include <vector>

#include "registry/library/library.h"
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// An op's implementations.
inline std::span<const tarsia_implementation> implementations_of(const tarsia_op& op) {
  return {op.implementations, op.n_implementations};
}

/// Implementations that a library adds to an op.
struct Extension {
  const tarsia_op* op;
  Ref<Library> library;
};

/// Keeps its library, and those of its extensions. Immutable.
class OpEntry : public Counted<OpEntry> {
 public:
  /// An implementation of an extension takes the place of one of the same pass, device and name that an
  /// earlier extension has.
  OpEntry(const tarsia_op* declared, Ref<Library> library, std::vector<Extension> extensions = {});

  /// The description with all implementations.
  const tarsia_op& op() const { return *m_op; }
  /// The description as its library gives it.
  const tarsia_op& declared() const { return *m_declared; }
  const Library& library() const { return *m_library; }
  const Ref<Library>& shared_library() const { return m_library; }
  /// The library that an implementation of op() comes from.
  const Library& library_of(const tarsia_implementation& implementation) const;
  /// Those that have an implementation here.
  const std::vector<Extension>& extensions() const { return m_extensions; }

 private:
  friend class Counted<OpEntry>;
  void destroy() { delete this; }

  const tarsia_op* m_declared;
  Ref<Library> m_library;
  std::vector<Extension> m_extensions;
  std::vector<tarsia_implementation> m_implementations;  ///< empty without extensions
  std::vector<const Library*> m_owners;                  ///< of each of m_implementations
  tarsia_op m_extended{};
  const tarsia_op* m_op;
};

}  // namespace tarsia::registry
