// A pool of test workers, for the tests of the client.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "jit/build_id.h"
#include "jit/client/worker_pool.h"

namespace tarsia::jit {

using namespace std::chrono_literals;

inline WorkerProgram test_program(std::vector<std::string> arguments = {}) {
  return {.path = library_dir() + "/test_worker",
          .arguments = std::move(arguments),
          .build_id = std::string(build_id())};
}

inline PoolSettings settings(unsigned max_workers = 2) {
  return {.program = [] { return test_program(); }, .max_workers = max_workers, .timeout = 20s};
}

inline CompileRequest request(const std::string& text, std::chrono::milliseconds timeout = 0ms) {
  CompileRequest request;
  request.name = "op";
  request.files = {{"op.cc", text}};
  request.timeout_ms = static_cast<std::uint32_t>(timeout.count());
  return request;
}

struct MapParts final : PartFileStore {
  std::map<std::pair<PartKind, std::array<unsigned char, 32>>, std::string> map;
  std::optional<PartFile> find(PartKind kind, const std::array<unsigned char, 32>& key) override {
    const auto found = map.find({kind, key});
    if (found == map.end()) return std::nullopt;
    return PartFile{make_memfd("part", "header" + found->second), 6, found->second.size()};
  }
  void keep(PartKind kind, const std::array<unsigned char, 32>& key, std::string_view bytes) override {
    map[{kind, key}] = bytes;
  }
};

inline std::string compile(WorkerPool& pool, const std::string& text,
                           std::chrono::milliseconds timeout = 0ms) {
  MapParts parts;
  return pool.compile(request(text, timeout), parts).module;
}

/// The message of the Raised that `call` throws; empty and a failure when it throws anything else.
template <typename Raised, typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Raised& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

/// Waits for `true`, asking again and again; false, and a failure, after a minute.
template <typename Condition>
bool wait_until(Condition condition) {
  const Deadline patience = Clock::now() + 60s;
  while (!condition()) {
    if (Clock::now() > patience) {
      ADD_FAILURE() << "waited for a minute";
      return false;
    }
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// The workers that have begun with a source of that verb, as they wrote it to TEST_WORKER_LOG.
inline std::vector<pid_t> workers_at(const std::string& log, const std::string& wanted) {
  std::vector<pid_t> pids;
  std::ifstream lines(log);
  pid_t pid;
  for (std::string verb; lines >> pid >> verb;) {
    if (verb == wanted) pids.push_back(pid);
  }
  return pids;
}

/// Kills a process and waits until it is dead, whoever reaps it.
inline void kill_and_wait(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u)));
  ASSERT_TRUE(process) << "this kernel has no pidfds";
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  pollfd watched{process.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
}

}  // namespace tarsia::jit
