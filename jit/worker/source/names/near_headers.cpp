// Finds the nearest name by its edits, of at most a third of its letters, as Clang does for other names.
#include "jit/worker/source/names/near_headers.h"

#include <filesystem>
#include <initializer_list>

#include "base/cuda/cuda_parts.h"
#include "jit/standard_headers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

namespace tarsia::jit {
namespace {

/// Headers of CUDA and of Tarsia that sources include.
constexpr const char* k_brought[] = {"cuda_runtime.h",
                                     "cuda_fp16.h",
                                     "cuda_bf16.h",
                                     "cuda_fp8.h",
                                     "cuda.h",
                                     "cooperative_groups.h",
                                     "cooperative_groups/reduce.h",
                                     "mma.h",
                                     "curand_kernel.h",
                                     "math_constants.h",
                                     "cub/cub.cuh",
                                     "cub/block/block_reduce.cuh",
                                     "cub/block/block_scan.cuh",
                                     "cub/warp/warp_reduce.cuh",
                                     "cub/device/device_reduce.cuh",
                                     "cub/device/device_scan.cuh",
                                     "cuda/atomic",
                                     "cuda/barrier",
                                     "cuda/pipeline",
                                     "cuda/std/array",
                                     "cuda/std/complex",
                                     "cuda/std/cstdint",
                                     "cuda/std/tuple",
                                     "cuda/std/type_traits",
                                     "cuda/std/utility",
                                     "thrust/device_vector.h",
                                     "thrust/host_vector.h",
                                     "thrust/reduce.h",
                                     "thrust/scan.h",
                                     "thrust/sort.h",
                                     "thrust/transform.h",
                                     "tarsia/elementwise.h",
                                     "tarsia/gtest.h",
                                     "tarsia/op.h",
                                     "tarsia/tarsia.h",
                                     "tarsia/testing.h"};

/// NVIDIA's libraries: what their headers' names begin with, and their wheels.
struct Nvidia {
  const char* headers;  ///< separated by blanks
  const char* library;
  const char* wheel;
  const char* folder =
      "";  ///< below nvidia/, if it is not that of CUDA's headers. Then every wheel has a suffix
};

constexpr Nvidia k_nvidia[] = {
    {"cublas", "cuBLAS", "nvidia-cublas"},
    {"cufft", "cuFFT", "nvidia-cufft"},
    {"cusparseLt", "cuSPARSELt", "nvidia-cusparselt", "cusparselt"},
    {"cusparse", "cuSPARSE", "nvidia-cusparse"},
    {"cusolver", "cuSOLVER", "nvidia-cusolver"},
    {"curand", "cuRAND", "nvidia-curand"},
    {"cudnn", "cuDNN", "nvidia-cudnn", "cudnn"},
    {"nccl", "NCCL", "nvidia-nccl", "nccl"},
    {"nvshmem", "NVSHMEM", "nvidia-nvshmem", "nvshmem"},
    {"npp", "NPP", "nvidia-npp"},
    {"nvjpeg", "nvJPEG", "nvidia-nvjpeg"},
    {"nvToolsExt nvtx3/", "NVTX", "nvidia-nvtx"},
    {"cupti", "CUPTI", "nvidia-cuda-cupti"},
    {"cufile", "cuFile", "nvidia-cufile"},
    {"nvrtc", "NVRTC", "nvidia-cuda-nvrtc"},
    {"nvJitLink", "nvJitLink", "nvidia-nvjitlink"},
    {"cub/ thrust/ cuda/", "CCCL", "nvidia-cuda-cccl"},
};

/// A name's end after a dot, which people forget or add.
llvm::StringRef without_ending(llvm::StringRef name) {
  const llvm::StringRef stem = name.rsplit('.').first;
  return stem.contains('/') || !name.contains('/') ? stem : name;
}

class Search {
 public:
  explicit Search(llvm::StringRef name) : m_name(name), m_least(name.size() / 3 + 1) {}
  /// `quoted`: it is included by quotation marks.
  void look_at(llvm::StringRef candidate, bool quoted) {
    if (candidate == m_name) return;
    unsigned edits = m_name.edit_distance(candidate, /*AllowReplacements=*/true, m_least);
    if (edits >= m_least && candidate.equals_insensitive(m_name)) edits = 1;
    if (without_ending(candidate) == without_ending(m_name)) edits = std::min(edits, 1u);
    if (edits >= m_least) return;
    m_least = edits;
    m_found = (quoted ? "\"" + candidate + "\"" : "<" + candidate + ">").str();
  }
  const std::string& found() const { return m_found; }

 private:
  llvm::StringRef m_name;
  unsigned m_least;  ///< fewer edits than these count
  std::string m_found;
};

/// Empty: the header is of none of NVIDIA's libraries.
std::string nvidia_remedy(llvm::StringRef name, const CompileRequest& request) {
  for (const Nvidia& one : k_nvidia) {
    llvm::SmallVector<llvm::StringRef> begins;
    llvm::StringRef(one.headers).split(begins, ' ');
    if (llvm::none_of(begins, [&](llvm::StringRef begin) { return name.starts_with(begin); })) continue;
    const int major = request.cuda_parts.major;
    const std::string folder = one.folder;
    const std::string wheel = folder.empty() ? wheel_name(one.wheel, major)
                                             : one.wheel + ("-cu" + std::to_string(major ? major : 13));
    return "; it is " + std::string(one.library) + "'s: `pip install " + wheel +
           (folder.empty()
                ? "`, or give its folder in include_dirs"
                : "` puts it into nvidia/" + folder + "/include; give that folder in include_dirs");
  }
  return {};
}

/// How to include the header of the nearest name. Empty: none is near.
std::string near_header(llvm::StringRef name, const CompileRequest& request) {
  Search search(name);
  for (const SourceFile& one : request.headers) search.look_at(one.name, true);
  const size_t slash = name.rfind('/');
  const llvm::StringRef below = slash == name.npos ? llvm::StringRef() : name.take_front(slash + 1);
  constexpr int k_most_files = 10000;
  int files = 0;
  for (const std::string& folder : request.options.include_dirs) {
    std::error_code error;
    std::filesystem::directory_iterator at(folder + "/" + below.str(), error), end;
    for (; !error && at != end && files < k_most_files; at.increment(error), ++files) {
      std::error_code other;
      if (!at->is_directory(other)) search.look_at(below.str() + at->path().filename().string(), true);
    }
  }
  for (const std::string_view one : system_headers()) search.look_at(one, false);
  for (const char* one : k_brought) search.look_at(one, false);
  return search.found();
}

/// Of libraries whose headers have a folder of their own, and of what a machine has only in part.
std::string library_remedy(llvm::StringRef name, const CompileRequest& request) {
  const bool is_cudas = llvm::any_of(
      std::initializer_list<llvm::StringRef>{"cuda", "cub/", "thrust/", "cooperative_groups", "nv/target"},
      [&](llvm::StringRef begin) { return name.starts_with(begin); });
  if (is_cudas && !request.cuda && request.cuda_parts.include_dirs.empty())
    return "; it is CUDA's: `pip install " + wheel_name("nvidia-cuda-runtime", 0) + " " +
           wheel_name("nvidia-cuda-crt", 0) + "`, or set TARSIA_CUDA_HOME to a CUDA toolkit";
  if (name == "c10/cuda/impl/cuda_cmake_macros.h")
    return "; a PyTorch that was built without CUDA lacks it: install one that was built for CUDA";
  if (name.starts_with("Eigen/"))
    return "; apt-get install libeigen3-dev puts Eigen into /usr/include/eigen3: give that folder in "
           "include_dirs";
  return {};
}

}  // namespace

std::string header_remedy(llvm::StringRef name, const CompileRequest& request) {
  if (std::string known = library_remedy(name, request); !known.empty()) return known;
  if (std::string known = nvidia_remedy(name, request); !known.empty()) return known;
  const std::string meant = near_header(name, request);
  return meant.empty() ? meant
                       : "; did you mean " + meant +
                             "? Otherwise give its folder in include_dirs or its text in headers";
}

}  // namespace tarsia::jit
