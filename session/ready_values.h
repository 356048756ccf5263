// Tensors to try ops with: made, filled, compared, stored and described. For <tarsia/repl.h>.
//
// They are called from cells: what they throw is an exception of the cell. Elements may be of any dtype of
// numbers with one lane, on the CPU or a GPU; work on a GPU is done when they return.
#pragma once

#include <tarsia/abi.h>

#include <string>

namespace tarsia::session {

/// "float32[2, 3] cpu" and the elements, the middle of long ones left out, as NumPy shows them.
std::string describe_tensor(const tarsia_tensor& tensor);

/// A contiguous tensor with unset elements; `device`: "cpu", "gpu" or "gpu:1". Hands over one reference.
tarsia_storage* cell_empty(const long* shape, unsigned long n, tarsia_dtype dtype, const char* device);
/// See <tarsia/repl.h>. Normal numbers come from the Philox generator that tarsia::seed seeds.
void cell_fill(const tarsia_tensor* tensor, int how, double a, double b);
/// Whether |x - y| <= atol + rtol * |y| for all elements, as numpy.allclose has it; shapes must agree.
int cell_allclose(const tarsia_tensor* x, const tarsia_tensor* y, double rtol, double atol);
/// Reads and writes NumPy's .npy files, versions 1 to 3, of little-endian numbers in row-major order
/// (numpy.lib.format describes the format).
tarsia_storage* cell_load_npy(const char* path, const char* device);
void cell_save_npy(const char* path, const tarsia_tensor* tensor);
/// The bytes of such a file.
std::string npy_of(const tarsia_tensor& tensor);
/// Throws ValueError if the tensor is no image; see <tarsia/repl.h>.
void cell_check_image(const tarsia_tensor* tensor);
/// "image, 6 x 4, RGB", of a tensor that is one.
std::string describe_image(const tarsia_tensor& tensor);

}  // namespace tarsia::session
