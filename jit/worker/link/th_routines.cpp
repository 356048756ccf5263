// Which of them a name means follows from the headers: those that look at elements of tensors on a GPU.
#include "jit/worker/link/th_routines.h"

#include <set>
#include <string_view>

#include "jit/worker/link/library_excerpt.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

/// Whether a name stands in a text as the second argument of TARSIA_TH_F: "TARSIA_TH_F(void, fill, (".
bool is_declared_in(std::string_view text, std::string_view name) {
  return text.find(", " + std::string(name) + ", (") != text.npos;
}

}  // namespace

std::string th_routines(const std::vector<LinkInput>& objects, const SysrootPack& pack) {
  const std::string folder = std::string(k_include_dir) + "/tarsia/th/";
  const auto values = pack.find(folder + "value_functions.h"),
             routines = pack.find(folder + "cuda_routines.cuh");
  if (!values || !routines) return {};
  std::set<std::string> wanted;
  for (const LinkInput& object : objects) {
    const auto symbols = undefined_symbols(object.bytes);
    if (!symbols) continue;
    for (const std::string_view symbol : *symbols) {
      const size_t line = symbol.find('_');
      if (!symbol.starts_with("TH") || line == symbol.npos) continue;
      const std::string_view name = symbol.substr(line + 1);
      const bool on_gpu = symbol.starts_with("THCuda") && is_declared_in(*values, name);
      if (on_gpu || symbol.starts_with("THCudaBlas_") || name.starts_with("copyCuda"))
        wanted.insert(std::string(symbol));
    }
  }
  if (wanted.empty()) return {};
  std::string text;
  for (const std::string& symbol : wanted) text += "#define TARSIA_TH_WANTED_" + symbol + " ~, 1\n";
  return text + std::string(*routines);
}

}  // namespace tarsia::jit
