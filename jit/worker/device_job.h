// The device's half of one translation unit, on a thread of its own beside the host's.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/clang_choice.h"
#include "jit/worker/device/device_compiler.h"
#include "jit/worker/link/device_tables.h"
#include "jit/worker/nvrtc_messages.h"
#include "jit/worker/source/sysroot.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {

class DeviceJob {
 public:
  struct Outcome {
    bool ok = false;
    bool invalid = false;  ///< a header on disk is no text
    bool reused = false;   ///< device code of an earlier compile
    DeviceUnit unit;
    std::optional<DeviceUnit> header_kernels;  ///< what Clang compiled, where NVRTC did the rest
    std::vector<Diagnostic> diagnostics;
    std::vector<Dependency> dependencies;
    std::vector<std::pair<std::string, double>> timings;
  };

  /// Starts at once. The references must outlive the job.
  DeviceJob(const CompileRequest& request, const SysrootPack& pack,
            const std::vector<SourceFile>& public_headers, DeviceSlice slice, int number,
            DeviceCompiler& compiler, PartStore& parts, ClangChoice clang);
  /// Ends the compile early if nobody waited for it.
  ~DeviceJob();
  DeviceJob(const DeviceJob&) = delete;
  DeviceJob& operator=(const DeviceJob&) = delete;

  /// Whether finish() would not wait.
  bool is_done() const { return m_outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  /// Waits. The unit refers to the job's slice.
  Outcome finish() { return m_outcome.get(); }

 private:
  Outcome run();
  DeviceRequest make_request() const;
  DeviceResult compile(DeviceRequest request, const DevicePlan& plan);
  /// Device code alone is wanted: CompileOptions::kernels.
  bool kernels_alone() const { return !m_request.options.kernels.empty(); }
  static bool is_shared(const DeviceVariable& variable);
  bool has_foreign_variables() const;
  /// `kernels`: the symbols of the slice's kernels.
  bool check_variables(const std::string& ptx, const std::vector<std::string>& kernels,
                       Outcome& outcome) const;
  /// What NVRTC makes of the request, or what is kept of an earlier compile.
  DeviceResult kept_or_compiled(const DeviceRequest& request, const DevicePlan& plan, bool& reused);
  void run_nvrtc(Outcome& outcome);
  void run_clang(Outcome& outcome, const std::string& why);
  bool add_header_kernels(Outcome& outcome) const;
  Digest key_of_headers() const;
  NvrtcMessages messages() const { return {m_slice, m_request.options}; }
  void place_spills(std::vector<Diagnostic>& diagnostics) const;
  void name_files(std::vector<Diagnostic>& diagnostics) const;
  bool leave_out_refused_doubts(const std::vector<Diagnostic>& diagnostics, std::vector<Doubt>& doubts,
                                DeviceRequest& request) const;

  const CompileRequest& m_request;
  const SysrootPack& m_pack;
  const std::vector<SourceFile>& m_public_headers;
  DeviceSlice m_slice;
  int m_number;
  DeviceCompiler& m_compiler;
  PartStore& m_parts;
  ClangChoice m_clang;
  std::atomic<bool> m_cancelled{false};
  std::future<Outcome> m_outcome;
};

}  // namespace tarsia::jit
