// A library for MXNet's extension API, as Tarsia's descriptions of its ops.
#pragma once

#include <tarsia/mxnet/table.h>
#include <tarsia/op_abi.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tarsia::registry {

class MxnetOp;
namespace mxnet {
class BuiltLibrary;
}

/// Lives as long as the library is mapped and its ops are registered. Immutable.
class MxnetLibrary {
 public:
  /// Of a source, initialised, which fills the table itself. Throws LoadError naming `path`: an op that lacks
  /// a function or has one twice, a table of another size.
  MxnetLibrary(const tarsia_mxnet_library& table, const std::string& path);
  /// Of one built against MXNet's own header: initialises it. Throws LoadError also for another version and a
  /// refusal.
  MxnetLibrary(void* handle, const std::string& path);
  ~MxnetLibrary();
  MxnetLibrary(const MxnetLibrary&) = delete;
  MxnetLibrary& operator=(const MxnetLibrary&) = delete;

  std::span<const tarsia_op* const> ops() const { return m_descriptions; }
  /// What one built against MXNet's own header registers besides ops: "pass 'x', partitioner 'y'".
  const std::string& ignored() const;

 private:
  void take_ops(const tarsia_mxnet_library& table, const std::string& path);

  std::unique_ptr<mxnet::BuiltLibrary> m_built;
  std::vector<std::unique_ptr<MxnetOp>> m_ops;
  std::vector<const tarsia_op*> m_descriptions;
};

/// The version of MXNet that libraries for its extension API are told: the least that the newest ones want.
inline constexpr int k_mxnet_version = 20000;

}  // namespace tarsia::registry
