// A library built against MXNet's own lib_api.h, as Tarsia's descriptions of its ops.
#pragma once

#include <tarsia/op_abi.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tarsia::registry {

class MxnetOp;

/// Lives as long as the library is mapped and its ops are registered. Immutable.
class MxnetLibrary {
 public:
  /// Initialises the library. Throws LoadError naming `path`: another version, a refusal, an op that lacks a
  /// function or has one twice.
  MxnetLibrary(void* handle, const std::string& path);
  ~MxnetLibrary();
  MxnetLibrary(const MxnetLibrary&) = delete;
  MxnetLibrary& operator=(const MxnetLibrary&) = delete;

  std::span<const tarsia_op* const> ops() const { return m_descriptions; }
  /// What it registers besides ops: "pass 'x', partitioner 'y'".
  const std::string& ignored() const { return m_ignored; }

 private:
  struct Shared;
  std::unique_ptr<Shared> m_shared;
  std::vector<std::unique_ptr<MxnetOp>> m_ops;
  std::vector<const tarsia_op*> m_descriptions;
  std::string m_ignored;
};

/// The version of MXNet that libraries for its extension API are told: the least that the newest ones want.
inline constexpr int k_mxnet_version = 20000;

}  // namespace tarsia::registry
