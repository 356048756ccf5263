// XLA's calls for JAX: functions and ops behind one FFI handler. A call site names its Callee by a number,
// the attribute `callee`. No Python code runs in a call.
#pragma once

#include <tarsia/c_api.h>

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "python/core/owned.h"
#include "python/jax/xla_ffi.h"

namespace tarsia::python {

/// An argument of a callee: a buffer of XLA's, a value, a list of arguments, or a tensor of which nothing but
/// shape and dtype is there.
struct JaxArgument {
  enum Kind { input, result, value, list, like } kind = value;
  uint32_t index = 0;  ///< of the input or result
  tarsia_value scalar{};
  std::string text;  ///< of a value that is a string
  std::vector<JaxArgument> items;
  std::vector<int64_t> shape;  ///< of `like`
  tarsia_dtype dtype{};
};

/// The buffers of a call, as tensors on the device and stream that XLA runs it on.
struct JaxBuffers {
  std::vector<tarsia_tensor> inputs, results;
  tarsia_device device;
  void* stream;
};

class JaxCallee {
 public:
  virtual ~JaxCallee() = default;
  /// Returns 0, or a code with the last error set. Several threads may call it at once.
  virtual int32_t run(JaxBuffers& buffers) = 0;
};

/// Calls the first overload that fits. Tensors that it returns are copied into the results from
/// `first_result` on.
class JaxFunction : public JaxCallee {
 public:
  JaxFunction(LibraryRef library, std::vector<const tarsia_function*> overloads,
              std::vector<JaxArgument> arguments, uint32_t first_result);
  int32_t run(JaxBuffers& buffers) override;

 private:
  LibraryRef m_library;
  std::vector<const tarsia_function*> m_overloads;
  std::vector<JaxArgument> m_arguments;
  uint32_t m_first_result;
};

/// An op with its attributes. It is bound when it first runs on a device with inputs of some shapes. The
/// most recently used bindings are kept. An op with state keeps all of them, since they hold the state, and
/// refuses more than there may be.
class JaxOp {
 public:
  struct Attribute {
    std::string name;
    JaxArgument value;
  };
  JaxOp(OpRef op, std::vector<Attribute> attributes)
      : m_op(std::move(op)), m_attributes(std::move(attributes)) {}
  /// Whether it is the same registered op, which another library has not replaced meanwhile.
  bool is_of(const OpRef& op) const { return tarsia_op_describe(m_op.get()) == tarsia_op_describe(op.get()); }
  /// Empty with the last error set on failure. An absent input is null. Several threads may call it at
  /// once.
  BoundRef bound_for(const std::vector<const tarsia_tensor*>& inputs, tarsia_device device);

 private:
  struct Binding {
    std::vector<tarsia_meta> inputs;
    tarsia_device device;
    BoundRef bound;
  };
  bool has_state() const { return tarsia_op_describe(m_op.get())->create_state != nullptr; }
  BoundRef find(const std::vector<tarsia_meta>& inputs, tarsia_device device);
  BoundRef bind(const std::vector<tarsia_meta>& inputs, tarsia_device device) const;
  BoundRef keep(std::vector<tarsia_meta> inputs, tarsia_device device, BoundRef bound);

  OpRef m_op;
  std::vector<Attribute> m_attributes;
  std::list<Binding> m_bindings;  ///< the most recently used comes first
  std::mutex m_mutex;             ///< over m_bindings; never held while an op's code runs
};

/// One pass of an op. `arguments` are its tensors in the order of tarsia_op_call. `results` says for each
/// output which result of XLA's it is; -1 means none.
class JaxPass : public JaxCallee {
 public:
  JaxPass(std::shared_ptr<JaxOp> op, tarsia_pass pass, uint32_t first_input, uint32_t n_inputs,
          std::vector<JaxArgument> arguments, std::vector<int32_t> results);
  int32_t run(JaxBuffers& buffers) override;

 private:
  std::shared_ptr<JaxOp> m_op;
  tarsia_pass m_pass;
  uint32_t m_first_input, m_n_inputs;
  std::vector<JaxArgument> m_arguments;
  std::vector<int32_t> m_results;
};

/// Registers a callee under a new number; removes it.
int64_t add_jax_callee(std::shared_ptr<JaxCallee> callee);
void remove_jax_callee(int64_t number);

/// XLA's handlers.
xla::Error* jax_handler_on_cpu(xla::Frame* frame);
xla::Error* jax_handler_on_gpu(xla::Frame* frame);

}  // namespace tarsia::python
