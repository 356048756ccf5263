// The places where CUDA may lie, as this process and its environment tell them, and the choice kept for it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "base/cuda_parts.h"

namespace tarsia {
namespace {

std::mutex g_mutex;
std::vector<std::string> g_site_packages;        // given by add_site_packages
std::shared_ptr<const CudaFindings> g_findings;  // the choice, while the two below hold
std::vector<std::string> g_findings_mapped;      // … for these mapped libraries
unsigned long long g_findings_adds = 0;          // … at this count of dlopen'ed objects

std::vector<std::string> split_path(const char* value) {
  std::vector<std::string> parts;
  for (std::string_view rest = value ? value : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

/// /usr/local/cuda, then /usr/local/cuda-*, the newest first.
std::vector<std::string> usual_toolkits() {
  std::vector<std::string> versions;
  if (DIR* stream = ::opendir("/usr/local")) {
    while (dirent* entry = ::readdir(stream))
      if (std::string_view(entry->d_name).starts_with("cuda-")) versions.emplace_back(entry->d_name);
    ::closedir(stream);
  }
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) > 0;
  });
  std::vector<std::string> dirs = {"/usr/local/cuda"};
  for (const std::string& version : versions) dirs.push_back("/usr/local/" + version);
  dirs.push_back("/opt/cuda");
  return dirs;
}

/// The toolkit whose nvcc is on the PATH.
std::string toolkit_on_path() {
  for (const std::string& dir : split_path(std::getenv("PATH"))) {
    if (::access((dir + "/nvcc").c_str(), X_OK) != 0) continue;
    char real[PATH_MAX];
    if (!::realpath((dir + "/nvcc").c_str(), real)) continue;
    const std::string bin = std::string(real).substr(0, std::string_view(real).rfind('/'));
    if (bin.ends_with("/bin")) return bin.substr(0, bin.size() - 4);
  }
  return {};
}

/// The folder above the one in which libtarsia lies, where it is part of an installed Python package.
std::string own_site_packages() {
  Dl_info info{};
  char real[PATH_MAX];  // the command finds its library as …/tarsia/bin/../libtarsia.so
  if (!::dladdr(reinterpret_cast<void*>(&search_places), &info) || !info.dli_fname ||
      !::realpath(info.dli_fname, real))
    return {};
  std::string path = real;
  for (int i = 0; i < 2; ++i) {
    const size_t slash = path.rfind('/');
    if (slash == path.npos) return {};
    path.resize(slash);
  }
  return path;
}

/// CUDA libraries mapped now; `adds` gets the count of objects ever mapped, which moves with each dlopen.
std::vector<std::string> mapped_libraries(unsigned long long& adds) {
  struct Walk {
    std::vector<std::string> paths;
    unsigned long long adds = 0;
  } walk;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        Walk& walk = *static_cast<Walk*>(data);
        walk.adds = info->dlpi_adds;
        std::string_view path = info->dlpi_name ? info->dlpi_name : "";
        const std::string_view file = path.substr(path.rfind('/') + 1);
        if (file.starts_with("libcudart.so.") || file.starts_with("libnvrtc.so."))
          walk.paths.emplace_back(path);
        return 0;
      },
      &walk);
  adds = walk.adds;
  return walk.paths;
}

unsigned long long count_of_adds() {
  unsigned long long adds = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &adds);
  return adds;
}

CudaSearch search_places_locked() {
  CudaSearch search;
  auto home = [&](const char* variable, bool wanted) {
    const char* dir = std::getenv(variable);
    if (dir && *dir) search.homes.push_back({dir, variable, wanted});
  };
  home("TARSIA_CUDA_HOME", true);
  home("CUDA_HOME", false);
  home("CUDA_PATH", false);
  unsigned long long adds = 0;
  search.mapped = mapped_libraries(adds);
  for (const std::string& path : search.mapped) {
    // …/lib64/libcudart.so.12 and …/nvidia/cuda_runtime/lib/libcudart.so.12 tell of a toolkit or of wheels.
    const std::string lib = path.substr(0, std::min(path.rfind('/'), path.size()));
    const size_t up = lib.rfind('/');
    if (up == lib.npos || up == 0) continue;
    const std::string root = lib.substr(0, up);
    if (const size_t wheel = root.rfind("/nvidia/"); wheel != root.npos)
      search.site_packages.push_back(root.substr(0, wheel));
    else
      search.homes.push_back({root, "loaded by this process"});
  }
  for (const std::string& dir : g_site_packages) search.site_packages.push_back(dir);
  for (std::string& dir : split_path(std::getenv("TARSIA_SITE_PACKAGES")))
    search.site_packages.push_back(dir);
  if (std::string dir = own_site_packages(); !dir.empty()) search.site_packages.push_back(dir);
  if (std::string dir = toolkit_on_path(); !dir.empty()) search.homes.push_back({dir, "nvcc on the PATH"});
  home("CONDA_PREFIX", false);
  for (const std::string& dir : usual_toolkits()) search.homes.push_back({dir, dir});

  auto once = [](auto& list, auto&& key) {
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t k = list.size(); --k > i;)
        if (key(list[k]) == key(list[i])) list.erase(list.begin() + k);
  };
  once(search.homes, [](const CudaSearch::Home& home) { return home.dir; });
  once(search.site_packages, [](const std::string& dir) { return dir; });
  return search;
}

}  // namespace

CudaSearch search_places() {
  std::lock_guard lock(g_mutex);
  return search_places_locked();
}

std::shared_ptr<const CudaFindings> cuda_findings() {
  std::lock_guard lock(g_mutex);
  if (g_findings) {
    if (count_of_adds() == g_findings_adds) return g_findings;
    unsigned long long adds = 0;
    if (mapped_libraries(adds) == g_findings_mapped) {
      g_findings_adds = adds;
      return g_findings;
    }
  }
  const CudaSearch search = search_places_locked();
  g_findings = std::make_shared<const CudaFindings>(find_cuda_parts_in(search));
  g_findings_mapped = search.mapped;
  g_findings_adds = count_of_adds();
  return g_findings;
}

void add_site_packages(const std::string& dir) {
  std::lock_guard lock(g_mutex);
  if (std::find(g_site_packages.begin(), g_site_packages.end(), dir) != g_site_packages.end()) return;
  g_site_packages.push_back(dir);
  g_findings.reset();
}

}  // namespace tarsia
