// The compiler: takes a request through split, device, host and link.
#include "jit/worker/worker.h"

#include <chrono>

#include "jit/worker/host_compiler.h"
#include "jit/worker/host_headers.h"
#include "jit/worker/linker.h"

namespace tarsia::jit {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Compile {
 public:
  Compile(const CompileRequest& request, PartStore& parts, std::shared_ptr<const SysrootPack> pack, Preludes& preludes)
      : m_request(request), m_parts(parts), m_pack(std::move(pack)), m_preludes(preludes) {}

  CompileResult run() {
    std::vector<LinkInput> objects;
    for (size_t i = 0; i < m_request.files.size(); ++i) {
      HostUnit unit;
      unit.request = &m_request;
      unit.file = &m_request.files[i];
      unit.language = language_of(*unit.file, m_request.cuda);
      unit.number = int(i);
      auto start = Clock::now();
      auto prelude = m_preludes.find_or_make(m_request, *unit.file, unit.language, m_parts, [&] { return make_files(); });
      m_result.timings.emplace_back("prelude", milliseconds_since(start));
      auto files = make_files();
      if (prelude) {
        files->add_text(k_prelude_path, prelude->pch);
        files->inherit(prelude->dependencies);
        unit.prelude = k_prelude_path;
      }
      HostHooks hooks;
      hooks.on_split = [&](DeviceSlice&& slice) { m_slices.push_back(std::move(slice)); if (getenv("TARSIA_SLICE")) for (auto& f : m_slices.back().files) { printf("=== %s\n%s\n", f.name.c_str(), f.text.c_str()); } if (getenv("TARSIA_SLICE")) for (auto& k : m_slices.back().kernels) printf("kernel %s %s %d\n", k.name.c_str(), k.mangled.c_str(), k.nameable); if (getenv("TARSIA_SLICE")) for (auto& k : m_slices.back().variables) printf("var %s %s %d\n", k.name.c_str(), k.mangled.c_str(), int(k.bytes));};
      HostResult host = compile_host(unit, files, hooks);
      append(host.diagnostics);
      m_has_main |= host.has_main;
      for (auto& [step, time] : host.timings) m_result.timings.emplace_back(step, time);
      if (!host.ok) return fail(Stage::host);
      objects.push_back({unit.file->name, std::move(host.object)});
    }
    auto start = Clock::now();
    LinkResult linked = link(m_request, objects, {.cuda = m_request.cuda, .has_main = m_has_main});
    m_result.timings.emplace_back("link", milliseconds_since(start));
    append(linked.diagnostics);
    if (!linked.ok) return fail(Stage::link);
    m_result.ok = true;
    m_result.module = std::move(linked.module);
    return std::move(m_result);
  }

 private:
  llvm::IntrusiveRefCntPtr<SourceFileSystem> make_files() {
    auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(m_pack);
    for (const auto* group : {&m_request.files, &m_request.headers})
      for (const SourceFile& file : *group) files->add_text(std::string(k_source_dir) + "/" + file.name, file.text);
    for (const HostHeader& header : host_headers())
      files->add_text(std::string(k_host_headers_dir) + "/" + header.name, header.text);
    for (const std::string& root : readable_roots(m_request)) files->allow_root(root);
    return files;
  }

  void append(std::vector<Diagnostic>& diagnostics) {
    for (Diagnostic& diagnostic : diagnostics) m_result.diagnostics.push_back(std::move(diagnostic));
  }

  CompileResult fail(Stage stage) {
    m_result.ok = false;
    m_result.stage = stage;
    return std::move(m_result);
  }

  const CompileRequest& m_request;
  PartStore& m_parts;
  std::shared_ptr<const SysrootPack> m_pack;
  Preludes& m_preludes;
  bool m_has_main = false;
  CompileResult m_result;
  std::vector<DeviceSlice> m_slices;
};

}  // namespace

CompileResult Worker::compile(const CompileRequest& request, PartStore& parts) {
  return Compile(request, parts, m_pack, m_preludes).run();
}

std::vector<std::string> Worker::archs() { return {}; }

}  // namespace tarsia::jit
