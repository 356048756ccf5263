// Makes NVRTC's precompiled headers in a forked child, and keeps them for later compiles.
#include "jit/worker/device/nvrtc_pch.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tarsia::jit {
namespace {

/// Address space only, until it is used: CUB's block primitives take 160 MB of it.
constexpr size_t k_heap_bytes = size_t{384} << 20;
constexpr size_t k_most_headers = 3;
constexpr unsigned k_longest_seconds = 60;

constexpr std::string_view k_dir_prefix = "tarsia-pch-";
constexpr std::string_view k_file = "/headers.pch";

std::string temporary_dir() {
  const char* dir = std::getenv("TMPDIR");
  return dir && *dir ? dir : "/tmp";
}

void remove_dir(const std::string& dir) {
  ::unlink((dir + std::string(k_file)).c_str());
  ::rmdir(dir.c_str());
}

/// Killed workers leave their folders behind.
void sweep(const std::string& parent) {
  DIR* stream = ::opendir(parent.c_str());
  if (!stream) return;
  while (dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    int pid = 0;
    if (!name.starts_with(k_dir_prefix)) continue;
    std::from_chars(name.data() + k_dir_prefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) remove_dir(parent + "/" + std::string(name));
  }
  ::closedir(stream);
}

}  // namespace

NvrtcPch::~NvrtcPch() {
  if (m_child <= 0) return;
  ::kill(m_child, SIGKILL);
  reap(true);
}

std::string NvrtcPch::find(const Digest& key) {
  reap(false);
  auto found = m_entries.find(key);
  if (found == m_entries.end() || found->second.state != State::ready) return {};
  return "/proc/self/fd/" + std::to_string(found->second.file.get());
}

void NvrtcPch::drop(const Digest& key) {
  auto found = m_entries.find(key);
  if (found == m_entries.end()) return;
  found->second.state = State::failed;
  found->second.file.reset();
  std::erase(m_order, key);
}

void NvrtcPch::make(const Digest& key, NvrtcJob job) {
  reap(false);
  if (m_unsupported || m_child > 0 || m_entries.contains(key)) return;
  if (!m_heap_set) {
    m_heap_set = true;
    m_unsupported = !m_nvrtc.set_pch_heap(k_heap_bytes);
    if (m_unsupported) return;
  }
  const std::string parent_dir = temporary_dir();
  sweep(parent_dir);
  std::string dir = parent_dir + "/" + std::string(k_dir_prefix) + std::to_string(::getpid()) + "-XXXXXX";
  if (!::mkdtemp(dir.data())) return;
  job.options.push_back("-create-pch=" + dir + std::string(k_file));

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return remove_dir(dir);
  if (child == 0) {
    // The child holds none of the worker's connections, dies with the worker, and runs at the lowest
    // priority.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(k_longest_seconds);
    ::setpriority(PRIO_PROCESS, 0, 19);
    ::close_range(3, ~0u, 0);
    int code = 1;
    try {
      if (m_nvrtc.compile(job).status == NvrtcOutput::Status::ok) code = 0;
    } catch (...) {
    }
    ::_exit(code);
  }
  m_child = child;
  m_child_key = key;
  m_child_dir = std::move(dir);
  m_entries[key] = {};
}

void NvrtcPch::wait() {
  reap(true);
}

void NvrtcPch::reap(bool block) {
  if (m_child <= 0) return;
  int status = 0;
  const pid_t done = ::waitpid(m_child, &status, block ? 0 : WNOHANG);
  if (done == 0) return;
  const bool ok = done == m_child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  m_child = -1;
  Entry& entry = m_entries[m_child_key];
  struct stat info;
  entry.state = State::failed;
  if (ok && open_regular(m_child_dir + std::string(k_file), entry.file, info) == 0 && info.st_size > 0) {
    entry.state = State::ready;
    m_order.push_back(m_child_key);
  }
  remove_dir(m_child_dir);
  while (m_order.size() > k_most_headers) {
    m_entries.erase(m_order.front());
    m_order.pop_front();
  }
}

}  // namespace tarsia::jit
