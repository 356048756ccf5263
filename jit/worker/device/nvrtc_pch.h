// Precompiled headers of NVRTC, made beside the compiles and used by later ones in this process.
//
// Making one takes half as long again as the compile that needs it, so no compile waits for it. A forked
// child of the idle worker makes it, in a file in memory that both share. It cannot outlive the process:
// NVRTC's precompiled headers hold addresses, of its heap and of the library itself.
#pragma once

#include <deque>
#include <map>
#include <string>

#include <sys/types.h>

#include "base/file.h"
#include "base/hash.h"
#include "jit/worker/device/nvrtc.h"

namespace tarsia::jit {

class NvrtcPch {
 public:
  explicit NvrtcPch(const Nvrtc& nvrtc) : m_nvrtc(nvrtc) {}
  /// Stops the child that is at work.
  ~NvrtcPch();
  NvrtcPch(const NvrtcPch&) = delete;
  NvrtcPch& operator=(const NvrtcPch&) = delete;

  /// The path to give to -use-pch, if the header of this key is ready; empty otherwise. Does not wait.
  std::string find(const Digest& key);

  /// Marks a header as unusable. It is not offered again.
  void drop(const Digest& key);

  /// Starts to make a header, unless it exists, failed before, or another is being made. `job` has a text
  /// of directives alone, and the options of the compiles to come. Must not be called while NVRTC compiles.
  void make(const Digest& key, NvrtcJob job);

  /// In a forked child: the child at work is not its own.
  void forget_child() { m_child = -1; }

  /// Waits until the child at work is done; for tests.
  void wait();

 private:
  enum class State { making, ready, failed };
  struct Entry {
    State state = State::making;
    UniqueFd file;
  };
  void reap(bool block);

  const Nvrtc& m_nvrtc;
  std::map<Digest, Entry> m_entries;
  std::deque<Digest> m_order;  // of the entries that hold a file, the oldest first
  pid_t m_child = -1;
  Digest m_child_key{};
  std::string m_child_dir;
  bool m_heap_set = false;
  bool m_unsupported = false;
};

}  // namespace tarsia::jit
