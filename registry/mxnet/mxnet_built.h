// The table (<tarsia/mxnet/table.h>) of a library built against MXNet's own lib_api.h.
#pragma once

#include <tarsia/mxnet/table.h>

#include <deque>
#include <string>
#include <vector>

#include "registry/mxnet/mxnet_api.h"

namespace tarsia::registry::mxnet {

/// Lives as long as the library is mapped and its ops are registered. Immutable; the table points into it.
class BuiltLibrary {
 public:
  /// Initialises the library and reads what it registered. Throws LoadError naming `path`: another version, a
  /// refusal, whatever else the library throws.
  BuiltLibrary(void* handle, const std::string& path);
  BuiltLibrary(const BuiltLibrary&) = delete;
  BuiltLibrary& operator=(const BuiltLibrary&) = delete;

  const tarsia_mxnet_library& table() const { return m_table; }
  /// What it registers besides ops: "pass 'x', partitioner 'y'".
  const std::string& ignored() const { return m_ignored; }

 private:
  struct Op {
    tarsia_mxnet_op op;
    std::vector<tarsia_mxnet_function> forward, backward, create;
  };
  void add_op(const Registration& registration);

  Api m_api;
  std::deque<Op> m_ops;
  std::vector<const tarsia_mxnet_op*> m_descriptions;
  tarsia_mxnet_library m_table;
  std::string m_ignored;
};

}  // namespace tarsia::registry::mxnet
