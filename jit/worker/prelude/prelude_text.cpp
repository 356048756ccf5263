// Finds the includes with which a source begins, for its prelude.
#include "jit/worker/prelude/prelude_text.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "base/dependency.h"
#include "jit/standard_headers.h"
#include "jit/worker/isolation/files_beyond.h"
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
  for (std::string_view own : {"tarsia/op.h", "tarsia/repl.h", "lib_api.h", "mxnet/lib_api.h", "mobula_op.h"})
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
  for (const char* prefix : {"cuda", "curand", "cooperative_groups", "tarsia/", "lib_api.h",
                             "mxnet/lib_api.h", "mobula_op.h", "mma.h", "device_", "vector_types.h",
                             "driver_types.h", "math_constants.h", "builtin_types.h", "texture_"})
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

// Removes a leading `#define` from the text if no header of the system, of CUDA or of ours asks for its
// macro. That is a name with a capital letter that is not reserved and is none of theirs. `has_mobula`:
// <mobula_op.h> may be among the headers.
bool consume_harmless_define(llvm::StringRef& text, bool has_mobula) {
  llvm::StringRef rest = text;
  if (!rest.consume_front("define") || rest.empty() || (rest[0] != ' ' && rest[0] != '\t')) return false;
  rest = rest.ltrim(" \t");
  const llvm::StringRef name = rest.take_while([](char c) { return isalnum(c) || c == '_'; });
  if (name.empty() || name[0] == '_' || std::none_of(name.begin(), name.end(), isupper)) return false;
  for (const char* prefix : {"CU", "THRUST", "CCCL", "NV", "NULL", "EOF", "NDEBUG", "M_", "NAN", "INFINITY"})
    if (name.starts_with(prefix)) return false;
  // It asks for the first two, and defines the others unless they are there.
  if (has_mobula &&
      (name.starts_with("USING_") || name == "HOST_NUM_THREADS" || name == "LOG" || name == "CHECK"))
    return false;
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

/// The directives with which a text begins. Comments between them are skipped.
class Directives {
 public:
  explicit Directives(llvm::StringRef text) : m_all(text), m_rest(text) {}

  /// Steps to the next '#' and returns true; false where something else begins.
  bool next() {
    while (true) {
      m_rest = m_rest.ltrim(" \t\r\n\f\v");
      if (m_rest.consume_front("//")) {
        m_rest = m_rest.drop_front(std::min(m_rest.find('\n'), m_rest.size()));
      } else if (m_rest.starts_with("/*")) {
        const size_t end = m_rest.find("*/", 2);
        if (end == llvm::StringRef::npos) return false;
        m_rest = m_rest.drop_front(end + 2);
      } else {
        return m_rest.starts_with("#");
      }
    }
  }

  bool consume_guard(const CompileOptions& options) { return jit::consume_guard(m_rest, options); }

  /// Whether the directive defines a macro that headers of the system and of CUDA do not ask for. Steps
  /// behind it then.
  bool consume_harmless_define(bool has_mobula) {
    llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
    if (!jit::consume_harmless_define(rest, has_mobula)) return false;
    m_rest = rest;
    return true;
  }

  /// The directive, if it defines or undefines a macro; empty otherwise. Steps behind it.
  std::string consume_macro() {
    llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
    if (!rest.starts_with("define") && !rest.starts_with("undef")) return {};
    llvm::StringRef line, more = m_rest;
    do {
      line = more.split('\n').first;
      more = more.split('\n').second;
    } while (line.rtrim('\r').ends_with("\\") && !more.empty());
    const llvm::StringRef whole = m_rest.drop_back(more.size());
    // A comment may end on another line.
    if (whole.count("/*") != whole.count("*/")) return {};
    m_rest = more;
    return whole.rtrim().str();
  }

  /// The header that the directive includes, as "<name>" or "\"name\""; empty if it does not. Steps behind
  /// it, but not behind its line.
  std::string consume_include() {
    llvm::StringRef rest = m_rest.drop_front().ltrim(" \t");
    if (!rest.consume_front("include")) return {};
    rest = rest.ltrim(" \t");
    const bool angled = rest.consume_front("<");
    if (!angled && !rest.consume_front("\"")) return {};
    const size_t end = rest.find_first_of(angled ? ">\n" : "\"\n");
    if (end == llvm::StringRef::npos || rest[end] == '\n') return {};
    const std::string name = rest.substr(0, end).str();
    rest = rest.drop_front(end + 1);
    // What is left of the line must be empty, or begin a comment.
    const llvm::StringRef line = rest.substr(0, rest.find('\n')).ltrim(" \t\r");
    if (!line.empty() && !line.starts_with("//") && !line.starts_with("/*")) return {};
    m_rest = rest;
    return angled ? "<" + name + ">" : "\"" + name + "\"";
  }

  llvm::StringRef rest() const { return m_rest; }
  size_t offset() const { return m_all.size() - m_rest.size(); }

 private:
  llvm::StringRef m_all, m_rest;
};

/// Whether <mobula_op.h> may be among the headers of the text, which may include those of the request.
bool names_mobula(llvm::StringRef text, const CompileRequest& request) {
  const auto names = [](llvm::StringRef one) { return one.contains("mobula_op.h"); };
  if (names(text)) return true;
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& own : *group)
      if (names(own.text)) return true;
  return false;
}

const SourceFile* own_file(const CompileRequest& request, std::string_view name) {
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& own : *group)
      if (own.name == name) return &own;
  return nullptr;
}

/// The folder of the request in which a header is found; empty if none has it.
std::string folder_of(const CompileRequest& request, std::string_view name) {
  std::error_code ec;
  for (const std::string& dir : request.options.include_dirs)
    if (std::filesystem::exists(dir + "/" + std::string(name), ec)) return dir;
  return {};
}

// Adds the includes with which a text begins, and those with which the user's headers among them begin. If
// further ones may follow in the text itself, they begin where `end` says, with the macros at `macros`.
struct Leading {
  std::vector<std::string> includes;
  std::vector<FurtherIncludes::Item> macros;
  size_t end = std::string::npos;
};

void add_leading_includes(llvm::StringRef text, const CompileRequest& request, int nesting, Leading& result) {
  const bool has_mobula = names_mobula(text, request);
  Directives at(text);
  bool begins = true;
  while (at.next()) {
    if (std::exchange(begins, false) && nesting < k_nesting && at.consume_guard(request.options)) continue;
    const size_t start = at.offset();
    if (at.consume_harmless_define(has_mobula)) {
      // What the text itself defines may matter to headers that follow these.
      if (nesting == k_nesting)
        result.macros.push_back({text.slice(start, at.offset()).rtrim().str(), "", at.offset()});
      continue;
    }
    const std::string include = at.consume_include();
    const std::string_view name = include.empty() ? "" : name_of(include);
    // Includes behind a header of the user's are no longer leading ones.
    if (const SourceFile* own = own_file(request, name)) {
      const bool is_searched_alike = name.find('/') == std::string::npos;
      if (is_searched_alike && nesting > 0) add_leading_includes(own->text, request, nesting - 1, result);
      return;
    }
    if (include.empty() || (include[0] == '"' && !is_known_quoted(std::string(name))) ||
        !folder_of(request, name).empty()) {
      if (nesting == k_nesting) result.end = start;
      return;
    }
    result.includes.push_back(include);
  }
}

Leading leading(const SourceFile& file, const CompileRequest& request) {
  Leading result;
  add_leading_includes(file.text, request, k_nesting, result);
  return result;
}

}  // namespace

std::vector<std::string> leading_includes(const SourceFile& file, const CompileRequest& request) {
  return leading(file, request).includes;
}

FurtherIncludes further_includes(const SourceFile& file, const CompileRequest& request) {
  Leading before = leading(file, request);
  if (before.end == std::string::npos) return {};
  FurtherIncludes result;
  result.items = std::move(before.macros);
  const llvm::StringRef text = file.text;
  Directives at(text.drop_front(before.end));
  const auto add = [&](std::string item, std::string folder) {
    result.items.push_back({std::move(item), std::move(folder), before.end + at.offset()});
  };
  size_t needed = 0;
  while (at.next()) {
    if (std::string macro = at.consume_macro(); !macro.empty()) {
      add(std::move(macro), "");
      continue;
    }
    std::string include = at.consume_include();
    if (include.empty()) break;
    std::string_view name = name_of(include);
    // Where the source lies are the texts of the request alone. Its own folder is among the request's.
    if (include[0] == '"' && name.starts_with("./")) name.remove_prefix(2);
    // A text of the request, or one that is found from where the source lies.
    if (own_file(request, name) || name.starts_with(".") || name.starts_with("/")) break;
    std::string folder = folder_of(request, name);
    if (include[0] == '"' && folder.empty() && !is_known_quoted(std::string(name))) break;
    add(std::move(include), std::move(folder));
    needed = result.items.size();
  }
  result.items.resize(needed);  // macros behind the last include are the source's own
  return result;
}

namespace {

// Where a prelude begins to pay off: so many bytes of headers take Clang about 5 ms.
constexpr size_t k_heavy = 64 << 10;

/// Adds up what a header of the request's folders and those that it includes hold, as far as k_heavy.
class Weight {
 public:
  Weight(const std::function<bool(const std::string&)>& has, const CompileRequest& request)
      : m_has(has), m_request(request) {}

  /// Whether the header is worth a prelude, with those that were asked about before.
  bool add(std::string_view name) {
    add(name, 0);
    return m_bytes >= k_heavy;
  }
  void begin_anew() { m_bytes = 0; }

 private:
  void add(std::string_view name, int depth) {
    if (m_bytes >= k_heavy || depth > 50 || !m_seen.emplace(name).second || own_file(m_request, name)) return;
    const std::string folder = folder_of(m_request, name);
    if (folder.empty()) {
      if (!is_cheap(name) && !is_known_c(name) && !m_has(std::string(name))) m_bytes = k_heavy;
      return;
    }
    std::string text;
    FileStamp stamp;
    if (read_stamped(folder + "/" + std::string(name), k_heavy, text, stamp) != 0) {
      m_bytes = k_heavy;  // it is larger, or the compile will say what is wrong with it
      return;
    }
    m_bytes += text.size();
    const std::string_view beside = name.substr(0, name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1);
    for (llvm::StringRef lines = text; !lines.empty();) {
      auto [line, more] = lines.split('\n');
      lines = more;
      line = line.ltrim(" \t");
      if (!line.consume_front("#") || !(line = line.ltrim(" \t")).consume_front("include")) continue;
      line = line.ltrim(" \t");
      const bool angled = line.consume_front("<");
      if (!angled && !line.consume_front("\"")) continue;
      const std::string inner = line.take_until([](char c) { return c == '>' || c == '"'; }).str();
      const std::string near = std::string(beside) + inner;
      if (const std::string dir = angled ? std::string() : folder_of(m_request, near); !dir.empty()) {
        FilesBeyond::note(dir + "/" + near, folder + "/" + std::string(name));
        add(near, depth + 1);
      } else
        add(inner, depth + 1);
    }
  }

  const std::function<bool(const std::string&)>& m_has;
  const CompileRequest& m_request;
  std::set<std::string, std::less<>> m_seen;
  size_t m_bytes = 0;
};

}  // namespace

std::vector<LayerText> layers_of(const FurtherIncludes& further,
                                 const std::function<bool(const std::string&)>& has,
                                 const CompileRequest& request) {
  std::vector<LayerText> layers;
  LayerText layer;
  std::string folder;
  bool is_worth = false;
  Weight weight(has, request);
  const auto close = [&] {
    if (!is_worth) return;  // what follows may make it so
    layers.push_back(std::exchange(layer, {}));
    is_worth = false;
    weight.begin_anew();
  };
  for (const FurtherIncludes::Item& item : further.items) {
    const bool is_include = item.text[0] != '#';
    if (is_include && !item.folder.empty()) {
      if (!folder.empty() && item.folder != folder) close();
      folder = item.folder;
    }
    layer.text += (is_include ? "#include " + item.text : item.text) + "\n";
    layer.end = item.end;
    if (is_include) is_worth |= weight.add(name_of(item.text));
  }
  close();
  return layers;
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
                                                      "mobula_op.h",
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
