// Finds the includes with which a source begins, for its prelude.
#include "jit/worker/prelude/prelude_text.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "jit/standard_headers.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {
namespace {

bool is_cheap(std::string_view name) {
  static const std::set<std::string_view> cheap = {
      "assert.h", "ctype.h",  "errno.h", "float.h",  "inttypes.h", "limits.h", "stdbool.h",
      "stddef.h", "stdint.h", "stdio.h", "string.h", "time.h",     "unistd.h", "cassert",
      "cctype",   "cerrno",   "cfloat",  "climits",  "cstdarg",    "cstddef",  "cstdint",
      "cstdio",   "cstring",  "ctime",   "stdarg.h", "sys/time.h", "signal.h", "initializer_list",
      "version",  "stdlib.h", "math.h",  "cstdlib"};
  return cheap.count(name) > 0;
}

// Headers of Tarsia and of the standards. The standards say that their order and number do not matter, save
// for <cassert>, which follows NDEBUG, and no include changes that.
bool is_free(std::string_view name) {
  for (std::string_view own : {"tarsia/op.h", "lib_api.h", "mxnet/lib_api.h"})
    if (name == own) return true;
  return is_standard_header(name) || is_posix_header(name);
}

// Every CUDA source begins with these, so including them again adds nothing.
bool is_of_cuda_runtime(std::string_view name) {
  for (const char* one :
       {"cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "vector_types.h",
        "vector_functions.h", "driver_types.h", "builtin_types.h", "host_defines.h"})
    if (name == one) return true;
  return false;
}

std::string_view name_of(std::string_view include) {
  return include.substr(1, include.size() - 2);
}

// Quoted includes that can only mean the system's headers.
bool is_known_quoted(const std::string& name) {
  for (const char* prefix :
       {"cuda", "curand", "cooperative_groups", "tarsia/", "lib_api.h", "mxnet/lib_api.h", "mma.h", "device_",
        "vector_types.h", "driver_types.h", "math_constants.h", "builtin_types.h", "texture_"})
    if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

// Other headers of the C library and the compiler. They are read in place and define nothing that a layer
// asks for.
bool is_known_c(std::string_view name) {
  for (const char* one : {"dirent.h", "dlfcn.h", "getopt.h", "immintrin.h", "libgen.h", "malloc.h",
                          "math_constants.h", "memory.h", "omp.h", "sys/ioctl.h", "sys/resource.h",
                          "sys/sysinfo.h", "sys/timeb.h", "sys/wait.h", "unistd.h", "x86intrin.h"})
    if (name == one) return true;
  return false;
}

// Headers of CUDA's own that do not depend on any order either.
bool is_cuda(std::string_view name) {
  for (std::string_view prefix : {"cuda", "curand", "cooperative_groups", "mma.h", "cub/", "cuComplex.h"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// Removes a leading `#define` from the text if no header of the system or of CUDA asks for its macro. That
// is a name with a capital letter that is not reserved and is none of theirs.
bool consume_harmless_define(llvm::StringRef& text) {
  llvm::StringRef rest = text;
  if (!rest.consume_front("define") || rest.empty() || (rest[0] != ' ' && rest[0] != '\t')) return false;
  rest = rest.ltrim(" \t");
  const llvm::StringRef name = rest.take_while([](char c) { return isalnum(c) || c == '_'; });
  if (name.empty() || name[0] == '_' || std::none_of(name.begin(), name.end(), isupper)) return false;
  for (const char* prefix : {"CU", "THRUST", "CCCL", "NV", "NULL", "EOF", "NDEBUG", "M_", "NAN", "INFINITY"})
    if (name.starts_with(prefix)) return false;
  if (name.ends_with("_MAX") || name.ends_with("_MIN")) return false;
  do {
    auto [line, more] = rest.split('\n');
    rest = more;
    if (!line.rtrim('\r').ends_with("\\")) break;
  } while (!rest.empty());
  text = rest;
  return true;
}

// Removes a leading `#pragma once`, or the two lines of an include guard, from the text.
bool consume_guard(llvm::StringRef& text, const CompileOptions& options) {
  auto [line, rest] = text.split('\n');
  llvm::StringRef name = line.trim(" \t\r");
  if (name == "#pragma once") {
    text = rest;
    return true;
  }
  auto [next, more] = rest.split('\n');
  if (!name.consume_front("#ifndef ") || !next.consume_front("#define ")) return false;
  if (name.trim() != next.trim(" \t\r")) return false;
  for (const auto& [defined, value] : options.defines)
    if (name.trim() == defined) return false;
  text = more;
  return true;
}

// How many levels of the user's headers are searched.
constexpr int k_nesting = 4;

// Adds the includes with which a text begins, and those with which the user's headers among them begin.
void add_leading_includes(llvm::StringRef text, const CompileRequest& request, int nesting,
                          std::vector<std::string>& result) {
  bool begins = true;
  while (true) {
    text = text.ltrim(" \t\r\n\f\v");
    if (text.consume_front("//")) {
      text = text.drop_front(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (text.starts_with("/*")) {
      size_t end = text.find("*/", 2);
      if (end == llvm::StringRef::npos) return;
      text = text.drop_front(end + 2);
      continue;
    }
    if (std::exchange(begins, false) && nesting < k_nesting && consume_guard(text, request.options)) continue;
    if (!text.consume_front("#")) return;
    text = text.ltrim(" \t");
    if (consume_harmless_define(text)) continue;
    if (!text.consume_front("include")) return;
    text = text.ltrim(" \t");
    bool angled = text.consume_front("<");
    if (!angled && !text.consume_front("\"")) return;
    size_t end = text.find_first_of(angled ? ">\n" : "\"\n");
    if (end == llvm::StringRef::npos || text[end] == '\n') return;
    std::string name = text.substr(0, end).str();
    text = text.drop_front(end + 1);
    // The rest of the line must be empty, or begin a comment.
    llvm::StringRef rest = text.substr(0, text.find('\n')).ltrim(" \t\r");
    if (!rest.empty() && !rest.starts_with("//") && !rest.starts_with("/*")) return;
    // Includes behind a header of the user's are no longer leading ones.
    for (const auto* group : {&request.files, &request.headers})
      for (const SourceFile& own : *group)
        if (own.name == name) {
          const bool is_searched_alike = name.find('/') == std::string::npos;
          if (is_searched_alike && nesting > 0) add_leading_includes(own.text, request, nesting - 1, result);
          return;
        }
    if (!angled && !is_known_quoted(name)) return;
    std::error_code ec;
    for (const std::string& dir : request.options.include_dirs)
      if (std::filesystem::exists(dir + "/" + name, ec)) return;
    result.push_back(angled ? "<" + name + ">" : "\"" + name + "\"");
  }
}

}  // namespace

std::vector<std::string> leading_includes(const SourceFile& file, const CompileRequest& request) {
  std::vector<std::string> result;
  add_leading_includes(file.text, request, k_nesting, result);
  return result;
}

PreludeText prelude_text(const std::vector<std::string>& includes) {
  auto end = std::find_if_not(includes.begin(), includes.end(),
                              [](const std::string& include) { return is_free(name_of(include)); });
  std::set<std::string> free;
  for (auto at = includes.begin(); at != end; ++at) free.insert("<" + std::string(name_of(*at)) + ">");
  return {{free.begin(), free.end()}, {end, includes.end()}};
}

std::vector<std::string> cuda_layers(const std::vector<std::string>& includes) {
  static const std::vector<std::string_view> first = {"cooperative_groups.h",
                                                      "cuda_fp16.h",
                                                      "curand_kernel.h",
                                                      "lib_api.h",
                                                      "mxnet/lib_api.h",
                                                      "iostream",
                                                      "vector",
                                                      "chrono",
                                                      "algorithm",
                                                      "string",
                                                      "random",
                                                      "fstream",
                                                      "iomanip",
                                                      "sstream"};
  auto rank = [](const std::string& name) {
    const size_t at = std::find(first.begin(), first.end(), name) - first.begin();
    return std::make_tuple(!is_cuda(name), at, name);
  };
  std::vector<std::string> layers;
  for (const std::string& include : includes) {
    std::string name(name_of(include));
    if (is_cheap(name) || is_of_cuda_runtime(name) || is_known_c(name)) continue;
    if (!is_free(name) && !is_cuda(name)) break;
    layers.push_back(std::move(name));
  }
  std::sort(layers.begin(), layers.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

std::string directives(const std::vector<std::string>& includes) {
  std::string text;
  for (const std::string& include : includes) text += "#include " + include + "\n";
  return text;
}

std::string warm_up_of(const std::vector<std::string>& includes) {
  static constexpr std::pair<std::string_view, std::string_view> k_uses[] = {
      {"chrono",
       "auto t = std::chrono::steady_clock::now();\n"
       "auto h = std::chrono::high_resolution_clock::now();\n"
       "auto d = t - t; auto e = h - h;\n"
       "std::chrono::duration<float> f = d; std::chrono::duration<double> g = d; g = e; f = e;\n"
       "std::chrono::duration<double, std::milli> m = d; m = e;\n"
       "std::chrono::duration<float, std::milli> p = d;\n"
       "std::chrono::duration<double, std::micro> o = d;\n"
       "(void)(f.count() + g.count() + m.count() + p.count() + o.count());\n"
       "(void)std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();\n"
       "(void)std::chrono::duration_cast<std::chrono::microseconds>(d).count();\n"
       "(void)std::chrono::duration_cast<std::chrono::milliseconds>(d).count();\n"
       "(void)std::chrono::duration_cast<std::chrono::duration<float>>(d).count();\n"
       "(void)std::chrono::duration_cast<std::chrono::duration<double>>(d).count();\n"},
      {"iostream",
       "std::cout << \"\" << 1 << 1u << 1l << 1ul << 1.f << 1. << ' ' << true << std::endl;\n"
       "std::cerr << \"\" << std::endl;\n"},
      {"vector",
       "std::vector<float> f(n), f2(n, 1.f); std::vector<double> d(n), d2(n, 1.);\n"
       "std::vector<int> i(n), i2(n, 1);\n"
       "f.push_back(f[0]); d.push_back(d[0]); i.push_back(i[0]); f2 = f; d2 = d; i2 = i;\n"
       "f.resize(n); d.resize(n); i.resize(n);\n"
       "for (float x : f) (void)x; for (double x : d) (void)x; for (int x : i) (void)x;\n"
       "(void)(f.data() + f.size()); (void)(d.data() + d.size()); (void)(i.data() + i.size());\n"},
      {"random",
       "std::mt19937 m(n); std::default_random_engine e(n); std::random_device r; (void)r();\n"
       "(void)std::uniform_real_distribution<float>(0, 1)(m);\n"
       "(void)std::uniform_real_distribution<double>(0, 1)(m);\n"
       "(void)std::uniform_int_distribution<int>(0, 1)(m);\n"
       "(void)std::uniform_real_distribution<float>(0, 1)(e);\n"
       "(void)std::normal_distribution<float>(0, 1)(m);\n"},
      {"algorithm",
       "float a[1] = {}; int b[1] = {}; std::sort(b, b + n); (void)std::max_element(a, a + n);\n"
       "std::fill(a, a + n, 0.f); (void)std::max(1, 2); (void)std::min(1.f, 2.f);\n"},
      {"regex",
       "std::regex r(\"\"), o(std::string(\"\"), std::regex::icase); const std::string s;\n"
       "std::smatch m; std::cmatch c;\n"
       "(void)std::regex_match(s, r); (void)std::regex_match(s, m, r);\n"
       "(void)std::regex_search(s, r); (void)std::regex_search(s, m, r);\n"
       "(void)std::regex_match(\"\", r); (void)std::regex_match(\"\", c, r); (void)std::regex_search(\"\", "
       "c, r);\n"
       "(void)std::regex_replace(s, r, \"\"); (void)std::regex_replace(s, r, s); (void)m.str(n); "
       "(void)c.str(n);\n"
       "for (std::sregex_iterator i(s.begin(), s.end(), r), e; i != e; ++i) (void)i->str();\n"},
      {"string", "std::string s = \"\"; s += s + \"\" + std::to_string(n); (void)(s == \"\");\n"}};
  std::string text;
  for (const std::string& include : includes)
    for (const auto& [name, uses] : k_uses)
      if (name_of(include) == name)
        text += "namespace tarsia_detail_warm {\ninline void " + std::string(name) + "(int n) {\n(void)n;\n" +
                std::string(uses) + "}\n}\n";
  return text;
}

bool are_cheap(const std::vector<std::string>& includes) {
  return std::all_of(includes.begin(), includes.end(),
                     [](const std::string& include) { return is_cheap(name_of(include)); });
}

}  // namespace tarsia::jit
