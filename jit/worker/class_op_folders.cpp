// The headers come with Tarsia, and yet are read as the author's own: their kernels are templates, which the
// split gives to NVRTC with what they are instantiated from.
#include "jit/worker/class_op_folders.h"
#include "jit/include_lines.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "jit/worker/isolation/files_beyond.h"
#include "jit/worker/prelude/header_names.h"
#include "jit/worker/source/raw_tokens.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

constexpr std::size_t k_most_headers = 100;

/// Looks through includes, level by level.
class Search {
 public:
  explicit Search(const CompileRequest& request) : m_request(request) {}

  /// Whether a text of the request, or a header in its folders, includes one of the headers.
  bool finds() {
    for (const auto* group : {&m_request.files, &m_request.headers})
      for (const SourceFile& file : *group)
        if (includes_one(file.text, {})) return true;
    while (!m_open.empty() && m_n_read < k_most_headers) {
      const std::string path = std::move(m_open.front());
      m_open.pop_front();
      std::error_code ec;
      if (!std::filesystem::is_regular_file(path, ec)) continue;
      ++m_n_read;
      std::ifstream file(path, std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (includes_one(text, path)) return true;
    }
    return false;
  }

 private:
  /// The text is of a file on disk, if it has a path. What else it includes is looked at later.
  bool includes_one(std::string_view text, const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path();
    return any_include(text, [&](std::string_view name, bool is_angled) {
      if (is_class_op(name)) return true;
      for (const std::string& dir : m_request.options.include_dirs) open(dir + "/" + std::string(name));
      if (!is_angled && !folder.empty()) {
        FilesBeyond::note(folder + "/" + std::string(name), path);
        open(folder + "/" + std::string(name));
      }
      return false;
    });
  }
  void open(std::string path) {
    if (m_known.insert(path).second) m_open.push_back(std::move(path));
  }

  const CompileRequest& m_request;
  std::set<std::string> m_known;
  std::deque<std::string> m_open;
  std::size_t m_n_read = 0;
};

}  // namespace

void add_class_op_folders(CompileRequest& request) {
  if (!Search(request).finds()) return;
  const std::string root = std::string(k_include_dir) + "/tarsia/class_op";
  for (const char* folder : {"", "/src/operator", "/src/operator/nn"})
    request.options.include_dirs.push_back(root + folder);
  const auto is_use_cuda = [](const auto& define) { return define.first == "MXNET_USE_CUDA"; };
  if (request.cuda && std::ranges::none_of(request.options.defines, is_use_cuda))
    request.options.defines.emplace_back("MXNET_USE_CUDA", "1");
}

}  // namespace tarsia::jit
