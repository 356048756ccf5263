// Finds the types of an expression's parameters in a call, from its tensors and numbers.
#include "python/call/convert.h"
#include "python/call/explain.h"
#include "python/core/dtype.h"
#include "python/expression/expression_call.h"

namespace tarsia::python {
namespace {

bool is_supported(tarsia_dtype dtype) {
  switch (dtype.code) {
    case TARSIA_BOOL:
      return dtype.bits == 8;
    case TARSIA_INT:
    case TARSIA_UINT:
      return dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    case TARSIA_FLOAT:
      return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    case TARSIA_BFLOAT:
      return dtype.bits == 16;
    default:
      return false;
  }
}

}  // namespace

bool ExpressionCall::deduce() {
  const size_t n_letters = m_state.letters.size();
  auto* letters = m_frame.room_for<tarsia_dtype>(n_letters);
  auto* deciders = m_frame.room_for<int>(n_letters);  // the parameter that decided each, -1: none
  for (size_t k = 0; k < n_letters; ++k) deciders[k] = -1;
  for (uint32_t i = 0; i < m_n; ++i) {
    if (!m_views[i]) continue;
    const tarsia_dtype dtype = m_views[i]->tensor.dtype;
    const int letter = param(i).letter;
    if (letter == k_no_letter) {
      if (!(dtype == param(i).dtype)) return wrong_dtype(i);
      continue;
    }
    if (deciders[letter] < 0) {
      if (!is_supported(dtype))
        return refuse(false,
                      title(i) + " has elements of " + dtype_name(dtype) + ", which expressions do not take");
      letters[letter] = dtype;
      deciders[letter] = static_cast<int>(i);
    } else if (!(letters[letter] == dtype)) {
      const uint32_t teller = static_cast<uint32_t>(deciders[letter]);
      return refuse(false, m_state.name + ": " + m_state.letters[letter] + " is " +
                               dtype_name(letters[letter]) + " by '" + param(teller).name + "' and " +
                               dtype_name(dtype) + " by '" + param(i).name +
                               "'; convert one of them, or give it a type letter of its own");
    }
  }
  for (uint32_t i = 0; i < m_n; ++i) {
    const int letter = param(i).letter;
    if (letter != k_no_letter && m_given[i] && !m_views[i] &&
        (deciders[letter] < 0 || !m_views[deciders[letter]]))
      if (!widen(i, letters[letter], deciders[letter])) return false;
  }
  for (uint32_t i = 0; i < m_n; ++i) {
    const int letter = param(i).letter;
    if (letter != k_no_letter && deciders[letter] < 0)
      return refuse(false, title(i) + " has the type " + m_state.letters[letter] +
                               ", which no input tells; pass out=, or declare it with a type such as float");
    m_dtypes[i] = letter == k_no_letter ? param(i).dtype : letters[letter];
    m_key[i] = bits_of(m_dtypes[i]) | (m_given[i] && !m_views[i] ? k_number : 0);
  }
  m_key[m_n] = m_gpu;
  return true;
}

bool ExpressionCall::wrong_dtype(uint32_t i) {
  const std::string wanted = dtype_name(param(i).dtype);
  return refuse(false, title(i) + " is declared as " + param(i).type + ", which is " + wanted +
                           ", and was given " + describe_argument(m_given[i]) +
                           "; convert it, or declare it with a type letter such as T");
}

/// If no tensor decides a type letter, it is NumPy's type of Python's numbers: bool, int64, float64.
/// NumPy's own numbers have their type.
bool ExpressionCall::widen(uint32_t i, tarsia_dtype& dtype, int& teller) {
  PyObject* object = m_given[i];
  tarsia_dtype mine{};
  const auto rank = [](tarsia_dtype d) {
    return d.code == TARSIA_BOOL ? 0 : d.code == TARSIA_FLOAT || d.code == TARSIA_BFLOAT ? 2 : 1;
  };
  if (PyBool_Check(object)) {
    mine = {TARSIA_BOOL, 8, 1};
  } else if (PyLong_Check(object)) {
    mine = {TARSIA_INT, 64, 1};
  } else if (PyFloat_CheckExact(object)) {
    mine = {TARSIA_FLOAT, 64, 1};
  } else {
    const Ref own = attribute_or_null(object, "dtype");
    const Ref name = own ? attribute_or_null(own.get(), "name") : Ref();
    if (name && PyUnicode_Check(name.get())) mine = dtype_named(text_of(name.get()));
    if (!is_supported(mine)) {
      if (!PyFloat_Check(object))
        return refuse(false, title(i) + " must be a tensor or a number, got " + describe_argument(object));
      mine = {TARSIA_FLOAT, 64, 1};
    }
  }
  if (teller < 0 || rank(mine) > rank(dtype) || (rank(mine) == rank(dtype) && mine.bits > dtype.bits)) {
    dtype = mine;
    teller = static_cast<int>(i);
  }
  return true;
}

}  // namespace tarsia::python
