// A loaded module and what it exports.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/c_api.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/origin.h"
#include "registry/library/library_kernel.h"
#include "registry/mxnet/mxnet_library.h"
#include "registry/resources/cuda_runtime.h"
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// What is to be loaded.
struct ModuleFile {
  UniqueFd file;     ///< private to the library: nobody writes to it any more
  std::string path;  ///< for messages: the file's, or the library's name
  std::string name;
  Origin origin = Origin::prebuilt;
  std::vector<Diagnostic> warnings;
};

/// Where a library's calls of CUDA leave their errors.
struct LaunchErrors {
  const CudaRuntime* runtime = nullptr;           ///< that it links; null if none
  std::int32_t (*take_launch_error)() = nullptr;  ///< tarsia_module's; may be null
  bool from_launches_alone = false;               ///< it calls nothing else of the runtime that may fail

  /// Whether the runtime need not be asked after a call, which costs more than the rest of the check.
  bool surely_none() const { return from_launches_alone && !take_launch_error(); }
};

/// A function of a library as faces see it.
struct LibraryFunction {
  tarsia_function function;  ///< first: its address is what faces hold
  LaunchErrors errors;
  const char* known_as;  ///< "function relu", kept_name()
};

/// A loaded module. Counted: unmapped when the last reference goes, once nothing that it launched is under
/// way. Everything it gives lives as long as a reference. Immutable after loading, so safe from any thread.
class Library : public Counted<Library> {
 public:
  const std::string& name() const { return m_name; }
  Origin origin() const { return m_origin; }
  std::span<const tarsia_function* const> functions() const { return m_functions; }
  std::span<const tarsia_kernel* const> kernels() const { return m_kernels; }
  std::span<const tarsia_global* const> globals() const { return m_globals; }
  std::span<const tarsia_kernel_template* const> templates() const { return m_templates; }
  std::span<const tarsia_op* const> ops() const { return m_ops; }
  std::span<const char* const> op_names() const { return m_op_names; }
  std::span<const tarsia_image> images() const { return m_images; }
  std::span<const tarsia_skipped> skipped() const { return m_skipped; }
  std::span<const tarsia_diagnostic> warnings() const { return m_warnings; }
  /// The CUDA runtime that it links; null if none.
  const CudaRuntime* runtime() const { return m_errors.runtime; }
  const LaunchErrors& launch_errors() const { return m_errors; }
  /// See tarsia_module; null if it has no managed variables.
  void* (*managed_pointer() const)(void**) { return m_managed_pointer; }
  /// Whether its code may launch work on a GPU.
  bool uses_cuda() const { return m_uses_cuda; }
  /// Writes the shared library, byte for byte, and makes it executable. Throws Error naming the path.
  void export_to(const std::string& path) const;

  /// A library without a module: ops that the program itself implements, registered. The descriptions have to
  /// live until release(user), which is called when nothing needs them any more, on any thread, also when
  /// this throws: LoadError, for descriptions that do not hold together.
  static Ref<Library> define(const std::string& name, std::span<const tarsia_op* const> ops,
                             void (*release)(void*), void* user);

 private:
  friend class Counted<Library>;
  friend class LibraryLoader;
  Library() = default;
  ~Library() = default;
  void destroy();

  std::string m_name;
  Origin m_origin = Origin::prebuilt;
  Mapping m_bytes;        ///< the file
  UniqueFd m_debug_file;  ///< kept open for tools if it holds debug information
  void* m_handle = nullptr;
  bool m_uses_cuda = false;
  bool m_has_extension = false;           ///< it registers through MXNet's extension API
  std::unique_ptr<MxnetLibrary> m_mxnet;  ///< if it was built against MXNet's own header
  LaunchErrors m_errors;
  std::vector<LibraryFunction> m_described;
  std::vector<std::string> m_texts;
  std::vector<const tarsia_function*> m_functions;
  std::deque<LibraryKernel> m_owned_kernels;
  std::vector<const tarsia_kernel*> m_kernels;
  std::vector<const tarsia_global*> m_globals;
  std::vector<const tarsia_kernel_template*> m_templates;
  void* (*m_managed_pointer)(void**) = nullptr;
  std::vector<const tarsia_op*> m_ops;
  std::vector<const char*> m_op_names;
  std::span<const tarsia_image> m_images;
  std::span<const tarsia_skipped> m_skipped;
  std::vector<Diagnostic> m_warning_texts;
  std::vector<tarsia_diagnostic> m_warnings;
  void (*m_release)(void*) = nullptr;  ///< of one that was defined
  void* m_release_user = nullptr;
};

/// As the C ABI gives it; points into the diagnostic.
tarsia_diagnostic to_c(const Diagnostic& diagnostic);

/// Whether a compiled module has nothing to call, and nothing that may register ops, as far as its bytes
/// tell: then mapping it runs none of the user's code.
bool seems_empty(std::string_view file, bool is_cuda);

/// Writes the shared library that begins a file's bytes, without what follows its ELF image, and makes it
/// executable. Throws Error naming the path.
void export_library(std::string_view file, const std::string& path);

/// Maps and attaches a module, and registers its ops. Throws LoadError, and leaves nothing behind.
Ref<Library> load_module(ModuleFile module);

/// Loads a library built ahead of time from a private copy of the file. Throws LoadError.
Ref<Library> load_file(const std::string& path);

/// "float ns::f(const float32*, int32)": a signature made from a descriptor.
std::string describe(const tarsia_function& function);

/// "float32", "const float32*", "tarsia::Tensor", "std::optional<int32>": a type for people.
std::string describe(const tarsia_type& type);

}  // namespace tarsia::registry
