// The compiler, which keeps what one compile leaves for the next.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "base/paths.h"
#include "jit/protocol_server.h"
#include "jit/worker/device/device_compiler.h"
#include "jit/worker/next_cell.h"
#include "jit/worker/nvptx/device_preludes.h"
#include "jit/worker/prelude/held_parses.h"
#include "jit/worker/prelude/prelude.h"
#include "jit/worker/source/sysroot.h"

namespace tarsia::jit {

/// What a worker keeps between compiles.
struct WorkerState {
  std::shared_ptr<const SysrootPack> pack;
  Preludes preludes;
  std::string home;  ///< in this folder lie libraries that modules need
  DevicePreludes device_preludes{};
  DeviceCompiler device{};
  HeldParses held{};
  NextCell next_cell{};
  bool usable = true;                        ///< false after LLD gave up half-way
  std::future<void> prepared{};              ///< links: while the first source is parsed
  std::vector<SourceFile> public_headers{};  ///< for device code; empty until a compile needs them
};

class Worker final : public Handler {
 public:
  /// `shipped_preludes` names a pack of preludes, or a file that does not exist. In the folder `home` lie
  /// libraries that modules need.
  Worker(std::shared_ptr<const SysrootPack> pack, std::string shipped_preludes,
         std::string home = library_dir())
      : m_state{pack, Preludes(pack, std::move(shipped_preludes)), std::move(home)} {}
  CompileResult compile(const CompileRequest& request, PartStore& parts) override;
  bool answer_elsewhere(const CompileRequest& request, PartStore& parts) override;
  std::vector<std::string> confine(const CudaParts& cuda) override;
  void answered() override { m_state.held.leave(); }
  /// For a worker that serves a client: sources that begin with the same includes share their parse.
  void hold_parses() { m_state.held.turn_on(); }
  std::vector<std::string> archs() override;
  /// False after LLD gave up half-way.
  bool usable() const override { return m_state.usable; }
  /// The texts that the device's compiler would get for each CUDA file, headers included: for work on the
  /// split.
  std::vector<SourceFile> slices(const CompileRequest& request, std::vector<Diagnostic>& diagnostics);
  void idle() override;
  /// Makes the pack of preludes that lies beside the worker. Throws Error naming the layer that could not
  /// be made.
  void make_shipped_preludes(const std::string& path, bool with_cuda) {
    m_state.preludes.make_shipped(path, with_cuda);
  }

 private:
  WorkerState m_state;
};

}  // namespace tarsia::jit
