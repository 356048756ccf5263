// Runs tarsia.testing's checks and gives their results as Python objects.
#include "python/op/op_check.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tarsia/c_api.h>
#include <tarsia/op_abi.h>

#include <string>
#include <vector>

#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/core/py.h"
#include "python/core/waiting.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

[[noreturn]] void raise() {
  raise_last_error();
  throw nb::python_error();
}

/// Inputs are shape, dtype ("": any) and tarsia_storage_type; gives (check, status, message) for each check.
nb::list check_op(const std::string& name, const std::vector<std::vector<int64_t>>& shapes,
                  const std::vector<std::string>& dtypes, const std::vector<int>& storages,
                  const std::vector<std::string>& names, const std::vector<std::string>& texts, bool gradient,
                  uint64_t seed, const std::vector<std::string>& writes,
                  const std::vector<std::string>& constants) {
  std::vector<tarsia_meta> inputs(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() > TARSIA_MAX_NDIM) throw nb::value_error("a shape has at most 32 extents");
    tarsia_meta& meta = inputs[i];
    meta.present = 1;
    meta.ndim = static_cast<int32_t>(shapes[i].size());
    for (size_t k = 0; k < shapes[i].size(); ++k) meta.shape[k] = shapes[i][k];
    meta.dtype = dtypes[i].empty() ? tarsia_dtype{TARSIA_ANY_DTYPE, 0, 0} : dtype_named(dtypes[i]);
    if (!dtypes[i].empty() && !meta.dtype.lanes)
      throw nb::value_error(("there is no dtype '" + dtypes[i] + "'").c_str());
    meta.storage = static_cast<uint8_t>(storages[i]);
  }
  std::vector<const char*> attribute_names, attribute_texts;
  for (const std::string& attribute : names) attribute_names.push_back(attribute.c_str());
  for (const std::string& text : texts) attribute_texts.push_back(text.c_str());
  tarsia_check_request request{};
  request.size = sizeof request;
  request.n_inputs = static_cast<uint32_t>(inputs.size());
  request.inputs = inputs.data();
  request.n_attributes = static_cast<uint32_t>(names.size());
  request.attribute_names = attribute_names.data();
  request.attribute_texts = attribute_texts.data();
  request.flags = gradient ? 0 : TARSIA_CHECK_NO_GRADIENT;
  request.seed = seed;
  std::vector<const char*> written;
  for (const std::string& input : writes) written.push_back(input.c_str());
  request.writes = written.data();
  request.n_writes = static_cast<uint32_t>(written.size());
  std::vector<const char*> unasked;
  for (const std::string& input : constants) unasked.push_back(input.c_str());
  request.constants = unasked.data();
  request.n_constants = static_cast<uint32_t>(unasked.size());
  tarsia_op_handle* op = nullptr;
  const int32_t loaded = wait_for(name.c_str(), [&] { return tarsia_op_load(name.c_str(), &op); });
  if (raise_interruption()) {
    tarsia_op_release(op);
    throw nb::python_error();
  }
  if (loaded) raise();
  tarsia_check_result* results = nullptr;
  uint64_t n = 0;
  int32_t code;
  {
    const Unlocked unlocked;
    code = tarsia_op_check(op, &request, &results, &n);
  }
  tarsia_op_release(op);
  if (code) raise();
  static constexpr const char* k_states[] = {"failed", "passed", "skipped"};
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(nb::make_tuple(results[i].check, k_states[results[i].status], results[i].message));
  tarsia_free(results);
  return list;
}

}  // namespace

void add_op_check(nb::module_& module) {
  module.def("check_op", check_op);
}

}  // namespace tarsia::python
