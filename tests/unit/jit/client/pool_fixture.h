// A pool of test workers, for the tests of the client.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "jit/client/worker_pool.h"
#include "tests/unit/base/waiting.h"
#include "tests/unit/jit/stand_in_worker/stand_in_worker.h"

namespace tarsia::jit {

using namespace std::chrono_literals;

inline PoolSettings settings(unsigned max_workers = 2) {
  return {.program = [] { return stand_in_worker(); }, .max_workers = max_workers, .timeout = 20s};
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

}  // namespace tarsia::jit
