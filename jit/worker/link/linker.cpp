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

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "jit/worker/link/library_excerpt.h"
#include "jit/worker/link/user_libraries.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"
#include "tarsia/abi.h"

LLD_HAS_DRIVER(elf)

extern "C" {
extern const char tarsia_module_support_begin[], tarsia_module_support_end[];
extern const char tarsia_attach_support_begin[], tarsia_attach_support_end[];
extern const char tarsia_main_support_begin[], tarsia_main_support_end[];
extern const char tarsia_cuda_support_begin[], tarsia_cuda_support_end[];
extern const char tarsia_op_support_begin[], tarsia_op_support_end[];
extern const char tarsia_mxnet_support_begin[], tarsia_mxnet_support_end[];
extern const char tarsia_mxnet_graph_support_begin[], tarsia_mxnet_graph_support_end[];
}

namespace tarsia::jit {
namespace {

// Where LLD writes to without a file on disk.
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
  // An LLD that gave up may have left its own end open, which is never closed then: it is not waited for.
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
  std::future<std::string> m_bytes;  // the last: its thread uses the others, and it waits for it
};

// In the order in which they are searched.
constexpr const char* k_run_time[] = {"libstdc++.so.6", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2",
                                      "libgcc_s.so.1"};

// The run-time libraries that this process itself runs on: no -dev package has to be there.
const std::map<std::string, std::string>& run_time_libraries() {
  // Never destroyed, as a thread may be reading it when the process ends; nor is run_time_symbols().
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

/// The symbols of those of them that could be read.
const std::map<std::string, LibrarySymbols>& run_time_symbols() {
  static const auto& known = *new auto([] {
    std::map<std::string, LibrarySymbols> all;
    for (const char* name : k_run_time)
      if (auto found = run_time_libraries().find(name); found != run_time_libraries().end()) try {
          all.emplace(name, found->second);
        } catch (const Error&) {
          // It is linked against whole.
        }
    return all;
  }());
  return known;
}

std::string path_of(const UniqueFd& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

/// An object of Tarsia's own, as a file that LLD can open, for as long as the worker lives.
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
  SupportObject entry{"the module's entry", tarsia_attach_support_begin, tarsia_attach_support_end};
  SupportObject ends{"the module's start and end", tarsia_module_support_begin, tarsia_module_support_end};
  SupportObject ops{"Tarsia's functions for ops", tarsia_op_support_begin, tarsia_op_support_end};
  SupportObject mxnet{"MXNet's extension API", tarsia_mxnet_support_begin, tarsia_mxnet_support_end};
  SupportObject graphs{"MXNet's graphs", tarsia_mxnet_graph_support_begin, tarsia_mxnet_graph_support_end};
};

const SupportObjects& support_objects() {
  static const auto& all = *new SupportObjects;  // never destroyed, like what is known of libraries
  return all;
}

// "ld.lld: error: undefined symbol: foo" and its ">>> referenced by" lines become one diagnostic each.
void parse_messages(llvm::StringRef log, const std::map<std::string, std::string>& names,
                    LinkResult& result) {
  auto clean = [&](llvm::StringRef line) {
    std::string text = line.str();
    for (const auto& [path, name] : names)
      for (size_t at; (at = text.find(path)) != std::string::npos;) text.replace(at, path.size(), name);
    static constexpr std::string_view k_stub = "__device_stub__";  // what Clang calls a kernel's launcher
    for (size_t at; (at = text.find(k_stub)) != std::string::npos;)
      text.replace(at, k_stub.size(), "kernel ");
    return text;
  };
  bool duplicate = false;
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    log = rest;
    if (line.trim().empty()) continue;
    bool error = line.consume_front("ld.lld: error: ") || line.contains("error: ");
    bool warning = !error && line.consume_front("ld.lld: warning: ");
    if (error || warning) {
      Diagnostic diagnostic;
      diagnostic.severity = error ? Severity::error : Severity::warning;
      diagnostic.message = clean(line);
      duplicate = line.starts_with("duplicate symbol: ");
      if (duplicate)
        diagnostic.message = diagnostic.message.substr(18) +
                             " is defined more than once: make it static or inline, or rename one. It is in";
      if (line.starts_with("undefined symbol: "))
        diagnostic.message += "; define it, or name the library that does in `libraries`";
      result.diagnostics.push_back(std::move(diagnostic));
    } else if (!result.diagnostics.empty()) {
      Diagnostic& last = result.diagnostics.back();
      llvm::StringRef text = line.trim();
      text.consume_front(">>>");
      text = text.trim();
      if (text.starts_with("referenced by ") && last.file.empty()) {
        std::string place = clean(text.drop_front(14));
        last.file = place.substr(0, place.find(':'));
      }
      if (text.starts_with("defined at tarsia_module")) continue;
      std::string place = clean(text);
      if (size_t at = place.find(":("); duplicate && at != place.npos) place.resize(at);
      last.message += "\n" + place;
    }
  }
}

/// Whether it names something of <lib_api.h>.
bool uses_mxnet(const LinkInput& object) {
  return object.bytes.find("5mxnet3ext") != std::string::npos;
}

}  // namespace

void prepare_links() {
  support_objects();
  run_time_symbols();
}

LinkResult link(const CompileRequest& request, const std::vector<LinkInput>& inputs, LinkParts parts) {
  LinkResult result;
  std::vector<UniqueFd> files;
  std::map<std::string, std::string> names;
  // The name that is compiled into a module's SONAME must be its content's alone: none.
  std::vector<std::string> args = {
      "ld.lld", "-shared", "-z", "defs", "-z", "relro", "-z", "now", "--hash-style=gnu", "--eh-frame-hdr",
      "--build-id=sha1", "--no-mmap-output-file",
      // Sources do not name libraries: `#pragma comment(lib, …)` could name any file.
      "--no-dependent-libraries", "--threads=1", "--error-limit=50", "-Bsymbolic", "--gc-sections", "-z",
      "nostart-stop-gc", "-m", "elf_x86_64"};
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
  for (const LinkInput& object : inputs) {
    add(object.name, object.bytes);
    need(undefined_symbols(object.bytes));
  }
  const SupportObjects& support = support_objects();
  if (parts.has_main) {
    add_support(support.main);
    args.push_back("--wrap=exit");
    args.push_back("--wrap=malloc");
  }
  if (parts.cuda) {
    add_support(support.cuda);
    args.push_back("--wrap=cudaLaunchKernel");
    args.push_back("--wrap=cudaDeviceReset");
  }
  add_support(support.entry);
  add_support(support.ends);
  // Taken if something of it is used.
  args.push_back("--start-lib");
  add_support(support.ops);
  if (std::any_of(inputs.begin(), inputs.end(), uses_mxnet)) {
    add_support(support.mxnet);
    add_support(support.graphs);
  }
  args.push_back("--end-lib");
  // Templates of std are visible outside by their own word; nobody may find them there, and unused ones go.
  static const std::string k_exported = "{ global: " TARSIA_MODULE_SYMBOL "; local: *; };";
  files.push_back(make_memfd("tarsia-exported", k_exported));
  args.push_back("--version-script=" + path_of(files.back()));

  UserLibraries libraries = find_user_libraries(request);
  result.dependencies = std::move(libraries.dependencies);
  if (libraries.refused) {
    result.diagnostics.push_back(std::move(*libraries.refused));
    return result;
  }
  args.insert(args.end(), libraries.arguments.begin(), libraries.arguments.end());
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
  // A user's static library may bring further undefined symbols along.
  if (!request.options.libraries.empty() || parts.whole_libraries) undefined.reset();
  if (undefined && parts.has_main) {
    undefined->insert("exit");  // --wrap gives it to __real_exit
    for (const char* name : {"_Znwm", "_Znam"})
      if (undefined->contains(name)) args.push_back(std::string("--wrap=") + name);
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
  // Without it LLD ends the process where it gives up.
  llvm::CrashRecoveryContext::Enable();
  lld::Result linked = lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  llvm::CrashRecoveryContext::throwIfCrash(linked.retCode);
  result.can_link_again = linked.canRunAgain;
  parse_messages(log, names, result);
  result.ok = linked.retCode == 0;
  if (result.ok)
    result.module = output.finish();
  else if (result.diagnostics.empty())
    result.diagnostics.push_back({.message = "the linker gave up without a word"});
  return result;
}

}  // namespace tarsia::jit
