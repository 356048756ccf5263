// The parts of CUDA in one toolkit, or in NVIDIA's wheels of one folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda/cuda_parts.h"

namespace tarsia {

struct CudaVersion {
  int major = 0;
  int minor = -1;  ///< -1: unknown
};

struct CudaLibrary {
  std::string path;
  CudaVersion version;
};

/// The parts in one toolkit, or in NVIDIA's wheels of one folder. Wheels of CUDA 12 are spread over several
/// folders.
struct CudaPlace {
  std::string origin;
  bool wanted = false;
  std::string headers;  ///< the folder of cuda_runtime.h
  std::string crt;      ///< … of crt/host_config.h
  std::string cccl;     ///< … of cub/ and cuda/std/
  std::string curand;   ///< … of curand_kernel.h
  CudaVersion headers_version;
  std::string libdevice;  ///< the file libdevice.10.bc
  std::vector<CudaLibrary> nvrtc, cudart, nvjitlink;
  std::vector<std::string> library_dirs;

  /// Nothing of CUDA lies there.
  bool empty() const;
  bool whole() const { return !headers.empty() && !crt.empty(); }
};

/// The N and M of a file name NAME.so.N[.M…] if it begins with `stem`.
std::optional<CudaVersion> so_version(std::string_view file, std::string_view stem);

/// "13.5", or "13" where the minor is unknown.
std::string text_of(CudaVersion version);

CudaPlace scan_toolkit(const CudaSearch::Home& home);

/// NVIDIA's wheels: nvidia/cu13/{include,lib} since CUDA 13, nvidia/cuda_nvrtc/{include,lib} and so on
/// before.
std::vector<CudaPlace> scan_wheels(const std::string& site_packages);

}  // namespace tarsia
