// One running tarsia-compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/client/child.h"
#include "jit/client/isolation.h"
#include "jit/protocol.h"
#include "jit/service_protocol.h"

namespace tarsia::jit {

struct WorkerProgram {
  std::string path;
  std::vector<std::string> arguments;  ///< without the program's name
  std::string build_id;                ///< what its hello has to say
  std::uint64_t memory_bytes = 0;      ///< limit of its data (RLIMIT_DATA); 0: none
  Isolation isolation = Isolation::off;
  /// Which parts of CUDA a confined worker will need. Asked while it starts; may throw.
  std::function<CudaParts()> cuda = {};
  std::string service = {};  ///< the socket of a node's service whose workers are used where it has some
};

/// The process, its socket, and the text that it wrote to standard error. Not thread-safe.
class WorkerProcess {
 public:
  /// Starts the program and takes its hello. Throws NotFound if it cannot be run, CompilerCrashed if it
  /// ends or is silent beyond `deadline`, Unsupported if it is of another build, ResourceLimit if memory or
  /// file descriptors do not suffice, and Interrupted.
  static std::unique_ptr<WorkerProcess> start(const WorkerProgram& program, Deadline deadline);
  /// A worker of the service at the other end of `service`, reached by `socket`.
  static std::unique_ptr<WorkerProcess> borrowed(UniqueFd socket, Channel service, const LeasedWorker& lent,
                                                 Isolation isolation);
  /// Ends the process: an idle worker leaves by itself, a busy one is killed. A service does that to one that
  /// is borrowed.
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
  pid_t pid() const { return m_service ? m_lent_pid : m_child.pid(); }
  bool is_borrowed() const { return m_service.has_value(); }
  /// Gives a borrowed worker, which waits for an exchange, back to its service.
  void give_back();
  bool is_confined() const { return m_confined; }
  /// How far it is isolated by its first source.
  Isolation isolation() const { return m_isolation; }
  /// CUDA's parts that it is confined with, or will be.
  const CudaParts& cuda() const { return m_cuda; }
  /// Another process has confined it so, or has not.
  void set_confined(bool confined, CudaParts cuda);
  /// For a service: what is to be read beside, and reads it. Returns false at its end.
  int words_fd() const { return m_stderr.get(); }
  bool drain();
  /// Whether it waits for an exchange. False if it has ended, or has sent something unasked.
  bool idle() const;
  /// Its memory in use, in bytes; 0 if unknown.
  std::uint64_t resident_bytes() const;
  /// Kills it.
  void kill();

  /// `withdrawn`: a service took a borrowed worker back, or is gone. That says nothing about the request.
  enum class End { left, crashed, out_of_memory, withdrawn };
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
  ChildProcess::End await_end();
  Death end_borrowed();
  void end_connection();

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
  std::optional<Channel> m_service;  ///< of a borrowed worker
  pid_t m_lent_pid = -1;
};

}  // namespace tarsia::jit
