// nvJitLink, opened at run time: PTX to machine code. No header of CUDA is included, nothing of it is linked.
#pragma once

#include <string>
#include <vector>

namespace tarsia::jit {

struct NvJitLinkOutput {
  bool ok = false;
  std::string cubin;
  std::string log;  ///< what ptxas says: errors, or what each kernel needs of the GPU
};

class NvJitLink {
 public:
  /// Opens the library, or returns the one opened before. Throws LoadError, which says what to install.
  static const NvJitLink& open(const std::string& path);

  /// Makes a cubin of one PTX text. `options` are nvJitLink's own: "-arch=sm_90", "-O3". Any thread.
  NvJitLinkOutput compile(const std::string& ptx, const std::vector<std::string>& options) const;

 private:
  struct Api;
  explicit NvJitLink(const std::string& path);
  const Api* m_api;
};

}  // namespace tarsia::jit
