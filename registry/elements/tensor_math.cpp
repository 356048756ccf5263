// Adds tensors. The GPU's kernels are a page of PTX that the driver compiles on first use: libtarsia has no
// device compiler, and may run where there is none.
#include "registry/elements/tensor_math.h"

#include <tarsia/detail/small_float_elements.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

template <class T>
void add_cpu(void* to, const void* from, std::int64_t n) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(out[i] + in[i]);
}

/// How a dtype is added: on the CPU, and the body of the PTX loop, which has the addresses in %a and %b.
struct Sum {
  void (*cpu)(void*, const void*, std::int64_t);
  int bytes;
  const char* ptx;
};

constexpr const char* k_ptx_f32 =
    "ld.global.f32 %f1,[%a]; ld.global.f32 %f2,[%b]; add.f32 %f1,%f1,%f2; st.global.f32 [%a],%f1;";
constexpr const char* k_ptx_f64 =
    "ld.global.f64 %d1,[%a]; ld.global.f64 %d2,[%b]; add.f64 %d1,%d1,%d2; st.global.f64 [%a],%d1;";
constexpr const char* k_ptx_f16 =
    "ld.global.b16 %h1,[%a]; ld.global.b16 %h2,[%b]; cvt.f32.f16 %f1,%h1; cvt.f32.f16 %f2,%h2; add.f32 "
    "%f1,%f1,%f2;"
    "cvt.rn.f16.f32 %h1,%f1; st.global.b16 [%a],%h1;";
constexpr const char* k_ptx_bf16 =
    "ld.global.u16 %w1,[%a]; ld.global.u16 %w2,[%b]; shl.b32 %w1,%w1,16; shl.b32 %w2,%w2,16; mov.b32 "
    "%f1,%w1; mov.b32 %f2,%w2;"
    "add.f32 %f1,%f1,%f2; mov.b32 %w1,%f1; shr.u32 %w2,%w1,16; and.b32 %w3,%w2,1; add.u32 %w3,%w3,32767; "
    "add.u32 %w3,%w1,%w3;"
    "shr.u32 %w3,%w3,16; or.b32 %w2,%w2,64; abs.f32 %f1,%f1; setp.nan.f32 %q,%f1,%f1; selp.b32 "
    "%w1,%w2,%w3,%q; st.global.u16 [%a],%w1;";
constexpr const char* k_ptx_8 =
    "ld.global.u8 %w1,[%a]; ld.global.u8 %w2,[%b]; add.u32 %w1,%w1,%w2; st.global.u8 [%a],%w1;";
constexpr const char* k_ptx_16 =
    "ld.global.u16 %w1,[%a]; ld.global.u16 %w2,[%b]; add.u32 %w1,%w1,%w2; st.global.u16 [%a],%w1;";
constexpr const char* k_ptx_32 =
    "ld.global.u32 %w1,[%a]; ld.global.u32 %w2,[%b]; add.u32 %w1,%w1,%w2; st.global.u32 [%a],%w1;";
constexpr const char* k_ptx_64 =
    "ld.global.u64 %l1,[%a]; ld.global.u64 %l2,[%b]; add.u64 %l1,%l1,%l2; st.global.u64 [%a],%l1;";

Sum sum_of(tarsia_dtype dtype) {
  switch (dtype.code << 8 | dtype.bits) {
    case TARSIA_FLOAT << 8 | 32:
      return {&add_cpu<float>, 4, k_ptx_f32};
    case TARSIA_FLOAT << 8 | 64:
      return {&add_cpu<double>, 8, k_ptx_f64};
    case TARSIA_FLOAT << 8 | 16:
      return {&add_cpu<half_element>, 2, k_ptx_f16};
    case TARSIA_BFLOAT << 8 | 16:
      return {&add_cpu<bfloat_element>, 2, k_ptx_bf16};
    case TARSIA_INT << 8 | 8:
    case TARSIA_UINT << 8 | 8:
      return {&add_cpu<std::uint8_t>, 1, k_ptx_8};
    case TARSIA_INT << 8 | 16:
    case TARSIA_UINT << 8 | 16:
      return {&add_cpu<std::uint16_t>, 2, k_ptx_16};
    case TARSIA_INT << 8 | 32:
    case TARSIA_UINT << 8 | 32:
      return {&add_cpu<std::uint32_t>, 4, k_ptx_32};
    case TARSIA_INT << 8 | 64:
    case TARSIA_UINT << 8 | 64:
      return {&add_cpu<std::uint64_t>, 8, k_ptx_64};
    // Complex numbers are pairs of reals.
    case TARSIA_COMPLEX << 8 | 64:
      return {&add_cpu<float>, 4, k_ptx_f32};
    case TARSIA_COMPLEX << 8 | 128:
      return {&add_cpu<double>, 8, k_ptx_f64};
    default:
      throw Unsupported("tensors of this dtype cannot be added: the request \"add\" needs a number");
  }
}

/// A grid-stride loop over n elements: to[i] += from[i].
std::string ptx_of(const Sum& sum) {
  const std::string bytes = std::to_string(sum.bytes);
  return ".version 6.4\n.target sm_60\n.address_size 64\n"
         ".visible .entry tarsia_add(.param .u64 p_to, .param .u64 p_from, .param .u64 p_n) {\n"
         ".reg .b64 %to,%from,%n,%i,%step,%o; .reg .b32 %t,%c; .reg .pred %p;\n" +
         std::string(k_sum_registers) +
         "ld.param.u64 %to,[p_to]; ld.param.u64 %from,[p_from]; ld.param.u64 %n,[p_n];\n"
         "mov.u32 %c,%ntid.x; mov.u32 %t,%ctaid.x; mul.wide.u32 %i,%t,%c; mov.u32 %t,%tid.x; cvt.u64.u32 "
         "%o,%t; add.u64 %i,%i,%o;\n"
         "mov.u32 %t,%nctaid.x; mul.wide.u32 %step,%t,%c;\n"
         "LOOP: setp.ge.u64 %p,%i,%n; @%p bra DONE;\n"
         "mul.lo.u64 %o,%i," +
         bytes + "; add.u64 %a,%to,%o; add.u64 %b,%from,%o;\n" + sum.ptx +
         "\nadd.u64 %i,%i,%step; bra LOOP;\nDONE: ret;\n}\n";
}

}  // namespace

const char* const k_sum_registers =
    ".reg .b64 %a,%b,%l1,%l2; .reg .b32 %w1,%w2,%w3; .reg .b16 %h1,%h2; .reg .f32 %f1,%f2; .reg .f64 "
    "%d1,%d2; "
    ".reg .pred %q;\n";

UnitSum unit_sum(tarsia_dtype dtype) {
  const Sum sum = sum_of(dtype);
  return {sum.bytes, sum.ptx};
}

CuFunction ptx_function(int device, const std::string& ptx, const char* entry) {
  static std::mutex s_mutex;
  static auto& functions = *new std::map<std::pair<int, std::string>, CuFunction>();
  std::lock_guard lock(s_mutex);
  CuFunction& function = functions[{device, ptx}];
  if (function) return function;
  CuModule module = nullptr;  // kept as long as the context
  check_cuda(cuda_driver().cuModuleLoadData(&module, ptx.c_str()), "cuModuleLoadData");
  check_cuda(cuda_driver().cuModuleGetFunction(&function, module, entry), "cuModuleGetFunction");
  return function;
}

double load_float(tarsia_dtype dtype, const void* from) {
  double number = 0;
  float narrow = 0;
  std::uint16_t bits = 0;
  if (dtype.bits == 64)
    std::memcpy(&number, from, sizeof(number));
  else if (dtype.bits == 32)
    std::memcpy(&narrow, from, sizeof(narrow)), number = narrow;
  else
    std::memcpy(&bits, from, sizeof(bits)), number = dtype.code == TARSIA_BFLOAT
                                                         ? float(bfloat_element::of_bits(bits))
                                                         : float(half_element::of_bits(bits));
  return number;
}

void store_float(tarsia_dtype dtype, double number, void* to) {
  const float narrow = static_cast<float>(number);
  if (dtype.bits == 64) {
    std::memcpy(to, &number, sizeof(number));
  } else if (dtype.bits == 32) {
    std::memcpy(to, &narrow, sizeof(narrow));
  } else {
    const std::uint16_t bits =
        dtype.code == TARSIA_BFLOAT ? bfloat_element(narrow).bits : half_element(narrow).bits;
    std::memcpy(to, &bits, sizeof(bits));
  }
}

void add_elements(tarsia_dtype dtype, void* to, const void* from, std::int64_t n) {
  const Sum sum = sum_of(dtype);
  sum.cpu(to, from, n * (dtype.bits / 8 * std::max<int>(dtype.lanes, 1)) / sum.bytes);
}

void add_to(const tarsia_tensor& to, const tarsia_tensor& from, void* stream) {
  const Sum sum = sum_of(to.dtype);
  std::uint64_t n = bytes_of(to.shape, to.ndim, to.dtype) / static_cast<unsigned>(sum.bytes);
  if (!n) return;
  void *out = data_of(to), *in = data_of(from);
  if (!is_gpu(to.device)) {
    sum.cpu(out, in, static_cast<std::int64_t>(n));
    return;
  }
  constexpr unsigned k_threads = 256;
  const std::uint64_t blocks = std::min<std::uint64_t>((n + k_threads - 1) / k_threads, 65535);
  CudaDeviceScope scope(to.device.id);
  void* params[] = {&out, &in, &n};
  check_cuda(cuda_driver().cuLaunchKernel(ptx_function(to.device.id, ptx_of(sum), "tarsia_add"),
                                          static_cast<unsigned>(blocks), 1, 1, k_threads, 1, 1, 0,
                                          static_cast<CuStream>(stream), params, nullptr),
             "cuLaunchKernel");
}

}  // namespace tarsia::registry
