// Recordings and replays: the C ABI over the pipeline.
#include "api/packs.h"

#include <fcntl.h>
#include <tarsia/c_api.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/json_text.h"
#include "api/source.h"
#include "api/text.h"
#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "pipeline/inputs.h"
#include "registry/preload.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using pipeline::Pipeline;
using registry::guarded;

namespace {

/// 90 of "sm_90a"; 0: it is none.
int number_of(const std::string& arch) {
  return arch.starts_with("sm_") ? std::atoi(arch.c_str() + 3) : 0;
}

/// Whether machine code for one of the architectures runs on a GPU of another.
bool runs_on(const std::vector<std::string>& archs, const std::string& gpu) {
  return std::ranges::any_of(archs, [&](const std::string& arch) {
    const int code = number_of(arch), device = number_of(gpu);
    return code / 10 == device / 10 && code <= device;
  });
}

}  // namespace

std::vector<int> api::ready_gpus(Pipeline& pipeline, const std::optional<std::vector<int>>& devices) {
  std::vector<std::pair<cache::Key, std::vector<std::string>>> requests;  // and their architectures
  for (const auto& [key, bytes] : pipeline.packs().store().inputs())
    if (const auto inputs = pipeline::Inputs::parse(bytes); inputs && inputs->cuda)
      requests.emplace_back(key, inputs->archs);
  std::vector<int> ready;
  if (devices) {
    for (const int device : *devices) {
      cuda_primary_context(device);
      ready.push_back(device);
    }
  } else if (!requests.empty()) {
    for (int device = 0; device < cuda_device_count(); ++device) try {
        cuda_primary_context(device);
        ready.push_back(device);
      } catch (const CudaError& error) {
        log().warn("GPU {} is not made ready for the packs: {}", device, error.what());
      }
  }
  if (ready.empty()) return ready;
  const std::vector<std::string> gpus = cuda_architectures();
  std::size_t n_loaded = 0;
  for (const auto& [key, archs] : requests) {
    if (std::ranges::none_of(gpus, [&](const std::string& gpu) { return runs_on(archs, gpu); })) continue;
    std::string changed;
    const auto found = pipeline.packs().store().find(key, changed);
    if (!found) continue;
    UniqueFd file(::fcntl(found->file->get(), F_DUPFD_CLOEXEC, 3));
    if (file) n_loaded += registry::preload(std::move(file), hex(found->key), ready);
  }
  log().debug("kernels of {} modules are on GPUs before they are asked for", n_loaded);
  return ready;
}

int32_t tarsia_record_begin(const char* path, uint64_t* recording) {
  return guarded([&] { *recording = Pipeline::instance().recorder().begin(path); });
}

int32_t tarsia_record_end(uint64_t recording, char** json) {
  return guarded([&] {
    const pipeline::Recorder::Written pack = Pipeline::instance().recorder().write(recording);
    nlohmann::json left_out = nlohmann::json::array();
    for (const pipeline::LeftOut& one : pack.left_out)
      left_out.push_back({{"name", one.name}, {"why", one.why}});
    *json = api::give_json({{"modules", pack.packed.modules},
                            {"bytes", pack.packed.bytes},
                            {"written", pack.is_there},
                            {"signer", pack.packed.signer},
                            {"left_out", std::move(left_out)}});
  });
}

void tarsia_record_drop(uint64_t recording) {
  Pipeline::instance().recorder().end(recording);
}

int32_t tarsia_record_add_archs(uint64_t recording, const char* const* archs, uint64_t n_archs) {
  return guarded(
      [&] { Pipeline::instance().add_archs(recording, std::vector<std::string>(archs, archs + n_archs)); });
}

int32_t tarsia_replay(const char* path, const int32_t* devices, uint64_t n_devices, char** json) {
  return guarded([&] {
    Pipeline& pipeline = Pipeline::instance();
    std::optional<std::vector<int>> given;
    if (devices) given.emplace(devices, devices + n_devices);
    // Before anything of the pack is used.
    for (const int device : given.value_or(std::vector<int>())) cuda_primary_context(device);
    const cache::Packed packed = pipeline.packs().replay(path);
    *json = api::give_json({{"modules", packed.modules},
                            {"known", packed.known},
                            {"revoked", packed.revoked},
                            {"bytes", packed.bytes},
                            {"signer", packed.signer},
                            {"gpus", api::ready_gpus(pipeline, given)}});
  });
}
