// Compiling and loading libraries, calling their functions, launching their kernels.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>
#include <tarsia/options.h>
#include <tarsia/values.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarsia {

/// A source of several files: a map of names to texts.
using Files = std::map<std::string, std::string>;

namespace detail {

/// A counted handle of a library.
class LibraryHandle {
 public:
  /// Takes one reference over.
  explicit LibraryHandle(tarsia_library* library) : m_library(library) {}
  LibraryHandle(const LibraryHandle& o) : m_library(o.m_library) { tarsia_library_retain(m_library); }
  LibraryHandle(LibraryHandle&& o) noexcept : m_library(std::exchange(o.m_library, nullptr)) {}
  LibraryHandle& operator=(LibraryHandle o) noexcept {
    std::swap(m_library, o.m_library);
    return *this;
  }
  ~LibraryHandle() { tarsia_library_release(m_library); }
  tarsia_library* get() const { return m_library; }

 private:
  tarsia_library* m_library;
};

}  // namespace detail

namespace detail {

/// Whether a Result converts to T. It does not convert to an optional, because an optional converts from its
/// value, which would be ambiguous.
template <class T>
inline constexpr bool k_is_result =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, Tensor> || is_vector<T>::value || is_array<T>::value || is_complex<T>::value ||
    is_tuple<T>::value || k_is_plain<T>;

/// Lets a result that is one of the arguments keep the memory that the argument keeps.
template <class A>
void keep_argument(tarsia_value& result, const A& argument) {
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE)
    for (uint32_t i = 0; i < result.size; ++i) keep_argument(result.v[i], argument);
  if constexpr (std::is_same_v<A, Tensor>) {
    if (result.kind != TARSIA_KIND_ARGUMENT || result.t != argument.get() || !argument.storage()) return;
    result.kind = TARSIA_KIND_TENSOR;
    result.storage = Tensor(argument).release();
  } else if constexpr (is_vector<A>::value) {
    for (const auto& item : argument) keep_argument(result, item);
  } else if constexpr (is_optional<A>::value) {
    if (argument) keep_argument(result, *argument);
  }
}

}  // namespace detail

/// The result of a call until it is stored as a type: `const float y = f(x);`. For a std::optional, use
/// `f.call<std::optional<T>>(x)`.
class Result {
 public:
  /// Takes over the tensors of the value and copies the parts that end with the call.
  explicit Result(const tarsia_value& value) : m_value(value) { keep(m_value); }
  Result(const Result&) = delete;
  ~Result() { detail::drop(m_value); }

  /// Converts the result to a number, an enumeration, std::complex, std::string, Tensor, std::vector,
  /// std::array, std::tuple or std::pair. Throws ArgumentError if the result is of another kind.
  template <class T>
    requires detail::k_is_result<T>
  operator T() && {
    return detail::from_value<T>(m_value);
  }

 private:
  void keep(tarsia_value& value) {
    if (value.kind == TARSIA_KIND_STRING || value.kind == TARSIA_KIND_STRUCT) {
      const auto& text = m_texts.emplace_back(std::make_unique<char[]>(value.size));
      std::memcpy(text.get(), value.s, value.size);
      value.s = text.get();
    } else if (value.kind == TARSIA_KIND_LIST || value.kind == TARSIA_KIND_TUPLE ||
               value.kind == TARSIA_KIND_COMPLEX) {
      tarsia_value* items = m_lists.add(value.size);
      std::copy_n(value.v, value.size, items);
      value.v = items;
      for (uint32_t i = 0; i < value.size; ++i) keep(items[i]);
    }
  }

  tarsia_value m_value;
  detail::Lists m_lists;
  std::vector<std::unique_ptr<char[]>> m_texts;
};

/// An exported function with all its overloads. Keeps its library. May be called from several threads at
/// once.
class Function {
 public:
  /// Library::function makes functions. There is at least one overload.
  Function(detail::LibraryHandle library, std::vector<const tarsia_function*> overloads)
      : m_library(std::move(library)), m_overloads(std::move(overloads)) {}

  /// The qualified name, as in "ns::f".
  const char* name() const { return m_overloads[0]->name; }
  /// The descriptions of the overloads, in the source's order. They live as long as this object.
  std::span<const tarsia_function* const> overloads() const { return m_overloads; }

  /// Calls the first overload that takes the arguments exactly, or else the first that takes them converted,
  /// and returns the result as an R: `f.call<float>(tensor, 3)`. Throws ArgumentError, OpError, CudaError.
  template <class R = void, class... A>
  R call(const A&... args) const {
    return call_as<R>(args...);
  }
  /// The same with an array of structs among the arguments, which the function may write to.
  template <class R = void, class... A>
    requires(detail::k_is_plain_row<std::remove_reference_t<A>> || ...)
  R call(A&&... args) const {
    return call_as<R>(args...);
  }
  /// Calls the function in the same way. The variable that stores the result gives its type:
  /// `const float y = f(tensor, 3);`.
  template <class... A>
  Result operator()(const A&... args) const {
    const detail::Frame frame;
    return Result(run(args...));
  }
  /// The same with an array of structs among the arguments, which the function may write to.
  template <class... A>
    requires(detail::k_is_plain_row<std::remove_reference_t<A>> || ...)
  Result operator()(A&&... args) const {
    const detail::Frame frame;
    return Result(run(args...));
  }

 private:
  template <class R, class... A>
  R call_as(A&... args) const {
    const detail::Frame frame;
    tarsia_value result = run(args...);
    struct Drop {
      tarsia_value& value;
      ~Drop() { detail::drop(value); }
    } drop{result};
    if constexpr (!std::is_void_v<R>) return detail::from_value<R>(result);
  }
  /// Calls the function within a frame.
  template <class... A>
  tarsia_value run(A&... args) const {
    detail::Lists lists;
    const tarsia_value values[sizeof...(A) + 1] = {detail::to_value(args_decay(args), lists)...,
                                                   tarsia_value{}};
    tarsia_value result{};
    detail::check(tarsia_call(m_overloads.data(), m_overloads.size(), values, sizeof...(A), &result));
    (detail::keep_argument(result, args), ...);
    return result;
  }
  template <class T>
  static const T& args_decay(const T& x) {
    return x;
  }
  static const char* args_decay(const char* x) { return x; }
  template <class T, size_t n>
    requires detail::k_is_plain<std::remove_const_t<T>>
  static std::span<T> args_decay(T (&x)[n]) {
    return x;
  }

  detail::LibraryHandle m_library;
  std::vector<const tarsia_function*> m_overloads;
};

/// The blocks of a grid or the threads of a block, as in `{256}` or `{16, 16}`. An omitted extent is 1.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// How a kernel is launched.
struct Launch {
  Dim3 grid, block;
  uint32_t shared_bytes = 0;          ///< dynamic shared memory of a block
  std::optional<Stream> stream = {};  ///< if omitted, the thread's current stream
  int device = -1;                    ///< -1: the tensors' device, or CUDA's current one without tensors
  std::optional<Dim3> cluster = {};   ///< the blocks of a cluster
  bool cooperative = false;           ///< all blocks run at once, so that the grid can be synchronised
};

/// A `__global__` function. Keeps its library. May be launched from several threads at once.
class Kernel {
 public:
  /// Library::kernel makes kernels.
  Kernel(detail::LibraryHandle library, const tarsia_kernel* kernel)
      : m_library(std::move(library)), m_kernel(kernel) {}

  /// The name as in the source: "ns::scale<float>".
  const char* name() const { return m_kernel->name; }
  /// The description of its parameters. It lives as long as this object.
  const tarsia_kernel& describe() const { return *m_kernel; }

  /// Launches the kernel: `k.launch({.grid = {blocks}, .block = {256}}, x, n)`. Does not wait. Throws
  /// ArgumentError, CudaError.
  template <class... A>
  void launch(const Launch& how, const A&... args) const {
    detail::Lists lists;
    const tarsia_value values[sizeof...(A) + 1] = {detail::to_value(args, lists)..., tarsia_value{}};
    tarsia_launch c{};
    c.size = sizeof(c);
    c.grid[0] = how.grid.x, c.grid[1] = how.grid.y, c.grid[2] = how.grid.z;
    c.block[0] = how.block.x, c.block[1] = how.block.y, c.block[2] = how.block.z;
    c.shared_bytes = how.shared_bytes;
    c.device = how.device;
    c.has_stream = how.stream.has_value();
    c.stream = how.stream ? static_cast<CUstream_st*>(*how.stream) : nullptr;
    if (how.cluster)
      c.cluster[0] = how.cluster->x, c.cluster[1] = how.cluster->y, c.cluster[2] = how.cluster->z;
    c.cooperative = how.cooperative;
    detail::check(tarsia_kernel_launch(m_kernel, &c, values, sizeof...(A)));
  }

  /// Returns registers, shared memory and so on for a GPU (-1: the current one). Without any GPU they are
  /// read from the code for the newest architecture.
  tarsia_kernel_attributes attributes(int device = -1) const {
    tarsia_kernel_attributes found{};
    found.size = sizeof(found);
    detail::check(tarsia_kernel_get_attributes(m_kernel, device, &found));
    return found;
  }
  /// Returns how many blocks of `threads` threads run at once. Throws CudaError without a GPU.
  tarsia_occupancy occupancy(uint32_t threads, uint32_t shared_bytes = 0, int device = -1) const {
    tarsia_occupancy found{};
    found.size = sizeof(found);
    detail::check(tarsia_kernel_occupancy(m_kernel, device, threads, shared_bytes, &found));
    return found;
  }
  /// Returns the block size with which most threads run at once. `limit` is the largest that is allowed, or
  /// 0. Throws CudaError without a GPU.
  uint32_t suggest_block(uint32_t shared_bytes = 0, uint32_t limit = 0, int device = -1) const {
    uint32_t threads = 0;
    detail::check(tarsia_kernel_suggest_block(m_kernel, device, shared_bytes, limit, &threads));
    return threads;
  }

 private:
  detail::LibraryHandle m_library;
  const tarsia_kernel* m_kernel;
};

/// A loaded library. Copies share it. It is unloaded when nothing holds it: no library object, function,
/// kernel or op. The lists that it returns live as long as a copy of it.
class Library {
 public:
  /// Takes over one reference.
  explicit Library(tarsia_library* library) : m_library(library) {}

  /// The name: Options::name, or one made from the source's hash.
  std::string name() const { return tarsia_library_name(get()); }
  /// Where it came from: "compiled", "memory", "disk", "remote" (a shared store) or "prebuilt".
  std::string origin() const { return tarsia_library_origin(get()); }
  /// The exported functions, overloads one by one.
  std::span<const tarsia_function* const> functions() const { return list(tarsia_library_functions); }
  /// The kernels; none for prebuilt libraries.
  std::span<const tarsia_kernel* const> kernels() const { return list(tarsia_library_kernels); }
  /// The names of the ops that it registered.
  std::span<const char* const> ops() const { return list(tarsia_library_ops); }
  /// The device code; none for prebuilt libraries.
  std::span<const tarsia_image> images() const { return list(tarsia_library_images); }
  /// The functions of the source that were not exported, each with the reason.
  std::span<const tarsia_skipped> skipped() const { return list(tarsia_library_skipped); }
  /// The warnings of compiling and loading.
  std::span<const tarsia_diagnostic> warnings() const { return list(tarsia_library_warnings); }

  /// Returns the function of a qualified name, or of the last part of a name if only one has it. Throws
  /// NotFound.
  Function function(std::string_view name) const {
    return Function(m_library, find(functions(), name, "function"));
  }
  /// Returns `function(name)`.
  Function operator[](std::string_view name) const { return function(name); }
  /// Returns the kernel of a name, which is looked up as for functions. Throws NotFound.
  Kernel kernel(std::string_view name) const { return Kernel(m_library, find(kernels(), name, "kernel")[0]); }

  /// The names of the symbols that it shows to others: those of Options::exports, and those that the source
  /// marks with __attribute__((visibility("default"))).
  std::span<const char* const> symbols() const { return list(tarsia_library_symbols); }
  /// The address of such a symbol, valid as long as the library; null if it shows none of that name.
  void* symbol(const std::string& name) const { return tarsia_library_symbol(get(), name.c_str()); }

  /// Writes the shared library to a file, which tarsia::load takes. Throws Error.
  void export_to(const std::string& path) const { detail::check(tarsia_library_export(get(), path.c_str())); }
  /// Takes its ops out of the registry. Its code stays as long as something holds the library.
  void unload() const { detail::check(tarsia_library_unload(get())); }
  /// The handle of the C interface, borrowed.
  tarsia_library* get() const { return m_library.get(); }

 private:
  template <class T>
  std::span<const T> list(const T* (*query)(const tarsia_library*, uint64_t*)) const {
    uint64_t n = 0;
    const T* items = query(get(), &n);
    return {items, n};
  }
  template <class T>
  std::vector<const T*> find(std::span<const T* const> items, std::string_view name, const char* what) const {
    std::vector<const T*> found;
    for (const T* item : items)
      if (name == item->name) found.push_back(item);
    bool ambiguous = false;
    if (found.empty())
      for (const T* item : items) {
        const std::string_view full = item->name;
        if (!full.ends_with(name) || !full.substr(0, full.size() - name.size()).ends_with("::")) continue;
        ambiguous |= !found.empty() && full != found[0]->name;
        found.push_back(item);
      }
    if (!found.empty() && !ambiguous) return found;
    std::string text = "library " + this->name() + (ambiguous ? " has several " : " has no ") + what + " " +
                       std::string(name);
    text += items.empty() ? "" : "; it has";
    for (const T* item : items) text += std::string(" ") + item->name;
    tarsia_get_host()->set_error(TARSIA_NOT_FOUND, text.c_str());
    detail::throw_error();
  }

  detail::LibraryHandle m_library;
};

/// Compiles a source of C++ and CUDA, or takes it from the cache, and loads it. Throws CompileError with
/// diagnostics, InvalidSource, CompilerCrashed, CompileTimeout, ResourceLimit, LoadError, Unsupported.
inline Library load_inline(std::string_view source, const Options& options = {}) {
  const detail::CompileRequest request(options, source);
  tarsia_library* library = nullptr;
  detail::check(tarsia_load_inline(request.files(), request.n_files(), request.options(), &library));
  return Library(library);
}
/// Loads a source of several files in the same way: `{{"a.cu", "…"}, {"b.h", "…"}}`.
inline Library load_inline(const Files& files, const Options& options = {}) {
  const detail::CompileRequest request(options, files);
  tarsia_library* library = nullptr;
  detail::check(tarsia_load_inline(request.files(), request.n_files(), request.options(), &library));
  return Library(library);
}

/// Loads a library that was built ahead of time, from a private copy of the file. Throws LoadError.
inline Library load(const std::string& path) {
  tarsia_library* library = nullptr;
  detail::check(tarsia_load(path.c_str(), &library));
  return Library(library);
}

/// Compiles a source as load_inline does and writes the shared library to the file `output`. Loads nothing.
/// Throws what load_inline throws, and Error if the file cannot be written.
inline void compile(std::string_view source, const std::string& output, const Options& options = {}) {
  const detail::CompileRequest request(options, source);
  detail::check(tarsia_compile(request.files(), request.n_files(), request.options(), output.c_str()));
}
inline void compile(const Files& files, const std::string& output, const Options& options = {}) {
  const detail::CompileRequest request(options, files);
  detail::check(tarsia_compile(request.files(), request.n_files(), request.options(), output.c_str()));
}

}  // namespace tarsia
