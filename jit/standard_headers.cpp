// The names, each list sorted.
#include "jit/standard_headers.h"

#include <algorithm>
#include <functional>

namespace tarsia::jit {
namespace {

constexpr std::string_view k_cxx[] = {"algorithm",
                                      "any",
                                      "array",
                                      "atomic",
                                      "barrier",
                                      "bit",
                                      "bitset",
                                      "cassert",
                                      "ccomplex",
                                      "cctype",
                                      "cerrno",
                                      "cfenv",
                                      "cfloat",
                                      "charconv",
                                      "chrono",
                                      "cinttypes",
                                      "ciso646",
                                      "climits",
                                      "clocale",
                                      "cmath",
                                      "codecvt",
                                      "compare",
                                      "complex",
                                      "concepts",
                                      "condition_variable",
                                      "coroutine",
                                      "csetjmp",
                                      "csignal",
                                      "cstdalign",
                                      "cstdarg",
                                      "cstdbool",
                                      "cstddef",
                                      "cstdint",
                                      "cstdio",
                                      "cstdlib",
                                      "cstring",
                                      "ctgmath",
                                      "ctime",
                                      "cuchar",
                                      "cwchar",
                                      "cwctype",
                                      "deque",
                                      "exception",
                                      "execution",
                                      "expected",
                                      "filesystem",
                                      "flat_map",
                                      "flat_set",
                                      "format",
                                      "forward_list",
                                      "fstream",
                                      "functional",
                                      "future",
                                      "generator",
                                      "initializer_list",
                                      "iomanip",
                                      "ios",
                                      "iosfwd",
                                      "iostream",
                                      "istream",
                                      "iterator",
                                      "latch",
                                      "limits",
                                      "list",
                                      "locale",
                                      "map",
                                      "mdspan",
                                      "memory",
                                      "memory_resource",
                                      "mutex",
                                      "new",
                                      "numbers",
                                      "numeric",
                                      "optional",
                                      "ostream",
                                      "print",
                                      "queue",
                                      "random",
                                      "ranges",
                                      "ratio",
                                      "regex",
                                      "scoped_allocator",
                                      "semaphore",
                                      "set",
                                      "shared_mutex",
                                      "source_location",
                                      "span",
                                      "spanstream",
                                      "sstream",
                                      "stack",
                                      "stacktrace",
                                      "stdexcept",
                                      "stdfloat",
                                      "stop_token",
                                      "streambuf",
                                      "string",
                                      "string_view",
                                      "strstream",
                                      "syncstream",
                                      "system_error",
                                      "thread",
                                      "tuple",
                                      "type_traits",
                                      "typeindex",
                                      "typeinfo",
                                      "unordered_map",
                                      "unordered_set",
                                      "utility",
                                      "valarray",
                                      "variant",
                                      "vector",
                                      "version"};

constexpr std::string_view k_c[] = {"assert.h",    "complex.h",     "ctype.h",  "errno.h",    "fenv.h",
                                    "float.h",     "inttypes.h",    "iso646.h", "limits.h",   "locale.h",
                                    "math.h",      "setjmp.h",      "signal.h", "stdalign.h", "stdarg.h",
                                    "stdatomic.h", "stdbool.h",     "stddef.h", "stdint.h",   "stdio.h",
                                    "stdlib.h",    "stdnoreturn.h", "string.h", "tgmath.h",   "threads.h",
                                    "time.h",      "uchar.h",       "wchar.h",  "wctype.h"};

constexpr std::string_view k_posix[] = {"dlfcn.h",    "fcntl.h",     "pthread.h",      "sched.h",
                                        "strings.h",  "sys/mman.h",  "sys/resource.h", "sys/stat.h",
                                        "sys/time.h", "sys/types.h", "unistd.h"};

constexpr std::string_view k_others[] = {"emmintrin.h", "features.h",  "getopt.h",   "immintrin.h",
                                         "malloc.h",    "memory.h",    "mpi.h",      "omp.h",
                                         "sys/param.h", "x86intrin.h", "xmmintrin.h"};

static_assert(std::ranges::is_sorted(k_cxx) && std::ranges::is_sorted(k_c) &&
              std::ranges::is_sorted(k_posix) && std::ranges::is_sorted(k_others));

}  // namespace

bool is_standard_header(std::string_view name) {
  return std::ranges::binary_search(k_cxx, name) || std::ranges::binary_search(k_c, name);
}

bool is_posix_header(std::string_view name) {
  return std::ranges::binary_search(k_posix, name);
}

bool is_system_header(std::string_view name) {
  return is_standard_header(name) || is_posix_header(name) || std::ranges::binary_search(k_others, name);
}

std::vector<std::string_view> system_headers() {
  std::vector<std::string_view> names(std::begin(k_cxx), std::end(k_cxx));
  names.insert(names.end(), std::begin(k_c), std::end(k_c));
  names.insert(names.end(), std::begin(k_posix), std::end(k_posix));
  names.insert(names.end(), std::begin(k_others), std::end(k_others));
  return names;
}

}  // namespace tarsia::jit
