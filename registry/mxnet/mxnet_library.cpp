// Describes the ops of a library built for MXNet as Tarsia's own.
#include "registry/mxnet/mxnet_library.h"

#include "base/error.h"
#include "registry/mxnet/mxnet_op.h"
#include "registry/resources/last_error.h"

namespace tarsia::registry {

struct MxnetLibrary::Shared {
  mxnet::Api api;
};

MxnetLibrary::~MxnetLibrary() = default;

MxnetLibrary::MxnetLibrary(void* handle, const std::string& path) : m_shared(new Shared{{handle, path}}) {
  const mxnet::Api& api = m_shared->api;
  try {
    if (!api.initialize(k_mxnet_version)) {
      const std::string said = api.take_messages();
      throw LoadError(path + ": initialize failed" + (said.empty() ? "" : ": " + said));
    }
    for (int i = 0, n = api.n_ops(); i < n; ++i) {
      m_ops.push_back(std::make_unique<MxnetOp>(api, api.get_op(i), path));
      m_descriptions.push_back(&m_ops.back()->description());
    }
    m_ignored = api.ignored();
  } catch (const Error&) {
    throw;
  } catch (...) {
    capture_author_exception();
    throw LoadError(path + ": " + last_error().message);
  }
}

}  // namespace tarsia::registry
