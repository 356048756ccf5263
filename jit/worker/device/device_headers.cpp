// Chooses the texts that stand in for standard and host headers in device code.
#include "jit/worker/device/device_headers.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace tarsia::jit {
namespace {

const SourceFile k_embedded[] = {
#include "device_headers.inc"
};

/// A part of std: the names std::NAME that bring it in, and the headers that bring it in for a bare NAME
/// under `using namespace std`. There, a part too many could make the user's own names ambiguous.
struct Part {
  std::string_view file;
  std::vector<std::string_view> names;
  std::vector<std::string_view> headers;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> parts = {
      {"tarsia/limits.h", {"numeric_limits"}, {"limits"}},
      {"tarsia/utility.h",
       {"swap", "exchange", "as_const", "pair", "make_pair", "get", "tuple_size", "tuple_element",
        "integer_sequence", "index_sequence", "make_integer_sequence", "make_index_sequence",
        "index_sequence_for", "bit_cast", "in_place_t"},
       {"utility", "algorithm", "map", "vector", "string", "iostream", "bit"}},
      {"tarsia/algorithm.h",
       {"min",         "max",           "minmax", "clamp",      "min_element",   "max_element", "for_each",
        "fill",        "fill_n",        "copy",   "copy_n",     "transform",     "find",        "find_if",
        "all_of",      "any_of",        "count",  "equal",      "reverse",       "iter_swap",   "lower_bound",
        "upper_bound", "binary_search", "sort",   "accumulate", "inner_product", "iota",        "gcd",
        "lcm"},
       {"algorithm", "numeric"}},
      {"tarsia/iterator.h",
       {"iterator_traits",
        "iterator",
        "distance",
        "advance",
        "next",
        "prev",
        "reverse_iterator",
        "make_reverse_iterator",
        "begin",
        "end",
        "cbegin",
        "cend",
        "rbegin",
        "rend",
        "crbegin",
        "crend",
        "size",
        "data",
        "addressof",
        "input_iterator_tag",
        "output_iterator_tag",
        "forward_iterator_tag",
        "bidirectional_iterator_tag",
        "random_access_iterator_tag"},
       {"iterator", "algorithm", "numeric"}},
      {"tarsia/functional.h",
       {"plus",        "minus",        "multiplies",     "divides",        "modulus",       "negate",
        "equal_to",    "not_equal_to", "greater",        "less",           "greater_equal", "less_equal",
        "logical_and", "logical_or",   "logical_not",    "bit_and",        "bit_or",        "bit_xor",
        "identity",    "invoke",       "unary_function", "binary_function"},
       {"functional"}},
      {"tarsia/array.h", {"array"}, {"array"}},
      {"tarsia/tuple.h", {"tuple", "make_tuple", "tie", "forward_as_tuple", "apply"}, {"tuple"}},
      {"tarsia/complex.h", {"complex", "polar", "conj", "norm", "arg", "real", "imag"}, {"complex"}},
      {"tarsia/cstring.h",
       {"memcmp", "memmove", "strlen", "strcmp", "strncmp", "strcpy", "strncpy"},
       {"cstring", "string", "string.h"}},
      {"tarsia/more_type_traits.h",
       {"is_trivially_copy_assignable",
        "is_trivially_move_assignable",
        "is_trivially_assignable",
        "is_nothrow_copy_assignable",
        "is_nothrow_move_assignable",
        "is_nothrow_assignable",
        "is_scoped_enum",
        "is_aggregate",
        "has_unique_object_representations",
        "is_bounded_array",
        "is_unbounded_array",
        "is_destructible",
        "is_nothrow_destructible",
        "aligned_union",
        "aligned_union_t",
        "is_nothrow_invocable",
        "is_invocable_r",
        "is_nothrow_invocable_r",
        "alignment_of_v",
        "is_literal_type_v",
        "has_virtual_destructor_v",
        "is_member_function_pointer_v",
        "is_member_object_pointer_v",
        "is_nothrow_default_constructible_v",
        "is_nothrow_copy_constructible_v",
        "is_nothrow_move_constructible_v",
        "is_trivially_copy_constructible_v",
        "is_trivially_move_constructible_v",
        "is_trivially_constructible_v"},
       {"type_traits"}},
      {"tarsia/type_traits.h", {}, {"type_traits"}},
  };
  return parts;
}

bool is_type_trait(std::string_view name) {
  static constexpr std::array k_prefixes = {"is_",           "remove_",         "add_",
                                            "make_signed",   "make_unsigned",   "has_",
                                            "enable_if",     "conditional",     "integral_constant",
                                            "bool_constant", "true_type",       "false_type",
                                            "void_t",        "decay",           "declval",
                                            "common_type",   "underlying_type", "aligned_storage",
                                            "alignment_of",  "invoke_result",   "result_of",
                                            "conjunction",   "disjunction",     "negation",
                                            "rank",          "extent",          "type_identity"};
  return std::any_of(k_prefixes.begin(), k_prefixes.end(),
                     [&](std::string_view p) { return name.starts_with(p); });
}

bool any_mention(std::span<const SourceNames> texts, std::string_view name) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const SourceNames& t) { return t.identifiers.contains(name); });
}

bool any_starts_with(std::span<const SourceNames> texts, std::string_view prefix) {
  return std::any_of(texts.begin(), texts.end(), [&](const SourceNames& t) {
    return std::any_of(t.identifiers.begin(), t.identifiers.end(),
                       [&](std::string_view name) { return name.starts_with(prefix); });
  });
}

/// What <tarsia/gnu_keywords.h> defines, by its text.
const std::set<std::string_view>& gnu_keywords() {
  static const std::set<std::string_view> all = [] {
    std::set<std::string_view> names;
    const SourceFile* header = find_device_header("tarsia/gnu_keywords.h");
    constexpr std::string_view k_define = "#define ";
    for (size_t at = 0; header && (at = header->text.find(k_define, at)) != std::string::npos;) {
      at += k_define.size();
      names.insert(std::string_view(header->text).substr(at, header->text.find_first_of(" \n", at) - at));
    }
    return names;
  }();
  return all;
}

/// Headers of functions that need no include under nvcc. They cost too much for every source, so only a
/// source that names one of the functions gets them.
std::vector<std::string_view> headers_by_mention(std::span<const SourceNames> texts) {
  std::vector<std::string_view> headers;
  if (any_starts_with(texts, "__builtin_")) headers.push_back("tarsia/gnu_builtins.h");
  if (std::ranges::any_of(gnu_keywords(), [&](std::string_view name) { return any_mention(texts, name); }))
    headers.push_back("tarsia/gnu_keywords.h");
  for (std::string_view name : {"cudaTriggerProgrammaticLaunchCompletion", "cudaGridDependencySynchronize"})
    if (any_mention(texts, name)) {
      headers.push_back("tarsia/dependent_launch.h");
      break;
    }
  if (any_mention(texts, "tarsia_thrown")) headers.push_back("tarsia/thrown.h");
  if (any_mention(texts, "pow")) headers.push_back("tarsia/pow.h");
  return headers;
}

/// What std has from libcu++, if a text names it as std's.
std::string parts_of_libcudacxx(std::span<const SourceNames> texts) {
  static constexpr std::pair<std::string_view, std::string_view> k_parts[] = {
      {"optional",
       "#include <cuda/std/optional>\nnamespace std { using cuda::std::optional; using cuda::std::nullopt; "
       "using cuda::std::nullopt_t; using cuda::std::make_optional; }\n"},
      {"span", "#include <cuda/std/span>\nnamespace std { using cuda::std::span; }\n"},
  };
  std::string lines;
  for (const auto& [name, part] : k_parts)
    if (std::ranges::any_of(texts, [&](const SourceNames& text) { return text.std_names.contains(name); }))
      lines += part;
  return lines;
}

}  // namespace

const SourceFile* find_device_header(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const SourceFile*> map;
    for (const SourceFile& file : k_embedded) map[file.name] = &file;
    return map;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::string device_prelude(std::span<const SourceNames> texts, bool everything) {
  std::string prelude = "#include <tarsia/types.h>\n";
  auto add = [&](std::string_view file) { prelude += "#include <" + std::string(file) + ">\n"; };
  for (std::string_view header : headers_by_mention(texts)) add(header);
  if (everything) {
    add("tarsia/std.h");
    return prelude + parts_of_libcudacxx(texts);
  }
  bool std_mentioned = false;
  std::set<std::string_view> included;
  for (const SourceNames& text : texts) {
    std_mentioned |= text.using_std || !text.std_names.empty() || text.identifiers.contains("std");
    for (const IncludeLine& line : text.includes) included.insert(line.name);
  }
  for (const Part& part : parts())
    if (part.file == "tarsia/cstring.h" &&
        std::any_of(part.names.begin(), part.names.end(),
                    [&](std::string_view n) { return any_mention(texts, n); }))
      add("string.h");
  if (!std_mentioned) return prelude;
  add("tarsia/cmath.h");
  add("tarsia/cstdint.h");
  std::set<std::string_view> wanted;
  auto part_of = [](std::string_view name) -> const Part* {
    for (const Part& part : parts())
      for (std::string_view known : part.names)
        if (name == known || (name.ends_with("_v") && name.substr(0, name.size() - 2) == known)) return &part;
    return is_type_trait(name) ? &parts().back() : nullptr;
  };
  for (const SourceNames& text : texts) {
    for (std::string_view name : text.std_names)
      if (const Part* part = part_of(name)) wanted.insert(part->file);
    if (!text.using_std) continue;
    for (std::string_view name : text.identifiers) {
      if (name == "min" || name == "max") continue;  // NVRTC's own do
      const Part* part = part_of(name);
      if (part && std::any_of(part->headers.begin(), part->headers.end(),
                              [&](std::string_view header) { return included.contains(header); }))
        wanted.insert(part->file);
    }
  }
  for (std::string_view file : wanted) add(file);
  return prelude + parts_of_libcudacxx(texts);
}

std::string platform_macros(std::span<const SourceNames> texts) {
  // Work-around: NVRTC does not predefine what tells of the compiler and the platform.
  // Trigger: `#if __GNUC__ > 3`, `#ifdef __linux__`, `#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__` around what
  // a kernel uses. Symptom: the device has another branch than the host, in silence (the last is true there).
  // The values are those of nvcc with g++ 12. Clang, on the host, says that it is g++ 4.2: sources that ask
  // for a version ask for Clang first (`defined(__clang__) || __GNUC__ >= 9`). Removal: NVRTC predefines
  // them.
  static constexpr std::pair<std::string_view, std::string_view> k_macros[] = {
      {"_GNU_SOURCE", "1"},
      {"_LP64", "1"},
      {"__BYTE_ORDER__", "1234"},
      {"__ELF__", "1"},
      {"__GNUC_MINOR__", "2"},
      {"__GNUC_PATCHLEVEL__", "0"},
      {"__GNUC__", "12"},
      {"__GNUG__", "12"},
      {"__GXX_ABI_VERSION", "1017"},
      {"__GXX_RTTI", "1"},
      {"__NVCC__", "1"},
      {"__ORDER_BIG_ENDIAN__", "4321"},
      {"__ORDER_LITTLE_ENDIAN__", "1234"},
      {"__SIZEOF_INT128__", "16"},
      {"__amd64", "1"},
      {"__amd64__", "1"},
      {"__gnu_linux__", "1"},
      {"__linux", "1"},
      {"__linux__", "1"},
      {"__unix", "1"},
      {"__unix__", "1"},
      {"__x86_64", "1"},
      {"__x86_64__", "1"},
      {"linux", "1"},
      {"unix", "1"},
  };
  std::string lines;
  for (auto [name, value] : k_macros) {
    if (!any_mention(texts, name)) continue;
    lines += "#ifndef ";  // else the user's
    ((((lines += name) += "\n#define ") += name) += ' ') += value;
    lines += "\n#endif\n";
  }
  return lines;
}

bool is_built_in(std::string_view name) {
  static const std::set<std::string_view> names = {"builtin_types.h",
                                                   "channel_descriptor.h",
                                                   "common_functions.h",
                                                   "cuda_device_runtime_api.h",
                                                   "cuda_runtime.h",
                                                   "cuda_runtime_api.h",
                                                   "device_atomic_functions.h",
                                                   "device_double_functions.h",
                                                   "device_functions.h",
                                                   "device_launch_parameters.h",
                                                   "device_types.h",
                                                   "driver_functions.h",
                                                   "driver_types.h",
                                                   "host_config.h",
                                                   "host_defines.h",
                                                   "library_types.h",
                                                   "math_functions.h",
                                                   "sm_20_atomic_functions.h",
                                                   "sm_20_intrinsics.h",
                                                   "sm_30_intrinsics.h",
                                                   "sm_32_intrinsics.h",
                                                   "sm_35_intrinsics.h",
                                                   "sm_60_atomic_functions.h",
                                                   "surface_functions.h",
                                                   "surface_indirect_functions.h",
                                                   "surface_types.h",
                                                   "texture_fetch_functions.h",
                                                   "texture_indirect_functions.h",
                                                   "texture_types.h",
                                                   "vector_functions.h",
                                                   "vector_types.h"};
  return names.contains(name);
}

bool is_host_library(std::string_view name) {
  static constexpr std::array k_prefixes = {
      "cublas",    "cusparse",    "cusolver",     "cudnn",    "cutensor",     "nccl",
      "nvml",      "npp",         "nvjpeg",       "nvtx3/",   "nvToolsExt",   "nvshmem",
      "cupti",     "nvrtc",       "nvJitLink",    "nvFatbin", "cudaGL",       "cudaEGL",
      "cudaVDPAU", "cuda_gl_int", "cuda_egl_int", "GL/",      "cudaProfiler", "cuda_profiler_api",
      "cufile"};
  return std::any_of(k_prefixes.begin(), k_prefixes.end(),
                     [&](std::string_view p) { return name.starts_with(p); });
}

std::string cub_of(std::span<const SourceNames> texts) {
  static constexpr std::pair<std::string_view, std::string_view> k_headers[] = {
      {"BlockAdjacentDifference", "block/block_adjacent_difference"},
      {"BlockDiscontinuity", "block/block_discontinuity"},
      {"BlockExchange", "block/block_exchange"},
      {"BlockHistogram", "block/block_histogram"},
      {"BlockLoad", "block/block_load"},
      {"BlockMergeSort", "block/block_merge_sort"},
      {"BlockRadixRank", "block/block_radix_rank"},
      {"BlockRadixSort", "block/block_radix_sort"},
      {"BlockReduce", "block/block_reduce"},
      {"BlockRunLengthDecode", "block/block_run_length_decode"},
      {"BlockScan", "block/block_scan"},
      {"BlockShuffle", "block/block_shuffle"},
      {"BlockStore", "block/block_store"},
      {"LoadDirectBlocked", "block/block_load"},
      {"LoadDirectStriped", "block/block_load"},
      {"StoreDirectBlocked", "block/block_store"},
      {"StoreDirectStriped", "block/block_store"},
      {"WarpExchange", "warp/warp_exchange"},
      {"WarpLoad", "warp/warp_load"},
      {"WarpMergeSort", "warp/warp_merge_sort"},
      {"WarpReduce", "warp/warp_reduce"},
      {"WarpScan", "warp/warp_scan"},
      {"WarpStore", "warp/warp_store"},
      {"ThreadLoad", "thread/thread_load"},
      {"ThreadStore", "thread/thread_store"},
      {"ThreadReduce", "thread/thread_reduce"},
      {"ThreadScanInclusive", "thread/thread_scan"},
      {"ThreadScanExclusive", "thread/thread_scan"},
      {"UpperBound", "thread/thread_search"},
      {"LowerBound", "thread/thread_search"},
      {"GridEvenShare", "grid/grid_even_share"},
      {"CacheModifiedInputIterator", "iterator/cache_modified_input_iterator"},
      {"CacheModifiedOutputIterator", "iterator/cache_modified_output_iterator"},
  };
  std::set<std::string_view> wanted;
  if (any_mention(texts, "cub")) wanted.insert({"thread/thread_operators", "util_ptx", "util_type"});
  for (auto [name, header] : k_headers)
    if (any_mention(texts, name)) wanted.insert(header);
  std::string text = "#pragma once\n";
  for (std::string_view header : wanted) text += "#include <cub/" + std::string(header) + ".cuh>\n";
  return text;
}

}  // namespace tarsia::jit
