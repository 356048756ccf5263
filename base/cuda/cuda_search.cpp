// Finds the places where CUDA may lie, from this process and its environment, and keeps the choice.
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

#include "base/cuda/cuda_parts.h"
#include "base/file.h"
#include "base/fork.h"

namespace tarsia {
namespace {

/// The search's result. Never destroyed: threads may search while the process exits.
struct Known {
  ForkSafeMutex mutex;                           // guards what follows
  std::vector<std::string> site_packages;        // given by add_site_packages
  unsigned given = 0;                            // how often one was given
  std::shared_ptr<const CudaFindings> findings;  // the choice, while the two below hold
  std::vector<std::string> mapped;               // … for these mapped libraries
  unsigned long long adds = 0;                   // … at this count of dlopen'ed objects
};
Known& g_known = *new Known;

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
  if (DIR* stream = open_folder("/usr/local")) {
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

/// The folder above libtarsia's, if libtarsia is part of an installed Python package.
std::string own_site_packages() {
  const InLoader in_loader;
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

/// CUDA libraries mapped now. Sets `adds` to the count of objects ever mapped, which grows with each
/// dlopen.
std::vector<std::string> mapped_libraries(unsigned long long& adds) {
  const InLoader in_loader;
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
  const InLoader in_loader;
  unsigned long long adds = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &adds);
  return adds;
}

CudaSearch search_places_beside(const std::vector<std::string>& given) {
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
    // Paths like …/lib64/libcudart.so.12 and …/nvidia/cuda_runtime/lib/libcudart.so.12 reveal a toolkit or
    // wheels.
    const std::string lib = path.substr(0, std::min(path.rfind('/'), path.size()));
    const size_t up = lib.rfind('/');
    if (up == lib.npos || up == 0) continue;
    const std::string root = lib.substr(0, up);
    if (const size_t wheel = root.rfind("/nvidia/"); wheel != root.npos)
      search.site_packages.push_back(root.substr(0, wheel));
    else
      search.homes.push_back({root, "loaded by this process"});
  }
  for (const std::string& dir : given) search.site_packages.push_back(dir);
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
  std::vector<std::string> given;
  {
    const std::lock_guard lock(g_known.mutex);
    given = g_known.site_packages;
  }
  return search_places_beside(given);
}

// The mutex is not held during a search. Threads that come at once search at once, and find the same.
std::shared_ptr<const CudaFindings> cuda_findings() {
  const unsigned long long count = count_of_adds();
  std::vector<std::string> given, mapped;
  std::shared_ptr<const CudaFindings> known;
  unsigned n_given = 0;
  {
    const std::lock_guard lock(g_known.mutex);
    if (g_known.findings && g_known.adds == count) return g_known.findings;
    known = g_known.findings, mapped = g_known.mapped;
    given = g_known.site_packages, n_given = g_known.given;
  }
  unsigned long long adds = 0;
  if (!known || mapped_libraries(adds) != mapped) {
    const CudaSearch search = search_places_beside(given);
    known = std::make_shared<const CudaFindings>(find_cuda_parts_in(search));
    mapped = search.mapped;
    adds = count_of_adds();
  }
  const std::lock_guard lock(g_known.mutex);
  if (g_known.given == n_given)
    g_known.findings = known, g_known.mapped = std::move(mapped), g_known.adds = adds;
  return known;
}

void add_site_packages(const std::string& dir) {
  const std::lock_guard lock(g_known.mutex);
  std::vector<std::string>& all = g_known.site_packages;
  if (std::find(all.begin(), all.end(), dir) != all.end()) return;
  all.push_back(dir);
  ++g_known.given;
  g_known.findings.reset();
}

}  // namespace tarsia
