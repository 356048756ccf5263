// Reads grid, block, shared memory and stream of a launch from Python objects.
#include "python/call/launch_arguments.h"

#include <atomic>
#include <iterator>

#include "python/core/errors.h"
#include "python/tensor/stream.h"

namespace tarsia::python {
namespace {

void raise_type_error(const std::string& text) {
  raise_argument_error(false, text);
}
void raise_value_error(const std::string& text) {
  raise_argument_error(true, text);
}

}  // namespace

tarsia_launch nowhere() {
  tarsia_launch how{};
  how.size = sizeof how;
  how.device = -1;
  return how;
}

bool read_number(const Overloaded* kernel, PyObject* object, const char* what, uint32_t& number) {
  Ref index;
  if (!PyLong_CheckExact(object)) {
    if (!PyIndex_Check(object) || PyBool_Check(object) ||
        protocol_of(Py_TYPE(object)).kind != ProtocolKind::none) {
      raise_type_error(title(kernel) + ": " + what + " must be an int, got " + describe_argument(object));
      return false;
    }
    index = Ref(run_python<PyNumber_Index>(object));
    if (!index) return false;
  }
  int overflow = 0;
  const long long value = run_python<PyLong_AsLongLongAndOverflow>(index ? index.get() : object, &overflow);
  if (overflow || value < 0 || value > 0xffffffffLL) {
    raise_value_error(title(kernel) + ": " + what + " must be from 0 to 4294967295, got " +
                      short_repr(object));
    return false;
  }
  number = static_cast<uint32_t>(value);
  return true;
}

bool read_extents(const Overloaded* kernel, PyObject* object, const char* what, uint32_t (&extents)[3]) {
  extents[1] = extents[2] = 1;
  const bool tuple = PyTuple_Check(object);
  if (!tuple && !PyList_Check(object)) {
    if (PyIndex_Check(object)) return read_number(kernel, object, what, extents[0]);
    raise_type_error(title(kernel) + ": the " + what + " must be an int or a tuple of up to three, got " +
                     describe_argument(object));
    return false;
  }
  const Py_ssize_t n = tuple ? PyTuple_Size(object) : PyList_Size(object);
  if (n < 1 || n > 3) {
    raise_value_error(title(kernel) + ": the " + what + " must have one to three extents, got " +
                      short_repr(object));
    return false;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Ref extent = tuple ? Ref::borrow(PyTuple_GetItem(object, i)) : item_of_list(object, i);
    if (!extent || !read_number(kernel, extent.get(), what, extents[i])) return false;
  }
  return true;
}

bool read_launch_stream(const Overloaded* kernel, PyObject* object, tarsia_launch& how) {
  if (object == Py_None) return true;
  const StreamRead read = read_stream(object, &how.stream);
  if (read == StreamRead::not_a_stream)
    raise_type_error(
        title(kernel) +
        ": the stream must be an int, a torch.cuda.Stream, anything with __cuda_stream__, or None "
        "for the current one, got " +
        describe_argument(object));
  how.has_stream = 1;
  return read == StreamRead::ok;
}

Keyword keyword_of(PyObject* name) {
  static constexpr const char* k_texts[] = {"grid", "block", "shared", "stream", "cluster", "cooperative"};
  static std::atomic<PyObject*> s_names[std::size(k_texts)];
  // Names in a program's text are interned, so mostly it is the same object.
  for (size_t i = 0; i < std::size(k_texts); ++i)
    if (s_names[i].load(std::memory_order_relaxed) == name) return static_cast<Keyword>(i);
  for (size_t i = 0; i < std::size(k_texts); ++i)
    if (PyUnicode_CompareWithASCIIString(name, k_texts[i]) == 0) {
      if (!s_names[i]) s_names[i] = PyUnicode_InternFromString(k_texts[i]);
      return static_cast<Keyword>(i);
    }
  return Keyword::none;
}

bool read_keyword(const Overloaded* kernel, Keyword keyword, PyObject* value, tarsia_launch& how) {
  switch (keyword) {
    case Keyword::grid:
      return read_extents(kernel, value, "grid", how.grid);
    case Keyword::block:
      return read_extents(kernel, value, "block", how.block);
    case Keyword::shared:
      return read_number(kernel, value, "the shared memory in bytes", how.shared_bytes);
    case Keyword::stream:
      return read_launch_stream(kernel, value, how);
    case Keyword::cluster:
      if (value == Py_None) return true;
      if (!read_extents(kernel, value, "cluster", how.cluster)) return false;
      if (how.cluster[0]) return true;
      raise_value_error(title(kernel) + ": the cluster must have 1 or more blocks along x");
      return false;
    default:
      const int truth = run_python<PyObject_IsTrue>(value);
      how.cooperative = truth > 0;
      return truth >= 0;
  }
}

}  // namespace tarsia::python
