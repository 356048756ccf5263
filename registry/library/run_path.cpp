// Writes over the text that stands for folders.
#include "registry/library/run_path.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/machine/run_path.h"

namespace tarsia::registry {
namespace {

bool is_there(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

std::optional<std::string> with_run_path(std::string_view bytes, const ElfLibrary& elf,
                                         const std::vector<std::string>& folders, const std::string& path) {
  const std::string unknown = unknown_run_path();
  const std::size_t at = folders.empty() ? bytes.npos : bytes.find(unknown);
  if (at == bytes.npos) return std::nullopt;
  std::vector<std::string> found;
  for (const std::string& name : elf.needed) {
    if (name.find('/') != name.npos) continue;
    const auto folder =
        std::ranges::find_if(folders, [&](const auto& one) { return is_there(one + "/" + name); });
    if (folder != folders.end() && std::ranges::find(found, *folder) == found.end()) found.push_back(*folder);
  }
  std::string run_path;
  for (const std::string& folder : found) run_path.append(run_path.empty() ? "" : ":").append(folder);
  if (found.empty()) return std::nullopt;  // the dynamic linker says what is missing
  if (run_path.size() >= unknown.size())
    throw LoadError(path + " needs libraries in folders whose names have " + std::to_string(run_path.size()) +
                    " bytes together, and may have " + std::to_string(unknown.size() - 1) +
                    ": put them into one folder");
  run_path.resize(unknown.size());  // the text ends at the first NUL
  return std::string(bytes).replace(at, unknown.size(), run_path);
}

}  // namespace tarsia::registry
