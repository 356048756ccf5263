// A worker without compilers: it speaks the protocol by serve() and does what the source's first word says.
//   compile NAME   the module is "\x7f" "ELF " NAME and the text
//   fail           a diagnostic
//   invalid        a diagnostic of the stage `source`
//   until FILE     the same, once the file exists
//   spin, crash, abort, exit N, memory, leave, garble, words TEXT
//   read FILE      the module is the file's content, which becomes a dependency (or its absence)
//   read-all DIR   every file of the folder becomes a dependency
//   size N         a module of N bytes
//   narrow N       no file may be larger than N bytes from now on; then as size 2N
//   fail-on FILE W a diagnostic if the file's content is W
//   then-die       a module; killed as soon as it is asked again, before it looks at the request
//   then-hang      a module; does nothing ever after
//   spoil          a module, after which the worker is not usable
//   parts          keeps and finds a part of each kind from two threads
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "jit/build_id.h"
#include "jit/protocol_server.h"

// Under a sanitizer a crash is the kernel's to report, as it is without one.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigill=0:allow_user_segv_handler=1";
}
extern "C" const char* __tsan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigill=0";
}

namespace {

using namespace tarsia;
using namespace tarsia::jit;

CompileResult module_of(const std::string& text) {
  CompileResult result;
  result.ok = true;
  result.module =
      "\x7f"
      "ELF " +
      text;
  return result;
}

void eat_memory() {
  static std::vector<std::string> s_blocks;
  for (;;) s_blocks.emplace_back(64 << 20, 'x');
}

bool exchange_parts(PartStore& parts) {
  std::atomic<int> good{0};
  std::thread threads[2];
  for (int t = 0; t < 2; ++t) {
    threads[t] = std::thread([&, t] {
      for (PartKind kind : {PartKind::prelude, PartKind::device, PartKind::host}) {
        std::array<unsigned char, 32> key{};
        key[0] = static_cast<unsigned char>(t);
        if (parts.find(kind, key)) continue;
        const std::string bytes(100'000 + t, static_cast<char>('a' + static_cast<int>(kind)));
        parts.keep(kind, key, bytes);
        if (parts.find(kind, key) == bytes) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return good == 6;
}

/// The file's content, noted as a dependency; empty if absent.
std::string read_noted(const std::string& path, CompileResult& result) {
  Dependency dependency{.path = path};
  std::string content;
  try {
    content = read_file(path);
    dependency.content = hash_bytes(content);
  } catch (const Error&) {
    dependency.absent = true;
  }
  result.dependencies.push_back(dependency);
  return content;
}

class TestHandler final : public Handler {
 public:
  CompileResult compile(const CompileRequest& request, PartStore& parts) override {
    std::istringstream words(request.files.at(0).text);
    std::string verb;
    words >> verb;
    m_verb = verb;
    // Counted by the tests: one line a compile.
    if (const char* log = std::getenv("TEST_WORKER_LOG")) {
      if (FILE* file = std::fopen(log, "a")) {
        std::fprintf(file, "%d %s\n", static_cast<int>(::getpid()), verb.c_str());
        std::fclose(file);
      }
    }
    if (verb == "until") {
      std::string path;
      words >> path;
      while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (verb == "spin") {
      for (std::atomic<unsigned> i{0};; ++i) {
      }
    } else if (verb == "crash") {
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would take it
      ::raise(SIGSEGV);
    } else if (verb == "abort") {
      std::fprintf(stderr, "Assertion failed: 1 == 2\n");
      std::abort();
    } else if (verb == "exit") {
      int code = 0;
      words >> code;
      ::_exit(code);
    } else if (verb == "memory") {
      eat_memory();
    } else if (verb == "garble") {
      const char bytes[] = "\xff\xff\xff\xff\xff\xff";
      if (::write(k_worker_fd, bytes, sizeof bytes) < 0) ::_exit(1);
      ::pause();
    } else if (verb == "words") {
      // More than any pipe holds.
      for (int i = 0; i < 200'000; ++i) std::fprintf(stderr, "line %d of many\n", i);
      ::raise(SIGILL);
    } else if (verb == "fail") {
      CompileResult result;
      result.diagnostics = {{request.files[0].name, 1, 2, Severity::error, "no"}};
      return result;
    } else if (verb == "spoil") {
      m_usable = false;
    } else if (verb == "invalid") {
      CompileResult result;
      result.stage = Stage::source;
      result.diagnostics = {{"x.h", 1, 1, Severity::warning, "careful"},
                            {"x.h", 3, 4, Severity::fatal, "NUL"}};
      return result;
    } else if (verb == "parts") {
      return module_of(exchange_parts(parts) ? "parts are right" : "parts are wrong");
    } else if (verb == "warn") {
      CompileResult result = module_of(request.files[0].text);
      result.diagnostics = {{request.files[0].name, 3, 4, Severity::warning, "careful"}};
      return result;
    } else if (verb == "read") {
      std::string path;
      words >> path;
      CompileResult result;
      const std::string content = read_noted(path, result);
      result.ok = true;
      result.module =
          "\x7f"
          "ELF " +
          content;
      // As the compiler does for folders that it searches first.
      read_noted(path + ".not-there", result);
      return result;
    } else if (verb == "read-all") {
      std::string folder;
      words >> folder;
      CompileResult result = module_of(folder);
      for (const auto& item : std::filesystem::directory_iterator(folder)) read_noted(item.path(), result);
      return result;
    } else if (verb == "size" || verb == "narrow") {
      std::size_t size = 0;
      words >> size;
      if (verb == "narrow") {
        const struct rlimit limit = {size, size};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        size *= 2;
      }
      CompileResult result = module_of("");
      result.module.resize(size, 'm');
      return result;
    } else if (verb == "fail-on") {
      std::string path, word;
      words >> path >> word;
      CompileResult result = module_of("fine");
      if (read_noted(path, result) != word) return result;
      result.ok = false;
      result.diagnostics = {{path, 1, 1, Severity::error, "this content is wrong"}};
      return result;
    } else if (verb == "uncacheable") {
      CompileResult result = module_of(request.files[0].text + std::to_string(::getpid()));
      result.cacheable = false;
      return result;
    } else if (verb == "foreign") {
      CompileResult result;
      result.ok = true;
      result.module = "<html>";
      return result;
    } else if (verb == "limits") {
      std::string text;
      for (const char* name : {"/proc/self/limits", "/proc/self/oom_score_adj"}) {
        if (FILE* file = std::fopen(name, "r")) {
          char line[256];
          while (std::fgets(line, sizeof line, file)) text += line;
          std::fclose(file);
        }
      }
      for (int fd = 0; fd < 256; ++fd) {
        char target[256] = {};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        if (::readlink(link.c_str(), target, sizeof target - 1) > 0) {
          text += "fd " + std::to_string(fd) + " " + target + "\n";
        }
      }
      text += "group " + std::to_string(::getpgrp() == ::getpid());
      return module_of(text);
    }
    return module_of(request.name + " " + request.files[0].text);
  }

  void idle() override {
    if (m_verb == "then-hang") ::pause();
    if (m_verb != "then-die") return;
    pollfd watched{k_worker_fd, POLLIN, 0};
    ::poll(&watched, 1, -1);
    ::raise(SIGKILL);
  }

  bool usable() const override { return m_usable; }

  std::vector<std::string> archs() override {
    const char* archs = std::getenv("TEST_WORKER_ARCHS");
    if (archs == nullptr) return {};
    std::istringstream words(archs);
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    return list;
  }

 private:
  std::string m_verb;
  bool m_usable = true;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "mute") ::pause();
  if (how == "die") {
    std::fprintf(stderr, "libfoo.so.1 is missing\n");
    return 127;
  }
  Hello hello{.build_id = std::string(build_id()), .compilers = {{"test", "1"}}};
  if (how == "stranger") hello.build_id = "another build";
  TestHandler handler;
  return serve(UniqueFd(k_worker_fd), hello, handler);
}
