// The walk along #include lines that finds the files that NVRTC will read.
#include "jit/worker/device/nvrtc_includes.h"

#include <algorithm>
#include <mutex>

#include <sys/stat.h>

#include "base/dependency.h"

namespace tarsia::jit {
namespace {

constexpr std::uint64_t k_largest_header = 64 << 20;

bool is_regular(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

TextPlace first_nul(std::string_view text) {
  const size_t at = text.find('\0');
  if (at == text.npos) return {};
  const std::string_view before = text.substr(0, at);
  return {.line = 1 + static_cast<int>(std::ranges::count(before, '\n')),
          .column = static_cast<int>(at - (before.rfind('\n') + 1)) + 1};  // npos + 1 is 0
}

}  // namespace

std::shared_ptr<const DiskHeader> disk_header(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const DiskHeader>> known;
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  {
    std::lock_guard lock(mutex);
    auto found = known.find(path);
    if (found != known.end() && found->second->dependency.stamp == FileStamp::of(info)) return found->second;
  }
  auto header = std::make_shared<DiskHeader>();
  std::string text;
  if (read_stamped(path, k_largest_header, text, header->dependency.stamp) != 0) return nullptr;
  header->dependency.path = path;
  header->dependency.content = hash_bytes(text);
  header->includes = scan_includes(text);
  header->nul = first_nul(text);
  std::lock_guard lock(mutex);
  return known[path] = std::move(header);
}

std::string find_in_dirs(const std::vector<std::string>& dirs, const std::string& name) {
  if (name.starts_with('/')) return is_regular(name) ? name : std::string();
  for (const std::string& dir : dirs)
    if (std::string path = dir + "/" + name; is_regular(path)) return path;
  return {};
}

bool is_inside(const std::vector<std::string>& dirs, const std::string& path) {
  const std::string plain = path.find("/../") == path.npos ? std::string() : normal_path(path);
  const std::string& place = plain.empty() ? path : plain;
  for (const std::string& dir : dirs)
    if (place.size() > dir.size() && place.starts_with(dir) &&
        (dir.ends_with('/') || place[dir.size()] == '/'))
      return true;
  return false;
}

bool climbs_out(const std::vector<std::string>& dirs, const std::string& dir, const std::string& name) {
  if (name.starts_with('/')) return is_inside(dirs, name);
  if (name.find("..") == name.npos) return false;
  const std::string path = normal_path(dir + "/" + name);
  return std::ranges::any_of(dirs, [&](const std::string& root) {
    if (!is_inside({root}, dir + "/x") || is_inside({root}, path)) return false;
    return std::ranges::none_of(dirs, [&](const std::string& holder) {
      return is_inside({holder}, root + "/x") && is_inside({holder}, path);
    });
  });
}

std::string name_below(const std::vector<std::string>& dirs, const std::string& path) {
  size_t longest = 0;
  for (const std::string& dir : dirs)
    if (path.starts_with(dir + "/")) longest = std::max(longest, dir.size() + 1);
  return path.substr(longest);
}

std::string normal_path(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool absolute = path.starts_with('/');
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  std::string normal = absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) normal += (i ? "/" : "") + std::string(parts[i]);
  return normal;
}

void IncludeWalk::add(const std::string& first) {
  std::vector<std::string> work = {first};
  while (!work.empty()) {
    const std::string path = std::move(work.back());
    work.pop_back();
    if (m_headers.contains(path)) continue;
    if (!is_inside(m_dirs, path)) {
      m_outside.insert(path);
      continue;
    }
    std::shared_ptr<const DiskHeader> header = disk_header(path);
    m_headers[path] = header;
    if (!header) continue;
    const std::string dir = path.substr(0, path.rfind('/'));
    for (const IncludeLine& line : header->includes) {
      if (m_is_virtual(line.name)) {
        m_virtual_names.insert(line.name);
        continue;
      }
      if (!line.angled)
        if (std::string beside = dir + "/" + line.name; is_regular(beside)) {
          m_climbs |= climbs_out(m_dirs, dir, line.name);
          work.push_back(normal_path(beside));
          continue;
        }
      for (const std::string& root : m_dirs) m_climbs |= climbs_out(m_dirs, root, line.name);
      auto [known, is_new] = m_found.try_emplace(line.name);
      if (is_new) known->second = find_in_dirs(m_dirs, line.name);
      if (!known->second.empty()) work.push_back(known->second);
    }
  }
}

}  // namespace tarsia::jit
