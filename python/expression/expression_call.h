// A call of an expression: turns Python's arguments into those of the function that is compiled for their
// types.
#pragma once

#include <string>
#include <vector>

#include "python/tensor/frame.h"

namespace tarsia::python {

inline constexpr int k_no_letter = -1;
inline constexpr uint32_t k_number = 1u << 31;  ///< in a key: the parameter is a number by value

struct ExpressionParameter {
  std::string name;
  Ref key;           ///< the name, interned
  std::string type;  ///< as written
  int letter;        ///< k_no_letter: the type is `dtype`
  tarsia_dtype dtype;
  bool is_raw, is_output, is_inout;
};

/// The function compiled for these types.
struct ExpressionVariant {
  std::vector<uint32_t> key;
  Ref function;
};

struct ExpressionState {
  std::string name;
  std::vector<ExpressionParameter> params;
  std::vector<std::string> letters;
  uint32_t n_inputs = 0;
  bool is_reduction = false;
  bool takes_size = false;  ///< all inputs are raw
  Ref recipe;               ///< compiles: recipe.compile(gpu, dtypes, numbers)
  std::vector<ExpressionVariant> variants;
  size_t last = 0;
};

class ExpressionCall {
 public:
  /// The arguments' views lie in the frame.
  ExpressionCall(ExpressionState& state, Frame& frame);

  /// The result of the call; null with an error set on failure.
  PyObject* run(PyObject* const* args, uint32_t n, PyObject* names);

 private:
  const ExpressionParameter& param(uint32_t i) const { return m_state.params[i]; }
  std::string title(uint32_t i) const {
    return m_state.name + ": " + (param(i).is_output ? "output '" : "input '") + param(i).name + "'";
  }
  /// Raises, and returns false.
  static bool refuse(bool is_value_error, const std::string& message, Ref cause = {});

  // Arguments. False with an error set on failure, here and below.
  bool assign(PyObject* const* args, uint32_t n, PyObject* names);
  bool assign_by_name(PyObject* key, PyObject* object);
  bool assign_out(PyObject* object);
  bool read();
  bool read_tensor(uint32_t i, PyObject* object);
  bool check_size() const;
  bool check_devices();
  bool read_axes(int64_t& axes);

  // Types (expression_types.cpp).
  bool deduce();
  bool wrong_dtype(uint32_t i);
  bool widen(uint32_t i, tarsia_dtype& dtype, int& teller);

  // The function and its values.
  PyObject* find();
  PyObject* find_known();
  PyObject* compile();
  bool set_value(uint32_t i, tarsia_value& value);

  ExpressionState& m_state;
  Frame& m_frame;
  uint32_t m_n;
  PyObject** m_given;      ///< by parameter, null where left out
  View** m_views;          ///< of those that are tensors
  tarsia_dtype* m_dtypes;  ///< by parameter
  uint32_t* m_key;
  bool m_gpu = false;
  PyObject* m_axis = nullptr;
  int m_keepdims = 0;
  int64_t m_size = -1;
};

}  // namespace tarsia::python
