// Looks through one toolkit, or one folder of wheels, for files of CUDA.
#include "base/cuda/cuda_places.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace tarsia {
namespace {

bool is_there(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

/// CUDART_VERSION of a folder's cuda_runtime_api.h. Its definition stands in the first kilobytes.
CudaVersion headers_version(const std::string& dir) {
  const std::string path = dir + "/cuda_runtime_api.h";
  UniqueFd file;
  struct stat status{};
  int error = open_regular(path, file, status, Links::follow);
  std::string head(std::min<size_t>(16384, error ? 0 : status.st_size), '\0');
  if (!error) error = read_at(file.get(), head.data(), head.size(), 0);
  if (error == EMFILE || error == ENFILE) raise_errno("cannot read " + path, error);
  if (error) return {};
  const std::string_view text = head;
  constexpr std::string_view k_define = "#define CUDART_VERSION";
  size_t at = text.find(k_define);
  if (at == text.npos) return {};
  at = text.find_first_not_of(" \t", at + k_define.size());
  int number = 0;
  if (at != text.npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return {number / 1000, number % 1000 / 10};
}

void scan_headers(CudaPlace& place, const std::string& dir) {
  if (!is_there(dir)) return;
  auto take = [&](std::string& part, const std::string& folder, const char* file) {
    if (part.empty() && is_there(folder + file)) part = folder;
  };
  take(place.headers, dir, "/cuda_runtime.h");
  take(place.crt, dir, "/crt/host_config.h");
  take(place.curand, dir, "/curand_kernel.h");
  take(place.cccl, dir + "/cccl", "/cuda/std/type_traits");
  take(place.cccl, dir, "/cuda/std/type_traits");
  if (place.headers == dir) place.headers_version = headers_version(dir);
}

/// `root` holds nvvm/: a toolkit, or a folder of wheels.
void scan_nvvm(CudaPlace& place, const std::string& root) {
  const std::string file = root + "/nvvm/libdevice/libdevice.10.bc";
  if (place.libdevice.empty() && is_there(file)) place.libdevice = file;
}

void scan_libraries(CudaPlace& place, const std::string& dir) {
  DIR* stream = open_folder(dir);
  if (!stream) return;
  place.library_dirs.push_back(dir);
  std::map<int, int> nvrtc_minor;  // the builtins carry it in their name
  auto add = [&](std::vector<CudaLibrary>& libraries, std::string_view file, std::string_view stem) {
    std::optional<CudaVersion> version = so_version(file, stem);
    if (!version) return;
    for (CudaLibrary& known : libraries)  // of libcudart.so.13 and libcudart.so.13.0.96 the first is enough
      if (known.version.major == version->major) {
        if (known.version.minor < 0) known.version.minor = version->minor;
        return;
      }
    libraries.push_back(
        {dir + "/" + std::string(stem) + std::to_string(version->major), {version->major, version->minor}});
  };
  while (dirent* entry = ::readdir(stream)) {
    std::string_view file = entry->d_name;
    if (!file.starts_with("libnv") && !file.starts_with("libcudart")) continue;
    add(place.nvrtc, file, "libnvrtc.so.");
    add(place.cudart, file, "libcudart.so.");
    add(place.nvjitlink, file, "libnvJitLink.so.");
    if (auto builtins = so_version(file, "libnvrtc-builtins.so."))
      nvrtc_minor[builtins->major] = builtins->minor;
  }
  ::closedir(stream);
  for (auto* libraries : {&place.nvrtc, &place.cudart, &place.nvjitlink})
    std::erase_if(*libraries, [](const CudaLibrary& library) { return !is_there(library.path); });
  for (CudaLibrary& library : place.nvrtc)
    if (auto minor = nvrtc_minor.find(library.version.major); minor != nvrtc_minor.end())
      library.version.minor = minor->second;
}

/// The build id of an ELF file in hexadecimal, or nothing.
std::string build_id(int fd) {
  try {
    const Mapping bytes(fd);
    if (!ElfFile::is_one(bytes.bytes())) return {};
    const ElfFile file(bytes.bytes());
    for (const Elf64_Phdr& segment : file.segments()) {
      if (segment.p_type != PT_NOTE) continue;
      for (const ElfNote& note : file.notes(segment.p_offset, segment.p_filesz))
        if (note.type == NT_GNU_BUILD_ID && note.owner == "GNU") return hex(note.content);
    }
  } catch (const Error&) {  // it cannot be mapped, or is damaged
    return {};
  }
  return {};
}

std::string size_and_build(const std::string& path) {
  UniqueFd fd;
  struct stat info{};
  const int error = open_regular(path, fd, info, Links::follow);
  if (error == EMFILE || error == ENFILE) raise_errno("cannot read " + path, error);
  if (error) return "unreadable";
  const std::string id = build_id(fd.get());
  return std::to_string(info.st_size) + (id.empty() ? "" : " build " + id);
}

/// The file NAME.so.MAJOR.MINOR beside NVRTC that holds its built-in device functions.
std::string builtins_of(const std::string& nvrtc, CudaVersion& version) {
  const std::string dir = nvrtc.substr(0, nvrtc.rfind('/'));
  std::string found;
  if (DIR* stream = open_folder(dir)) {
    while (dirent* entry = ::readdir(stream)) {
      auto builtins = so_version(entry->d_name, "libnvrtc-builtins.so.");
      if (!builtins || builtins->major != version.major || builtins->minor < version.minor) continue;
      if (builtins->minor == version.minor && std::string_view(entry->d_name).size() > found.size()) continue;
      version.minor = builtins->minor;
      found = entry->d_name;
    }
    ::closedir(stream);
  }
  return found.empty() ? found : dir + "/" + found;
}

}  // namespace

std::optional<CudaVersion> so_version(std::string_view file, std::string_view stem) {
  if (!file.starts_with(stem)) return std::nullopt;
  file.remove_prefix(stem.size());
  CudaVersion version;
  auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), version.major);
  if (error != std::errc{}) return std::nullopt;
  if (end != file.data() + file.size() && *end == '.')
    std::from_chars(end + 1, file.data() + file.size(), version.minor);
  return version;
}

std::string text_of(CudaVersion version) {
  std::string text = std::to_string(version.major);
  if (version.minor >= 0) text += "." + std::to_string(version.minor);
  return text;
}

bool CudaPlace::empty() const {
  return headers.empty() && crt.empty() && cccl.empty() && curand.empty() && nvrtc.empty() &&
         cudart.empty() && libdevice.empty() && nvjitlink.empty();
}

CudaPlace scan_toolkit(const CudaSearch::Home& home) {
  CudaPlace place{.origin = home.origin, .wanted = home.wanted};
  const std::string target = home.dir + "/targets/x86_64-linux";
  for (const std::string& dir : {home.dir + "/include", target + "/include"}) scan_headers(place, dir);
  for (const std::string& dir : {home.dir + "/lib64", home.dir + "/lib", target + "/lib"})
    if (place.nvrtc.empty() && place.cudart.empty()) scan_libraries(place, dir);
  scan_nvvm(place, home.dir);
  return place;
}

/// NVIDIA's wheels: nvidia/cu13/{include,lib} since CUDA 13, nvidia/cuda_nvrtc/{include,lib} and so on
/// before.
std::vector<CudaPlace> scan_wheels(const std::string& site_packages) {
  std::vector<CudaPlace> places;
  const std::string nvidia = site_packages + "/nvidia";
  DIR* stream = open_folder(nvidia);
  if (!stream) return places;
  std::vector<int> majors;
  std::vector<std::string>
      others;  // a folder a library, in every layout: nvidia/cudnn/lib, nvidia/cublas/lib
  bool old_layout = false;
  while (dirent* entry = ::readdir(stream)) {
    std::string_view name = entry->d_name;
    int major = 0;
    if (std::string lib = nvidia + "/" + entry->d_name + "/lib"; name[0] != '.' && is_there(lib))
      others.push_back(std::move(lib));
    if (name.starts_with("cu") &&
        std::from_chars(name.data() + 2, name.data() + name.size(), major).ptr == name.data() + name.size())
      majors.push_back(major);
    old_layout = old_layout || name.starts_with("cuda_") || name == "curand" || name == "nvjitlink";
  }
  ::closedir(stream);
  std::sort(majors.rbegin(), majors.rend());
  std::sort(others.begin(), others.end());
  const std::string origin = "wheels in " + site_packages;
  for (int major : majors) {
    const std::string root = nvidia + "/cu" + std::to_string(major);
    CudaPlace place{.origin = origin};
    scan_headers(place, root + "/include");
    scan_libraries(place, root + "/lib");
    scan_nvvm(place, root);
    if (place.headers_version.major == 0) place.headers_version.major = major;
    place.library_dirs.insert(place.library_dirs.end(), others.begin(), others.end());
    places.push_back(std::move(place));
  }
  if (old_layout) {
    CudaPlace place{.origin = origin};
    for (const char* part : {"cuda_runtime", "cuda_nvcc", "cuda_cccl", "curand", "cuda_nvrtc"})
      scan_headers(place, nvidia + "/" + part + "/include");
    for (const char* part : {"cuda_runtime", "cuda_nvrtc", "nvjitlink"})
      scan_libraries(place, nvidia + "/" + part + "/lib");
    scan_nvvm(place, nvidia + "/cuda_nvcc");
    if (place.headers_version.major == 0 && !place.nvrtc.empty())
      place.headers_version.major = place.nvrtc.front().version.major;
    place.library_dirs = std::move(others);
    places.push_back(std::move(place));
  }
  return places;
}

std::string identify_nvrtc(const std::string& path) {
  auto version = so_version(std::string_view(path).substr(path.rfind('/') + 1), "libnvrtc.so.");
  CudaVersion known = version.value_or(CudaVersion{});
  known.minor = -1;
  const std::string builtins = builtins_of(path, known);
  std::string identity = text_of(known) + " size " + size_and_build(path);
  if (!builtins.empty()) identity += " builtins " + size_and_build(builtins);
  return identity;
}

std::string identify_clang_parts(const std::string& libdevice, const std::string& nvjitlink) {
  std::string identity;
  if (!libdevice.empty()) identity += "libdevice size " + size_and_build(libdevice);
  if (!nvjitlink.empty()) identity += " nvJitLink size " + size_and_build(nvjitlink);
  return identity;
}

}  // namespace tarsia
