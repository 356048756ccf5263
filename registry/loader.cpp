// Opens a private copy, maps it, attaches it, registers its ops.
//
// A module's file lies in memory, so a rebuilt file on disk is never confused with the mapped one, and
// directories mounted noexec do no harm.
#include "registry/loader.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <tarsia/detail/argument_rules.h>
#include <tarsia/detail/support.h>
#include <tarsia/host.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/cuda/profiler.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/figures/elapsed.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/machine/cpu.h"
#include "base/machine/sanitizer.h"
#include "registry/crash/crash_handler.h"
#include "registry/crash/thread_record.h"
#include "registry/host_table.h"
#include "registry/library/elf.h"
#include "registry/library/needed_libraries.h"
#include "registry/library/run_path.h"
#include "registry/op/op_description.h"
#include "registry/op/op_registry.h"
#include "registry/preload.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/recent_launches.h"
#include "registry/resources/unmap.h"

namespace tarsia::registry {

namespace {

constexpr std::uint64_t k_max_library_bytes = std::uint64_t{4} << 30;

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* p) { return text.starts_with(p); });
}

/// Its code would end the process at the first instruction that this CPU lacks.
void check_cpu(const ElfLibrary& elf, const std::string& path) {
  const std::vector<std::string> missing = missing_cpu_features(elf.cpu_features);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  throw LoadError(path + " is compiled for a CPU with " + names +
                  ", which this machine's lacks: compile it for " + std::string(cpu_level()) +
                  ", as in march='" + std::string(cpu_level()) + "'");
}

ForkSafeMutex g_attaching_mutex;  // of g_attaching
std::map<void*, std::weak_ptr<ForkRenewedMutex>> g_attaching;

/// Held while the code of a library registers what it has. Loads of one module that overlap share its
/// mapping, and so what is registered: one registers at a time.
std::shared_ptr<ForkRenewedMutex> attaching(void* handle) {
  std::shared_ptr<ForkRenewedMutex> made = std::make_shared<ForkRenewedMutex>();
  const std::lock_guard lock(g_attaching_mutex);
  std::erase_if(g_attaching, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<ForkRenewedMutex>& known = g_attaching[handle];
  if (std::shared_ptr<ForkRenewedMutex> shared = known.lock()) return shared;
  known = made;
  return made;
}

/// initialize(int) of such a library, whether it is declared extern "C" or not; null if it is not exported.
void* find_initialize(void* handle) {
  void* found = dlsym(handle, "initialize");
  return found ? found : dlsym(handle, "_Z10initializei");
}

std::string demangled(const std::string& symbol) {
  const std::string name = readable_symbol(symbol);
  return name == symbol ? symbol : name + " [" + symbol + "]";
}

/// What stands in `text` behind `before` and in front of the first of the characters `ends`, if `after`
/// follows it.
std::string found_in(std::string_view text, std::string_view before, std::string_view ends,
                     std::string_view after = "") {
  const size_t at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  const size_t end = std::min(text.find_first_of(ends), text.size());
  return text.substr(end).starts_with(after) ? std::string(text.substr(0, end)) : std::string();
}

/// What a module that needs a symbol of elsewhere is told.
[[noreturn]] void throw_undefined(const std::string& path, const std::string& symbol) {
  if (starts_with_any(symbol, {"Py", "_Py"}))
    throw LoadError(
        path + " uses " + symbol +
        " of Python's C API, which this process does not have, or has in another version: load it "
        "in the Python that it is compiled for");
  throw LoadError(path + " uses " + demangled(symbol) +
                  ", which no library defines that it links, and none that is loaded for all (RTLD_GLOBAL): "
                  "link the library that has it (libraries=[…], -l…), load that library first with "
                  "RTLD_GLOBAL, or define it");
}

/// Turns the dynamic linker's text into one that names the library and the remedy.
[[noreturn]] void throw_dlopen_error(const std::string& path, std::string text) {
  if (const std::string symbol = found_in(text, "undefined symbol: ", " ,"); !symbol.empty())
    throw_undefined(path, symbol);
  if (const std::string version = found_in(text, "version `", "'", "' not found"); !version.empty())
    throw LoadError(path + " needs " + version +
                    ", newer than what this machine has: build it on this machine or an older one");
  if (const std::string missing = found_in(text, "", ":", ": cannot open shared object file");
      !missing.empty() && !missing.starts_with("/proc/"))
    throw LoadError(
        path + " needs " + missing +
        ", which is not found: install it, or add its folder to LD_LIBRARY_PATH or to the library's rpath");
  if (text.find(std::generic_category().message(EMFILE)) != std::string::npos)
    throw LoadError(errno_message(path + " cannot be loaded", EMFILE));
  throw LoadError(path + " cannot be loaded: " + text);
}

}  // namespace

class LibraryLoader {
 public:
  explicit LibraryLoader(ModuleFile module) : m_module(std::move(module)) {}

  Ref<Library> load() {
    // 1. Read the file. What cannot work in this process is refused before any of its code runs.
    const auto began = std::chrono::steady_clock::now();
    Mapping file(m_module.file.get());
    const ElfLibrary elf = read_elf(file.bytes(), m_module.path);
    const bool is_module = std::ranges::count(elf.tarsia_symbols, TARSIA_MODULE_SYMBOL) != 0;
    require_loadable(elf, is_module);

    // 2. Open the libraries that it needs. From here on other threads that fork wait.
    const InLoader in_loader;
    open_needed(elf, m_module.path);
    std::shared_ptr<const UniqueFd> opened = with_own_run_path(elf, file);  // what is mapped; null: the file

    // 3. Make the library. From here on the destructor of the last reference unmaps.
    Ref<Library> library = make_library(elf, std::move(file));

    // 4. Map the file, which runs its static initialisers.
    report_crashes();
    map(*library, std::move(opened));
    find_errors(*library, elf, is_module);

    // 5. Take what it has: functions, kernels, ops.
    if (is_module)
      attach(*library, elf.has_effects);
    else
      attach_mxnet(*library);
    if (library->m_checks) {
      for (const tarsia_op*& op : library->m_ops) op = library->m_checks->add(*op);
      library->m_checks->check_loading();
    }

    // 6. Register its ops. From here on others can find it.
    library->add_ops(library);
    if (must_stay(*library, elf)) library->pin();
    log().info("{}: loaded ({}) in {:.1f} ms: functions {}, kernels {}, ops {}", library->name(),
               origin_name(library->origin()), milliseconds_since(began), library->functions().size(),
               library->kernels().size(), library->ops().size());
    return library;
  }

  static void add_late_ops(const Ref<Library>& library) {
    const auto entry =
        reinterpret_cast<tarsia_module_attach_fn>(dlsym(library->m_module->handle, TARSIA_MODULE_SYMBOL));
    const tarsia_module* module = entry ? entry(host_table()) : nullptr;
    if (!module || module->ops == module->ops_end || !library->m_ops.empty()) return;
    for (auto* op = module->ops; op != module->ops_end; ++op)
      if (*op) add_op(*library, *op);
    library->add_ops(library);
  }

 private:
  void require_loadable(const ElfLibrary& elf, bool is_module) const {
    if (!is_module && !elf.has_mxnet_symbols)
      throw LoadError(
          m_module.path +
          " exports nothing for Tarsia: no function, kernel or op. Mark functions with TARSIA_EXPORT(f) or "
          "ops with TARSIA_OP(name), from <tarsia/op.h>");
    check_cpu(elf, m_module.path);
    if (elf.sanitizer) require_in_process(*elf.sanitizer, m_module.path);
  }

  /// A copy of the file that finds its libraries in the folders that the user gave; null if it needs none.
  std::shared_ptr<const UniqueFd> with_own_run_path(const ElfLibrary& elf, const Mapping& file) {
    const std::string run_path = run_path_of(file.bytes(), elf, m_module.library_dirs, m_module.path);
    if (run_path.empty()) return nullptr;
    m_module.file_path.clear();
    return file_with_run_path(m_module.key, file.bytes(), run_path);
  }

  Ref<Library> make_library(const ElfLibrary& elf, Mapping file) {
    Ref<Library> library = Ref<Library>::adopt(new Library());
    library->m_name = m_module.name;
    library->m_origin = m_module.origin;
    library->m_library_dirs = m_module.library_dirs;
    library->m_warning_texts = std::move(m_module.warnings);
    library->m_uses_cuda = std::any_of(elf.needed.begin(), elf.needed.end(),
                                       [](const std::string& name) { return name.starts_with("libcu"); });
    library->m_module = std::make_unique<MappedModule>();
    library->m_module->name = library->m_name;
    library->m_module->bytes = std::move(file);
    library->m_module->origins = std::move(m_module.origins);
    return library;
  }

  /// Maps `opened`, or the module's own file, unless a thread has mapped it ahead of time.
  void map(Library& library, std::shared_ptr<const UniqueFd> opened) {
    MappedModule& mapped = *library.m_module;
    Preloaded early = take_preloaded(m_module.key);
    if (early.file) m_module.file = std::move(early.file);
    if (!opened) opened = std::make_shared<const UniqueFd>(std::move(m_module.file));
    m_module.file.reset();
    const std::string path = early.handle ? early.path : unique_path(m_module.file_path, opened->get());
    {
      const LoadingScope loading(call_slot(), mapped.name, mapped.bytes.bytes(), mapped.origins,
                                 opened->get());
      mapped.path = path;
      mapped.handle = early.handle ? early.handle : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (!mapped.handle) throw_dlopen_error(m_module.path, dlerror());
    mapped.range.describe(mapped.handle, mapped.name, mapped.bytes.bytes(), mapped.origins, &library);
    check_initializers(mapped.handle);
    // A process may hold more libraries than descriptors: what is mapped needs none. But debuggers, profilers
    // and sanitizers open the module by its path, and may wait for ever for what has its number by then.
    // So it stays open while there are many.
    if (path.starts_with("/proc/") && has_descriptors_to_spare(opened->get()))
      library.m_debug_file = std::move(opened);
  }

  /// Where errors of its code show: the CUDA runtime's last error, findings of checked code.
  static void find_errors(Library& library, const ElfLibrary& elf, bool is_module) {
    MappedModule& mapped = *library.m_module;
    for (const std::string& name : elf.needed)
      if (name.starts_with("libcudart.so")) library.m_errors.runtime = find_cuda_runtime(name);
    library.m_errors.from_launches_alone = is_module && !elf.calls_cuda_runtime && links_runtime_alone(elf);
    if (!std::ranges::count(elf.tarsia_symbols, k_take_findings)) return;
    const auto take = reinterpret_cast<TakeFindings>(dlsym(mapped.handle, k_take_findings));
    if (!take) return;
    library.m_checks = std::make_unique<CheckedCode>(library.m_name, take);
    mapped.range.describe_findings(take);
  }

  /// PyTorch may keep what lies in the module: a registered operator, the code of a result's gradient.
  static bool must_stay(const Library& library, const ElfLibrary& elf) {
    const auto is_torch = [](const std::string& name) { return name.starts_with("libtorch"); };
    const auto gives_objects = [](const tarsia_function* function) {
      return arguments::has_object(function->result);
    };
    return std::ranges::any_of(elf.needed, is_torch) &&
           (elf.has_effects || std::ranges::any_of(library.m_functions, gives_objects));
  }

  void attach(Library& library, bool has_effects) {
    const auto entry =
        reinterpret_cast<tarsia_module_attach_fn>(dlsym(library.m_module->handle, TARSIA_MODULE_SYMBOL));
    const tarsia_module* module = entry ? entry(host_table()) : nullptr;
    if (!module) throw LoadError(m_module.path + " gives no description of itself: build it again");
    if (module->abi_version != TARSIA_ABI_VERSION)
      throw LoadError(m_module.path + " is built for Tarsia's binary interface " +
                      std::to_string(module->abi_version) + ", this Tarsia has " +
                      std::to_string(TARSIA_ABI_VERSION) + ": build it again with this Tarsia's headers");
    if (!TARSIA_DETAIL_HAS_FIELD(*module, n_skipped))
      throw LoadError(m_module.path + " gives a damaged description of itself: build it again");
    for (auto* f = module->functions; f != module->functions_end; ++f)
      if (*f) library.m_functions.push_back(*f);
    take_kernels(library, *module);
    for (auto* op = module->ops; op != module->ops_end; ++op) {
      if (!*op) continue;
      add_op(library, *op);
    }
    library.m_has_extension = TARSIA_DETAIL_GIVES(*module, extension);
    if (TARSIA_DETAIL_HAS_FIELD(*module, take_launch_error))
      library.m_errors.take_launch_error = module->take_launch_error;
    library.m_errors.from_launches_alone &= library.m_errors.take_launch_error != nullptr;
    if (library.m_has_extension) attach_extension(library, *module->extension);
    if (module->images) library.m_images = {module->images, module->n_images};
    if (module->skipped) library.m_skipped = {module->skipped, module->n_skipped};
    if (library.m_functions.empty() && library.m_kernels.empty() && library.m_templates.empty() &&
        library.m_ops.empty() && !library.m_has_extension && !has_effects)
      throw_nothing(library);
    order_functions(library.m_functions);
    complete_functions(library);
  }

  /// A static initialiser may have thrown. Its module is unmapped again.
  void check_initializers(void* handle) {
    const auto error = reinterpret_cast<const char* (*)()>(dlsym(handle, TARSIA_INITIALIZER_ERROR_SYMBOL));
    if (!error || !error()) return;
    throw LoadError(m_module.path + ": a static initialiser threw: " + without_backtrace(error()));
  }

  static void take_kernels(Library& library, const tarsia_module& module) {
    for (auto* k = module.kernels; k != module.kernels_end; ++k) {
      if (!*k) continue;
      LibraryKernel& taken = library.m_owned_kernels.emplace_back();
      std::memcpy(&taken.kernel, *k, std::min<std::size_t>((*k)->size, sizeof(tarsia_kernel)));
      if (taken.kernel.stub_slot) taken.kernel.stub = *taken.kernel.stub_slot;
      taken.runtime = library.m_errors.runtime;
      taken.library = &library;
      taken.display_name = kept_name(std::string("kernel ") + taken.kernel.name);
    }
    for (const LibraryKernel& k : library.m_owned_kernels) library.m_kernels.push_back(&k.kernel);
    if (!TARSIA_DETAIL_HAS_FIELD(module, managed_pointer)) return;
    library.m_managed_pointer = module.managed_pointer;
    for (auto* g = module.globals; g != module.globals_end; ++g)
      if (*g) library.m_globals.push_back(*g);
    if (!TARSIA_DETAIL_HAS_FIELD(module, templates_end)) return;
    for (auto* t = module.templates; t != module.templates_end; ++t)
      if (*t) library.m_templates.push_back(*t);
  }

  /// Takes the ops of MXNet's extension API, when its header was Tarsia's own.
  void attach_extension(Library& library, const tarsia_extension& extension) {
    const auto mutex = attaching(library.m_module->handle);
    const std::lock_guard lock(*mutex);
    auto* found = reinterpret_cast<std::int32_t (*)(std::int32_t)>(find_initialize(library.m_module->handle));
    if (extension.initialize(found, k_mxnet_version)) throw_extension_error();
    std::uint64_t n = 0;
    if (extension.size >= sizeof(tarsia_mxnet_extension)) {
      const auto& mxnet = reinterpret_cast<const tarsia_mxnet_extension&>(extension);
      library.m_mxnet = std::make_unique<MxnetLibrary>(*mxnet.library(), m_module.path);
      for (const tarsia_op* op : library.m_mxnet->ops()) add_op(library, op);
    } else {
      const tarsia_op* const* ops = nullptr;
      if (extension.ops(&ops, &n)) throw_extension_error();
      for (std::uint64_t i = 0; i < n; ++i) add_op(library, ops[i]);
    }
    const char* const* ignored = extension.ignored(&n);
    std::vector<std::string> names(ignored, ignored + n);
    if (!names.empty()) warn_ignored(library, names);
  }

  /// Takes the ops of a library that was built against MXNet's own header.
  void attach_mxnet(Library& library) {
    library.m_mxnet = std::make_unique<MxnetLibrary>(library.m_module->handle, m_module.path);
    for (const tarsia_op* op : library.m_mxnet->ops()) add_op(library, op);
    if (!library.m_mxnet->ignored().empty()) warn_ignored(library, {library.m_mxnet->ignored()});
  }

  static void add_op(Library& library, const tarsia_op* op) {
    library.m_ops.push_back(op);
    if (!is_extension(*op)) library.m_op_names.push_back(op->name);
  }

  [[noreturn]] void throw_extension_error() { throw LoadError(m_module.path + ": " + last_error().message); }

  static void warn_ignored(Library& library, const std::vector<std::string>& names) {
    std::string text = "ignored, since only ops are run here: ";
    for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
    library.m_warning_texts.push_back({"", 0, 0, Severity::warning, text});
    log().warn("{}: {}", library.m_name, text);
  }

  /// Puts the functions of a file into the order of their lines, which overloads are tried in.
  ///
  /// Work-around: g++ writes the entries of a section backwards.
  /// Trigger: a library that g++ built exports overloads. Symptom: the last one is tried first.
  /// Removal: g++ keeps the source's order in the oldest version that is supported.
  static void order_functions(std::vector<const tarsia_function*>& functions) {
    std::map<std::string_view, std::size_t> files;
    const auto place = [&files](const tarsia_function* function) {
      const std::string_view text = function->location ? function->location : "";
      const std::size_t colon = std::min(text.rfind(':'), text.size());
      const std::size_t file = files.emplace(text.substr(0, colon), files.size()).first->second;
      return std::pair(file, colon < text.size() ? std::atol(text.data() + colon + 1) : 0);
    };
    for (const tarsia_function* function : functions) place(function);
    std::ranges::stable_sort(functions, {}, place);
  }

  /// An inline source of device functions alone has nothing to call, and says why; a prebuilt one forgot to
  /// export.
  [[noreturn]] void throw_nothing(const Library& library) {
    std::string text = m_module.path + " has no function, kernel or op that can be called";
    for (const auto& skipped : library.m_skipped)
      text += std::string("\n  ") + skipped.name + ": " + skipped.reason;
    if (library.m_skipped.empty())
      text +=
          ". Define a function that is not static, a __global__ kernel or a TARSIA_OP; in a library built "
          "ahead of time mark functions with TARSIA_EXPORT(f)";
    throw LoadError(text);
  }

  /// Gives a signature to functions without one, drops a leading "::" of names, and marks those that take a
  /// stream.
  static void complete_functions(Library& library) {
    library.m_described.reserve(library.m_functions.size());
    library.m_texts.reserve(library.m_functions.size());
    for (const tarsia_function*& function : library.m_functions) {
      tarsia_function copy = *function;
      while (*copy.name == ':' || *copy.name == ' ') ++copy.name;
      for (unsigned i = 0; i < copy.n_params; ++i)
        if (copy.params[i].type.kind == TARSIA_KIND_STREAM) copy.flags |= TARSIA_FUNCTION_TAKES_STREAM;
      if (!*copy.signature) {
        library.m_texts.push_back(describe(copy));
        copy.signature = library.m_texts.back().c_str();
      }
      library.m_described.push_back(
          {copy, library.m_errors,
           library.m_errors.runtime ? kept_name(std::string("function ") + copy.name) : copy.name});
      if (library.m_checks) library.m_checks->add(library.m_described.back());
      function = &library.m_described.back().function;
    }
  }

  ModuleFile m_module;
};

void add_late_ops(const Ref<Library>& library) {
  LibraryLoader::add_late_ops(library);
}

Ref<Library> load_module(ModuleFile module) {
  const ProfilerRange range("load", module.name.c_str());
  return LibraryLoader(std::move(module)).load();
}

Ref<Library> load_file(const std::string& path) {
  UniqueFd source;
  struct stat status;
  if (const int error = open_regular(path, source, status, Links::follow)) {
    if (error == EMFILE || error == ENFILE) raise_errno("cannot read " + path, error);
    if (error == EINVAL) throw LoadError(path + " is no file: load() takes a shared library");
    throw LoadError(errno_message("cannot read " + path, error));
  }
  ModuleFile module;
  module.file = make_memfd("tarsia-library", read_descriptor(source.get(), k_max_library_bytes, path));
  source.reset();
  module.path = path;
  module.name = path.substr(path.rfind('/') + 1);
  module.name = module.name.substr(0, module.name.find(".so"));
  return load_module(std::move(module));
}

tarsia_diagnostic to_c(const Diagnostic& diagnostic) {
  return {diagnostic.file.c_str(), diagnostic.line, diagnostic.column,
          severity_name(diagnostic.severity).data(), diagnostic.message.c_str()};
}

bool seems_empty(std::string_view file, bool is_cuda) {
  const std::string path = "the compiled module";
  const std::uint64_t own = is_cuda ? 1 : 0;  // support/cuda_support.c
  return !lists_entries(file, path) && count_initializers(file, path) <= own &&
         !read_elf(file, path).has_effects;
}

void export_library(std::string_view file, const std::string& path,
                    const std::vector<std::string>& library_dirs) {
  const ElfLibrary elf = read_elf(file, path);
  const std::string_view image = file.substr(0, elf.image_bytes);
  const std::string run_path = run_path_of(image, elf, library_dirs, path);
  write_file(path, run_path.empty() ? image : with_run_path(image, run_path), 0755);
}

void Library::export_to(const std::string& path) const {
  export_library(m_module ? m_module->bytes.bytes() : std::string_view(), path, m_library_dirs);
}

void Library::pin() {
  if (!m_pinned.exchange(true)) retain();
}

void Library::unpin() {
  if (m_pinned.exchange(false)) release();
}

std::span<const char* const> Library::symbols() const {
  return made_once(m_shown,
                   [this] {
                     Symbols shown;
                     if (m_module) shown.texts = shown_symbols(m_module->bytes.bytes(), m_name);
                     for (const std::string& name : shown.texts) shown.names.push_back(name.c_str());
                     return shown;
                   })
      .names;
}

void* Library::symbol(const char* name) const {
  const std::span<const char* const> all = symbols();
  const bool shown = std::ranges::binary_search(all, std::string_view(name), {},
                                                [](const char* one) { return std::string_view(one); });
  return shown ? dlsym(m_module->handle, name) : nullptr;
}

void* Library::linked_symbol(const char* name) const {
  return m_module ? dlsym(m_module->handle, name) : nullptr;
}

Ref<Library> Library::hold(const std::string& name, std::span<const tarsia_op* const> ops,
                           void (*release)(void*), void* user) {
  Ref<Library> library = Ref<Library>::adopt(new Library());
  library->m_release = release;
  library->m_release_user = user;
  library->m_name = name;
  for (const tarsia_op* op : ops) {
    library->m_ops.push_back(op);
    if (!is_extension(*op)) library->m_op_names.push_back(op->name);
  }
  return library;
}

Ref<Library> Library::define(const std::string& name, std::span<const tarsia_op* const> ops,
                             void (*release)(void*), void* user) {
  Ref<Library> library = hold(name, ops, release, user);
  library->add_ops(library);
  return library;
}

void Library::add_ops(const Ref<Library>& self) {
  OpRegistry::instance().add(self, [this](const std::string& text) {
    m_warning_texts.push_back({"", 0, 0, Severity::warning, text});
    log().warn("{}: {}", m_name, text);
  });
  m_warnings.clear();
  for (const Diagnostic& warning : m_warning_texts) m_warnings.push_back(to_c(warning));
}

void Library::destroy() {
  std::unique_ptr<MappedModule> module = std::move(m_module);
  const bool uses_cuda = m_uses_cuda;
  void (*const release)(void*) = m_release;
  void* const user = m_release_user;
  delete this;
  if (release) release(user);
  if (!module || !module->handle) return;
  if (uses_cuda)
    unmap_when_idle(std::move(module));
  else
    unmap(std::move(module));
}

}  // namespace tarsia::registry
