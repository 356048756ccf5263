// Writes over the text that stands for folders.
#include "registry/library/run_path.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "base/machine/run_path.h"

namespace tarsia::registry {
namespace {

using FileOf = std::pair<std::string, std::string>;  // a module's key and the path
ForkSafeMutex g_mutex;                               // of g_files
std::map<FileOf, std::weak_ptr<const UniqueFd>> g_files;

bool is_there(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

std::string run_path_of(std::string_view bytes, const ElfLibrary& elf,
                        const std::vector<std::string>& folders, const std::string& path) {
  if (folders.empty() || bytes.find(unknown_run_path()) == bytes.npos) return {};
  std::vector<std::string> found;
  for (const std::string& name : elf.needed) {
    if (name.find('/') != name.npos) continue;
    const auto folder =
        std::ranges::find_if(folders, [&](const auto& one) { return is_there(one + "/" + name); });
    if (folder != folders.end() && std::ranges::find(found, *folder) == found.end()) found.push_back(*folder);
  }
  std::string run_path;
  for (const std::string& folder : found) run_path.append(run_path.empty() ? "" : ":").append(folder);
  if (run_path.size() >= k_run_path_bytes)
    throw LoadError(path + " needs libraries in folders whose names have " + std::to_string(run_path.size()) +
                    " bytes together, and may have " + std::to_string(k_run_path_bytes - 1) +
                    ": put them into one folder");
  return run_path;
}

std::string with_run_path(std::string_view bytes, const std::string& run_path) {
  std::string text = run_path;
  text.resize(k_run_path_bytes);  // it ends at the first NUL
  return std::string(bytes).replace(bytes.find(unknown_run_path()), text.size(), text);
}

std::shared_ptr<const UniqueFd> file_with_run_path(const std::string& key, std::string_view bytes,
                                                   const std::string& run_path) {
  const FileOf of(key, run_path);
  const auto find = [&] {
    const auto known = g_files.find(of);
    return known == g_files.end() ? nullptr : known->second.lock();
  };
  if (!key.empty()) {
    const std::lock_guard lock(g_mutex);
    if (auto known = find()) return known;
  }
  auto made = std::make_shared<const UniqueFd>(make_memfd("tarsia-module", with_run_path(bytes, run_path)));
  if (key.empty()) return made;
  const std::lock_guard lock(g_mutex);
  if (auto known = find()) return known;  // another thread was quicker
  std::erase_if(g_files, [](const auto& one) { return one.second.expired(); });
  g_files[of] = made;
  return made;
}

}  // namespace tarsia::registry
