// The places of CUDA's parts on this machine: a toolkit, NVIDIA's Python wheels, or some of each.
//
// Nothing here runs a program, opens a library or initialises CUDA. The search lists directories and reads
// a header's version line. It identifies the NVRTC file by its size and build id.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tarsia {

/// Paths are empty for absent parts. All parts are of one CUDA major.
struct CudaParts {
  std::vector<std::string> include_dirs;  ///< in search order: CUDA's own, CCCL, crt/ and cuRAND if elsewhere
  std::string nvrtc;                      ///< path of libnvrtc.so.N
  std::string cudart;                     ///< path of libcudart.so.N
  std::string nvrtc_identity;  ///< version, size and build id of NVRTC and its builtins; no path, no time
  int major = 0;
  std::vector<std::string> library_dirs;  ///< with NVIDIA's shared libraries: libcurand.so.N and the like
  // What Clang's device code needs besides.
  std::string libdevice;       ///< path of libdevice.10.bc: CUDA's math functions as LLVM's bitcode
  std::string nvjitlink;       ///< path of libnvJitLink.so.N, which makes cubins of PTX
  std::string clang_identity;  ///< sizes and build id of both; no path, no time
};

/// One line of `tarsia doctor`.
struct CudaFinding {
  std::string part;    ///< "NVRTC", "CUDA headers", …
  std::string path;    ///< empty: not found
  std::string detail;  ///< version and origin; for a missing part, its purpose and the remedy
};

struct CudaFindings {
  CudaParts parts;
  std::vector<CudaFinding> lines;
  std::string missing;  ///< missing parts that every CUDA source needs: names and remedy; or empty
};

/// Where to look; `search_places` fills it from the environment and this process.
struct CudaSearch {
  struct Home {
    std::string dir;  ///< holds include/ and lib64/ or lib/
    std::string origin;
    bool wanted = false;  ///< named by TARSIA_CUDA_HOME: its parts win over everything
  };
  std::vector<Home> homes;                 ///< toolkits, the preferred first
  std::vector<std::string> site_packages;  ///< folders that may hold nvidia/, before those of the homes
  std::vector<std::string> mapped;         ///< CUDA libraries already mapped in this process
};

/// Looks at TARSIA_CUDA_HOME, CUDA_HOME, CUDA_PATH, nvcc on the PATH, conda, /usr/local/cuda*, /opt/cuda;
/// the folders given to `add_site_packages`, TARSIA_SITE_PACKAGES, the folder of libtarsia; the libraries
/// mapped now.
CudaSearch search_places();

/// The wheel of a CUDA major: "nvidia-curand" has that suffix, "nvidia-curand-cu12", before CUDA 13. 0: the
/// newest.
std::string wheel_name(std::string package, int major);

/// Chooses among the parts in these places. The CUDA major is that of a mapped libcudart, else that of
/// TARSIA_CUDA_HOME, of a mapped libnvrtc, or the newest with NVRTC. Headers and NVRTC are then of one
/// version if there is a choice.
CudaFindings find_cuda_parts_in(const CudaSearch& search);

/// The choice for this process, kept until site packages are added or other CUDA libraries are mapped.
/// Thread-safe.
std::shared_ptr<const CudaFindings> cuda_findings();
inline CudaParts find_cuda_parts() {
  return cuda_findings()->parts;
}

/// Whether these parts have their headers in this folder, whatever path leads there.
bool has_headers_in(const CudaParts& parts, const std::string& dir);

/// Adds a folder in which NVIDIA's wheels may be installed. Thread-safe.
void add_site_packages(const std::string& dir);

/// "13.5 size 141163664 build feebac… builtins 7268296": tells one build of NVRTC from another.
std::string identify_nvrtc(const std::string& path);

/// The same of the parts that Clang's device code needs; a path may be empty.
std::string identify_clang_parts(const std::string& libdevice, const std::string& nvjitlink);

}  // namespace tarsia
