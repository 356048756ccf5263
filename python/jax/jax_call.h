// What XLA calls for JAX: functions and ops behind one FFI handler. A call site names its Callee by a number,
// the attribute `callee`; nothing of Python runs in a call.
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

/// An argument of a callee: a buffer of XLA's, a value, or a list of arguments.
struct JaxArgument {
  enum Kind { input, result, value, list } kind = value;
  uint32_t index = 0;  ///< of the input or result
  tarsia_value scalar{};
  std::string text;  ///< of a value that is a string
  std::vector<JaxArgument> items;
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
  /// 0, or a code with the last error set. From any thread, several at once.
  virtual int32_t run(JaxBuffers& buffers) = 0;
};

/// Calls the first overload that fits; tensors that it returns are copied into the results from
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

/// An op with its attributes: bound when it is first run on a device with inputs of some shapes. The bindings
/// that were used last are kept for further calls; those of an op with state all are, for they hold the
/// state.
class JaxOp {
 public:
  struct Attribute {
    std::string name;
    JaxArgument value;
  };
  JaxOp(OpRef op, std::vector<Attribute> attributes)
      : m_op(std::move(op)), m_attributes(std::move(attributes)) {}
  /// Empty with the last error set on failure. An absent input is null. From any thread, several at once.
  BoundRef bound_for(const std::vector<const tarsia_tensor*>& inputs, tarsia_device device);

 private:
  struct Binding {
    std::vector<tarsia_meta> inputs;
    tarsia_device device;
    BoundRef bound;
  };
  BoundRef find(const std::vector<tarsia_meta>& inputs, tarsia_device device);
  BoundRef bind(const std::vector<tarsia_meta>& inputs, tarsia_device device) const;
  BoundRef keep(std::vector<tarsia_meta> inputs, tarsia_device device, BoundRef bound);

  OpRef m_op;
  std::vector<Attribute> m_attributes;
  std::list<Binding> m_bindings;  ///< the one used last comes first
  std::mutex m_mutex;             ///< over m_bindings; never held while an op's code runs
};

/// One pass of an op. `arguments` are its tensors in the order of tarsia_op_call, `results` says for each of
/// its outputs which result of XLA's it is, -1: none.
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

/// Makes a callee known under a new number; forgets it.
int64_t add_jax_callee(std::shared_ptr<JaxCallee> callee);
void remove_jax_callee(int64_t number);

/// XLA's handlers.
xla::Error* jax_handler_on_cpu(xla::Frame* frame);
xla::Error* jax_handler_on_gpu(xla::Frame* frame);

}  // namespace tarsia::python
