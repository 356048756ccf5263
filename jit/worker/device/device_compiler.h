// Device slices to cubins and PTX, by NVRTC.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/device/device_plan.h"
#include "jit/worker/device/fatbin.h"
#include "jit/worker/device/nvrtc_pch.h"

namespace tarsia::jit {

struct DeviceResult {
  bool ok = false;
  bool invalid = false;                  ///< a header on disk is no text: a fatal diagnostic says which
  std::vector<FatbinEntry> images;       ///< a cubin for each architecture, then PTX if it was asked for
  std::vector<std::string> lowered;      ///< for each expression of the request its name in the device code
  std::vector<std::string> managed;      ///< for each managed variable likewise; empty if there is none of it
  std::vector<Diagnostic> diagnostics;   ///< warnings as well; files are named as in the request
  std::vector<Dependency> dependencies;  ///< headers on disk that may have been read
  bool keyed = true;                     ///< false: more went into it than the plan's key covers
  std::vector<std::pair<std::string, double>> timings;
};

/// Keeps NVRTC and its precompiled headers between compiles. One compile at a time.
class DeviceCompiler {
 public:
  /// The plan must come from `plan_device(request)`. Errors of the user's are diagnostics. Throws LoadError
  /// if NVRTC is missing. `cancelled` ends the compile early, with ok == false and no diagnostics.
  DeviceResult compile(const DeviceRequest& request, const DevicePlan& plan,
                       const std::atomic<bool>* cancelled = nullptr);
  DeviceResult compile(const DeviceRequest& request) { return compile(request, plan_device(request)); }

  /// Opens NVRTC and lets it compile its first kernel on a thread of its own, once. Both take as long as a
  /// kernel's compile later, so this runs while the host's text is parsed. Never throws: compile() reports
  /// what went wrong.
  void warm_up(const std::string& nvrtc);

  /// Waits until `warm_up` is done.
  void await_warm_up() const {
    if (m_warm_up.valid()) m_warm_up.wait();
  }
  /// In a forked child: the process that precompiles headers is the parent's.
  void forget_child();

  /// Starts a process that precompiles the headers of the last compile if that is worth while, and returns
  /// at once. The caller calls it when it has handed over a result and nothing compiles.
  void precompile_headers();

  /// Waits for that process; for tests and benchmarks.
  void wait_for_headers();
  /// How many compiles took a precompiled header so far.
  unsigned headers_used() const { return m_headers_used; }

 private:
  NvrtcOutput run(const Nvrtc& nvrtc, const DeviceRequest& request, const DevicePlan& plan,
                  const std::string& arch, const std::atomic<bool>* cancelled);

  NvrtcOutput run_with_headers(const Nvrtc& nvrtc, const DeviceRequest& request, const DevicePlan& plan,
                               NvrtcJob& job);
  void place_ptxas_errors(const Nvrtc& nvrtc, const DeviceRequest& request, const DevicePlan& plan,
                          const std::string& arch, std::vector<Diagnostic>& diagnostics);
  void leave_out_refused(std::vector<std::string>& options) const;

  std::map<std::string, std::unique_ptr<NvrtcPch>> m_pch;  // by path of the library
  std::vector<std::string> m_refused_options;              // that this NVRTC does not know
  struct Header {
    NvrtcPch* pch = nullptr;
    Digest key{};
    NvrtcJob job;
    std::vector<SourceFile> texts;  // of the job
  };
  std::unique_ptr<Header> m_next_header;
  unsigned m_headers_used = 0;
  std::future<void> m_warm_up;
};

}  // namespace tarsia::jit
