// Makes the ops of a table, whoever filled it.
#include "registry/mxnet/mxnet_library.h"

#include "base/error.h"
#include "registry/mxnet/mxnet_built.h"
#include "registry/mxnet/mxnet_op.h"

namespace tarsia::registry {

MxnetLibrary::~MxnetLibrary() = default;

MxnetLibrary::MxnetLibrary(const tarsia_mxnet_library& table, const std::string& path) {
  if (table.size < sizeof(table))
    throw LoadError(path + " gives a damaged description of its ops: build it again");
  take_ops(table, path);
}

MxnetLibrary::MxnetLibrary(void* handle, const std::string& path)
    : m_built(std::make_unique<mxnet::BuiltLibrary>(handle, path)) {
  take_ops(m_built->table(), path);
}

void MxnetLibrary::take_ops(const tarsia_mxnet_library& table, const std::string& path) {
  for (std::uint32_t i = 0; i < table.n_ops; ++i) {
    m_ops.push_back(std::make_unique<MxnetOp>(table, *table.ops[i], path));
    m_descriptions.push_back(&m_ops.back()->description());
  }
}

const std::string& MxnetLibrary::ignored() const {
  static const std::string k_none;
  return m_built ? m_built->ignored() : k_none;
}

}  // namespace tarsia::registry
