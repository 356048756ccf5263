// One op of a library built against MXNet's own lib_api.h.
#pragma once

#include <tarsia/op_abi.h>

#include <string>
#include <vector>

#include "registry/mxnet/mxnet_api.h"

namespace tarsia::registry {

/// Its description points into it.
class MxnetOp {
 public:
  /// Throws LoadError for a registration that does not hold together.
  MxnetOp(const mxnet::Api& api, mxnet::Registration registration, const std::string& path);
  MxnetOp(const MxnetOp&) = delete;
  MxnetOp& operator=(const MxnetOp&) = delete;

  const tarsia_op& description() const { return m_description; }

 private:
  struct Pass {
    const MxnetOp* op;
    mxnet::Function function;  ///< of stateless ops
    bool backward;
  };
  struct Attributes;

  void check(const std::string& path) const;
  void add_pass(const char* context, bool backward, mxnet::Function function);
  std::int32_t failed(const char* function) const;
  std::int32_t infer_shapes(const tarsia_bind_info& info) const;
  std::int32_t infer_types(const tarsia_bind_info& info) const;
  std::int32_t infer_storage(const tarsia_bind_info& info) const;
  std::int32_t find_mutable(const tarsia_bind_info& info) const;

  // The functions of the description.
  static std::int32_t arity(void* self, const tarsia_bind_info* info, std::uint32_t* n_in,
                            std::uint32_t* n_out);
  static std::int32_t create_params(void* self, const tarsia_bind_info* info, void** params);
  static void destroy_params(void* self, void* params);
  static std::int32_t infer(void* self, const tarsia_bind_info* info);
  static std::int32_t create_state(void* self, const tarsia_bind_info* info, void** state);
  static void destroy_state(void* self, void* state);
  static std::int32_t run(void* pass, const tarsia_op_context* context);

  const mxnet::Api& m_api;
  mxnet::Registration m_registration;
  tarsia_op m_description{};
  std::vector<Pass> m_passes;
  std::vector<tarsia_implementation> m_implementations;
};

}  // namespace tarsia::registry
