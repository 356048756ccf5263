// LLD in this process.
#include "jit/worker/link/linker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/paths.h"
#include "jit/worker/link/driver_stubs.h"
#include "jit/worker/link/kept_symbols.h"
#include "jit/worker/link/library_excerpt.h"
#include "jit/worker/link/link_messages.h"
#include "jit/worker/link/user_libraries.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"
#include "tarsia/abi.h"

LLD_HAS_DRIVER(elf)

extern "C" {
#include "support_objects.inc"
}

namespace tarsia::jit {
namespace {

// A place for LLD's output without a file on disk.
//
// Work-around: LLD makes a temporary file beside its output.
// Trigger: the output is a regular file, as a memfd is too. Symptom: for /proc/self/fd/N the folder is one of
// /proc's, which refuses new files. To a pipe LLD writes the finished bytes at once.
// Removal: LLD links into memory.
class OutputPipe {
 public:
  OutputPipe() {
    open(m_read, m_write);
    open(m_stopped, m_stop);
    m_bytes = std::async(std::launch::async, [this] { return read_all(); });
  }
  ~OutputPipe() {
    m_write.reset();
    m_stop.reset();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(m_write.get()); }
  std::string finish() {
    m_write.reset();
    return m_bytes.get();
  }

 private:
  static void open(UniqueFd& read, UniqueFd& write) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("no file descriptor is left for the linker's output");
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  // An LLD that gave up may have left its own end open. Nobody closes it then, so nobody waits for it.
  std::string read_all() const {
    std::string bytes;
    char block[1 << 16];
    while (true) {
      pollfd ends[2] = {{m_read.get(), POLLIN, 0}, {m_stopped.get(), 0, 0}};
      if (::poll(ends, 2, -1) < 0) continue;
      if (ends[0].revents == 0) return bytes;
      ssize_t n = ::read(m_read.get(), block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return bytes;
      bytes.append(block, n);
    }
  }

  UniqueFd m_read, m_write, m_stopped, m_stop;
  std::future<std::string> m_bytes;  // declared last: its thread uses the others, and its destructor waits
};

// In the order of the search.
constexpr const char* k_run_time[] = {"libstdc++.so.6", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2",
                                      "libgcc_s.so.1"};

// The run-time libraries that this process itself runs on, so that no -dev package is needed.
const std::map<std::string, std::string>& run_time_libraries() {
  // Never destroyed, since a thread may read it when the process ends. The same holds for
  // run_time_symbols().
  static const auto& found = *new auto([] {
    std::map<std::string, std::string> all;
    for (const char* name : k_run_time) {
      void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
      struct link_map* map = nullptr;
      if (handle && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        all[name] = map->l_name;
    }
    return all;
  }());
  return found;
}

/// The symbols of those run-time libraries that could be read.
const std::map<std::string, LibrarySymbols>& run_time_symbols() {
  static const auto& known = *new auto([] {
    std::map<std::string, LibrarySymbols> all;
    for (const char* name : k_run_time)
      if (auto found = run_time_libraries().find(name); found != run_time_libraries().end()) try {
          all.emplace(name, found->second);
        } catch (const Error&) {
          // Without its symbols, a link uses the whole library.
        }
    return all;
  }());
  return known;
}

std::string path_of(const UniqueFd& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

/// An object of Tarsia's own, as a file that LLD can open as long as the worker lives.
class SupportObject {
 public:
  SupportObject(const char* name, const char* begin, const char* end)
      : m_name(name),
        m_undefined(undefined_symbols({begin, size_t(end - begin)})),
        m_file(make_memfd("tarsia-object", {begin, size_t(end - begin)})) {}

  const char* name() const { return m_name; }
  std::string path() const { return path_of(m_file); }
  const std::optional<std::set<std::string_view>>& undefined() const { return m_undefined; }

 private:
  const char* m_name;
  std::optional<std::set<std::string_view>> m_undefined;
  UniqueFd m_file;
};

struct SupportObjects {
  SupportObject main{"the runner of main", tarsia_main_support_begin, tarsia_main_support_end};
  SupportObject cuda{"the CUDA registration", tarsia_cuda_support_begin, tarsia_cuda_support_end};
  SupportObject launch{"the configurations of launches", tarsia_launch_support_begin,
                       tarsia_launch_support_end};
  SupportObject undefined{"the checks for undefined behaviour", tarsia_undefined_support_begin,
                          tarsia_undefined_support_end};
  SupportObject driver{"the CUDA driver's functions", tarsia_driver_support_begin, tarsia_driver_support_end};
  SupportObject initializers{"the guard of static initialisers", tarsia_initializer_support_begin,
                             tarsia_initializer_support_end};
  SupportObject entry{"the module's entry", tarsia_attach_support_begin, tarsia_attach_support_end};
  SupportObject ends{"the module's start and end", tarsia_module_support_begin, tarsia_module_support_end};
  SupportObject ops{"Tarsia's functions for ops", tarsia_op_support_begin, tarsia_op_support_end};
  SupportObject sessions{"the values of sessions", tarsia_session_support_begin, tarsia_session_support_end};
  SupportObject mxnet{"MXNet's extension API", tarsia_mxnet_support_begin, tarsia_mxnet_support_end};
  SupportObject graphs{"MXNet's graphs", tarsia_mxnet_graph_support_begin, tarsia_mxnet_graph_support_end};
  SupportObject class_ops{"class operators", tarsia_class_op_support_begin, tarsia_class_op_support_end};
  SupportObject th{"TH's functions", tarsia_th_support_begin, tarsia_th_support_end};
  SupportObject math{"<tarsia/math.h>", tarsia_math_support_begin, tarsia_math_support_end};
  SupportObject cpu{"what is known of the CPU", tarsia_cpuinfo_begin, tarsia_cpuinfo_end};
};

const SupportObjects& support_objects() {
  static const auto& all = *new SupportObjects;  // never destroyed, like run_time_libraries()
  return all;
}

/// Whether the name is one of OpenMP's run-time library.
bool is_of_openmp(std::string_view name) {
  return name.starts_with("__kmpc_") || name.starts_with("omp_") || name.starts_with("kmp_");
}

/// What of that library has the undefined symbols. None if either cannot be read: then the link needs all of
/// it.
std::optional<std::string> openmp_excerpt(const std::string& path,
                                          const std::optional<std::set<std::string_view>>& undefined) {
  if (undefined) try {
      return LibrarySymbols(path).excerpt(*undefined);
    } catch (const Error&) {
      // Without its symbols, the link uses the whole library.
    }
  return std::nullopt;
}

/// Whether it names something of <lib_api.h>.
bool uses_mxnet(const LinkInput& object) {
  return object.bytes.find("5mxnet3ext") != std::string::npos;
}

/// Whether a symbol is of the headers for class operators, which only declare some.
bool is_of_class_ops(std::string_view name) {
  return name.find("5mxnet13tarsia_detail") != name.npos ||
         name.find("5mxnet16OperatorProperty") != name.npos || name.find("4dmlc") != name.npos;
}

/// Whether a symbol is one of those that <TH/TH.h> and <THC/THC.h> declare.
bool is_of_th(std::string_view name) {
  return name.starts_with("TH") || name.starts_with("tarsia_th_") || name.find("6tarsia2th") != name.npos;
}

/// One run of LLD. `of_driver` are functions of the CUDA driver; those that are still undefined are added.
LinkResult link_once(const CompileRequest& request, const std::vector<LinkInput>& inputs,
                     const LinkParts& parts, const KeptSymbols& kept, std::set<std::string>& of_driver) {
  LinkResult result;
  std::vector<UniqueFd> files;
  std::map<std::string, std::string> names;
  // A module's SONAME must depend on its content alone, so no name is compiled in.
  std::vector<std::string> args = {
      "ld.lld", "-shared", "-z", "relro", "-z", "now", "--hash-style=gnu", "--eh-frame-hdr",
      "--build-id=sha1", "--no-mmap-output-file",
      // Sources do not name libraries: `#pragma comment(lib, …)` could name any file.
      "--no-dependent-libraries", "--threads=1", "--error-limit=50", "-Bsymbolic", "--gc-sections", "-z",
      "nostart-stop-gc", "-m", "elf_x86_64"};
  // read_messages() makes errors of the warnings, save about what a process may bring.
  if (request.options.undefined != "load")
    args.insert(args.end(), {"-z", "defs", "--warn-unresolved-symbols"});
  auto add = [&](const std::string& name, std::string_view bytes) {
    files.push_back(make_memfd("tarsia-object", bytes));
    names[path_of(files.back())] = name;
    args.push_back(path_of(files.back()));
  };
  std::optional<std::set<std::string_view>> undefined(std::in_place);
  auto need = [&](const std::optional<std::set<std::string_view>>& symbols) {
    if (!symbols) undefined.reset();
    if (undefined) undefined->insert(symbols->begin(), symbols->end());
  };
  auto add_support = [&](const SupportObject& object) {
    names[object.path()] = object.name();
    args.push_back(object.path());
    need(object.undefined());
  };
  std::string of_openmp;  // a name of its run-time library that the inputs use
  bool uses_th = false, uses_class_ops = false;
  for (const LinkInput& object : inputs) {
    add(object.name, object.bytes);
    const auto symbols = undefined_symbols(object.bytes);
    need(symbols);
    if (!symbols) continue;
    for (std::string_view name : *symbols) {
      if (is_of_openmp(name)) of_openmp = name;
      uses_th |= is_of_th(name);
      uses_class_ops |= is_of_class_ops(name);
      if (is_of_driver(name)) of_driver.insert(std::string(name));
    }
  }
  // A static library of the user's may use it, too.
  if (of_openmp.empty() && request.options.openmp && !request.options.libraries.empty()) of_openmp = "OpenMP";
  const SupportObjects& support = support_objects();
  // AddressSanitizer fills memory with what is no zero, and names the code that asked for it.
  const bool checks_memory = has_checks(request.options, "address");
  if (parts.has_main) {
    add_support(support.main);
    args.push_back("--wrap=exit");
    if (!checks_memory) args.push_back("--wrap=malloc");
  }
  if (parts.cuda) {
    add_support(support.cuda);
    args.push_back("--wrap=cudaLaunchKernel");
    args.push_back("--wrap=cudaDeviceReset");
    if (request.options.cell.empty()) add_support(support.launch);
  }
  const bool finds = has_checks(request.options, "undefined");
  if (finds) add_support(support.undefined);
  add_support(support.entry);
  add_support(support.ends);
  // Linked in if the inputs use something of it.
  args.push_back("--start-lib");
  if (parts.has_effects) add_support(support.initializers);
  add_support(support.ops);
  if (!undefined ||
      std::ranges::any_of(*undefined, [](std::string_view name) { return name.starts_with("tarsia_cell_"); }))
    add_support(support.sessions);
  if (std::any_of(inputs.begin(), inputs.end(), uses_mxnet)) {
    add_support(support.mxnet);
    add_support(support.graphs);
  }
  if (uses_class_ops) add_support(support.class_ops);
  if (uses_th) add_support(support.th);
  if (!undefined || std::ranges::any_of(*undefined, [](std::string_view name) {
        return name.find("6tarsia4math") != name.npos;
      }))
    add_support(support.math);
  if (!undefined || undefined->contains("__cpu_model") || undefined->contains("__cpu_features2") ||
      undefined->contains("__cpu_indicator_init"))
    add_support(support.cpu);
  args.push_back("--end-lib");
  // Templates of std ask for default visibility. Nobody else may find them there, and unused ones go.
  std::string shown = "{ global: " TARSIA_MODULE_SYMBOL "; " TARSIA_INITIALIZER_ERROR_SYMBOL ";";
  if (finds) shown += " tarsia_take_findings;";
  for (const std::string& name : kept.names) shown += " \"" + name + "\";";
  if (!kept.names.empty() || parts.has_effects) {
    args.push_back("--defsym=" TARSIA_EFFECTS_SYMBOL "=0");
    shown += " " TARSIA_EFFECTS_SYMBOL ";";
  }
  args.push_back("--undefined-version");  // not every module has all of Tarsia's own
  files.push_back(make_memfd("tarsia-exported", shown + " local: *; };"));
  args.push_back("--version-script=" + path_of(files.back()));

  UserLibraries libraries = find_user_libraries(request);
  result.dependencies = std::move(libraries.dependencies);
  if (libraries.refused) {
    result.diagnostics.push_back(std::move(*libraries.refused));
    return result;
  }
  args.insert(args.end(), libraries.arguments.begin(), libraries.arguments.end());
  if (!of_driver.empty()) {  // what a library has is that library's
    args.push_back("--start-lib");
    add("the CUDA driver's functions", make_driver_stubs(of_driver));
    add_support(support.driver);
    args.push_back("--end-lib");
  }
  if (parts.cuda) {
    if (request.cuda_parts.cudart.empty()) {
      Diagnostic diagnostic;
      diagnostic.message =
          "the CUDA runtime (libcudart.so) was not found; install it with `pip install nvidia-cuda-runtime`, "
          "or set "
          "TARSIA_CUDA_HOME to a CUDA toolkit";
      result.diagnostics.push_back(diagnostic);
      return result;
    }
    args.push_back(request.cuda_parts.cudart);
  }
  args.push_back("--as-needed");
  // A user's static library may add undefined symbols.
  if (!request.options.libraries.empty() || parts.whole_libraries) undefined.reset();
  if (undefined && parts.has_main) {
    undefined->insert("exit");  // --wrap gives it to __real_exit
    for (const char* name : {"_Znwm", "_Znam"})
      if (!checks_memory && undefined->contains(name)) args.push_back(std::string("--wrap=") + name);
  }
  if (!of_openmp.empty()) {
    const std::vector<std::string> found = openmp_libraries(parts.home);
    if (found.empty()) {
      result.diagnostics.push_back(
          {.message = of_openmp + " is used of OpenMP's run-time library, libomp.so, which was not found: " +
                      std::string(k_openmp_remedy)});
      return result;
    }
    if (const auto excerpt = openmp_excerpt(found.front(), undefined); !excerpt)
      args.push_back(found.front());
    else if (!excerpt->empty())
      add("libomp.so", *excerpt);
  }
  for (const char* name : k_run_time) {
    const auto symbols = run_time_symbols().find(name);
    if (undefined && symbols != run_time_symbols().end()) {
      if (const std::string excerpt = symbols->second.excerpt(*undefined); !excerpt.empty())
        add(name, excerpt);
    } else if (auto found = run_time_libraries().find(name); found != run_time_libraries().end()) {
      args.push_back(found->second);
    }
  }

  OutputPipe output;
  args.push_back("-o");
  args.push_back(output.path());
  std::vector<const char*> pointers;
  for (const std::string& arg : args) pointers.push_back(arg.c_str());
  std::string log;
  llvm::raw_string_ostream out(log);
  // Otherwise LLD ends the process when it gives up.
  llvm::CrashRecoveryContext::Enable();
  lld::Result linked = lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  llvm::CrashRecoveryContext::throwIfCrash(linked.retCode);
  result.can_link_again = linked.canRunAgain;
  LinkMessages messages =
      read_messages(log, names, parts.cuda ? request.cuda_parts.include_dirs : std::vector<std::string>());
  result.diagnostics = std::move(messages.diagnostics);
  result.lacks_driver = !messages.of_driver.empty();
  of_driver.merge(messages.of_driver);
  result.ok = linked.retCode == 0 && std::ranges::none_of(result.diagnostics, [](const Diagnostic& one) {
                return one.severity >= Severity::error;
              });
  if (result.ok)
    result.module = output.finish();
  else if (result.diagnostics.empty())
    result.diagnostics.push_back({.message = "the linker gave up without a word"});
  return result;
}

}  // namespace

void prepare_links() {
  support_objects();
  run_time_symbols();
}

LinkResult link(const CompileRequest& request, std::vector<LinkInput> inputs, LinkParts parts) {
  LinkResult result;
  const bool kernels_alone = !request.options.kernels.empty();
  const KeptSymbols kept =
      keep_symbols(inputs, kernels_alone ? std::vector<std::string>() : request.options.exports);
  if (kept.refused) {
    result.diagnostics.push_back(*kept.refused);
    return result;
  }
  std::set<std::string> of_driver;
  result = link_once(request, inputs, parts, kept, of_driver);
  // A static library of the user's may call functions of the driver that no input calls.
  if (result.lacks_driver && result.can_link_again)
    result = link_once(request, inputs, parts, kept, of_driver);
  return result;
}

}  // namespace tarsia::jit
