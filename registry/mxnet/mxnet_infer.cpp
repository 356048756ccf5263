// What is known goes to the library in its own words; what it left in its lists is settled and checked here.
#include "registry/mxnet/mxnet_infer.h"

#include <tarsia/mxnet/dtypes.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry::mxnet {

using namespace ::mxnet::ext::tarsia_detail;

std::int32_t failure(std::int32_t code, const char* function) {
  if (code != TARSIA_MXNET_FAILED) return code;
  const std::string said = last_error().message;
  return set_last_error(TARSIA_OP_ERROR, "call",
                        std::string(function) + " failed" + (said.empty() ? "" : ": " + said));
}

std::int32_t op_is_wrong(const std::string& text) {
  return set_last_error(TARSIA_OP_VALUE_ERROR, "call", text);
}

const char* device_type(tarsia_device device) {
  return is_gpu(device) ? "gpu" : "cpu";
}

MxnetAttributes::MxnetAttributes(const tarsia_mxnet_library& library, const tarsia_bind_info& info)
    : m_library(library),
      m_texts{info.attribute_names, nullptr, static_cast<std::int32_t>(info.n_attributes)} {
  for (std::uint32_t i = 0; i < info.n_attributes; ++i) {
    const tarsia_value& value = info.attributes[i];
    if (std::strlen(value.s) != value.size)
      throw ArgumentError::value_error(std::string("attribute '") + info.attribute_names[i] +
                                       "' has a NUL in it, where texts of MXNet's extension API end");
    m_values.push_back(value.s);
  }
  m_values.push_back(nullptr);
  m_texts.values = m_values.data();
  if (library.create_attributes(library.self, &m_texts, &m_made)) throw_last_error();
}

MxnetAttributes::~MxnetAttributes() {
  m_library.destroy_attributes(m_library.self, m_made);
}

Shapes::Shapes(const tarsia_meta* metas, std::uint32_t n) : m_extents(n) {
  for (std::uint32_t k = 0; k < n; ++k) {
    for (int i = 0; i < metas[k].ndim; ++i) {
      if (metas[k].shape[i] > std::int64_t{0xffffffff})
        throw ArgumentError::value_error("an extent of 2^32 and more does not fit this API");
      m_extents[k].push_back(metas[k].shape[i] < 0 ? 0u : static_cast<std::uint32_t>(metas[k].shape[i]));
    }
    m_ndims.push_back(static_cast<std::int32_t>(m_extents[k].size()));
    m_extents[k].push_back(0);  // never an empty array
    m_pointers.push_back(m_extents[k].data());
  }
  m_pointers.push_back(nullptr);
  m_ndims.push_back(0);
  m_shapes = {m_pointers.data(), m_ndims.data(), static_cast<std::int32_t>(n)};
}

std::int32_t read_dtypes(const tarsia_bind_info& info, std::vector<int>& dtypes) {
  for (std::uint32_t i = 0; i < info.n_inputs; ++i) {
    dtypes.push_back(from_dtype(info.inputs[i].dtype));
    if (dtypes.back() == k_foreign_dtype)
      return set_last_error(TARSIA_OP_TYPE_ERROR, "call",
                            "input " + std::to_string(i) +
                                " is of a dtype that this API does not have: it has float16, float32, "
                                "float64, int8, int32, int64 and uint8");
  }
  dtypes.push_back(k_unknown_dtype);
  return 0;
}

namespace {

std::string port(bool is_input, size_t i) {
  return (is_input ? "input " : "output ") + std::to_string(i);
}

/// What a function left in its lists.
struct Found final : tarsia_mxnet_found {
  std::vector<int> numbers[2];
  std::vector<std::vector<std::uint32_t>> shapes[2];
  std::string wrong;  ///< what may not be

  Found() {
    number = [](tarsia_mxnet_found* self, std::uint32_t list, std::uint64_t, std::int32_t n) {
      static_cast<Found*>(self)->numbers[list].push_back(n);
    };
    extents = [](tarsia_mxnet_found* self, std::uint32_t list, std::uint64_t, const std::uint32_t* shape,
                 std::int32_t ndim) {
      auto& found = *static_cast<Found*>(self);
      auto& all = found.shapes[list];
      if (ndim < 0 || ndim > TARSIA_MAX_NDIM) {
        found.wrong = "inferShape gives " + port(list == 0, all.size()) + " " + std::to_string(ndim) +
                      " dimensions; tensors have up to " + std::to_string(TARSIA_MAX_NDIM);
        ndim = 0;
      }
      all.emplace_back(shape, shape + ndim);
    };
  }
};

/// Some sources append to outputs that are there already: what was appended stands for what was left unset.
template <class T>
void settle(std::vector<T>& list, size_t n, const std::type_identity_t<T>& unset) {
  for (size_t i = 0; i < n && list.size() > n + i; ++i)
    if (list[i] == unset) list[i] = list[n + i];
  list.resize(n, unset);
}

/// Calls f(is_input, i, meta) for all inputs, then all outputs, until it gives a code.
template <class F>
std::int32_t for_each(const tarsia_bind_info& info, F&& f) {
  for (bool is_input : {true, false})
    for (std::uint32_t i = 0; i < (is_input ? info.n_inputs : info.n_outputs); ++i)
      if (const std::int32_t code = f(is_input, i, is_input ? info.inputs[i] : info.outputs[i])) return code;
  return 0;
}

bool is_known(const tarsia_meta& meta) {
  return meta.ndim >= 0 &&
         std::all_of(meta.shape, meta.shape + meta.ndim, [](std::int64_t extent) { return extent >= 0; });
}

/// An op's inference.
struct Inference {
  const tarsia_mxnet_library& library;
  const tarsia_mxnet_op& op;
  const tarsia_bind_info& info;
  void* attributes;

  std::int32_t infer_shapes() const {
    bool all_known = true, scalars = false;
    for (std::uint32_t i = 0; i < info.n_inputs; ++i) {
      all_known = all_known && is_known(info.inputs[i]);
      scalars = scalars || info.inputs[i].ndim == 0;
    }
    const Shapes known(info.inputs, info.n_inputs);
    Found found;
    if (const std::int32_t code = library.infer_shape(library.self, &op.infer_shape, attributes, &known.get(),
                                                      info.n_outputs, &found))
      return failure(code, "inferShape");
    if (!found.wrong.empty()) return op_is_wrong(found.wrong);
    settle(found.shapes[0], info.n_inputs, {});
    settle(found.shapes[1], info.n_outputs, {});
    return for_each(info, [&](bool is_input, std::uint32_t i, tarsia_meta& meta) {
      const std::vector<std::uint32_t>& shape = found.shapes[is_input ? 0 : 1][i];
      if (shape.empty() && (is_input || !all_known || !scalars)) return 0;
      meta.ndim = static_cast<std::int32_t>(shape.size());
      // An extent of 0 is unknown unless all inputs were known: then it is one.
      for (size_t k = 0; k < shape.size(); ++k)
        meta.shape[k] = shape[k] || all_known ? static_cast<std::int64_t>(shape[k]) : -1;
      return 0;
    });
  }

  /// Calls inferType or inferSType.
  std::int32_t infer_numbers(const tarsia_mxnet_function& function, const char* name,
                             const std::vector<int>& known, Found& found) const {
    if (const std::int32_t code = library.infer(library.self, &function, attributes, known.data(),
                                                info.n_inputs, info.n_outputs, &found))
      return failure(code, name);
    settle(found.numbers[0], info.n_inputs, -1);
    settle(found.numbers[1], info.n_outputs, -1);
    return 0;
  }

  std::int32_t infer_types() const {
    std::vector<int> known;
    Found found;
    if (const std::int32_t code = read_dtypes(info, known)) return code;
    if (const std::int32_t code = infer_numbers(op.infer_type, "inferType", known, found)) return code;
    return for_each(info, [&](bool is_input, std::uint32_t i, tarsia_meta& meta) {
      const int type = found.numbers[is_input ? 0 : 1][i];
      return type == k_unknown_dtype || to_dtype(type, meta.dtype)
                 ? 0
                 : op_is_wrong("inferType gives " + std::to_string(type) + " for " + port(is_input, i) +
                               ", which is no dtype");
    });
  }

  std::int32_t infer_storage() const {
    std::vector<int> known(info.n_inputs + 1, -1);
    for (std::uint32_t i = 0; i < info.n_inputs; ++i)
      if (info.inputs[i].storage != TARSIA_ANY_STORAGE) known[i] = info.inputs[i].storage;
    Found found;
    if (const std::int32_t code = infer_numbers(op.infer_storage, "inferSType", known, found)) return code;
    return for_each(info, [&](bool is_input, std::uint32_t i, tarsia_meta& meta) {
      const int storage = found.numbers[is_input ? 0 : 1][i];
      if (storage > TARSIA_CSR)
        return op_is_wrong("inferSType gives " + std::to_string(storage) + " for " + port(is_input, i) +
                           ", which is no storage type");
      if (storage >= 0) meta.storage = static_cast<std::uint8_t>(storage);
      return 0;
    });
  }
};

}  // namespace

std::int32_t infer(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op,
                   const tarsia_bind_info& info) {
  const Inference inference{library, op, info, MxnetAttributes::of(info)};
  if (const std::int32_t code = inference.infer_shapes()) return code;
  if (const std::int32_t code = inference.infer_types()) return code;
  if (op.infer_storage.function)
    if (const std::int32_t code = inference.infer_storage()) return code;
  return 0;
}

std::int32_t mark_mutable(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op, void* attributes,
                          tarsia_port* inputs, std::uint32_t n) {
  Found found;
  if (const std::int32_t code = library.mutate(library.self, &op.mutate, attributes, &found))
    return failure(code, "mutateInputs");
  for (int i : found.numbers[0]) {
    if (i < 0 || static_cast<std::uint32_t>(i) >= n)
      return op_is_wrong("mutateInputs names input " + std::to_string(i) + " of " + std::to_string(n));
    inputs[i].flags |= TARSIA_PORT_MUTABLE;
  }
  return 0;
}

}  // namespace tarsia::registry::mxnet
