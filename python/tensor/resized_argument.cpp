// Only PyTorch's tensors can be resized in place: an array of NumPy's may be seen by others.
#include "python/tensor/resized_argument.h"

#include <tarsia/c_api.h>
#include <tarsia/detail/argument_words.h>

#include <string>

#include "python/core/errors.h"
#include "python/tensor/tensor.h"
#include "python/tensor/view.h"

namespace tarsia::python {
namespace {

bool resize(Frame& frame, View& view, const int64_t* shape, int32_t ndim) {
  const Ref sizes(PyTuple_New(ndim));
  if (!sizes) return false;
  for (int32_t i = 0; i < ndim; ++i) {
    PyObject* size = PyLong_FromLongLong(shape[i]);
    if (!size || PyTuple_SetItem(sizes.get(), i, size) != 0) return false;
  }
  const Ref done(call_method(view.object, "resize_", "(O)", sizes.get()));
  if (!done) return false;
  const Why why = view_of(frame, view);
  if (why != Why::fits && !PyErr_Occurred())
    PyErr_SetString(PyExc_BufferError, "its memory cannot be read after that");
  return why == Why::fits;
}

/// What a method without arguments returns, as an address or a number of bytes. An error leaves it set.
uintptr_t number_of(PyObject* object, const char* method) {
  const Ref number(object ? call_method(object, method, nullptr) : nullptr);
  return number ? static_cast<uintptr_t>(run_python<PyLong_AsUnsignedLongLong>(number.get())) : 0;
}

/// Whether another argument lies in the memory that resizing `resized` may give back: that of its whole
/// storage, of which it may be a part. An error leaves it set.
bool is_shared(const Frame& frame, const View& resized) {
  const Ref storage(call_method(resized.object, "untyped_storage", nullptr));
  const uintptr_t begin = number_of(storage.get(), "data_ptr"),
                  bytes = PyErr_Occurred() ? 0 : number_of(storage.get(), "nbytes");
  for (const View* other = frame.last_view; other; other = other->previous) {
    const auto at = reinterpret_cast<uintptr_t>(other->tensor.data) + other->tensor.byte_offset;
    if (other != &resized && at - begin < bytes) return true;
  }
  return false;
}

}  // namespace

int32_t resize_argument(Frame& frame, const tarsia_tensor* argument, const int64_t* shape, int32_t ndim) {
  const Locked locked;
  const SavedException saved;
  std::string why = "it is no argument of this call";
  for (View* view = frame.last_view; view; view = view->previous) {
    if (&view->tensor != argument) continue;
    if (!attribute_or_null(view->object, "resize_")) {
      PyErr_Clear();
      why = "it is a " + type_name(Py_TYPE(view->object)) + " of shape " +
            arguments::tuple_text(argument->shape, argument->ndim) +
            "; pass a torch.Tensor, or one of that shape";
    } else if (is_shared(frame, *view)) {
      why = "another argument shares its memory; pass a tensor of that shape";
    } else if (!PyErr_Occurred() && resize(frame, *view, shape, ndim)) {
      return 0;
    } else {
      why = take_error();
    }
    break;
  }
  const std::string text = std::string(frame.callee_name()) + "(): a tensor cannot be given the shape " +
                           arguments::tuple_text(shape, ndim) + ": " + why;
  return tarsia_get_host()->set_error(TARSIA_OP_VALUE_ERROR, text.c_str());
}

}  // namespace tarsia::python
