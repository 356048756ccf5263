// One op of a library for MXNet's extension API, be it a source or built against MXNet's own header.
#pragma once

#include <tarsia/mxnet/table.h>
#include <tarsia/op_abi.h>

#include <string>
#include <vector>

namespace tarsia::registry {

/// Its description points into it, and it into the table.
class MxnetOp {
 public:
  /// Throws LoadError, which begins with `path`, for a registration that does not hold together.
  MxnetOp(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op, const std::string& path);
  MxnetOp(const MxnetOp&) = delete;
  MxnetOp& operator=(const MxnetOp&) = delete;

  const tarsia_op& description() const { return m_description; }

 private:
  struct Pass {
    const MxnetOp* op;
    const tarsia_mxnet_function* function;  ///< of stateless ops
    bool backward;
  };

  void check(const std::string& path) const;
  void add_pass(const tarsia_mxnet_function& function, bool backward);

  // The functions of the description.
  static std::int32_t arity(void* self, const tarsia_bind_info* info, std::uint32_t* n_in,
                            std::uint32_t* n_out);
  static std::int32_t name_inputs(void* self, const tarsia_bind_info* info, tarsia_port* inputs,
                                  std::uint32_t n);
  static std::int32_t create_params(void* self, const tarsia_bind_info* info, void** params);
  static void destroy_params(void* self, void* params);
  static std::int32_t infer(void* self, const tarsia_bind_info* info);
  static std::int32_t create_state(void* self, const tarsia_bind_info* info, void** state);
  static void destroy_state(void* self, void* state);
  static std::int32_t run(void* pass, const tarsia_op_context* context);

  const tarsia_mxnet_library& m_library;
  const tarsia_mxnet_op& m_op;
  tarsia_op m_description{};
  std::vector<Pass> m_passes;
  std::vector<tarsia_implementation> m_implementations;
};

}  // namespace tarsia::registry
