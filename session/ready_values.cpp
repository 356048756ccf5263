// Tensors of sessions, by way of the CPU.
#include "session/ready_values.h"

#include <tarsia/detail/argument_rules.h>
#include <tarsia/detail/names.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "registry/check/check_values.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

namespace tarsia::session {
namespace {

using registry::CheckValue;

constexpr std::int64_t k_whole = 1000;  ///< elements up to which all are shown
constexpr std::int64_t k_edge = 3;      ///< elements at each end of a long dimension

tarsia_device device_of(std::string_view name) {
  if (const std::optional<tarsia_device> device = detail::device_named(name)) return *device;
  throw ArgumentError::value_error("'" + std::string(name) + "' is no device: 'cpu', 'gpu' or 'gpu:1'");
}

tarsia_meta meta_of(const tarsia_tensor& tensor) {
  tarsia_meta meta{};
  meta.ndim = tensor.ndim;
  meta.dtype = tensor.dtype;
  if (tensor.ndim > std::int32_t(std::size(meta.shape)))
    throw ArgumentError::value_error("the tensor has " + std::to_string(tensor.ndim) +
                                     " dimensions, which are too many");
  std::copy_n(tensor.shape, tensor.ndim, meta.shape);
  return meta;
}

void require_numbers(tarsia_dtype dtype) {
  const bool known = dtype.lanes == 1 &&
                     (dtype.code == TARSIA_BOOL || dtype.code == TARSIA_INT || dtype.code == TARSIA_UINT ||
                      dtype.code == TARSIA_FLOAT || dtype.code == TARSIA_BFLOAT);
  if (!known || dtype.bits < 8)
    throw ArgumentError::type_error("a tensor of " + detail::dtype_name(dtype) +
                                    " has no single numbers as elements");
}

tarsia_tensor view_of(CheckValue& value, std::vector<std::int64_t>& shape) {
  shape.assign(value.meta.shape, value.meta.shape + value.meta.ndim);
  tarsia_tensor view{};
  view.data = value.data.data();
  view.device = {TARSIA_CPU, 0};
  view.ndim = value.meta.ndim;
  view.dtype = value.meta.dtype;
  view.shape = shape.data();
  return view;
}

void* stream_for(const tarsia_tensor& tensor) {
  return registry::is_gpu(tensor.device) ? registry::current_stream(tensor.device.id) : nullptr;
}

/// The elements in row-major order, on the CPU.
CheckValue read(const tarsia_tensor& tensor) {
  CheckValue value;
  value.meta = meta_of(tensor);
  const std::size_t size = (std::size_t(tensor.dtype.bits) * tensor.dtype.lanes + 7) / 8;
  const std::int64_t n = arguments::element_count(tensor);
  value.data.resize(std::size_t(n) * size);
  if (registry::is_contiguous(tensor)) {
    std::vector<std::int64_t> shape;
    if (n > 0) registry::copy(view_of(value, shape), tensor, stream_for(tensor));
    return value;
  }
  if (registry::is_gpu(tensor.device))
    throw ArgumentError::value_error("a strided tensor on a GPU cannot be read here: pass x.contiguous()");
  std::vector<std::int64_t> at(std::size_t(tensor.ndim), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t offset = 0;
    for (std::int32_t d = 0; d < tensor.ndim; ++d) offset += at[std::size_t(d)] * tensor.strides[d];
    std::memcpy(&value.data[std::size_t(i) * size],
                static_cast<const char*>(registry::data_of(tensor)) + offset * std::int64_t(size), size);
    for (std::int32_t d = tensor.ndim - 1; d >= 0 && ++at[std::size_t(d)] == tensor.shape[d]; --d)
      at[std::size_t(d)] = 0;
  }
  return value;
}

void write(const tarsia_tensor& tensor, CheckValue& value) {
  if (!registry::is_contiguous(tensor))
    throw ArgumentError::value_error("a strided tensor cannot be filled: fill a contiguous one");
  std::vector<std::int64_t> shape;
  if (arguments::element_count(tensor) > 0) registry::copy(tensor, view_of(value, shape), stream_for(tensor));
}

std::string number_text(const CheckValue& value, std::int64_t i) {
  const tarsia_dtype dtype = value.meta.dtype;
  if (dtype.code == TARSIA_BOOL) return value.data[std::size_t(i)] ? "true" : "false";
  char text[64];
  const auto shown = [&](auto number) {
    const auto end = std::to_chars(text, text + sizeof text, number);
    return std::string(text, end.ptr);
  };
  if (dtype.code == TARSIA_INT && dtype.bits == 64) {
    std::int64_t number;
    std::memcpy(&number, &value.data[std::size_t(i) * 8], 8);
    return shown(number);
  }
  if (dtype.code == TARSIA_UINT && dtype.bits == 64) {
    std::uint64_t number;
    std::memcpy(&number, &value.data[std::size_t(i) * 8], 8);
    return shown(number);
  }
  const auto one = [&](std::int64_t at) {
    const double number = registry::get_number(value, at);
    if (dtype.code == TARSIA_INT || dtype.code == TARSIA_UINT) return shown(std::int64_t(number));
    if (std::isnan(number)) return std::string("nan");
    if (std::isinf(number)) return std::string(number < 0 ? "-inf" : "inf");
    // Six digits are enough to look at.
    const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6);
    return std::string(text, end.ptr);
  };
  if (registry::scalars_of(dtype) == 2) {
    const std::string imaginary = one(2 * i + 1);
    return one(2 * i) + (imaginary.starts_with("-") ? "" : "+") + imaginary + "i";
  }
  return one(i);
}

void put_dimension(const CheckValue& value, std::int32_t d, std::int64_t first, std::int64_t n, bool whole,
                   int indent, std::string& text) {
  if (d == value.meta.ndim) {
    text += number_text(value, first);
    return;
  }
  const std::int64_t extent = value.meta.shape[d];
  const std::int64_t step = extent > 0 ? n / extent : 0;
  const bool last = d + 1 == value.meta.ndim;
  text += "{";
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i > 0) text += last ? ", " : ",\n" + std::string(std::size_t(indent + 1), ' ');
    if (!whole && extent > 2 * k_edge && i == k_edge) {
      text += "…";
      i = extent - k_edge - 1;
      continue;
    }
    put_dimension(value, d + 1, first + i * step, step, whole, indent + 1, text);
  }
  text += "}";
}

}  // namespace

std::string describe_tensor(const tarsia_tensor& tensor) {
  std::string text = detail::dtype_name(tensor.dtype) + "[";
  for (std::int32_t i = 0; i < tensor.ndim; ++i)
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
  text += "] ";
  text += detail::device_name(tensor.device);
  if (tensor.dtype.lanes != 1 || tensor.dtype.bits < 8) return text;
  const CheckValue value = read(tensor);
  const std::int64_t n = arguments::element_count(tensor);
  if (n == 0) return text + " {}";
  text += tensor.ndim > 1 ? "\n" : " ";
  put_dimension(value, 0, 0, n, n <= k_whole, 0, text);
  return text;
}

tarsia_storage* cell_empty(const long* shape, unsigned long n, tarsia_dtype dtype, const char* device) {
  std::vector<std::int64_t> extents(shape, shape + n);
  for (const std::int64_t extent : extents)
    if (extent < 0)
      throw ArgumentError::value_error("an extent of " + std::to_string(extent) + " is negative");
  return registry::make_tensor(extents.data(), std::int32_t(n), dtype, device_of(device));
}

void cell_fill(const tarsia_tensor* tensor, int how, double a, double b) {
  require_numbers(tensor->dtype);
  CheckValue value;
  value.meta = meta_of(*tensor);
  const std::int64_t n = arguments::element_count(*tensor);
  value.data.resize(std::size_t(n) * (tensor->dtype.bits / 8));
  const auto fill = [&](const auto& number) {
    for (std::int64_t i = 0; i < n; ++i) registry::set_number(value, i, number(i));
  };
  if (how == 0) fill([&](std::int64_t) { return a; });
  if (how == 1) fill([&](std::int64_t i) { return a + double(i) * b; });
  if (how >= 2) {
    const registry::RandomRange range = registry::reserve_random({TARSIA_CPU, 0}, std::uint64_t(n));
    std::seed_seq seeds{std::uint32_t(range.seed), std::uint32_t(range.seed >> 32),
                        std::uint32_t(range.offset), std::uint32_t(range.offset >> 32)};
    std::mt19937_64 random(seeds);
    std::normal_distribution<double> normal(a, b);
    std::uniform_real_distribution<double> uniform(a, how == 3 ? b : a);
    if (how == 2) fill([&](std::int64_t) { return normal(random); });
    if (how == 3) fill([&](std::int64_t) { return uniform(random); });
  }
  write(*tensor, value);
}

int cell_allclose(const tarsia_tensor* x, const tarsia_tensor* y, double rtol, double atol) {
  const bool agree = x->ndim == y->ndim && std::equal(x->shape, x->shape + x->ndim, y->shape);
  if (!agree) throw ArgumentError::value_error("allclose: the shapes differ");
  require_numbers(x->dtype);
  require_numbers(y->dtype);
  const CheckValue a = read(*x), b = read(*y);
  for (std::int64_t i = 0; i < arguments::element_count(*x); ++i) {
    const double one = registry::get_number(a, i), other = registry::get_number(b, i);
    if (one == other) continue;
    if (!(std::abs(one - other) <= atol + rtol * std::abs(other))) return 0;
  }
  return 1;
}

namespace {

constexpr std::string_view k_npy_magic("\x93NUMPY", 6);
constexpr std::uint64_t k_max_npy = std::uint64_t{16} << 30;

/// "<f4" and the like. Throws Unsupported.
std::string npy_dtype(tarsia_dtype dtype) {
  const char* letter = dtype.code == TARSIA_BOOL      ? "|b"
                       : dtype.code == TARSIA_INT     ? "<i"
                       : dtype.code == TARSIA_UINT    ? "<u"
                       : dtype.code == TARSIA_FLOAT   ? "<f"
                       : dtype.code == TARSIA_COMPLEX ? "<c"
                                                      : nullptr;
  if (!letter || dtype.lanes != 1 || dtype.bits < 8)
    throw Unsupported(".npy files have no " + detail::dtype_name(dtype) + ": convert the tensor");
  return letter + std::to_string(dtype.bits / 8);
}

tarsia_dtype dtype_of_npy(std::string_view text, const std::string& path) {
  const std::string_view orders = "<|=";
  const std::string_view letters = "biufc";
  constexpr std::uint8_t k_codes[] = {TARSIA_BOOL, TARSIA_INT, TARSIA_UINT, TARSIA_FLOAT, TARSIA_COMPLEX};
  int bytes = 0;
  if (text.size() >= 3) std::from_chars(text.data() + 2, text.data() + text.size(), bytes);
  const std::size_t letter = text.size() >= 3 ? letters.find(text[1]) : letters.npos;
  if (text.size() < 3 || orders.find(text[0]) == orders.npos || letter == letters.npos || bytes < 1 ||
      bytes > 16)
    throw Unsupported(path + " holds elements of '" + std::string(text) +
                      "': little-endian bools, integers, floats and complex numbers can be read");
  return {k_codes[letter], std::uint8_t(bytes * 8), 1};
}

/// What stands behind 'key': in the header, which is the text of a dict of Python.
std::string_view header_value(std::string_view header, std::string_view key) {
  const std::size_t at = header.find("'" + std::string(key) + "'");
  if (at == header.npos) return {};
  std::string_view rest = header.substr(header.find(':', at) + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

}  // namespace

tarsia_storage* cell_load_npy(const char* path, const char* device) {
  std::string bytes;
  if (const int error = read_file(path, bytes, k_max_npy))
    throw Error(errno_message("cannot read " + std::string(path), error));
  const auto damaged = [&]() -> Error {
    return Error(std::string(path) + " is no .npy file, or is damaged");
  };
  if (bytes.size() < 12 || !std::string_view(bytes).starts_with(k_npy_magic)) throw damaged();
  const auto byte = [&](std::size_t i) { return std::size_t(static_cast<unsigned char>(bytes[i])); };
  const int version = int(byte(6));
  const std::size_t header_at = version == 1 ? 10 : 12;
  std::size_t header_size = byte(8) | byte(9) << 8;
  if (version > 1) header_size |= byte(10) << 16 | byte(11) << 24;
  if (version < 1 || version > 3 || header_at + header_size > bytes.size()) throw damaged();
  const std::string_view header = std::string_view(bytes).substr(header_at, header_size);
  const std::string_view descr = header_value(header, "descr"), order = header_value(header, "fortran_order"),
                         shape = header_value(header, "shape");
  if (!descr.starts_with('\'') || !shape.starts_with('(')) throw damaged();
  const tarsia_dtype dtype = dtype_of_npy(descr.substr(1, descr.find('\'', 1) - 1), path);
  std::vector<long> extents;
  std::string_view rest = shape.substr(1, std::min(shape.find(')'), shape.size()) - 1);
  while (!rest.empty()) {
    long extent = 0;
    const std::size_t digit = rest.find_first_of("0123456789");
    if (digit == rest.npos) break;
    const auto end = std::from_chars(rest.data() + digit, rest.data() + rest.size(), extent);
    if (end.ec != std::errc()) throw damaged();
    extents.push_back(extent);
    rest.remove_prefix(std::size_t(end.ptr - rest.data()));
  }
  if (order.starts_with("True") && extents.size() > 1)
    throw Unsupported(std::string(path) +
                      " holds its elements in Fortran's order: save numpy.ascontiguousarray(x)");
  const std::uint64_t size = registry::bytes_of(
      std::vector<std::int64_t>(extents.begin(), extents.end()).data(), std::int32_t(extents.size()), dtype);
  if (size > bytes.size() - header_at - header_size) throw damaged();
  tarsia_storage* storage = cell_empty(extents.data(), extents.size(), dtype, device);
  try {
    std::vector<std::int64_t> dims(extents.begin(), extents.end());
    tarsia_tensor from{};
    from.data = bytes.data() + header_at + header_size;
    from.device = {TARSIA_CPU, 0};
    from.ndim = std::int32_t(dims.size());
    from.dtype = dtype;
    from.shape = dims.data();
    if (size > 0) registry::copy(*storage->tensor, from, stream_for(*storage->tensor));
  } catch (...) {
    registry::release(storage);
    throw;
  }
  return storage;
}

std::string npy_of(const tarsia_tensor& tensor) {
  std::string header = "{'descr': '" + npy_dtype(tensor.dtype) + "', 'fortran_order': False, 'shape': (";
  for (std::int32_t i = 0; i < tensor.ndim; ++i)
    header += std::to_string(tensor.shape[i]) + (tensor.ndim == 1 || i + 1 < tensor.ndim ? "," : "");
  header += "), }";
  constexpr std::size_t k_before = 10;  // magic, version, size
  header.append(63 - (k_before + header.size()) % 64, ' ');
  header += '\n';
  const CheckValue value = read(tensor);
  std::string bytes(k_npy_magic);
  bytes += '\x01';
  bytes += '\0';
  bytes += char(header.size() & 0xff);
  bytes += char(header.size() >> 8);
  bytes += header;
  bytes.append(value.data.begin(), value.data.end());
  return bytes;
}

void cell_save_npy(const char* path, const tarsia_tensor* tensor) {
  write_file(path, npy_of(*tensor));
}

namespace {

/// Height, width and channels of an image; no channels: it is none.
struct Extents {
  std::int64_t height = 0, width = 0, channels = 0;
};

Extents image_extents(const tarsia_tensor& tensor) {
  const auto is_channels = [](std::int64_t n) { return n == 1 || n == 3 || n == 4; };
  const std::int64_t* shape = tensor.shape;
  if (arguments::element_count(tensor) == 0) return {};
  if (tensor.ndim == 2) return {shape[0], shape[1], 1};
  if (tensor.ndim != 3) return {};
  if (is_channels(shape[2])) return {shape[0], shape[1], shape[2]};
  return is_channels(shape[0]) ? Extents{shape[1], shape[2], shape[0]} : Extents{};
}

}  // namespace

void cell_check_image(const tarsia_tensor* tensor) {
  if (!tensor) throw ArgumentError::value_error("no tensor is no image");
  const tarsia_dtype dtype = tensor->dtype;
  const bool is_shown = dtype.lanes == 1 && ((dtype.code == TARSIA_UINT && dtype.bits == 8) ||
                                             dtype.code == TARSIA_BOOL || dtype.code == TARSIA_FLOAT);
  if (image_extents(*tensor).channels == 0) {
    std::string shape;
    for (std::int32_t i = 0; i < tensor->ndim; ++i)
      shape += (i > 0 ? ", " : "") + std::to_string(tensor->shape[i]);
    throw ArgumentError::value_error("a tensor of shape [" + shape +
                                     "] is no image: H x W, H x W x C or C x H x W is, with 1, 3 or 4 "
                                     "channels C");
  }
  if (!is_shown || dtype.bits < 8)
    throw ArgumentError::value_error("a tensor of " + detail::dtype_name(dtype) +
                                     " is no image: elements are uint8, bool, or floats from 0 to 1");
}

std::string describe_image(const tarsia_tensor& tensor) {
  const Extents extents = image_extents(tensor);
  return "image, " + std::to_string(extents.width) + " x " + std::to_string(extents.height) + ", " +
         (extents.channels == 1   ? "grey"
          : extents.channels == 3 ? "RGB"
                                  : "RGBA");
}

}  // namespace tarsia::session
