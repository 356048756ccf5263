// The headers come with Tarsia, and yet are read as the author's own: their kernels are templates, which the
// split gives to NVRTC with what they are instantiated from.
#include "jit/worker/class_op_folders.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

constexpr std::string_view k_headers[] = {"mxnet/operator.h", "mxnet/base.h",      "mshadow/", "dmlc/",
                                          "mshadow_op.h",     "operator_common.h", "nnvm/"};
constexpr int k_depth = 4;  ///< of headers that include headers

/// Calls visit(name, is_angled) for the text's #include lines until it returns true. Returns whether it has.
template <class Visit>
bool any_include(std::string_view text, const Visit& visit) {
  for (size_t at = 0; (at = text.find("#include", at)) != text.npos;) {
    at += 8;
    const size_t open = text.find_first_not_of(" \t", at);
    if (open == text.npos || (text[open] != '"' && text[open] != '<')) continue;
    const size_t end = text.find(text[open] == '<' ? '>' : '"', open + 1);
    if (end == text.npos) continue;
    if (visit(text.substr(open + 1, end - open - 1), text[open] == '<')) return true;
  }
  return false;
}

bool is_one(std::string_view name) {
  return std::ranges::any_of(k_headers, [&](std::string_view header) {
    return header.ends_with('/') ? name.starts_with(header)
                                 : name == header || name.ends_with("/" + std::string(header));
  });
}

class Search {
 public:
  explicit Search(const CompileRequest& request) : m_request(request) {}

  bool finds(std::string_view text, const std::string& folder, int depth) {
    return any_include(text, [&](std::string_view name, bool is_angled) {
      if (is_one(name)) return true;
      if (is_angled || depth == 0) return false;
      for (const std::string& dir : m_request.options.include_dirs)
        if (finds_in(dir + "/" + std::string(name), depth)) return true;
      return !folder.empty() && finds_in(folder + "/" + std::string(name), depth);
    });
  }

 private:
  bool finds_in(const std::string& path, int depth) {
    std::error_code ec;
    if (!m_read.insert(path).second || !std::filesystem::is_regular_file(path, ec)) return false;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return finds(text, std::filesystem::path(path).parent_path().string(), depth - 1);
  }
  const CompileRequest& m_request;
  std::set<std::string> m_read;
};

}  // namespace

void add_class_op_folders(CompileRequest& request) {
  Search search(request);
  const auto includes = [&](const SourceFile& file) { return search.finds(file.text, {}, k_depth); };
  if (!std::ranges::any_of(request.files, includes) && !std::ranges::any_of(request.headers, includes))
    return;
  const std::string root = std::string(k_include_dir) + "/tarsia/class_op";
  for (const char* folder : {"", "/src/operator", "/src/operator/nn"})
    request.options.include_dirs.push_back(root + folder);
  const auto is_use_cuda = [](const auto& define) { return define.first == "MXNET_USE_CUDA"; };
  if (request.cuda && std::ranges::none_of(request.options.defines, is_use_cuda))
    request.options.defines.emplace_back("MXNET_USE_CUDA", "1");
}

}  // namespace tarsia::jit
