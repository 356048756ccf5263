// Names of types and values in messages.
#include "python/core/py.h"

namespace tarsia::python {

bool add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject*& type) {
  const Ref made(PyType_FromSpec(&spec));
  if (!made || PyObject_SetAttrString(module, name, made.get()) != 0) return false;
  type = reinterpret_cast<PyTypeObject*>(Ref::borrow(made.get()).release());
  return true;
}

std::string type_name(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  const Ref module = attribute_or_null(object, "__module__");
  const Ref name = attribute_or_null(object, "__qualname__");
  const std::string prefix = text_of(module.get());
  const std::string text = text_of(name.get());
  if (prefix.empty() || prefix == "builtins") return text;
  return prefix + "." + text;
}

std::string short_repr(PyObject* object) {
  const Ref repr(run_python<PyObject_Repr>(object));
  if (!repr) PyErr_Clear();
  std::string text = text_of(repr.get());
  constexpr size_t k_longest = 60;
  if (text.size() > k_longest) {
    size_t cut = k_longest - 3;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    text = text.substr(0, cut) + "...";
  }
  return text;
}

Ref loaded_module(const char* name) {
  return entry_of(PyImport_GetModuleDict(), name);
}

}  // namespace tarsia::python
