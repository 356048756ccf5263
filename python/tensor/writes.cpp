// Counts the versions of PyTorch's tensors.
//
// Work-around: PyTorch's increment_version costs as much as a whole call.
// Trigger: a function that writes to a tensor of PyTorch is called. Symptom: calls take twice as long through
// Python; so the C++ functions behind it are called where they are found and do what they should.
// Removal: DLPack's exchange API, or PyTorch's stable C ABI, tells of writes.
#include "python/tensor/writes.h"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "python/core/errors.h"

namespace tarsia::python {
namespace {

/// PyTorch's C++ functions. A tensor of at::Tensor's is a pointer to its c10::TensorImpl. The objects of
/// Python hold one, at a place that is found by its value, which the attribute _cdata tells.
class Direct {
 public:
  /// Whether all was found and does what it should, as far as can be told now.
  bool find(PyObject* torch) {
    m_bump = found<Bump>("libtorch_cpu.so", "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE");
    m_requires_grad = found<RequiresGrad>("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv");
    m_is_grad_enabled = found<IsGradEnabled>("libc10.so", "_ZN3c108GradMode10is_enabledEv");
    return m_bump && m_requires_grad && m_is_grad_enabled && works(torch);
  }
  bool requires_grad(PyObject* tensor) const { return m_requires_grad(*held_by(tensor)); }
  bool is_grad_enabled() const { return m_is_grad_enabled(); }
  void bump(PyObject* tensor) const {
    try {
      m_bump(held_by(tensor));
    } catch (...) {  // made in inference mode, written to outside of it: it has no version
    }
  }

 private:
  using Bump = void (*)(void* const* tensor);
  using RequiresGrad = bool (*)(const void* impl);
  using IsGradEnabled = bool (*)();

  template <class F>
  static F found(const char* library, const char* symbol) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return nullptr;
    void* address = dlsym(handle, symbol);
    dlclose(handle);  // PyTorch stays
    return reinterpret_cast<F>(address);
  }
  static long number(PyObject* object, const char* attribute) {
    const Ref value = attribute_or_null(object, attribute);
    const long read = value ? run_python<PyLong_AsLong>(value.get()) : -1;
    PyErr_Clear();
    return read;
  }

  void* const* held_by(PyObject* tensor) const { return reinterpret_cast<void* const*>(tensor) + m_word; }

  /// Where both tensors hold what their _cdata says.
  bool find_word(PyObject* tensor, PyObject* other) {
    const Ref type = attribute_or_null(reinterpret_cast<PyObject*>(Py_TYPE(tensor)), "__base__");
    const long bytes = type ? number(type.get(), "__basicsize__") : -1;
    const auto first = reinterpret_cast<void*>(number(tensor, "_cdata")),
               second = reinterpret_cast<void*>(number(other, "_cdata"));
    for (m_word = sizeof(PyObject) / sizeof(void*);
         bytes > 0 && (m_word + 1) * sizeof(void*) <= size_t(bytes); ++m_word)
      if (*held_by(tensor) == first && *held_by(other) == second) return first != second;
    return false;
  }

  /// Tries all on tensors.
  bool works(PyObject* torch) {
    const Ref tensor(call_method(torch, "empty", "i", 0));
    const Ref other(tensor ? call_method(torch, "empty", "i", 1) : nullptr);
    if (!other) return PyErr_Clear(), false;
    const long before = number(tensor.get(), "_version");
    if (before < 0 || !find_word(tensor.get(), other.get()) || requires_grad(tensor.get())) return false;
    bump(tensor.get());
    const Ref self(call_method(tensor.get(), "requires_grad_", nullptr));
    const Ref enabled(call_method(torch, "is_grad_enabled", nullptr));
    PyErr_Clear();
    return self && number(tensor.get(), "_version") == before + 1 && requires_grad(tensor.get()) &&
           is_grad_enabled() == (enabled.get() == Py_True);
  }

  Bump m_bump = nullptr;
  RequiresGrad m_requires_grad = nullptr;
  IsGradEnabled m_is_grad_enabled = nullptr;
  size_t m_word = 0;
};

/// What is known of PyTorch. Never destroyed: it holds objects of Python.
struct Torch {
  PyTypeObject* tensor = nullptr;
  Direct direct;
  bool is_direct = false;
  int tries = 0;  ///< at finding the functions: in inference mode they cannot be tried out
};

std::atomic<const Torch*> g_torch = nullptr;

/// PyTorch, if it was found and is not looked for again; else null.
const Torch* known_torch() {
  const Torch* const known = g_torch.load(std::memory_order_acquire);
  return known && (known->is_direct || known->tries >= 3) ? known : nullptr;
}

/// PyTorch, once it is imported; else null. What was found does not change: another try makes another.
const Torch* torch_now() {
  const Torch* const known = g_torch.load(std::memory_order_acquire);
  const Ref module = loaded_module("torch");
  Ref tensor = module ? attribute_or_null(module.get(), "Tensor") : Ref();
  if (!tensor || !PyType_Check(tensor.get())) return nullptr;
  auto* found = new Torch;
  found->tensor = reinterpret_cast<PyTypeObject*>(tensor.release());
  found->tries = known ? known->tries + 1 : 1;
  found->is_direct = found->direct.find(module.get());
  g_torch.store(found, std::memory_order_release);
  return found;
}

bool is_true(PyObject* object, const char* attribute) {
  return attribute_or_null(object, attribute).get() == Py_True;
}

bool refuse_leaf(const Frame& frame, PyObject* tensor) {
  std::string which = "a tensor";
  for (uint32_t i = 0; i < frame.n_given; ++i)
    if (frame.given[i] == tensor) which = "argument " + std::to_string(i + 1);
  raise_argument_error(true, std::string(frame.callee_name()) + ": writes to " + which +
                                 ", a leaf that requires a gradient; call it under torch.no_grad(), or pass "
                                 "a copy");
  return false;
}

/// By Python's means.
bool tell_slowly(const Frame& frame, PyObject* tensor) {
  const Ref torch = loaded_module("torch");
  const Ref enabled(torch ? call_method(torch.get(), "is_grad_enabled", nullptr) : nullptr);
  PyErr_Clear();
  if (enabled.get() == Py_True && is_true(tensor, "requires_grad") && is_true(tensor, "is_leaf"))
    return refuse_leaf(frame, tensor);
  const Ref inference(call_method(tensor, "is_inference", nullptr));
  const Ref graph(import_module("torch.autograd.graph"));
  if (graph && inference.get() != Py_True)
    const Ref done(call_method(graph.get(), "increment_version", "O", tensor));
  PyErr_Clear();
  return true;
}

bool tell(const Torch& torch, const Frame& frame, PyObject* tensor) {
  if (!torch.is_direct) return tell_slowly(frame, tensor);
  if (torch.direct.requires_grad(tensor) && torch.direct.is_grad_enabled() && is_true(tensor, "is_leaf"))
    return refuse_leaf(frame, tensor);
  torch.direct.bump(tensor);
  return true;
}

}  // namespace

bool tell_torch_of_writes(Frame& frame) {
  const Torch* torch = known_torch();
  for (const View* view = frame.last_view; view; view = view->previous) {
    if (!view->is_written) continue;
    PyTypeObject* const type = Py_TYPE(view->object);
    if (!torch || type != torch->tensor) {
      const ProtocolKind kind = protocol_of(type).kind;
      if (kind != ProtocolKind::exchange && kind != ProtocolKind::dlpack) continue;
      if (!torch) torch = torch_now();
      if (!torch) return true;
      if (!PyType_IsSubtype(type, torch->tensor)) continue;
    }
    if (!tell(*torch, frame, view->object)) return false;
  }
  return true;
}

}  // namespace tarsia::python
