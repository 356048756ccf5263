// The object that carries device code into a module, with the tables that register it.
#pragma once

#include <string>
#include <vector>

#include "jit/worker/split/split.h"

namespace tarsia::jit {

/// One piece of device code.
struct DeviceImage {
  std::string arch;   ///< "sm_90", or "compute_90" for PTX
  std::string bytes;  ///< a cubin (ELF), or PTX with its NUL
};

/// The device code of one translation unit, or one of its two pieces: see DeviceJob::Outcome.
struct DeviceUnit {
  int number = 0;
  std::string file;
  const DeviceSlice* slice = nullptr;
  std::vector<std::string> kernel_symbols;    ///< by kernel of the slice; empty: not in the device code
  std::vector<std::string> variable_symbols;  ///< by variable of the slice; likewise
  std::string fatbin;                         ///< passed to the runtime: a cubin or a fat binary
  std::vector<DeviceImage> images;
  std::string compiler = "nvrtc";   ///< as tarsia_image of abi.h has it
  bool has_header_kernels = false;  ///< kernels that only headers name are in the device code, too
  bool without_host = false;        ///< no object of the host's defines the addresses of its stubs
  std::vector<std::string> places;  ///< strings that the host's object refers to: HostResult::places
};

/// The kernel templates of one translation unit.
struct FileTemplates {
  std::string file;
  std::vector<KernelTemplate> templates;
};

/// Makes an ELF object with the images, their list `tarsia_images`, the descriptors of kernels, templates
/// and variables (abi.h), the places, and a registration record for each unit (see support/cuda_support.c).
std::string make_device_tables(const std::vector<DeviceUnit>& units,
                               const std::vector<FileTemplates>& templates = {});

}  // namespace tarsia::jit
