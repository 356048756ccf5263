// One running tarsia-compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/client/child.h"
#include "jit/client/isolation.h"
#include "jit/protocol.h"

namespace tarsia::jit {

struct WorkerProgram {
  std::string path;
  std::vector<std::string> arguments;  ///< without the program's name
  std::string build_id;                ///< what its hello has to say
  std::uint64_t memory_bytes = 0;      ///< limit of its data (RLIMIT_DATA); 0: none
  Isolation isolation = Isolation::off;
  /// Which parts of CUDA a confined worker will need. Asked while it starts; may throw.
  std::function<CudaParts()> cuda = {};
};

/// The process, its socket, and the text that it wrote to standard error. Not thread-safe.
class WorkerProcess {
 public:
  /// Starts the program and takes its hello. Throws NotFound if it cannot be run, CompilerCrashed if it
  /// ends or is silent beyond `deadline`, Unsupported if it is of another build, ResourceLimit if memory or
  /// file descriptors do not suffice, and Interrupted.
  static std::unique_ptr<WorkerProcess> start(const WorkerProgram& program, Deadline deadline);
  /// Ends the process: an idle worker leaves by itself, a busy one is killed.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Takes from it what compiles do not need, once, before its first source, as the program wants it. Throws
  /// Unsupported if the kernel lacks some of it that is required; else the log tells of it, once.
  Channel::Status confine(const CompileRequest& request, Deadline deadline);
  /// Whether it can take the request, or null: ask the CUDA driver. A confined worker cannot open the driver,
  /// nor another NVRTC than it was confined with.
  bool suits(const CompileRequest* request) const;

  Channel& channel() { return m_channel; }
  const Hello& hello() const { return m_hello; }
  pid_t pid() const { return m_child.pid(); }
  /// Whether it waits for an exchange. False if it has ended, or has sent something unasked.
  bool idle() const;
  /// Its memory in use, in bytes; 0 if unknown.
  std::uint64_t resident_bytes() const;
  /// Kills it.
  void kill() { m_child.kill(); }

  enum class End { left, crashed, out_of_memory };
  struct Death {
    End end;
    std::string how;         ///< for people: "was killed by signal 11 (Segmentation fault)"
    std::string last_words;  ///< the tail of its standard error
  };
  /// Waits for the process, which has ended or closed its socket, and reports why.
  Death bury();

  /// For a forked child: drops the parent's process without touching it.
  void abandon();

 private:
  WorkerProcess(UniqueFd socket, UniqueFd standard_error, ChildProcess child, std::uint64_t memory_bytes);
  bool drain();
  ChildProcess::End await_end();

  Channel m_channel;
  UniqueFd m_stderr;
  ChildProcess m_child;
  std::uint64_t m_memory_bytes;
  std::uint64_t m_oom_kills;  ///< the machine's count when the worker started
  std::string m_tail;
  Hello m_hello;
  Isolation m_isolation = Isolation::off;
  CudaParts m_cuda;
  bool m_confined = false;
};

}  // namespace tarsia::jit
