// What direct calls of an op found, kept for the next call with the same keywords.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "python/core/py.h"
#include "python/op/op_infer.h"

namespace tarsia::python {

/// The names and values of a call's keywords. Not safe from two threads at once.
class KeptKeywords {
 public:
  /// False, and nothing is kept, if a value may change.
  bool keep(PyObject* names, PyObject* const* values);
  /// Whether these are the same. Floats are compared by their bits, which tell 0.0 from -0.0.
  bool are(PyObject* names, PyObject* const* values) const;

 private:
  Ref m_names;
  std::vector<Ref> m_values;
};

/// Something that was found for keywords, the last only. Not safe from two threads at once.
template <class Found>
class Kept {
 public:
  /// Null: it was not kept, or for other keywords.
  const Found* find(PyObject* names, PyObject* const* values) const {
    return m_found && m_keywords.are(names, values) ? &*m_found : nullptr;
  }
  /// Keeps it, unless a value may change.
  void keep(Found found, PyObject* names, PyObject* const* values) {
    const Kept old = std::exchange(*this, {});  // ends last: that may run code, which calls the op
    if (m_keywords.keep(names, values)) m_found.emplace(std::move(found));
  }

 private:
  KeptKeywords m_keywords;
  std::optional<Found> m_found;
};

struct LastCall {
  /// The binding. A call with inputs of the same shapes uses it again.
  Kept<Ref> binding;
  /// The inputs that attributes bring.
  Kept<std::shared_ptr<const OpWithInputs>> described;
};

}  // namespace tarsia::python
