// What this Tarsia is and what it finds on this machine.
#include <dlfcn.h>
#include <tarsia/c_api.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "base/cuda_driver.h"
#include "base/cuda_parts.h"
#include "base/error.h"
#include "base/paths.h"
#include "jit/build_id.h"
#include "registry/last_error.h"

using namespace tarsia;
using nlohmann::json;
using registry::guarded;

namespace {

char* give_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

json line(const std::string& part, bool found, const std::string& path, const std::string& detail) {
  return {{"part", part}, {"found", found}, {"path", path}, {"detail", detail}};
}

json compiler_line() {
  try {
    return line("compiler", true, compiler_path(""), "compiles host code, and device code through NVRTC");
  } catch (const Error& e) {
    return line("compiler", false, "", e.what());
  }
}

json cache_line() {
  const std::string dir = cache_dir_name();
  if (dir.empty())
    return line("cache", false, "",
                "no folder is known: set TARSIA_CACHE_DIR or HOME; compiles are kept in memory only");
  const std::string trouble = prepare_private_dir(dir);
  return line("cache", trouble.empty(), dir, trouble.empty() ? "kept on disk" : trouble);
}

void add_gpus(json& lines) {
  try {
    cuda_driver();
  } catch (const Error& e) {
    lines.push_back(line("GPU", false, "", e.what()));
    return;
  }
  int version = 0;
  cuda_driver().cuDriverGetVersion(&version);
  const std::string driver =
      "driver of CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  const int count = cuda_device_count();
  if (!count)
    lines.push_back(
        line("GPU", false, "", driver + ", but no GPU is visible (CUDA_VISIBLE_DEVICES may hide them)"));
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0;
    tarsia_device_attribute(i, 75, &major);  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, …_MINOR
    tarsia_device_attribute(i, 76, &minor);
    const char* name = tarsia_device_name(i);
    lines.push_back(line("GPU " + std::to_string(i), true, "",
                         std::string(name ? name : "?") + ", sm_" + std::to_string(major) +
                             std::to_string(minor) + ", " + driver));
  }
}

}  // namespace

const char* tarsia_version(void) {
  return TARSIA_VERSION;
}

int32_t tarsia_doctor(char** text) {
  return guarded([&] {
    json lines = json::array();
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&tarsia_version), &self);
    lines.push_back(line("libtarsia", true, self.dli_fname ? self.dli_fname : "",
                         std::string("version ") + TARSIA_VERSION));
    lines.push_back(compiler_line());
    lines.push_back(cache_line());
    for (const CudaFinding& finding : cuda_findings()->lines)
      lines.push_back(line(finding.part, !finding.path.empty(), finding.path, finding.detail));
    add_gpus(lines);
    *text = give_text(json{{"version", TARSIA_VERSION}, {"lines", lines}}.dump());
  });
}

void tarsia_free(void* memory) {
  std::free(memory);
}
