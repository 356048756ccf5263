// The compiler: takes a request through split, device, host and link.
#pragma once

#include <future>
#include <memory>

#include "base/paths.h"
#include "jit/protocol_server.h"
#include "jit/worker/device/device_compiler.h"
#include "jit/worker/nvptx/device_preludes.h"
#include "jit/worker/prelude/prelude.h"
#include "jit/worker/source/sysroot.h"

namespace tarsia::jit {

class Worker final : public Handler {
 public:
  /// `shipped_preludes` names a pack of preludes, or a file that does not exist. In the folder `home` lie
  /// libraries that modules need.
  Worker(std::shared_ptr<const SysrootPack> pack, std::string shipped_preludes,
         std::string home = library_dir())
      : m_pack(pack), m_preludes(std::move(pack), std::move(shipped_preludes)), m_home(std::move(home)) {}
  CompileResult compile(const CompileRequest& request, PartStore& parts) override;
  std::vector<std::string> archs() override;
  /// False after LLD gave up half-way.
  bool usable() const override { return m_usable; }
  /// The texts that the device's compiler would get for each CUDA file, headers included: for work on the
  /// split.
  std::vector<SourceFile> slices(const CompileRequest& request, std::vector<Diagnostic>& diagnostics);
  void idle() override;
  /// Makes the pack of preludes that lies beside the worker. Throws Error naming the layer that could not
  /// be made.
  void make_shipped_preludes(const std::string& path, bool with_cuda) {
    m_preludes.make_shipped(path, with_cuda);
  }

 private:
  std::shared_ptr<const SysrootPack> m_pack;
  Preludes m_preludes;
  DevicePreludes m_device_preludes;
  DeviceCompiler m_device;
  std::string m_home;
  bool m_usable = true;
  std::future<void> m_prepared;  ///< links: while the first source is parsed
};

}  // namespace tarsia::jit
