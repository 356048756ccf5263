// `tarsia check`: tests the ops of a source or library. With --asan, the machine's own compiler builds the
// source with AddressSanitizer, and this program runs itself again with the sanitizer's library before it.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tarsia/testing.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/report.h"

extern char** environ;

namespace tarsia::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

DType dtype_named(const std::string& wanted) {
  for (DType d : {bool8, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64,
                  bfloat16, complex64, complex128}) {
    char name[16];
    if (wanted == name_of(d, name)) return d;
  }
  throw std::invalid_argument("there is no dtype '" + wanted + "'");
}

/// "3,4", "csr:3,4", "": the shape () .
testing::OpCheck::Input input_of(std::string text) {
  testing::OpCheck::Input input;
  for (const auto& [prefix, storage] : {std::pair{"csr:", TARSIA_CSR}, std::pair{"rows:", TARSIA_ROW_SPARSE}})
    if (text.starts_with(prefix)) {
      input.storage = storage;
      text = text.substr(text.find(':') + 1);
    }
  if (text.empty()) return input;
  for (const std::string& part : split(text, ',')) {
    char* end = nullptr;
    input.shape.push_back(std::strtoll(part.c_str(), &end, 10));
    if (end == part.c_str() || *end || input.shape.back() < 0)
      throw std::invalid_argument("'" + text + "' is no shape: write 3,4");
  }
  return input;
}

testing::OpCheck check_of(const CheckCommand& command) {
  testing::OpCheck check;
  check.gradient = command.gradient;
  check.seed = command.seed;
  if (!command.shapes.empty())
    for (const std::string& shape : split(command.shapes, ';')) check.inputs.push_back(input_of(shape));
  const std::vector<std::string> dtypes =
      command.dtypes.empty() ? std::vector<std::string>() : split(command.dtypes, ';');
  if (!dtypes.empty() && dtypes.size() != 1 && dtypes.size() != check.inputs.size())
    throw std::invalid_argument("--dtypes names one dtype, or one for each of --shapes");
  if (!dtypes.empty() && check.inputs.empty()) throw std::invalid_argument("--dtypes needs --shapes");
  for (std::size_t i = 0; !dtypes.empty() && i < check.inputs.size(); ++i)
    check.inputs[i].dtype = dtype_named(dtypes[dtypes.size() == 1 ? 0 : i]);
  for (const std::string& attribute : command.attributes) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("'" + attribute + "' is no NAME=VALUE");
    check.attributes.emplace_back(attribute.substr(0, equals), attribute.substr(equals + 1));
  }
  return check;
}

/// Runs a program and gives its exit code, 128 + signal if one ended it. Throws if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::vector<std::string>& more_environment) {
  std::vector<char*> argv, envp;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& entry : more_environment) envp.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry; ++entry) envp.push_back(*entry);
  envp.push_back(nullptr);
  pid_t child = 0;
  std::fflush(nullptr);
  if (const int error = posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), envp.data()))
    throw std::runtime_error("cannot run " + words[0] + ": " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "tarsia-check-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    m_path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (m_path / name).string(); }

 private:
  fs::path m_path;
};

/// Where Tarsia's headers lie, seen from this program: in a package, or in the folder of a build.
std::string include_folder() {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"../include", "../python/tarsia/include"})
    if (fs::exists(own / place / "tarsia/op.h")) return fs::weakly_canonical(own / place).string();
  throw std::runtime_error("Tarsia's headers are not where they should be, near " + own.string());
}

/// The sanitizer's library of the compiler.
std::string sanitizer_library(const std::string& compiler) {
  const std::string command = compiler + " -print-file-name=libasan.so 2>/dev/null";
  std::string path;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char line[4096];
    if (std::fgets(line, sizeof line, pipe)) path = line;
    pclose(pipe);
  }
  while (!path.empty() && path.back() == '\n') path.pop_back();
  if (path.find('/') == std::string::npos)
    throw std::runtime_error("--asan needs " + compiler +
                             " with its AddressSanitizer (Debian: apt install g++)");
  return path;
}

int check_with_asan(const CheckCommand& command) {
  const TemporaryFolder folder;
  std::string library = command.file;
  const char* chosen = std::getenv("CXX");
  const std::string compiler = chosen && *chosen ? chosen : "g++";
  const std::string preload = sanitizer_library(compiler);
  if (!is_library(command.file)) {
    library = folder.file(fs::path(command.file).stem().string() + ".so");
    const bool cuda = command.file.ends_with(".cu");
    std::vector<std::string> words = {cuda ? "nvcc" : compiler};
    if (cuda)
      words.insert(words.end(),
                   {"-ccbin", compiler, "-Xcompiler", "-fPIC,-fsanitize=address,-fno-omit-frame-pointer"});
    else
      words.insert(words.end(), {"-fPIC", "-fsanitize=address", "-fno-omit-frame-pointer"});
    const Options& given = command.options.options;
    words.insert(words.end(), {"-g", "-O1", "-std=" + given.std, "-shared", "-I" + include_folder()});
    for (const auto& [name, value] : given.defines)
      words.push_back("-D" + name + (value ? "=" + *value : ""));
    for (const std::string& dir : given.include_dirs) words.push_back("-I" + dir);
    for (const std::string& dir : given.library_dirs) words.push_back("-L" + dir);
    words.insert(words.end(), {command.file, "-o", library});
    for (const std::string& name : given.libraries) words.push_back("-l" + name);
    if (run_program(words, {}) != 0) {
      print_error(command.file + " does not compile with " + words[0] + ", which --asan uses");
      return k_failed;
    }
  }
  std::vector<std::string> words = {fs::read_symlink("/proc/self/exe").string(), "check", "--exact-memory",
                                    library};
  words.insert(words.end(), command.ops.begin(), command.ops.end());
  auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  option("--shapes", command.shapes);
  option("--dtypes", command.dtypes);
  option("--seed", std::to_string(command.seed));
  for (const std::string& attribute : command.attributes) option("--attr", attribute);
  if (!command.gradient) words.push_back("--no-gradient");
  if (command.options.verbose) words.push_back("-v");
  const int code = run_program(words, {"LD_PRELOAD=" + preload, "ASAN_OPTIONS=detect_leaks=0:exitcode=1"});
  if (code > 128) print_error("the check ended by signal " + std::to_string(code - 128));
  return code == 0 ? k_done : code == k_usage ? k_usage : k_failed;
}

/// Told of by the handler when the op's code crashes.
const char* g_op = "";

void tell_crash(int signal) {
  auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  };
  say("tarsia: error: op '");
  say(g_op);
  say(signal == SIGSEGV  ? "' crashed: segmentation fault"
      : signal == SIGFPE ? "' crashed: arithmetic error"
                         : "' crashed");
  say("; `--asan` and a debugger tell where\n");
  _exit(k_failed);
}

tarsia_library* open(const CheckCommand& command) {
  tarsia_library* library = nullptr;
  if (is_library(command.file)) {
    if (tarsia_load(command.file.c_str(), &library) != 0) report_last_error(nullptr);
    return library;
  }
  const Sources sources({command.file});
  const Options options = options_for(sources, command.options, command.file);
  const detail::Request request(options, sources.files());
  if (tarsia_load_inline(request.files(), request.n_files(), request.options(), &library) != 0)
    report_last_error(&sources);
  return library;
}

}  // namespace

int check(const CheckCommand& command) {
  testing::OpCheck op_check;
  try {
    op_check = check_of(command);
  } catch (const std::invalid_argument& error) {
    print_error(error.what());
    return k_usage;
  }
  if (command.asan) return check_with_asan(command);
  op_check.exact_memory = command.exact_memory;
  const tarsia_library* library = open(command);
  if (!library) return k_failed;
  uint64_t n = 0;
  const char* const* names = tarsia_library_ops(library, &n);
  std::vector<std::string> ops = command.ops;
  for (const std::string& op : ops)
    if (std::find_if(names, names + n, [&](const char* name) { return op == name; }) == names + n) {
      print_error(command.file + " has no op '" + op + "'");
      return k_usage;
    }
  if (ops.empty()) ops.assign(names, names + n);
  if (ops.empty()) {
    print_error(command.file + " has no op");
    return k_usage;
  }
  if (!command.exact_memory)  // the sanitizer has handlers of its own
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, tell_crash);
  std::size_t n_failed = 0;
  for (const std::string& op : ops) {
    g_op = op.c_str();
    const testing::OpReport report = testing::check_op(op, op_check);
    std::size_t n_passed = 0, n_skipped = 0;
    for (const auto& result : report.results) {
      n_passed += result.status == TARSIA_CHECK_PASSED;
      n_skipped += result.status == TARSIA_CHECK_SKIPPED;
    }
    std::printf("%s (%zu checks passed, %zu skipped)\n", report.text(command.options.verbose).c_str(),
                n_passed, n_skipped);
    std::fflush(stdout);
    n_failed += !report.passed();
  }
  if (ops.size() > 1) std::printf("%zu of %zu ops pass\n", ops.size() - n_failed, ops.size());
  return n_failed ? k_failed : k_done;
}

}  // namespace tarsia::tools
