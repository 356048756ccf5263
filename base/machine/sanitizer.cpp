// Looks for the sanitizers' run-time libraries in the process and on the machine.
#include "base/machine/sanitizer.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

namespace tarsia {
namespace {

// Python keeps memory until it ends, which is no leak. ThreadSanitizer makes its report of a crash within the
// handler of Tarsia's that calls it, allocates memory there, and would report that.
constexpr Sanitizer k_sanitizers[] = {
    {"address", "AddressSanitizer", "__asan_init", "libclang_rt.asan-x86_64.so", "ASAN_OPTIONS",
     "detect_leaks=0"},
    {"thread", "ThreadSanitizer", "__tsan_init", "libclang_rt.tsan-x86_64.so", "TSAN_OPTIONS",
     "detect_leaks=0:report_signal_unsafe=0"}};

template <class Is>
const Sanitizer* find_sanitizer(Is is) {
  const auto found = std::ranges::find_if(k_sanitizers, is);
  return found == std::end(k_sanitizers) ? nullptr : found;
}

}  // namespace

const Sanitizer* sanitizer_of_mode(std::string_view mode) {
  return find_sanitizer([&](const Sanitizer& one) { return one.mode == mode; });
}

const Sanitizer* sanitizer_of_symbol(std::string_view symbol) {
  return find_sanitizer([&](const Sanitizer& one) { return one.start == symbol; });
}

bool is_in_process(const Sanitizer& sanitizer) {
  return ::dlsym(RTLD_DEFAULT, sanitizer.start) != nullptr;
}

bool is_sanitizer_in_process() {
  return find_sanitizer(is_in_process) != nullptr;
}

std::string library_of(const Sanitizer& sanitizer) {
  std::vector<std::string> places{library_dir() + "/" + sanitizer.file};
  for (const std::string& llvm : llvm_folders()) {
    std::error_code ignored;
    for (const auto& version : std::filesystem::directory_iterator(llvm + "/clang", ignored))
      places.push_back(version.path() / "lib/linux" / sanitizer.file);
  }
  const auto found = std::ranges::find_if(places, [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
  });
  return found == places.end() ? std::string() : *found;
}

void require_in_process(const Sanitizer& sanitizer, const std::string& what) {
  if (is_in_process(sanitizer)) return;
  if (const Sanitizer* other = find_sanitizer(is_in_process))
    throw LoadError(what + " needs " + sanitizer.name + ", and this process has " + other->name +
                    ": a process has one sanitizer. Load it in another program");
  if (std::getenv("TARSIA_RUNS_SCRIPT"))
    throw LoadError(
        what + " needs " + sanitizer.name +
        ", which must be in a process from its start. `python -m tarsia SCRIPT` starts the script "
        "again with it, but this process is one that the script has started, such as a worker of "
        "multiprocessing: it has the sanitizer that the script itself had then. Load a library with "
        "debug=\"" +
        std::string(sanitizer.mode) + "\" in the script before it starts others");
  const std::string library = library_of(sanitizer);
  throw LoadError(
      what + " needs " + sanitizer.name +
      ", which must be in a process from its start: run the program by `python -m tarsia SCRIPT` or "
      "`tarsia run FILE`" +
      (library.empty() ? ", with its run-time library installed (apt install libclang-rt-22-dev)"
                       : ", or with LD_PRELOAD=" + library));
}

}  // namespace tarsia
