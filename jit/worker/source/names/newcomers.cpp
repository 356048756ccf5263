// Remedies for names that newcomers meet first: those of other libraries' tutorials, and of newer standards.
#include "jit/worker/source/names/newcomers.h"

#include <utility>

#include "jit/worker/source/names/device_names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tarsia::jit {
namespace {

struct Names {
  const char* of;
  const char* names;  // separated by blanks
};

// What libstdc++ has of each standard, as far as it is met.
constexpr Names k_standards[] = {
    {"c++14",
     "make_unique exchange integer_sequence make_index_sequence index_sequence shared_timed_mutex cbegin "
     "quoted"},
    {"c++17",
     "optional nullopt make_optional variant visit monostate holds_alternative any any_cast string_view "
     "filesystem clamp gcd "
     "lcm byte scoped_lock shared_mutex apply make_from_tuple reduce transform_reduce inclusive_scan "
     "exclusive_scan invoke "
     "not_fn as_const hardware_destructive_interference_size hardware_constructive_interference_size "
     "cyl_bessel_j "
     "cyl_bessel_i legendre size data empty execution void_t conjunction disjunction negation is_invocable_v "
     "is_same_v from_chars "
     "to_chars sample for_each_n map::try_emplace map::insert_or_assign map::extract"},
    {"c++20",
     "span jthread latch barrier counting_semaphore binary_semaphore ranges views bit_cast popcount "
     "countl_zero countr_zero "
     "has_single_bit bit_ceil bit_floor bit_width rotl rotr endian numbers source_location midpoint lerp "
     "ssize to_address "
     "remove_cvref_t bind_front erase_if make_unique_for_overwrite strong_ordering weak_ordering "
     "partial_ordering stop_token "
     "atomic_ref identity to_array same_as integral floating_point convertible_to invocable shift_left "
     "shift_right osyncstream "
     "coroutine_handle erase counted_iterator default_sentinel unreachable_sentinel sentinel_for projected "
     "cmp_less cmp_equal countl_one countr_one string::starts_with string::ends_with "
     "string_view::starts_with string_view::ends_with "
     "map::contains "
     "set::contains unordered_map::contains unordered_set::contains"},
    {"c++23",
     "expected unexpected move_only_function byteswap to_underlying unreachable invoke_r spanstream "
     "string::contains "
     "string_view::contains string::resize_and_overwrite optional::transform optional::and_then "
     "optional::or_else"}};

// Names that are hardly anything but std's, and the headers that have them.
constexpr Names k_without_std[] = {{"iostream", "cout cerr cin clog endl"},
                                   {"string", "string to_string"},
                                   {"vector", "vector"},
                                   {"map", "map"},
                                   {"unordered_map", "unordered_map"},
                                   {"set", "set"},
                                   {"sstream", "stringstream ostringstream istringstream"},
                                   {"memory", "unique_ptr shared_ptr make_unique make_shared"},
                                   {"string_view", "string_view"},
                                   {"thread", "thread"},
                                   {"algorithm", "max min sort swap clamp"},
                                   {"utility", "pair make_pair"}};

constexpr char k_torch[] = "; compile with **tarsia.torch.options(), and #include <torch/extension.h>";
constexpr char k_python[] =
    "; a source that uses Python's C API has include_dirs=[sysconfig.get_path(\"include\")]; functions need "
    "none of it: they "
    "take and give numbers, strings, lists and tensors";

llvm::StringRef found_in(llvm::ArrayRef<Names> table, llvm::StringRef name) {
  for (const Names& one : table) {
    llvm::SmallVector<llvm::StringRef, 64> words;
    llvm::StringRef(one.names).split(words, ' ', -1, /*KeepEmpty=*/false);
    if (llvm::is_contained(words, name)) return one.of;
  }
  return {};
}

/// Whether it is one of CUDA's vectors, or the function that makes one: "float4", "make_float4".
bool is_of_cudas_vectors(llvm::StringRef name) {
  static constexpr const char* k_bases[] = {"char", "uchar", "short",    "ushort",    "int",   "uint",
                                            "long", "ulong", "longlong", "ulonglong", "float", "double"};
  name.consume_front("make_");
  return !name.empty() && name.back() >= '1' && name.back() <= '4' &&
         llvm::is_contained(k_bases, name.drop_back());
}

}  // namespace

bool includes(llvm::StringRef text, llvm::StringRef header) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.ltrim();
    if (!line.consume_front("#")) continue;
    line = line.ltrim();
    if (!line.consume_front("include")) continue;
    line = line.ltrim();
    if (line.size() > 2 && (line[0] == '<' || line[0] == '"') &&
        line.drop_front().take_until([](char c) { return c == '>' || c == '"'; }) == header)
      return true;
  }
  return false;
}

llvm::StringRef standard_of(llvm::StringRef name) {
  return found_in(k_standards, name);
}

bool is_newer(llvm::StringRef standard, int present) {
  int version = 0;
  return standard.consume_front("c++") && !standard.getAsInteger(10, version) && version > present;
}

std::string newer_language_remedy(llvm::StringRef message, llvm::StringRef place, int present) {
  llvm::StringRef standard;
  // Clang's own words, with and without the name that a standard had before it was published.
  for (const auto& [words, needed] :
       {std::pair("before C++14", "c++14"), std::pair("a C++14 extension", "c++14"),
        std::pair("before C++17", "c++17"), std::pair("a C++17 extension", "c++17"),
        std::pair("before C++20", "c++20"), std::pair("a C++20 extension", "c++20"),
        std::pair("before C++23", "c++23"), std::pair("before C++2b", "c++23"),
        std::pair("a C++23 extension", "c++23")})
    if (message.contains(words)) standard = needed;
  // Keywords and punctuation that are none in an earlier standard.
  const llvm::StringRef word = place.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  const llvm::StringRef quoted = message.split('\'').second.split('\'').first;
  if (message.contains("'" + quoted.str() + "'") && quoted == word)
    for (const char* keyword :
         {"concept", "requires", "consteval", "constinit", "char8_t", "co_await", "co_yield", "co_return"})
      if (word == keyword &&
          (message.starts_with("unknown type name") || message.starts_with("use of undeclared")))
        standard = "c++20";
  if (place.starts_with("operator<=>") || place.starts_with("<=>")) standard = "c++20";
  if (message.starts_with("use of class template") && message.contains("requires template arguments"))
    standard = "c++17";
  if (message == "'auto' not allowed here" && place.starts_with("auto(")) standard = "c++23";
  return is_newer(standard, present) ? ("; it needs std=\"" + standard + "\" or later").str() : std::string();
}

std::string newcomer_header_remedy(llvm::StringRef header) {
  if (header.starts_with("torch/") || header.starts_with("ATen/") || header.starts_with("c10/"))
    return k_torch;
  if (header == "Python.h") return k_python;
  if (header.starts_with("pybind11/"))
    return "; functions need no bindings here: leave pybind11 out, and the functions that are not static are "
           "in the library";
  return {};
}

std::string newcomer_remedy(llvm::StringRef name, llvm::StringRef text) {
  if (name == "torch" || name == "at" || name == "c10") return k_torch;
  if (name == "PyObject" || name == "PyArg_ParseTuple" || name == "PyMODINIT_FUNC") return k_python;
  if (name == "Tensor")
    return includes(text, "tarsia/op.h") ? "; write tarsia::Tensor"
                                         : "; write tarsia::Tensor, and #include <tarsia/op.h>";
  if ((name == "dim3" || is_of_cudas_vectors(name)) && !includes(text, "cuda_runtime.h"))
    return ("; it is CUDA's: #include <cuda_runtime.h>, where " + name + " is").str();
  if (name == "warpSize") return "; it has a value in kernels and device functions alone";
  if (is_device_function(name))
    return "; it is a function of device code: a kernel or __device__ function calls it";
  const llvm::StringRef header = found_in(k_without_std, name);
  if (header.empty()) return {};
  if (includes(text, header)) return ("; write std::" + name).str();
  return ("; #include <" + header + ">, where std::" + name + " is").str();
}

}  // namespace tarsia::jit
