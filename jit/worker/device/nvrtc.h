// NVRTC, opened at run time: no header of CUDA is included and nothing of it is linked.
//
// An opened library stays open: NVRTC keeps threads and caches of its own. Several threads may compile, but
// NVRTC's front end takes a lock, so they gain little.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

struct NvrtcJob {
  std::string name;  ///< of the main text, as diagnostics print it
  std::string text;  ///< no NUL and no byte 0xFF: NVRTC would stop there and report success
  std::span<const SourceFile> headers;  ///< found by exactly these names, before any include directory
  std::vector<std::string> options;
  std::vector<std::string> expressions;          ///< constant expressions that name a kernel or `&variable`
  const std::atomic<bool>* cancelled = nullptr;  ///< polled while NVRTC compiles
};

struct NvrtcOutput {
  enum class Status { ok, failed, bad_option, out_of_memory, cancelled, internal };
  Status status = Status::internal;
  std::string status_text;  ///< NVRTC's own name of it
  std::string log;          ///< may hold warnings after success
  std::string cubin;
  std::string ptx;
  std::vector<std::string> lowered;  ///< of each expression; empty where NVRTC gave none
};

class Nvrtc {
 public:
  /// Opens the library, or returns the one opened before. Throws LoadError, which says what to install.
  static const Nvrtc& open(const std::string& path);

  int major() const { return m_major; }
  int minor() const { return m_minor; }
  /// The architectures that it makes code for: 75, 80, …, ascending.
  const std::vector<int>& architectures() const { return m_architectures; }

  NvrtcOutput compile(const NvrtcJob& job) const;

  /// Reserves memory for precompiled headers. Those made before become useless. False if this is not
  /// supported.
  bool set_pch_heap(size_t bytes) const;

 private:
  struct Api;
  explicit Nvrtc(const std::string& path);

  const Api* m_api;
  int m_major = 0;
  int m_minor = 0;
  std::vector<int> m_architectures;
};

}  // namespace tarsia::jit
