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

#include "jit/worker/source/raw_tokens.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

constexpr std::string_view k_headers[] = {"mxnet/base.h",
                                          "mxnet/operator.h",
                                          "mxnet/resource.h",
                                          "mxnet/tensor_blob.h",
                                          "mshadow/",
                                          "dmlc/",
                                          "nnvm/",
                                          "mshadow_op.h",
                                          "mxnet_op.h",
                                          "operator_common.h",
                                          "elemwise_op_common.h",
                                          "channel_op_common.h"};

bool is_one(std::string_view name) {
  return std::ranges::any_of(k_headers, [&](std::string_view header) {
    return header.ends_with('/') ? name.starts_with(header)
                                 : name == header || name.ends_with("/" + std::string(header));
  });
}

class Search {
 public:
  explicit Search(const CompileRequest& request) : m_request(request) {}

  /// Whether the text, of a file in the folder, includes one of the headers, or one that does.
  bool finds(std::string_view text, const std::string& folder) {
    return any_include(text, [&](std::string_view name, bool is_angled) {
      if (is_one(name)) return true;
      for (const std::string& dir : m_request.options.include_dirs)
        if (finds_in(dir + "/" + std::string(name))) return true;
      return !is_angled && !folder.empty() && finds_in(folder + "/" + std::string(name));
    });
  }

 private:
  bool finds_in(const std::string& path) {
    std::error_code ec;
    if (!m_read.insert(path).second || !std::filesystem::is_regular_file(path, ec)) return false;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return finds(text, std::filesystem::path(path).parent_path().string());
  }
  const CompileRequest& m_request;
  std::set<std::string> m_read;  ///< what was looked for; nothing is read twice, so this ends
};

}  // namespace

void add_class_op_folders(CompileRequest& request) {
  Search search(request);
  const auto includes = [&](const SourceFile& file) { return search.finds(file.text, {}); };
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
