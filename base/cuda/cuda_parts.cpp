// The search for the parts of CUDA, place by place.
#include "base/cuda/cuda_parts.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/cuda/cuda_places.h"

namespace tarsia {
namespace {

const CudaLibrary* of_major(const std::vector<CudaLibrary>& libraries, int major) {
  auto found = std::find_if(libraries.begin(), libraries.end(),
                            [&](const CudaLibrary& library) { return library.version.major == major; });
  return found == libraries.end() ? nullptr : &*found;
}

std::optional<int> mapped_major(const CudaSearch& search, std::string_view stem) {
  for (const std::string& path : search.mapped)
    if (auto version = so_version(std::string_view(path).substr(path.rfind('/') + 1), stem))
      return version->major;
  return std::nullopt;
}

int choose_major(const CudaSearch& search, const std::vector<CudaPlace>& places) {
  if (auto major = mapped_major(search, "libcudart.so.")) return *major;
  auto newest = [&](auto&& majors_of, bool wanted_only) {
    int newest = 0;
    for (const CudaPlace& place : places)
      if (place.wanted || !wanted_only)
        for (int major : majors_of(place)) newest = std::max(newest, major);
    return newest;
  };
  auto majors = [](const std::vector<CudaLibrary>& libraries) {
    std::vector<int> majors;
    for (const CudaLibrary& library : libraries) majors.push_back(library.version.major);
    return majors;
  };
  auto nvrtc = [&](const CudaPlace& place) { return majors(place.nvrtc); };
  auto headers = [](const CudaPlace& place) { return std::vector<int>{place.headers_version.major}; };
  auto cudart = [&](const CudaPlace& place) { return majors(place.cudart); };
  for (bool wanted_only : {true, false}) {
    if (int major = newest(nvrtc, wanted_only)) return major;
    if (int major = newest(headers, wanted_only)) return major;
    if (int major = newest(cudart, wanted_only)) return major;
    if (wanted_only)
      if (auto major = mapped_major(search, "libnvrtc.so."))
        for (const CudaPlace& place : places)
          if (of_major(place.nvrtc, *major)) return *major;
  }
  return 0;
}

/// The badness of a choice of headers and NVRTC: its place in the order of preference, which counts less
/// than any difference of versions.
int penalty(const CudaPlace& headers, size_t headers_rank, const CudaPlace& nvrtc, size_t nvrtc_rank,
            int major) {
  const int older = headers.headers_version.minor, newer = of_major(nvrtc.nvrtc, major)->version.minor;
  int versions = older < 0 || newer < 0 || older == newer ? 0 : newer > older ? 1 : 2;
  if (!headers.whole()) versions += 3;
  const int unwanted = 8 * (!headers.wanted + !nvrtc.wanted);
  return (versions + unwanted) * 10000 + static_cast<int>(headers_rank + nvrtc_rank);
}

struct Choice {
  int major = 0;
  const CudaPlace* headers = nullptr;
  const CudaPlace* crt = nullptr;
  const CudaPlace* cccl = nullptr;
  const CudaPlace* curand = nullptr;
  const CudaPlace* nvrtc = nullptr;
  const CudaPlace* cudart = nullptr;
  const CudaPlace* libdevice = nullptr;
  const CudaPlace* nvjitlink = nullptr;
};

Choice choose(const CudaSearch& search, const std::vector<CudaPlace>& places) {
  Choice choice{.major = choose_major(search, places)};
  const int major = choice.major;
  std::vector<const CudaPlace*> same;  // with headers of this major, or headers that tell none
  for (const CudaPlace& place : places)
    if (place.headers_version.major == major || place.headers_version.major == 0) same.push_back(&place);
  int best = 0;
  for (size_t h = 0; h < same.size(); ++h)
    for (size_t n = 0; n < places.size(); ++n) {
      if (same[h]->headers.empty() || !of_major(places[n].nvrtc, major)) continue;
      const int cost = penalty(*same[h], h, places[n], n, major);
      if (choice.headers && cost >= best) continue;
      best = cost;
      choice.headers = same[h];
      choice.nvrtc = &places[n];
    }
  // The first that applies: the place of the headers, that of NVRTC, any.
  auto pick = [&](auto&& has, const std::vector<const CudaPlace*>& among) -> const CudaPlace* {
    for (const CudaPlace* place : {choice.headers, choice.nvrtc})
      if (place && has(*place) && std::find(among.begin(), among.end(), place) != among.end()) return place;
    for (const CudaPlace* place : among)
      if (has(*place)) return place;
    return nullptr;
  };
  std::vector<const CudaPlace*> all;
  for (const CudaPlace& place : places) all.push_back(&place);
  if (!choice.headers) choice.headers = pick([](const CudaPlace& p) { return !p.headers.empty(); }, same);
  if (!choice.nvrtc)
    choice.nvrtc = pick([&](const CudaPlace& p) { return of_major(p.nvrtc, major) != nullptr; }, all);
  choice.crt = pick([](const CudaPlace& p) { return !p.crt.empty(); }, same);
  choice.cccl = pick([](const CudaPlace& p) { return !p.cccl.empty(); }, same);
  choice.curand = pick([](const CudaPlace& p) { return !p.curand.empty(); }, same);
  choice.cudart = pick([&](const CudaPlace& p) { return of_major(p.cudart, major) != nullptr; }, all);
  choice.libdevice = pick([](const CudaPlace& p) { return !p.libdevice.empty(); }, same);
  choice.nvjitlink = pick([&](const CudaPlace& p) { return of_major(p.nvjitlink, major) != nullptr; }, all);
  return choice;
}

/// Wheels carry the major in their names up to CUDA 12 only.
/// Fills in the doctor's lines, and the names of missing parts.
void explain(const Choice& choice, CudaFindings& findings) {
  const CudaParts& parts = findings.parts;
  std::vector<CudaFinding>& lines = findings.lines;
  const int major = choice.major;
  auto line = [&](const char* part, const CudaPlace* place, std::string path, CudaVersion version,
                  const char* package, const char* use) {
    if (!path.empty())
      lines.push_back({part, std::move(path), text_of(version) + (place ? ", " + place->origin : "")});
    else
      lines.push_back({part, "",
                       std::string("needed for ") + use + ": " + "pip install " + wheel_name(package, major) +
                           ", or set TARSIA_CUDA_HOME to a toolkit that has it" +
                           (major ? " (CUDA " + std::to_string(major) + ")" : "")});
  };
  auto dir = [](const CudaPlace* place, std::string CudaPlace::* part) {
    return place ? place->*part : std::string();
  };
  auto version = [&](const CudaPlace* place) {
    return place ? place->headers_version : CudaVersion{major, -1};
  };
  const CudaLibrary* nvrtc = choice.nvrtc ? of_major(choice.nvrtc->nvrtc, major) : nullptr;
  line("NVRTC", choice.nvrtc, parts.nvrtc, nvrtc ? nvrtc->version : CudaVersion{major, -1},
       "nvidia-cuda-nvrtc", "kernels");
  line("CUDA runtime", choice.cudart, parts.cudart, {major, -1}, "nvidia-cuda-runtime",
       "loading sources that hold CUDA");
  line("CUDA headers", choice.headers, dir(choice.headers, &CudaPlace::headers), version(choice.headers),
       "nvidia-cuda-runtime", "sources that hold CUDA");
  line("CUDA crt headers", choice.crt, dir(choice.crt, &CudaPlace::crt), version(choice.crt),
       "nvidia-cuda-crt", "sources that hold CUDA");
  line("CCCL (CUB, libcu++)", choice.cccl, dir(choice.cccl, &CudaPlace::cccl), version(choice.cccl),
       "nvidia-cuda-cccl", "<cub/…>, <cuda/std/…> and most of <cooperative_groups.h>");
  line("cuRAND headers", choice.curand, dir(choice.curand, &CudaPlace::curand), version(choice.curand),
       "nvidia-curand", "<curand_kernel.h>");
  line("libdevice", choice.libdevice, parts.libdevice, {major, -1}, "nvidia-nvvm",
       "math functions in what Clang compiles for GPUs: Thrust, CUB's device-wide algorithms, lambdas");
  line("nvJitLink", choice.nvjitlink, parts.nvjitlink, {major, -1}, "nvidia-nvjitlink",
       "machine code of what Clang compiles for GPUs; without it the driver makes it when it loads the code");

  // NVRTC is named too, although sources without kernels do not need it.
  if (choice.cudart && choice.headers && choice.crt) return;
  std::string names, packages;
  for (const auto& [part, package] : {std::pair{"CUDA headers", "nvidia-cuda-runtime"},
                                      {"CUDA crt headers", "nvidia-cuda-crt"},
                                      {"CUDA runtime", "nvidia-cuda-runtime"},
                                      {"NVRTC", "nvidia-cuda-nvrtc"}}) {
    auto found = [&](const CudaFinding& line) { return line.part == part && !line.path.empty(); };
    if (std::any_of(lines.begin(), lines.end(), found)) continue;
    names += (names.empty() ? "" : ", ") + std::string(part);
    const std::string wheel = wheel_name(package, major);
    if (packages.find(wheel) == packages.npos) packages += " " + wheel;
  }
  findings.missing = names + ": pip install" + packages +
                     ", or set TARSIA_CUDA_HOME to a CUDA toolkit; `tarsia doctor` tells what is there";
}

}  // namespace

std::string wheel_name(std::string package, int major) {
  if (major != 0 && major < 13) {
    if (package == "nvidia-cuda-crt" || package == "nvidia-nvvm") package = "nvidia-cuda-nvcc";
    package += "-cu" + std::to_string(major);
  }
  return package;
}

CudaFindings find_cuda_parts_in(const CudaSearch& search) {
  std::vector<CudaPlace> places;
  auto add = [&](CudaPlace place) {
    if (!place.empty()) places.push_back(std::move(place));
  };
  for (const CudaSearch::Home& home : search.homes)
    if (home.wanted) add(scan_toolkit(home));
  for (const std::string& site : search.site_packages)
    for (CudaPlace& place : scan_wheels(site)) add(std::move(place));
  for (const CudaSearch::Home& home : search.homes)
    if (!home.wanted) add(scan_toolkit(home));

  const Choice choice = choose(search, places);
  CudaFindings findings;
  CudaParts& parts = findings.parts;
  parts.major = choice.major;
  auto include = [&](const CudaPlace* place, std::string CudaPlace::* part) {
    if (!place || (place->*part).empty()) return;
    if (std::find(parts.include_dirs.begin(), parts.include_dirs.end(), place->*part) ==
        parts.include_dirs.end())
      parts.include_dirs.push_back(place->*part);
  };
  include(choice.headers, &CudaPlace::headers);
  include(choice.cccl, &CudaPlace::cccl);
  include(choice.crt, &CudaPlace::crt);
  include(choice.curand, &CudaPlace::curand);
  if (choice.nvrtc) parts.nvrtc = of_major(choice.nvrtc->nvrtc, choice.major)->path;
  if (choice.cudart) parts.cudart = of_major(choice.cudart->cudart, choice.major)->path;
  for (const std::string& path : search.mapped)  // a second copy of the runtime would have its own state
    if (std::string_view(path).substr(path.rfind('/') + 1).starts_with("libcudart.so.")) {
      parts.cudart = path;
      break;
    }
  for (const CudaPlace* place : {choice.headers, choice.cudart, choice.nvrtc, choice.curand})
    if (place)
      parts.library_dirs.insert(parts.library_dirs.end(), place->library_dirs.begin(),
                                place->library_dirs.end());
  std::vector<std::string> dirs;
  for (std::string& dir : parts.library_dirs)
    if (std::find(dirs.begin(), dirs.end(), dir) == dirs.end()) dirs.push_back(std::move(dir));
  parts.library_dirs = std::move(dirs);
  if (choice.libdevice) parts.libdevice = choice.libdevice->libdevice;
  if (choice.nvjitlink) parts.nvjitlink = of_major(choice.nvjitlink->nvjitlink, choice.major)->path;
  parts.clang_identity = identify_clang_parts(parts.libdevice, parts.nvjitlink);
  if (!parts.nvrtc.empty()) parts.nvrtc_identity = identify_nvrtc(parts.nvrtc);
  explain(choice, findings);
  return findings;
}

bool has_headers_in(const CudaParts& parts, const std::string& dir) {
  return std::ranges::any_of(parts.include_dirs, [&](const std::string& one) {
    std::error_code error;
    return one == dir || std::filesystem::equivalent(one, dir, error);
  });
}

}  // namespace tarsia
