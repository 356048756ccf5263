// Finds the includes with which a source begins, for its prelude.
#include "jit/worker/prelude/prelude_text.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "jit/worker/prelude/header_names.h"
#include "jit/worker/prelude/leading_directives.h"
#include "jit/worker/prelude/light_headers.h"

namespace tarsia::jit {
namespace {

// How many levels of the user's headers are searched.
constexpr int k_nesting = 4;

/// Whether <mobula_op.h> may be among the headers of the text, which may include those of the request.
bool names_mobula(llvm::StringRef text, const CompileRequest& request) {
  const auto names = [](llvm::StringRef one) { return one.contains("mobula_op.h"); };
  if (names(text)) return true;
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& own : *group)
      if (names(own.text)) return true;
  return false;
}

void add_leading_includes(llvm::StringRef text, const CompileRequest& request, int nesting,
                          LeadingIncludes& result) {
  const bool has_mobula = names_mobula(text, request);
  LeadingDirectives at(text);
  bool begins = true;
  while (at.next()) {
    if (std::exchange(begins, false) && nesting < k_nesting && at.consume_guard(request.options)) continue;
    const size_t start = at.offset();
    if (at.consume_harmless_define(has_mobula)) {
      // What the text itself defines may matter to headers that follow these.
      if (nesting == k_nesting)
        result.macros.push_back({text.slice(start, at.offset()).rtrim().str(), "", start, at.offset()});
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
    if (may_lie_beside(request, include)) return;
    if (may_be_light(include) && nesting > 0)
      if (const auto light = light_text(request, name))
        add_leading_includes(*light, request, nesting - 1, result);
    if (include.empty() || (include[0] == '"' && !is_known_quoted(name)) ||
        !folder_with(request, name).empty()) {
      if (nesting == k_nesting) result.end = start;
      return;
    }
    result.includes.push_back(include);
  }
}

}  // namespace

LeadingIncludes leading_includes(const SourceFile& file, const CompileRequest& request) {
  LeadingIncludes result;
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
