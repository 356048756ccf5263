// Axes that lie together in both tensors become one; then rows are copied, or small squares transposed, so
// that both sides use what a cache line brings. On a GPU a page of PTX does it, one element a thread.
#include "registry/elements/relayout.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "registry/elements/tensor_math.h"
#include "registry/resources/memory.h"
#include "registry/resources/parallel.h"

namespace tarsia::registry {

namespace {

/// An axis of both tensors; strides are in bytes.
struct Axis {
  std::int64_t extent, to, from;
};

/// What is copied: units of 1, 2, 4 or 8 bytes, over axes from the largest stride in `to` to the smallest.
struct Copy {
  std::vector<Axis> axes;
  std::int64_t unit = 1;
  char* to = nullptr;
  const char* from = nullptr;
};

std::vector<std::int64_t> strides_in_bytes(const tarsia_tensor& tensor, std::int64_t element) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(tensor.ndim));
  std::int64_t next = element;
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = tensor.strides ? tensor.strides[i] * element : next;
    next *= tensor.shape[i];
  }
  return strides;
}

Copy copy_of(const tarsia_tensor& to, const tarsia_tensor& from) {
  const std::int64_t element = bytes_of_element(to.dtype);
  const std::vector<std::int64_t> to_strides = strides_in_bytes(to, element),
                                  from_strides = strides_in_bytes(from, element);
  Copy copy;
  copy.to = static_cast<char*>(data_of(to));
  copy.from = static_cast<const char*>(data_of(from));
  while (copy.unit < 8 && element % (2 * copy.unit) == 0) copy.unit *= 2;
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < to_strides.size(); ++i)
    if (to.shape[i] != 1) axes.push_back({to.shape[i], to_strides[i], from_strides[i]});
  axes.push_back({element / copy.unit, copy.unit, copy.unit});
  std::ranges::stable_sort(axes, std::ranges::greater(), &Axis::to);
  for (const Axis& axis : axes) {
    if (!copy.axes.empty()) {
      Axis& outer = copy.axes.back();
      if (outer.to == axis.extent * axis.to && outer.from == axis.extent * axis.from) {
        outer = {outer.extent * axis.extent, axis.to, axis.from};
        continue;
      }
    }
    if (axis.extent != 1) copy.axes.push_back(axis);
  }
  if (copy.axes.empty()) copy.axes.push_back({1, copy.unit, copy.unit});
  return copy;
}

constexpr std::int64_t k_tile = 32;

/// A copy on the CPU, as blocks that threads may do in any order: of one axis, `across`, a tile each, of the
/// innermost all, and of the other axes one place.
struct Blocks {
  Copy copy;
  std::size_t across = 0;  ///< the axis along which `from` is read; the innermost one if both are the same
  std::vector<Axis> outer;
  std::int64_t n_tiles = 1;

  const Axis& inner() const { return copy.axes.back(); }
  bool is_rows() const { return across + 1 == copy.axes.size(); }

  template <class Unit>
  void transpose(char* to, const char* from, std::int64_t n_across) const {
    const Axis a = copy.axes[across], b = inner();
    for (std::int64_t j0 = 0; j0 < b.extent; j0 += k_tile) {
      const std::int64_t j1 = std::min(j0 + k_tile, b.extent);
      for (std::int64_t i = 0; i < n_across; ++i)
        for (std::int64_t j = j0; j < j1; ++j) {
          Unit unit;
          std::memcpy(&unit, from + i * a.from + j * b.from, sizeof unit);
          std::memcpy(to + i * a.to + j * b.to, &unit, sizeof unit);
        }
    }
  }

  void run(std::int64_t block) const {
    std::int64_t place = block / n_tiles;
    const std::int64_t tile = block % n_tiles;
    char* to = copy.to;
    const char* from = copy.from;
    for (std::size_t d = outer.size(); d-- > 0; place /= outer[d].extent) {
      to += place % outer[d].extent * outer[d].to;
      from += place % outer[d].extent * outer[d].from;
    }
    if (is_rows()) return row(to, from);
    const Axis a = copy.axes[across];
    to += tile * k_tile * a.to;
    from += tile * k_tile * a.from;
    const std::int64_t n = std::min(k_tile, a.extent - tile * k_tile);
    switch (copy.unit) {
      case 1:
        return transpose<std::uint8_t>(to, from, n);
      case 2:
        return transpose<std::uint16_t>(to, from, n);
      case 4:
        return transpose<std::uint32_t>(to, from, n);
      default:
        return transpose<std::uint64_t>(to, from, n);
    }
  }

  void row(char* to, const char* from) const {
    const Axis& b = inner();
    if (b.to == copy.unit && b.from == copy.unit) {
      std::memcpy(to, from, static_cast<std::size_t>(b.extent * copy.unit));
      return;
    }
    for (std::int64_t j = 0; j < b.extent; ++j)
      std::memcpy(to + j * b.to, from + j * b.from, static_cast<std::size_t>(copy.unit));
  }
};

void relayout_on_cpu(Copy copy, std::uint64_t bytes) {
  Blocks blocks{std::move(copy), {}, {}, 1};
  const std::vector<Axis>& axes = blocks.copy.axes;
  blocks.across = static_cast<std::size_t>(std::ranges::min_element(axes, {}, &Axis::from) - axes.begin());
  if (!blocks.is_rows()) blocks.n_tiles = (axes[blocks.across].extent + k_tile - 1) / k_tile;
  std::int64_t n = blocks.n_tiles;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d)
    if (d != blocks.across) {
      blocks.outer.push_back(axes[d]);
      n *= axes[d].extent;
    }
  constexpr std::uint64_t k_grain_bytes = 1 << 16;
  const auto grain = static_cast<std::int64_t>(std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(n) * k_grain_bytes / std::max<std::uint64_t>(bytes, 1)));
  parallel(
      n, grain,
      [](void* with, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) static_cast<const Blocks*>(with)->run(i);
      },
      &blocks);
}

/// A grid-stride loop over n units: the index of each is taken apart axis by axis, from the innermost.
std::string ptx_of(std::size_t n_axes, std::int64_t unit) {
  const std::string bits = std::to_string(8 * unit), type = unit == 1 ? "16" : bits;
  std::string text =
      ".version 6.4\n.target sm_60\n.address_size 64\n"
      ".visible .entry tarsia_relayout(.param .u64 p_to, .param .u64 p_from, .param .u64 p_n, .param .align "
      "8 "
      ".b8 p_axes[" +
      std::to_string(24 * n_axes) +
      "]) {\n.reg .b64 %to,%from,%n,%i,%step,%o,%a,%b,%e,%r,%s; .reg .b32 %t,%c; .reg .pred %p; .reg .b" +
      type +
      " %v;\nld.param.u64 %to,[p_to]; ld.param.u64 %from,[p_from]; ld.param.u64 %n,[p_n];\n"
      "mov.u32 %c,%ntid.x; mov.u32 %t,%ctaid.x; mul.wide.u32 %i,%t,%c; mov.u32 %t,%tid.x; cvt.u64.u32 %o,%t; "
      "add.u64 %i,%i,%o;\nmov.u32 %t,%nctaid.x; mul.wide.u32 %step,%t,%c;\n"
      "LOOP: setp.ge.u64 %p,%i,%n; @%p bra DONE;\nmov.u64 %o,%i; mov.u64 %a,%to; mov.u64 %b,%from;\n";
  for (std::size_t d = n_axes; d-- > 0;) {
    const auto field = [&](int k) { return "[p_axes+" + std::to_string(24 * d + 8u * unsigned(k)) + "]; "; };
    text += "ld.param.u64 %e," + field(0) + "rem.u64 %r,%o,%e; div.u64 %o,%o,%e; ld.param.u64 %s," +
            field(1) + "mad.lo.u64 %a,%r,%s,%a; ld.param.u64 %s," + field(2) + "mad.lo.u64 %b,%r,%s,%b;\n";
  }
  return text + "ld.global.u" + bits + " %v,[%b]; st.global.u" + bits +
         " [%a],%v; add.u64 %i,%i,%step; bra LOOP;\nDONE: ret;\n}\n";
}

void relayout_on_gpu(Copy copy, std::uint64_t bytes, int device, void* stream) {
  std::uint64_t n = bytes / static_cast<std::uint64_t>(copy.unit);
  constexpr unsigned k_threads = 256;
  const std::uint64_t blocks = std::min<std::uint64_t>((n + k_threads - 1) / k_threads, 65535);
  const CudaDeviceScope scope(device);
  void* params[] = {&copy.to, &copy.from, &n, copy.axes.data()};
  check_cuda(cuda_driver().cuLaunchKernel(
                 ptx_function(device, ptx_of(copy.axes.size(), copy.unit), "tarsia_relayout"),
                 static_cast<unsigned>(blocks), 1, 1, k_threads, 1, 1, 0, static_cast<CuStream>(stream),
                 params, nullptr),
             "cuLaunchKernel");
}

}  // namespace

void relayout(const tarsia_tensor& to, const tarsia_tensor& from, void* stream) {
  const std::uint64_t bytes = bytes_of(to.shape, to.ndim, to.dtype);
  if (!bytes) return;
  if (is_gpu(to.device))
    relayout_on_gpu(copy_of(to, from), bytes, to.device.id, stream);
  else
    relayout_on_cpu(copy_of(to, from), bytes);
}

}  // namespace tarsia::registry
