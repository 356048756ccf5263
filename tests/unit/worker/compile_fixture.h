// Shared by the tests of the worker's parts: one unit compiled in this process.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/cuda/cuda_parts.h"
#include "base/file.h"
#include "jit/worker/host/host_compiler.h"
#include "jit/worker/link/linker.h"
#include "jit/worker/source/host_headers.h"
#include "jit/worker/worker.h"
#include "tarsia/abi.h"

namespace tarsia::jit {

inline std::shared_ptr<const SysrootPack> test_pack() {
  static auto pack = std::make_shared<const SysrootPack>(TARSIA_TEST_SYSROOT);
  return pack;
}

/// Keeps parts in memory and counts.
class TestParts final : public PartStore {
 public:
  std::optional<std::string> find(PartKind kind, const std::array<unsigned char, 32>& key) override {
    std::lock_guard lock(m_mutex);
    auto found = m_parts.find({kind, key});
    if (found == m_parts.end()) return std::nullopt;
    ++hits[kind];
    return found->second;
  }
  void keep(PartKind kind, const std::array<unsigned char, 32>& key, std::string bytes) override {
    std::lock_guard lock(m_mutex);
    ++kept[kind];
    m_parts[{kind, key}] = std::move(bytes);
  }
  /// Keeps all of the other's, in place of its own under the same keys.
  void take(const TestParts& other) {
    for (const auto& [key, bytes] : other.m_parts) m_parts[key] = bytes;
  }
  size_t bytes(PartKind kind) const {
    size_t sum = 0;
    for (const auto& [key, bytes] : m_parts) sum += key.first == kind ? bytes.size() : 0;
    return sum;
  }
  std::map<PartKind, int> hits, kept;

 private:
  std::mutex m_mutex;
  std::map<std::pair<PartKind, std::array<unsigned char, 32>>, std::string> m_parts;
};

/// A compiled module, opened.
class Opened {
 public:
  explicit Opened(const std::string& bytes) : m_file(make_memfd("test", bytes)) {
    // Where a module's CUDA runtime may lie, the loader does not look. It is never unmapped.
    if (const std::string cudart = find_cuda_parts().cudart; !cudart.empty())
      ::dlopen(cudart.c_str(), RTLD_NOW | RTLD_LOCAL);
    m_handle = ::dlopen(("/proc/self/fd/" + std::to_string(m_file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(m_handle, nullptr) << ::dlerror();
    if (!m_handle) return;
    auto attach = reinterpret_cast<tarsia_module_attach_fn>(::dlsym(m_handle, TARSIA_MODULE_SYMBOL));
    EXPECT_NE(attach, nullptr);
    if (attach) module = attach(nullptr);
  }
  ~Opened() {
    if (m_handle) ::dlclose(m_handle);
  }
  const tarsia_function* function(const std::string& name) const {
    if (!module) return nullptr;
    for (auto* at = module->functions; at != module->functions_end; ++at)
      if (*at && (*at)->name == name) return *at;
    return nullptr;
  }
  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    if (!module) return names;
    for (auto* at = module->functions; at != module->functions_end; ++at)
      if (*at) names.push_back((*at)->name);
    return names;
  }
  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    if (!module) return names;
    for (auto* at = module->kernels; at != module->kernels_end; ++at)
      if (*at) names.push_back((*at)->name);
    return names;
  }
  const tarsia_module* module = nullptr;

 private:
  UniqueFd m_file;
  void* m_handle = nullptr;
};

class CompileTest : public testing::Test {
 protected:
  // While NVRTC's own objects still live: a thread of the worker's may be warming it up.
  static void TearDownTestSuite() { s_worker.reset(); }
  inline static std::unique_ptr<Worker> s_worker;

  CompileRequest request(const std::string& name, const std::string& text) {
    CompileRequest result;
    result.name = "test";
    result.files.push_back({name, text});
    result.cuda = name.ends_with(".cu");
    result.options.archs = {"sm_90"};
    if (result.cuda) result.cuda_parts = find_cuda_parts();
    return result;
  }
  static bool have_cuda_headers() {
    return !find_cuda_parts().include_dirs.empty() && !find_cuda_parts().cudart.empty();
  }
  static bool have_nvrtc() { return have_cuda_headers() && !find_cuda_parts().nvrtc.empty(); }

  CompileResult compile(const CompileRequest& asked) {
    if (!s_worker) s_worker = std::make_unique<Worker>(test_pack(), TARSIA_TEST_PRELUDES);
    return s_worker->compile(asked, parts);
  }
  /// What Clang may read for a request.
  static llvm::IntrusiveRefCntPtr<SourceFileSystem> files_of(const CompileRequest& asked) {
    auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(test_pack());
    for (const auto* group : {&asked.files, &asked.headers})
      for (const SourceFile& file : *group)
        files->add_text(std::string(k_source_dir) + "/" + file.name, file.text);
    for (const HostHeader& header : host_headers())
      files->add_text(std::string(k_host_headers_dir) + "/" + header.name, header.text);
    for (const std::string& root : readable_roots(asked)) files->allow_root(root);
    files->set_cuda_dirs(asked.cuda_parts.include_dirs);
    return files;
  }
  /// Of the request's first file, in C++.
  static std::vector<LinkInput> host_objects(const CompileRequest& asked) {
    HostUnit unit;
    unit.request = &asked;
    unit.file = &asked.files[0];
    unit.language = Language::cxx;
    auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(test_pack());
    HostResult result = compile_host(unit, files, {});
    EXPECT_TRUE(result.ok);
    std::vector<LinkInput> objects;
    for (std::string& object : result.objects) objects.push_back({asked.files[0].name, std::move(object)});
    return objects;
  }
  /// What a function of no parameters returns; a failure if there is none, or if it throws.
  static std::int64_t call(const CompileResult& result, const std::string& name) {
    const Opened library(result.module);
    const tarsia_function* function = library.function(name);
    tarsia_value out = {};
    EXPECT_NE(function, nullptr) << name;
    if (function) {
      EXPECT_EQ(function->call(nullptr, 0, &out), 0) << name;
    }
    return out.i;
  }
  static std::string errors(const CompileResult& result) { return errors(result.diagnostics); }
  static std::string errors(const std::vector<Diagnostic>& diagnostics) {
    std::string text;
    for (const Diagnostic& d : diagnostics)
      text +=
          d.file + ":" + std::to_string(d.line) + ":" + std::to_string(d.column) + ": " + d.message + "\n";
    return text;
  }

  TestParts parts;
};

}  // namespace tarsia::jit
