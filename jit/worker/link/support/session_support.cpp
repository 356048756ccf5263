// Linked into modules that use values of <tarsia/repl.h> and are no cells: sessions that were saved.
//
// A cell has slots for these functions, which its session fills. Other modules ask the libtarsia of the
// process at the first call.
#include <dlfcn.h>
#include <tarsia/abi.h>

#include <stdexcept>
#include <string>

namespace {

/// The function of libtarsia's that has the name and type of this one. Throws where the process has none.
template <class Function>
Function found(const char* name, Function) {
  void* const libtarsia = dlopen("libtarsia.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!libtarsia)
    throw std::runtime_error(
        "this library is a saved session, and libtarsia.so, which makes its values, is not loaded: load the "
        "library with tarsia.load");
  const auto find = reinterpret_cast<void* (*)(const char*)>(dlsym(libtarsia, "tarsia_session_function"));
  void* const function = find ? find(name) : nullptr;
  dlclose(libtarsia);
  if (!function)
    throw std::runtime_error(std::string("the libtarsia.so of this process has no ") + name +
                             ": save the session again with its version");
  return reinterpret_cast<Function>(function);
}

}  // namespace

#define CALL(function, ...)                               \
  static const auto theirs = found(#function, &function); \
  return theirs(__VA_ARGS__)

// As <tarsia/repl.h> declares them.
extern "C" {

void tarsia_cell_fill(const tarsia_tensor* tensor, int how, double a, double b) {
  CALL(tarsia_cell_fill, tensor, how, a, b);
}

int tarsia_cell_allclose(const tarsia_tensor* x, const tarsia_tensor* y, double rtol, double atol) {
  CALL(tarsia_cell_allclose, x, y, rtol, atol);
}

tarsia_storage* tarsia_cell_load_npy(const char* path, const char* device) {
  CALL(tarsia_cell_load_npy, path, device);
}

void tarsia_cell_save_npy(const char* path, const tarsia_tensor* tensor) {
  CALL(tarsia_cell_save_npy, path, tensor);
}

tarsia_storage* tarsia_cell_empty(const long* shape, unsigned long n, tarsia_dtype dtype,
                                  const char* device) {
  CALL(tarsia_cell_empty, shape, n, dtype, device);
}

void tarsia_cell_check_image(const tarsia_tensor* tensor) {
  CALL(tarsia_cell_check_image, tensor);
}
}
