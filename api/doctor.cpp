// The doctor: reports what works and what is missing on this machine, by looking and by trying.
#include <sys/stat.h>
#include <tarsia/c_api.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/cache/cache_dir.h"
#include "api/text.h"
#include "base/cuda/cuda_driver.h"
#include "base/cuda/cuda_parts.h"
#include "base/error.h"
#include "base/figures/elapsed.h"
#include "base/paths.h"
#include "cache/disk_store.h"
#include "jit/client/isolation.h"
#include "pipeline/pipeline.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using nlohmann::json;
using registry::guarded;

namespace {

// Modules of texts with __TIME__ are not kept in the cache.
constexpr char k_host_trial[] = R"(#include <string>
std::string tarsia_trial() { return std::string("Clang ") + __clang_version__ + (__TIME__ + 8); }
)";

constexpr char k_cuda_trial[] = R"(#include <string>
__global__ void tarsia_trial_kernel(int* out) { *out = 42; }
std::string tarsia_trial() {
  int back = 0, *out = nullptr;
  cudaError_t error = cudaMalloc(&out, sizeof(int));
  if (error == cudaSuccess) {
    tarsia_trial_kernel<<<1, 1>>>(out);
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpy(&back, out, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(out);
  }
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return back == 42 ? "" : "a kernel ran and its result is wrong";
  (void)__TIME__;
}
)";

class Report {
 public:
  void add(const std::string& part, bool found, const std::string& path, const std::string& detail) {
    m_lines.push_back({{"part", part}, {"found", found}, {"path", path}, {"detail", detail}});
  }
  void works(const char* what, bool does) { m_works[what] = does; }
  std::string text() const {
    return json{{"version", tarsia_version()}, {"works", m_works}, {"lines", m_lines}}.dump(
        -1, ' ', false, json::error_handler_t::replace);
  }

 private:
  json m_lines = json::array();
  json m_works = json::object();
};

/// A small source, compiled and loaded.
class Trial {
 public:
  explicit Trial(const char* source) {
    const auto start = std::chrono::steady_clock::now();
    // Never the same text twice: a module from the cache would show nothing.
    const std::string text = source + ("// " + std::to_string(start.time_since_epoch().count()) + '\n');
    const tarsia_file file{nullptr, text.data(), text.size()};
    tarsia_options options;
    tarsia_options_init(&options);
    options.name = "the doctor's trial";
    m_loaded = tarsia_load_inline(&file, 1, &options, &m_library) == 0;
    if (!m_loaded) m_error = tarsia_last_error()->message;
    m_ms = milliseconds_since(start);
  }
  ~Trial() { tarsia_library_release(m_library); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool loaded() const { return m_loaded; }
  const std::string& error() const { return m_error; }
  std::string time() const { return std::to_string(static_cast<int>(m_ms)) + " ms"; }

  /// Calls the function of the module.
  std::string run() {
    std::uint64_t n = 0;
    const tarsia_function* const* functions = tarsia_library_functions(m_library, &n);
    tarsia_call_context context{};
    context.size = sizeof(context);
    context.framework = 1;
    context.device = {TARSIA_CPU, 0};
    tarsia_call_context** slot = tarsia_call_slot();
    tarsia_value result{};
    tarsia_enter_call(slot, &context);
    const int32_t code = tarsia_call(functions, n, nullptr, 0, &result);
    std::string text = code ? tarsia_last_error()->message : std::string(result.s, result.size);
    tarsia_leave_call(slot, &context);
    return text;
  }

 private:
  tarsia_library* m_library = nullptr;
  bool m_loaded = false;
  std::string m_error;
  double m_ms = 0;
};

void look_at_library(Report& report) {
  report.add("libtarsia", true, library_dir() + "/libtarsia.so", std::string("version ") + tarsia_version());
}

void look_at_headers(Report& report) {
  const std::string pack = library_dir() + "/tarsia-sysroot.pack";
  struct stat st{};
  if (::stat(pack.c_str(), &st) == 0)
    report.add("C and C++ headers", true, pack,
               "Tarsia's own, " + std::to_string(st.st_size >> 20) + " MiB; the system's are an option");
  else
    report.add("C and C++ headers", false, "",
               pack + " is missing: install Tarsia again, or build its target sysroot");
}

std::string size_of_cache(const std::string& dir) {
  std::uint64_t files = 0, bytes = 0;
  std::error_code ec;
  using Walk = std::filesystem::recursive_directory_iterator;
  // A file that another process removes meanwhile does not count.
  for (Walk at(dir + "/1", std::filesystem::directory_options::skip_permission_denied, ec), end;
       !ec && at != end; at.increment(ec)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || at->path().parent_path().filename() == "locks") continue;
    const std::uint64_t size = at->file_size(gone);
    if (gone) continue;
    ++files;
    bytes += size;
  }
  const std::uint64_t limit = cache::cache_size_limit();
  return std::to_string(files) + " files, " + std::to_string(bytes >> 20) + " MiB" +
         (limit ? " of " + std::to_string(limit >> 20) + " MiB" : ", no limit");
}

void look_at_cache(Report& report) {
  const std::string dir = cache_dir_name();
  try {
    std::string refusal =
        dir.empty() ? "no folder is known: set TARSIA_CACHE_DIR or HOME; compiles are kept in memory only"
                    : pipeline::Pipeline::instance().cache_refusal();
    if (refusal.empty() && !dir.empty()) refusal = prepare_private_dir(dir);
    report.add("cache", refusal.empty(), dir, refusal.empty() ? size_of_cache(dir) : refusal);
  } catch (const Error& error) {
    report.add("cache", false, dir, error.what());  // its size, as the environment has it, is no size
  }
}

void look_at_isolation(Report& report) {
  try {
    const jit::IsolationFinding found = jit::isolation_here();
    if (jit::wanted_isolation() == jit::Isolation::off)
      report.add("isolation", true, "", "the compiler is not isolated: TARSIA_ISOLATION is off");
    else
      report.add("isolation", found.complete, "", found.text);
  } catch (const Error& error) {
    report.add("isolation", false, "", error.what());
  }
}

void try_compiler(Report& report) {
  std::string path;
  try {
    path = compiler_path(api::usable_cache_dir());
  } catch (const Error& error) {
    report.add("compiler", false, "", error.what());
    report.works("host", false);
    return;
  }
  Trial trial(k_host_trial);
  std::string answer = trial.loaded() ? trial.run() : trial.error();
  const bool works = trial.loaded() && answer.starts_with("Clang ");
  if (works) answer += ": started, compiled, linked and loaded in " + trial.time();
  report.add("compiler", works, path, answer);
  report.works("host", works);
}

bool look_at_cuda_parts(Report& report) {
  const auto findings = cuda_findings();
  for (const CudaFinding& finding : findings->lines)
    report.add(finding.part, !finding.path.empty(), finding.path, finding.detail);
  const CudaParts& parts = findings->parts;
  return !parts.nvrtc.empty() && !parts.cudart.empty() && !parts.include_dirs.empty();
}

int look_at_gpus(Report& report) {
  try {
    cuda_driver();
  } catch (const Error& error) {
    report.add("CUDA driver", false, "", error.what());
    return 0;
  }
  int version = 0;
  cuda_driver().cuDriverGetVersion(&version);
  report.add("CUDA driver", true, "libcuda.so.1",
             "of CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  const int count = cuda_device_count();
  if (!count) report.add("GPU", false, "", "none is visible: CUDA_VISIBLE_DEVICES may hide them");
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0;
    tarsia_device_attribute(i, 75, &major);  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, …_MINOR
    tarsia_device_attribute(i, 76, &minor);
    const char* name = tarsia_device_name(i);
    report.add("GPU " + std::to_string(i), true, "",
               std::string(name ? name : "?") + ", sm_" + std::to_string(major) + std::to_string(minor));
  }
  return count;
}

void try_cuda(Report& report, bool has_parts, int n_gpus) {
  report.works("cuda", false);
  report.works("gpu", false);
  if (!has_parts) {
    report.add("CUDA sources", false, "", "not tried, because parts above are missing");
    return;
  }
  Trial trial(k_cuda_trial);
  report.works("cuda", trial.loaded());
  report.add("CUDA sources", trial.loaded(), "",
             trial.loaded() ? "compiled, linked and loaded in " + trial.time() : trial.error());
  if (!trial.loaded() || !n_gpus) return;
  const std::string trouble = trial.run();
  report.works("gpu", trouble.empty());
  report.add("kernel launch", trouble.empty(), "", trouble.empty() ? "a kernel ran on the GPU" : trouble);
}

}  // namespace

int32_t tarsia_doctor(char** text) {
  return guarded([&] {
    Report report;
    look_at_library(report);
    look_at_headers(report);
    look_at_cache(report);
    look_at_isolation(report);
    try_compiler(report);
    const bool has_parts = look_at_cuda_parts(report);
    const int n_gpus = look_at_gpus(report);
    try_cuda(report, has_parts, n_gpus);
    *text = api::give_text(report.text());
  });
}
