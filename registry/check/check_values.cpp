// Fills, compares and converts the contents of tensors on the CPU.
#include "registry/check/check_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "registry/elements/relayout.h"
#include "registry/elements/tensor_math.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

/// The dtype of one scalar.
tarsia_dtype scalar_of(tarsia_dtype dtype) {
  if (dtype.code != TARSIA_COMPLEX) return dtype;
  return {TARSIA_FLOAT, static_cast<std::uint8_t>(dtype.bits / 2), 1};
}

size_t scalar_bytes(tarsia_dtype dtype) {
  return std::max<size_t>(scalar_of(dtype).bits / 8, 1);
}

template <class T>
double load(const unsigned char* from) {
  T number;
  std::memcpy(&number, from, sizeof(number));
  return static_cast<double>(number);
}

template <class T>
void store(unsigned char* to, double number) {
  const T narrow = static_cast<T>(number);
  std::memcpy(to, &narrow, sizeof(narrow));
}

double load_number(tarsia_dtype dtype, const unsigned char* from) {
  switch (dtype.code << 8 | dtype.bits) {
    case TARSIA_INT << 8 | 8:
      return load<std::int8_t>(from);
    case TARSIA_INT << 8 | 16:
      return load<std::int16_t>(from);
    case TARSIA_INT << 8 | 32:
      return load<std::int32_t>(from);
    case TARSIA_INT << 8 | 64:
      return load<std::int64_t>(from);
    case TARSIA_UINT << 8 | 16:
      return load<std::uint16_t>(from);
    case TARSIA_UINT << 8 | 32:
      return load<std::uint32_t>(from);
    case TARSIA_UINT << 8 | 64:
      return load<std::uint64_t>(from);
    case TARSIA_FLOAT << 8 | 16:
    case TARSIA_FLOAT << 8 | 32:
    case TARSIA_FLOAT << 8 | 64:
    case TARSIA_BFLOAT << 8 | 16:
      return load_float(dtype, from);
    default:
      return *from;
  }
}

void store_number(tarsia_dtype dtype, unsigned char* to, double number) {
  switch (dtype.code << 8 | dtype.bits) {
    case TARSIA_INT << 8 | 16:
    case TARSIA_UINT << 8 | 16:
      return store<std::int16_t>(to, number);
    case TARSIA_INT << 8 | 32:
    case TARSIA_UINT << 8 | 32:
      return store<std::int32_t>(to, number);
    case TARSIA_INT << 8 | 64:
    case TARSIA_UINT << 8 | 64:
      return store<std::int64_t>(to, number);
    case TARSIA_FLOAT << 8 | 16:
    case TARSIA_FLOAT << 8 | 32:
    case TARSIA_FLOAT << 8 | 64:
    case TARSIA_BFLOAT << 8 | 16:
      return store_float(dtype, number, to);
    default:
      *to = static_cast<unsigned char>(number);
  }
}

std::string text_of(double number) {
  char text[32];
  return std::string(text,
                     std::to_chars(text, text + sizeof(text), number, std::chars_format::general, 7).ptr);
}

std::int64_t unit_of(const tarsia_meta& meta) {
  std::int64_t n = 1;
  for (int i = 1; meta.storage == TARSIA_ROW_SPARSE && i < meta.ndim; ++i) n *= meta.shape[i];
  return n;
}

/// "element 7 (1, 3)".
std::string place_of(const CheckValue& value, std::int64_t scalar) {
  std::int64_t i = scalar / scalars_of(value.meta.dtype);
  std::string text = "element " + std::to_string(i);
  if (value.meta.storage != TARSIA_DENSE || value.meta.ndim < 2) return text;
  std::string indices;
  for (int k = value.meta.ndim - 1; k >= 0; --k) {
    indices = std::to_string(i % value.meta.shape[k]) + (indices.empty() ? "" : ", ") + indices;
    i /= value.meta.shape[k];
  }
  return text + " (" + indices + ")";
}

}  // namespace

std::int64_t scalars_of(tarsia_dtype dtype) {
  return std::max<std::int64_t>(dtype.lanes, 1) * (dtype.code == TARSIA_COMPLEX ? 2 : 1);
}

bool is_real(tarsia_dtype dtype) {
  return dtype.code == TARSIA_FLOAT || dtype.code == TARSIA_BFLOAT;
}

double get_number(const CheckValue& value, std::int64_t i) {
  const size_t bytes = scalar_bytes(value.meta.dtype);
  return load_number(scalar_of(value.meta.dtype), value.data.data() + static_cast<size_t>(i) * bytes);
}

void set_number(CheckValue& value, std::int64_t i, double number) {
  const size_t bytes = scalar_bytes(value.meta.dtype);
  store_number(scalar_of(value.meta.dtype), value.data.data() + static_cast<size_t>(i) * bytes, number);
}

std::int64_t count_numbers(const CheckValue& value) {
  return static_cast<std::int64_t>(value.data.size() / scalar_bytes(value.meta.dtype));
}

CheckValue filled_value(const tarsia_meta& meta, unsigned char pattern) {
  CheckValue value;
  value.meta = meta;
  if (!meta.present) return value;
  if (meta.storage == TARSIA_DENSE)
    value.data.assign(bytes_of(meta.shape, meta.ndim, meta.dtype), pattern);
  else if (meta.storage == TARSIA_CSR)
    value.indptr.assign(static_cast<size_t>(meta.shape[0] + 1), 0);
  return value;
}

CheckValue random_value(const tarsia_meta& meta, std::mt19937_64& random) {
  CheckValue value = filled_value(meta, 0);
  if (!meta.present) return value;
  if (meta.storage != TARSIA_DENSE) {
    const bool is_csr = meta.storage == TARSIA_CSR;
    for (std::int64_t row = 0; row < meta.shape[0]; ++row)
      if (is_csr) {
        for (std::int64_t column = 0; column < meta.shape[1]; ++column)
          if (random() % 2) value.indices.push_back(column);
        value.indptr[static_cast<size_t>(row + 1)] = static_cast<std::int64_t>(value.indices.size());
      } else if (random() % 2) {
        value.indices.push_back(row);
      }
    const std::int64_t shape[] = {static_cast<std::int64_t>(value.indices.size()), unit_of(meta)};
    value.data.resize(bytes_of(shape, 2, meta.dtype));
  }
  const bool real = is_real(meta.dtype) || meta.dtype.code == TARSIA_COMPLEX;
  for (std::int64_t i = 0, n = count_numbers(value); i < n; ++i) {
    const double magnitude = 0.1 + static_cast<double>(random() % 100000) / 100000;
    set_number(value, i, !real ? static_cast<double>(random() % 2) : random() % 2 ? magnitude : -magnitude);
  }
  return value;
}

CheckValue sum_of(const CheckValue& a, const CheckValue& b) {
  CheckValue sum = a;
  for (std::int64_t i = 0, n = count_numbers(a); i < n; ++i)
    set_number(sum, i, get_number(a, i) + get_number(b, i));
  return sum;
}

CheckValue dense_of(const CheckValue& value) {
  if (value.meta.storage == TARSIA_DENSE) return value;
  tarsia_meta meta = value.meta;
  meta.storage = TARSIA_DENSE;
  CheckValue dense = filled_value(meta, 0);
  const std::int64_t unit = unit_of(value.meta), scalars = scalars_of(meta.dtype);
  std::int64_t row = 0;
  for (size_t k = 0; k < value.indices.size(); ++k) {
    std::int64_t place = value.indices[k];
    if (value.meta.storage == TARSIA_CSR) {
      while (row < meta.shape[0] &&
             value.indptr[static_cast<size_t>(row + 1)] <= static_cast<std::int64_t>(k))
        ++row;
      place += row * meta.shape[1];
    }
    for (std::int64_t i = 0; i < unit * scalars; ++i) {
      const std::int64_t to = place * unit * scalars + i;
      if (to < 0 || to >= count_numbers(dense)) continue;  // reported elsewhere
      set_number(
          dense, to,
          get_number(dense, to) + get_number(value, static_cast<std::int64_t>(k) * unit * scalars + i));
    }
  }
  return dense;
}

namespace {

CheckValue relaid(CheckValue value, const std::int64_t* to, const std::int64_t* from) {
  if (value.meta.storage != TARSIA_DENSE || (!to && !from)) return value;
  const std::vector<unsigned char> before = value.data;
  const auto tensor = [&](const void* data, const std::int64_t* strides) {
    tarsia_tensor one{};
    one.data = const_cast<void*>(data);
    one.device = {TARSIA_CPU, 0};
    one.ndim = value.meta.ndim;
    one.dtype = value.meta.dtype;
    one.shape = value.meta.shape;
    one.strides = const_cast<std::int64_t*>(strides);
    return one;
  };
  if (!before.empty()) relayout(tensor(value.data.data(), to), tensor(before.data(), from), nullptr);
  return value;
}

}  // namespace

CheckValue laid_out(CheckValue value, const std::int64_t* strides) {
  return relaid(std::move(value), strides, nullptr);
}

CheckValue row_major(CheckValue value, const std::int64_t* strides) {
  return relaid(std::move(value), nullptr, strides);
}

namespace {

/// Where they differ and `are_alike(x, y)` does not hold, or "".
template <class Alike>
std::string difference_but(const CheckValue& a, const CheckValue& b, Alike are_alike) {
  if (a.indices != b.indices || a.indptr != b.indptr) return "the indices differ";
  if (a.data.size() != b.data.size()) return "the sizes differ";
  if (a.data == b.data) return "";
  const std::int64_t n = count_numbers(a);
  std::int64_t differing = 0, first = 0;
  const size_t bytes = scalar_bytes(a.meta.dtype);
  for (std::int64_t i = 0; i < n; ++i) {
    const size_t at = static_cast<size_t>(i) * bytes;
    if (std::memcmp(a.data.data() + at, b.data.data() + at, bytes) == 0) continue;
    if (are_alike(get_number(a, i), get_number(b, i))) continue;
    if (!differing++) first = i;
  }
  if (!differing) return "";
  return place_of(a, first) + " is " + text_of(get_number(a, first)) + " and " +
         text_of(get_number(b, first)) +
         (differing > 1 ? ", and " + std::to_string(differing - 1) + " more differ" : "");
}

bool has_reals(tarsia_dtype dtype) {
  return is_real(dtype) || dtype.code == TARSIA_COMPLEX;
}

}  // namespace

std::string difference(const CheckValue& a, const CheckValue& b, double tolerance) {
  return difference_but(a, b, [&](double x, double y) {
    return tolerance > 0 &&
           (std::fabs(x - y) <= tolerance * (1 + std::fabs(y)) || (std::isnan(x) && std::isnan(y)));
  });
}

double magnitude_of(const CheckValue& value) {
  double largest = 0;
  if (!has_reals(value.meta.dtype)) return largest;
  for (std::int64_t i = 0, n = count_numbers(value); i < n; ++i)
    if (const double number = std::fabs(get_number(value, i)); std::isfinite(number))
      largest = std::max(largest, number);
  return largest;
}

std::string difference_beyond_rounding(const CheckValue& a, const CheckValue& b, double magnitude) {
  const double most = rounding_of(a.meta.dtype) * std::max({magnitude, magnitude_of(a), magnitude_of(b)});
  return difference_but(a, b, [&](double x, double y) { return std::fabs(x - y) <= most && most > 0; });
}

double rounding_of(tarsia_dtype dtype) {
  if (!has_reals(dtype)) return 0;
  const int bits = scalar_of(dtype).bits;
  const int digits = bits == 64 ? 52 : bits == 32 ? 23 : dtype.code == TARSIA_BFLOAT ? 7 : 10;
  return std::min(16 * std::ldexp(1., -digits), tolerance_of(dtype));
}

double tolerance_of(tarsia_dtype dtype) {
  if (dtype.code == TARSIA_BFLOAT) return 3e-2;
  if (!has_reals(dtype)) return 0;
  const int bits = scalar_of(dtype).bits;
  return bits == 64 ? 1e-9 : bits == 32 ? 1e-4 : 1e-2;
}

}  // namespace tarsia::registry
