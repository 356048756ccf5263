// Finds cases that an op takes. Nothing but its inference says which shapes these are, so shapes that ops
// usually take are tried, one after the other.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "registry/check/op_check.h"
#include "registry/elements/dtypes.h"
#include "registry/op/infer.h"

namespace tarsia::registry {

namespace {

using Shape = std::vector<std::int64_t>;

constexpr tarsia_dtype k_dtypes[] = {k_float32, k_float64, k_float16, k_bfloat16, k_int32, k_int64, k_uint8};

/// Shapes for n inputs, the likeliest first. The inference of many ops reads the extents of matrices
/// without a check that there are two.
std::vector<std::vector<Shape>> shapes_for(size_t n) {
  std::vector<std::vector<Shape>> all{std::vector<Shape>(n, {3, 4})};
  if (n == 2)
    all.insert(all.end(), {{{3, 4}, {4, 5}},
                           {{3, 4}, {5, 4}},
                           {{3, 4}, {4}},
                           {{3, 4}, {3}},
                           {{2, 3, 4}, {2, 4, 5}},
                           {{2, 3, 5, 5}, {4, 3, 3, 3}},
                           {{3, 4}, {1}}});
  auto then = [&](std::initializer_list<Shape> first, const Shape& rest) {
    all.emplace_back(first);
    all.back().resize(n, rest);
  };
  if (n >= 3) {
    then({{3, 4}, {4, 5}}, {5});
    then({{3, 4}, {5, 4}}, {5});
    then({{3, 4}}, {4});
    then({{2, 3, 5, 5}, {4, 3, 3, 3}}, {4});
    then({{2, 3, 5, 5}}, {3});
  }
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 5, 5}, Shape{4, 4}, Shape{12}, Shape{1}, Shape{}})
    all.push_back(std::vector<Shape>(n, shape));
  return all;
}

tarsia_meta meta_for(const Shape& shape, tarsia_dtype dtype, std::uint8_t storage) {
  tarsia_meta meta = unknown_meta();
  meta.ndim = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), meta.shape);
  meta.dtype = dtype;
  meta.storage = storage;
  return meta;
}

/// A value for a required attribute.
std::string value_for(const tarsia_attribute& attribute, const tarsia_type& type) {
  if (attribute.n_choices) return attribute.choices[0];
  switch (type.kind) {
    case TARSIA_KIND_LIST:
      return "(" + value_for(attribute, *type.elements) + ")";
    case TARSIA_KIND_TUPLE: {
      std::string text = "(";
      for (unsigned i = 0; i < type.n_elements; ++i)
        text += (i ? ", " : "") + value_for(attribute, type.elements[i]);
      return text + ")";
    }
    case TARSIA_KIND_INT:
    case TARSIA_KIND_FLOAT: {
      double number = 1;
      if (attribute.flags & TARSIA_ATTRIBUTE_MIN) number = std::max(number, attribute.min);
      if (attribute.flags & TARSIA_ATTRIBUTE_MAX) number = std::min(number, attribute.max);
      const std::string text = std::to_string(number);
      return type.kind == TARSIA_KIND_INT ? text.substr(0, text.find('.')) : text;
    }
    default:
      return "1";
  }
}

class Finder {
 public:
  Finder(const Ref<OpEntry>& op, const CheckOptions& options, tarsia_device device)
      : m_op(op), m_options(options) {
    m_case.attributes = options.attributes;
    m_case.device = device;
    m_case.seed = options.seed;
    m_case.exact = options.exact;
    m_case.writes = options.writes;
    m_case.constants = options.constants;
    const tarsia_op& declared = op->op();
    for (unsigned i = 0; i < declared.n_attributes; ++i) {
      const tarsia_attribute& a = declared.attributes[i];
      const bool given =
          std::ranges::any_of(options.attributes, [&](const auto& p) { return p.first == a.name; });
      if ((a.flags & TARSIA_ATTRIBUTE_REQUIRED) && !given)
        m_case.attributes.emplace_back(a.name, value_for(a, a.type));
    }
  }

  /// Whether the op can be bound to these inputs.
  bool fits(const std::vector<tarsia_meta>& inputs) {
    m_case.inputs = inputs;
    try {
      const CheckRequest request(m_case);
      const BoundInfo bound(m_op->op(), request.get());
      m_case.inputs.assign(bound.inputs().begin(), bound.inputs().end());
      CheckSession session(m_op, m_case);
      return true;
    } catch (const Error& error) {
      if (m_first_error.empty()) m_first_error = error.what();
      return false;
    }
  }

  bool find() {
    if (!m_options.inputs.empty()) return find_given();
    const tarsia_op& op = m_op->op();
    std::vector<size_t> counts;
    const bool variadic = op.n_inputs && (op.inputs[op.n_inputs - 1].flags & TARSIA_PORT_VARIADIC);
    if (op.arity)
      counts = {1, 2, 3, 4, 5, 0};
    else if (variadic)
      counts = {op.n_inputs + 1, op.n_inputs};
    else
      counts = {op.n_inputs};
    std::vector<std::uint8_t> storages{TARSIA_DENSE};
    if (op.flags & TARSIA_OP_INFERS_STORAGE) storages = {TARSIA_DENSE, TARSIA_CSR, TARSIA_ROW_SPARSE};
    bool any = true;
    for (size_t k = 0; any; ++k) {
      any = false;
      for (std::uint8_t storage : storages)
        for (size_t n : counts) {
          const std::vector<std::vector<Shape>> shapes = shapes_for(n);
          if (k >= shapes.size()) continue;
          any = true;
          if (find_for(shapes[k], storage)) return true;
        }
    }
    return false;
  }

  CheckCase m_case;
  std::string m_first_error;

 private:
  bool find_given() {
    std::vector<tarsia_meta> inputs = m_options.inputs;
    for (tarsia_meta& meta : inputs)
      if (meta.storage == TARSIA_ANY_STORAGE) meta.storage = TARSIA_DENSE;
    for (tarsia_dtype dtype : k_dtypes) {
      std::vector<tarsia_meta> tried = inputs;
      bool open = false;
      for (tarsia_meta& meta : tried)
        if (meta.dtype.code == TARSIA_ANY_DTYPE) meta.dtype = dtype, open = true;
      if (fits(tried)) return true;
      if (!open) return false;
    }
    return fits(inputs);
  }

  bool find_for(const std::vector<Shape>& shapes, std::uint8_t storage) {
    const size_t n = shapes.size();
    for (tarsia_dtype dtype : {k_float32, k_float64, k_int32, k_int64, k_float16, k_uint8}) {
      std::vector<tarsia_meta> inputs;
      for (const Shape& shape : shapes) inputs.push_back(meta_for(shape, dtype, storage));
      if (fits(inputs)) return true;
      // One input of numbers of rows, and the like.
      for (size_t i = 1; n <= 4 && i < n && dtype.code == TARSIA_FLOAT && dtype.bits == 32; ++i)
        for (tarsia_dtype other : {k_int64, k_int32}) {
          std::vector<tarsia_meta> mixed = inputs;
          mixed[i].dtype = other;
          if (fits(mixed)) return true;
        }
    }
    // The first alone, and the rest as the op infers it.
    if (n < 2 || !m_op->op().n_inputs) return false;
    std::vector<tarsia_meta> first(n, unknown_meta());
    for (tarsia_meta& meta : first) meta.storage = storage;
    first[0] = meta_for(shapes[0], k_float32, storage);
    return fits(first);
  }

  const Ref<OpEntry>& m_op;
  const CheckOptions& m_options;
};

}  // namespace

CheckCase find_case(const Ref<OpEntry>& op, const CheckOptions& options, tarsia_device device) {
  Finder finder(op, options, device);
  if (finder.find()) return finder.m_case;
  throw ArgumentError::value_error(
      options.inputs.empty()
          ? "none of the usual shapes and dtypes fit; name them. The first that were tried: " +
                finder.m_first_error
          : finder.m_first_error);
}

std::vector<CheckCase> other_cases(const Ref<OpEntry>& op, const CheckOptions& options,
                                   const CheckCase& found) {
  std::vector<CheckCase> cases;
  auto same = [](tarsia_dtype a, tarsia_dtype b) { return a.code == b.code && a.bits == b.bits; };
  auto try_case = [&](const std::vector<tarsia_meta>& inputs) {
    Finder finder(op, options, found.device);
    if (finder.fits(inputs)) cases.push_back(finder.m_case);
  };
  if (found.inputs.empty()) return cases;
  const tarsia_dtype own = found.inputs[0].dtype;
  const bool given = std::ranges::any_of(
      options.inputs, [](const tarsia_meta& m) { return m.dtype.code != TARSIA_ANY_DTYPE; });
  for (tarsia_dtype dtype : k_dtypes) {
    if (given || same(dtype, own)) continue;
    std::vector<tarsia_meta> inputs = found.inputs;
    for (tarsia_meta& meta : inputs)
      if (same(meta.dtype, own)) meta.dtype = dtype;
    try_case(inputs);
  }
  if (!(op->op().flags & TARSIA_OP_INFERS_STORAGE) || !options.inputs.empty()) return cases;
  for (std::uint8_t storage : {TARSIA_CSR, TARSIA_ROW_SPARSE}) {
    std::vector<tarsia_meta> inputs = found.inputs;
    if (inputs[0].storage == storage || inputs[0].ndim != 2) continue;
    for (tarsia_meta& meta : inputs)
      if (meta.ndim == 2) meta.storage = storage;
    try_case(inputs);
  }
  return cases;
}

}  // namespace tarsia::registry
