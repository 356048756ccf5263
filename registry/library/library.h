// A loaded module and what it exports.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/c_api.h>

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/origin.h"
#include "registry/library/checked_code.h"
#include "registry/library/library_kernel.h"
#include "registry/mxnet/mxnet_library.h"
#include "registry/resources/cuda_runtime.h"
#include "registry/resources/mapped_module.h"
#include "registry/resources/ref.h"

namespace tarsia::registry {

/// Where errors of a library's CUDA calls end up.
struct LaunchErrors {
  const CudaRuntime* runtime = nullptr;           ///< that it links; null if none
  std::int32_t (*take_launch_error)() = nullptr;  ///< tarsia_module's; may be null
  bool from_launches_alone = false;               ///< it calls nothing else of the runtime that may fail

  /// Whether the runtime need not be asked after a call. Asking costs more than the rest of the check.
  bool surely_none() const { return from_launches_alone && !take_launch_error(); }
};

/// A function of a library, for faces.
struct LibraryFunction {
  tarsia_function function;  ///< first: its address is what faces hold
  LaunchErrors errors;
  const char* display_name;               ///< "function relu", kept_name()
  const CheckedCode* checks = nullptr;    ///< what stands before its code; null: nothing
  tarsia_adapter checked_call = nullptr;  ///< its code, if something does
};

/// A loaded module. Counted: it is unmapped when the last reference is gone and nothing that it launched is
/// under way any more. All that it returns lives as long as a reference. Immutable after loading, so safe
/// from any thread.
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
  /// The names of the symbols that it shows to others, sorted; its file is read when they are first asked
  /// for.
  std::span<const char* const> symbols() const;
  /// The address of one of them; null if it has none of that name.
  void* symbol(const char* name) const;
  /// Address of a symbol of the library or of one that it links; null if none has it.
  void* linked_symbol(const char* name) const;
  /// What dlopen() knows it by, as no other library; empty without a module.
  const char* path() const { return m_module ? m_module->path.c_str() : ""; }
  /// The CUDA runtime that it links; null if none.
  const CudaRuntime* runtime() const { return m_errors.runtime; }
  const LaunchErrors& launch_errors() const { return m_errors; }
  /// See tarsia_module; null if it has no managed variables.
  void* (*managed_pointer() const)(void**) { return m_managed_pointer; }
  /// Whether its code may launch work on a GPU.
  bool uses_cuda() const { return m_uses_cuda; }
  /// Keeps itself until unpin(): PyTorch may hold operators that a TORCH_LIBRARY of it has registered, and
  /// would call code that is no longer there.
  void pin();
  void unpin();
  /// Writes the shared library, byte for byte, and makes it executable. Throws Error naming the path.
  void export_to(const std::string& path) const;

  /// Makes a library without a module: registered ops that the program itself implements. The descriptions
  /// must live until release(user) is called, on any thread, when nothing needs them any more. It is called
  /// also if this throws LoadError, for inconsistent descriptions.
  static Ref<Library> define(const std::string& name, std::span<const tarsia_op* const> ops,
                             void (*release)(void*), void* user);
  /// The same, but registers nothing: who has the library makes entries of its ops.
  static Ref<Library> hold(const std::string& name, std::span<const tarsia_op* const> ops,
                           void (*release)(void*), void* user);

 private:
  friend class Counted<Library>;
  friend class LibraryLoader;
  Library() = default;
  ~Library() { delete m_shown.load(); }
  void destroy();
  /// Registers the ops, the last step of loading. Warnings go into the library's list and into the log.
  void add_ops(const Ref<Library>& self);

  std::string m_name;
  Origin m_origin = Origin::prebuilt;
  std::unique_ptr<MappedModule> m_module;  ///< null: it has none
  struct Symbols {
    std::vector<std::string> texts;
    std::vector<const char*> names;  ///< point into `texts`
  };
  mutable std::atomic<Symbols*> m_shown{nullptr};  ///< null: nobody has asked for them
  std::shared_ptr<const UniqueFd>
      m_debug_file;  ///< kept open for tools, where the library's path is that of a descriptor
  std::atomic<bool> m_pinned{false};
  bool m_uses_cuda = false;
  bool m_has_extension = false;           ///< it registers through MXNet's extension API
  std::unique_ptr<MxnetLibrary> m_mxnet;  ///< what makes its ops, if they are for that API
  LaunchErrors m_errors;
  std::unique_ptr<CheckedCode> m_checks;  ///< null: its code does not check itself
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
  std::vector<std::string> m_library_dirs;  ///< where the libraries lie that it needs
  std::vector<Diagnostic> m_warning_texts;
  std::vector<tarsia_diagnostic> m_warnings;
  void (*m_release)(void*) = nullptr;  ///< of one that was defined
  void* m_release_user = nullptr;
};

/// In the form of the C ABI; points into the diagnostic.
tarsia_diagnostic to_c(const Diagnostic& diagnostic);

/// Whether a compiled module has nothing to call, and nothing that may register ops, as far as its bytes
/// tell. Mapping it then runs none of the user's code.
bool seems_empty(std::string_view file, bool is_cuda);

/// Writes the shared library at the start of a file's bytes, without the bytes behind its ELF image, and
/// makes it executable. It then names those of the folders that hold libraries that it needs. Throws Error
/// naming the path, and LoadError if these are more than k_run_path_bytes.
void export_library(std::string_view file, const std::string& path,
                    const std::vector<std::string>& library_dirs = {});

/// "float ns::f(const float32*, int32)": a signature made from a descriptor.
std::string describe(const tarsia_function& function);

/// "float32", "const float32*", "tarsia::Tensor", "std::optional<int32>": a type for people.
std::string describe(const tarsia_type& type);

}  // namespace tarsia::registry
