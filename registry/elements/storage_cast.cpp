// On the CPU by loops. On a GPU, dense tensors are made by pages of PTX, as tensor_math.cpp adds; the size of
// a sparse tensor depends on the data, so these are made on the CPU.
#include "registry/elements/storage_cast.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "registry/elements/sparse.h"
#include "registry/elements/tensor_math.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

/// The number of elements of a row.
std::int64_t row_elements(const tarsia_tensor& tensor) {
  std::int64_t n = 1;
  for (int i = 1; i < tensor.ndim; ++i) n *= tensor.shape[i];
  return n;
}

bool has_sum(tarsia_dtype dtype) {
  return dtype.code != TARSIA_BOOL;
}

[[noreturn]] void refuse_index(const char* what, std::int64_t index, std::int64_t n) {
  throw ArgumentError::value_error(std::string("a sparse tensor has the ") + what + " " +
                                   std::to_string(index) + ", and there are " + std::to_string(n));
}

void make_dense_on_cpu(const tarsia_tensor& to, const tarsia_sparse& from, bool is_csr) {
  char* out = static_cast<char*>(data_of(to));
  const auto* values = static_cast<const char*>(data_of(from.values));
  const auto* indices = static_cast<const std::int64_t*>(data_of(from.indices));
  const std::int64_t n = part_size(from.indices), rows = to.shape[0], columns = row_elements(to);
  const std::int64_t bytes = bytes_of_element(to.dtype);
  const std::uint64_t all = bytes_of(to.shape, to.ndim, to.dtype);
  if (all) std::memset(out, 0, all);
  if (!n) return;
  if (!is_csr) {
    const std::int64_t unit = columns * bytes;
    for (std::int64_t k = 0; k < n; ++k) {
      if (indices[k] < 0 || indices[k] >= rows) refuse_index("row", indices[k], rows);
      std::memcpy(out + indices[k] * unit, values + k * unit, static_cast<size_t>(unit));
    }
    return;
  }
  const auto* indptr = static_cast<const std::int64_t*>(data_of(from.indptr));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (indptr[row] < 0 || indptr[row + 1] > n) refuse_index("element", indptr[row + 1], n);
    std::int64_t last = -1;  // as long as columns increase, none is there twice
    for (std::int64_t k = indptr[row]; k < indptr[row + 1]; ++k) {
      const std::int64_t column = indices[k];
      if (column < 0 || column >= columns) refuse_index("column", column, columns);
      char* place = out + (row * columns + column) * bytes;
      if (column <= last && has_sum(to.dtype))
        add_elements(to.dtype, place, values + k * bytes, 1);
      else
        std::memcpy(place, values + k * bytes, static_cast<size_t>(bytes));
      last = std::max(last, column);
    }
  }
}

constexpr const char* k_head = ".version 6.4\n.target sm_60\n.address_size 64\n";
/// %i is the thread's first number, %step the number of threads.
constexpr const char* k_begin =
    "mov.u32 %c,%ntid.x; mov.u32 %t,%ctaid.x; mul.wide.u32 %i,%t,%c; mov.u32 %t,%tid.x; cvt.u64.u32 %o,%t; "
    "add.u64 %i,%i,%o;\nmov.u32 %t,%nctaid.x; mul.wide.u32 %step,%t,%c;\n";

/// One thread makes a row: zeros, and then what is stored, unit by unit.
std::string csr_ptx(int unit, const std::string& add) {
  const std::string bytes = std::to_string(unit), bits = std::to_string(8 * unit);
  return k_head +
         std::string(
             ".visible .entry tarsia_csr_to_dense(.param .u64 p_to, .param .u64 p_values, .param .u64 "
             "p_indices, "
             ".param .u64 p_indptr, .param .u64 p_rows, .param .u64 p_columns, .param .u64 p_units) {\n"
             ".reg .b64 "
             "%to,%values,%indices,%indptr,%rows,%columns,%units,%i,%step,%o,%row,%end,%k,%last,%j,%e;\n"
             ".reg .b32 %t,%c; .reg .pred %p; .reg .b") +
         (unit == 1 ? "16" : bits) + " %zero;\n" + k_sum_registers +
         "ld.param.u64 %to,[p_to]; ld.param.u64 %values,[p_values]; ld.param.u64 %indices,[p_indices]; "
         "ld.param.u64 %indptr,[p_indptr]; ld.param.u64 %rows,[p_rows]; ld.param.u64 %columns,[p_columns]; "
         "ld.param.u64 %units,[p_units];\n" +
         k_begin + "mov.b" + (unit == 1 ? "16" : bits) + " %zero,0;\n" +
         "ROWS: setp.ge.u64 %p,%i,%rows; @%p bra DONE;\n"
         "mul.lo.u64 %o,%columns,%units; mul.lo.u64 %o,%o," +
         bytes + "; mul.lo.u64 %row,%i,%o; add.u64 %row,%row,%to; add.u64 %end,%row,%o; mov.u64 %a,%row;\n" +
         "ZEROS: setp.ge.u64 %p,%a,%end; @%p bra STORED; st.global.u" + bits + " [%a],%zero; add.u64 %a,%a," +
         bytes +
         "; bra ZEROS;\n"
         "STORED: shl.b64 %o,%i,3; add.u64 %o,%o,%indptr; ld.global.u64 %k,[%o]; ld.global.u64 "
         "%last,[%o+8];\n"
         "ELEMENTS: setp.ge.s64 %p,%k,%last; @%p bra NEXT;\n"
         "shl.b64 %o,%k,3; add.u64 %o,%o,%indices; ld.global.u64 %e,[%o]; setp.ge.u64 %p,%e,%columns; @%p "
         "bra "
         "SKIP;\n"
         "mov.u64 %j,0; mul.lo.u64 %e,%e,%units; mul.lo.u64 %o,%k,%units;\n"
         "UNITS: setp.ge.u64 %p,%j,%units; @%p bra SKIP;\n"
         "add.u64 %a,%e,%j; mul.lo.u64 %a,%a," +
         bytes + "; add.u64 %a,%a,%row; add.u64 %b,%o,%j; mul.lo.u64 %b,%b," + bytes +
         "; add.u64 %b,%b,%values;\n" + add +
         "\nadd.u64 %j,%j,1; bra UNITS;\n"
         "SKIP: add.u64 %k,%k,1; bra ELEMENTS;\n"
         "NEXT: add.u64 %i,%i,%step; bra ROWS;\nDONE: ret;\n}\n";
}

/// Each thread moves bytes: zeros into all of `to` first, and then the stored rows.
const char* const k_rows_ptx =
    ".visible .entry NAME(.param .u64 p_to, .param .u64 p_values, .param .u64 p_indices, .param .u64 p_n, "
    ".param .u64 p_rows, .param .u64 p_bytes) {\n"
    ".reg .b64 %to,%values,%indices,%n,%rows,%bytes,%i,%step,%o,%row,%a; .reg .b32 %t,%c; .reg .b16 %v; "
    ".reg .pred %p;\n"
    "ld.param.u64 %to,[p_to]; ld.param.u64 %values,[p_values]; ld.param.u64 %indices,[p_indices]; "
    "ld.param.u64 %n,[p_n]; ld.param.u64 %rows,[p_rows]; ld.param.u64 %bytes,[p_bytes];\n";

std::string rows_ptx(bool zeros) {
  std::string text = k_rows_ptx;
  text.replace(text.find("NAME"), 4, zeros ? "tarsia_zeros" : "tarsia_rows_to_dense");
  text = k_head + text + k_begin + "LOOP: setp.ge.u64 %p,%i,%n; @%p bra DONE;\n";
  if (zeros)
    text += "mov.b16 %v,0; add.u64 %a,%to,%i; st.global.u8 [%a],%v;\n";
  else
    text +=
        "div.u64 %row,%i,%bytes; rem.u64 %o,%i,%bytes; shl.b64 %row,%row,3; add.u64 %row,%row,%indices; "
        "ld.global.u64 %row,[%row]; setp.ge.u64 %p,%row,%rows; @%p bra NEXT;\n"
        "mul.lo.u64 %row,%row,%bytes; add.u64 %row,%row,%o; add.u64 %row,%row,%to; add.u64 %a,%values,%i; "
        "ld.global.u8 %v,[%a]; st.global.u8 [%row],%v;\n";
  return text + "NEXT: add.u64 %i,%i,%step; bra LOOP;\nDONE: ret;\n}\n";
}

void launch(int device, const std::string& ptx, const char* entry, std::uint64_t threads, void** params,
            void* stream) {
  if (!threads) return;
  constexpr unsigned k_threads = 256;
  const std::uint64_t blocks = std::min<std::uint64_t>((threads + k_threads - 1) / k_threads, 65535);
  check_cuda(
      cuda_driver().cuLaunchKernel(ptx_function(device, ptx, entry), static_cast<unsigned>(blocks), 1, 1,
                                   k_threads, 1, 1, 0, static_cast<CuStream>(stream), params, nullptr),
      "cuLaunchKernel");
}

void make_dense_on_gpu(const tarsia_tensor& to, const tarsia_sparse& from, bool is_csr, void* stream) {
  const int device = to.device.id;
  CudaDeviceScope scope(device);
  void *out = data_of(to), *values = data_of(from.values), *indices = data_of(from.indices),
       *indptr = data_of(from.indptr);
  std::uint64_t rows = static_cast<std::uint64_t>(to.shape[0]),
                columns = static_cast<std::uint64_t>(row_elements(to)),
                bytes = static_cast<std::uint64_t>(bytes_of_element(to.dtype)),
                n = static_cast<std::uint64_t>(part_size(from.indices));
  if (is_csr && n) {
    const UnitSum sum =
        has_sum(to.dtype) ? unit_sum(to.dtype) : UnitSum{1, "ld.global.u8 %w1,[%b]; st.global.u8 [%a],%w1;"};
    std::uint64_t units = bytes / static_cast<std::uint64_t>(sum.bytes);
    void* params[] = {&out, &values, &indices, &indptr, &rows, &columns, &units};
    launch(device, csr_ptx(sum.bytes, sum.ptx), "tarsia_csr_to_dense", rows, params, stream);
    return;
  }
  std::uint64_t all = bytes_of(to.shape, to.ndim, to.dtype), row_bytes = columns * bytes;
  void* zeros[] = {&out, &values, &indices, &all, &rows, &row_bytes};
  launch(device, rows_ptx(true), "tarsia_zeros", all, zeros, stream);
  std::uint64_t stored = n * row_bytes;
  void* params[] = {&out, &values, &indices, &stored, &rows, &row_bytes};
  launch(device, rows_ptx(false), "tarsia_rows_to_dense", stored, params, stream);
}

/// A tensor of one dimension over memory of the CPU.
template <class T>
tarsia_tensor view_of(std::vector<T>& list, std::int64_t& size) {
  size = static_cast<std::int64_t>(list.size() * sizeof(T));
  tarsia_tensor tensor{};
  tensor.data = list.data();
  tensor.device = {TARSIA_CPU, 0};
  tensor.ndim = 1;
  tensor.dtype = {TARSIA_UINT, 8, 1};
  tensor.shape = &size;
  return tensor;
}

template <class T>
void store(const tarsia_tensor& part, std::vector<T>& list, tarsia_device device, void* stream) {
  if (list.empty()) return;
  std::int64_t size = 0;
  const tarsia_tensor from = view_of(list, size);
  tarsia_tensor to = from;
  to.data = data_of(part);
  to.device = device;
  copy(to, from, stream);
}

}  // namespace

void make_dense(const tarsia_tensor& to, const tarsia_sparse& from, tarsia_storage_type storage,
                void* stream) {
  const bool is_csr = storage == TARSIA_CSR;
  if (is_gpu(to.device))
    make_dense_on_gpu(to, from, is_csr, stream);
  else
    make_dense_on_cpu(to, from, is_csr);
}

void make_sparse(const tarsia_op_context& context, std::uint32_t i, const tarsia_tensor& from) {
  const tarsia_bind_info& info = *context.info;
  const tarsia_meta& meta = context.pass == TARSIA_BACKWARD ? info.inputs[i] : info.outputs[i];
  const bool is_csr = meta.storage == TARSIA_CSR;
  const std::int64_t rows = from.shape[0], columns = row_elements(from), bytes = bytes_of_element(from.dtype);
  const char* data = static_cast<const char*>(data_of(from));
  std::vector<char> fetched;
  if (is_gpu(from.device)) {
    fetched.resize(bytes_of(from.shape, from.ndim, from.dtype));
    std::int64_t size = 0;
    const tarsia_tensor to = view_of(fetched, size);
    tarsia_tensor source = to;
    source.data = data_of(from);
    source.device = from.device;
    if (size) copy(to, source, context.stream);
    data = fetched.data();
  }
  // The unit that is stored or left out.
  const std::int64_t unit = is_csr ? bytes : columns * bytes, per_row = is_csr ? columns : 1;
  std::vector<char> values;
  std::vector<std::int64_t> indices, indptr;
  if (is_csr) indptr.push_back(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < per_row; ++k) {
      const char* place = data + (row * per_row + k) * unit;
      if (std::all_of(place, place + unit, [](char c) { return c == 0; })) continue;
      values.insert(values.end(), place, place + unit);
      indices.push_back(is_csr ? k : row);
    }
    if (is_csr) indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  if (allocate_sparse(&context, i, static_cast<std::int64_t>(indices.size()),
                      static_cast<std::int64_t>(indptr.size())))
    throw_last_error();
  const auto& made = *reinterpret_cast<const tarsia_sparse*>(context.outputs[i]);
  store(made.values, values, from.device, context.stream);
  store(made.indices, indices, from.device, context.stream);
  store(made.indptr, indptr, from.device, context.stream);
}

}  // namespace tarsia::registry
