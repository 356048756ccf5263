// Matches arguments with parameters, and tells libtarsia which framework makes tensors and which stream is
// current.
#include "python/call/call.h"

#include <optional>

#include "python/core/main_thread.h"
#include "python/core/pending_exception.h"
#include "python/tensor/resized_argument.h"
#include "python/tensor/shared_argument.h"
#include "python/tensor/stream.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

void set_error_of_host(void*, const char*, const char* message) {
  tarsia_get_host()->set_error(TARSIA_OUT_OF_MEMORY, message);
}

constexpr const char* k_interrupted = "the call was interrupted by a signal";

}  // namespace

bool Arguments::assign_by_name(const Plan& plan, PyObject** given, Mismatch& mismatch) const {
  for (uint32_t k = 0; k < n_named(); ++k) {
    PyObject* name = PyTuple_GetItem(names, static_cast<Py_ssize_t>(k));
    const int i = find_param(plan, name);
    if (i < 0) {
      mismatch.count = Mismatch::Count::unknown_keyword;
      mismatch.keyword = name;
      return false;
    }
    if (given[i]) {
      mismatch.count = Mismatch::Count::twice;
      mismatch.param = static_cast<uint32_t>(i);
      return false;
    }
    given[i] = items[n_positional + k];
  }
  return true;
}

PyObject* Arguments::words_of_main(Frame& frame, const Plan& plan, Mismatch& mismatch) const {
  if (n_named() > 0) {
    mismatch.count = Mismatch::Count::unknown_keyword;
    mismatch.keyword = PyTuple_GetItem(names, 0);
    return nullptr;
  }
  PyObject* words = PyTuple_New(static_cast<Py_ssize_t>(n_positional) + 1);
  if (!words) {
    mismatch.why = Why::failed;
    return nullptr;
  }
  frame.keep(words);
  PyTuple_SetItem(words, 0, PyUnicode_DecodeFSDefault(plan.library_name));
  for (uint32_t i = 0; i < n_positional; ++i)
    PyTuple_SetItem(words, static_cast<Py_ssize_t>(i) + 1, Ref::borrow(items[i]).release());
  return words;
}

const tarsia_call_context Call::k_context = {.size = sizeof k_context,
                                             .framework = k_framework_numpy,
                                             .device = {TARSIA_CPU, 0},
                                             .user = nullptr,
                                             .empty = nullptr,
                                             .current_stream = current_stream,
                                             .outer = nullptr,
                                             .resources = nullptr,
                                             .interrupted = interrupted,
                                             .function = nullptr,
                                             .args = nullptr,
                                             .n_args = 0,
                                             .tensor_at = tensor_at,
                                             .op = nullptr,
                                             .op_call = nullptr,
                                             .interrupt_ns = 0,
                                             .share = share,
                                             .resize = resize};

bool match(Frame& frame, const Plan& plan, Fit fit, const Arguments& from, tarsia_value* values,
           uint32_t& n_values, Mismatch& mismatch) {
  PythonFace face(frame);
  if (plan.function->flags & TARSIA_FUNCTION_MAIN)
    return arguments::match_main(face, plan, from.words_of_main(frame, plan, mismatch), values, n_values,
                                 mismatch);
  auto** given = frame.room_for<PyObject*>(plan.n_params);
  for (uint32_t i = 0; i < plan.n_params; ++i) given[i] = nullptr;
  frame.given = given;
  frame.n_given = plan.n_params;
  return arguments::match(face, plan, fit, from, given, values, n_values, mismatch);
}

tarsia_storage* Call::empty_by_exchange(void* user, const int64_t* shape, int32_t ndim, tarsia_dtype dtype,
                                        tarsia_device device) {
  const auto* frame = static_cast<const Frame*>(user);
  tarsia_tensor prototype{nullptr, device, ndim, dtype, const_cast<int64_t*>(shape), nullptr, 0};
  // The framework's allocator hands memory out, and takes it back, in the order of its current stream.
  std::optional<MadeCurrent> made_current;
  if (device.type == TARSIA_GPU && frame->has_stream && device.id == frame->gpu) {
    void* current = frame->stream;
    const int code = frame->first.exchange->current_stream(TARSIA_GPU, device.id, &current);
    if (code == 0 && current != frame->stream) [[unlikely]] {
      made_current.emplace(device.id, frame->stream);
      if (!made_current->error().empty()) {
        tarsia_get_host()->set_error(TARSIA_CUDA_ERROR, made_current->error().c_str());
        return nullptr;
      }
    }
  }
  dlpack::Managed* managed = nullptr;
  if (frame->first.exchange->allocate(&prototype, &managed, nullptr, set_error_of_host) != 0) return nullptr;
  return storage_over(managed, frame->first.framework);
}

/// Called without the GIL, or with it if the function does not release it.
int32_t Call::interrupted(void* user) {
  if (static_cast<const Frame*>(user)->interrupted) return 1;
  // Python handles signals on its main thread alone. Another one must not wait for the GIL here: when the
  // interpreter has ended, whoever does is ended by an exception that may not pass this frame.
  if (!is_main_thread()) return 0;
  const Locked locked;
  if (PyErr_CheckSignals() == 0) return 0;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  run_python<PyErr_NormalizeException>(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  keep_exception(k_interrupted, Ref(value));
  static_cast<Frame*>(user)->interrupted = true;
  tarsia_get_host()->set_error(TARSIA_INTERRUPTED, k_interrupted);
  return 1;
}

tarsia_storage* Call::share(void* user, const tarsia_tensor* argument) {
  return share_argument(*static_cast<const Frame*>(user), argument);
}

int32_t Call::resize(void* user, const tarsia_tensor* argument, const int64_t* shape, int32_t ndim) {
  return resize_argument(*static_cast<Frame*>(user), argument, shape, ndim);
}

/// Called by handlers of signals.
const tarsia_tensor* Call::tensor_at(void* user, const void* address) {
  for (const View* view = static_cast<const Frame*>(user)->last_view; view; view = view->previous)
    if (static_cast<const char*>(view->tensor.data) + view->tensor.byte_offset == address)
      return &view->tensor;
  return nullptr;
}

PyObject* raise_interruption_of_call() {
  if (Ref exception = take_exception(k_interrupted))
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  else
    PyErr_SetString(PyExc_KeyboardInterrupt, "");
  return nullptr;
}

void Call::on_gpu(Frame& frame) {
  m_context.device = {TARSIA_GPU, frame.gpu};
  stream_of_call(frame);
  m_other_device = enter_device(frame.gpu);
}

void* Call::current_stream(void* user, int32_t device) {
  const auto* frame = static_cast<const Frame*>(user);
  if (frame->has_stream && (device < 0 || device == frame->gpu)) return frame->stream;
  void* stream = nullptr;
  if (frame->first.exchange && frame->first.exchange->current_stream(TARSIA_GPU, device, &stream) == 0)
    return stream;
  return tarsia_get_stream(device);
}

}  // namespace tarsia::python
