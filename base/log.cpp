// One logger of our own, kept out of spdlog's registry, which belongs to the program that loads us.
#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/file.h"
#include "base/fork.h"

namespace tarsia {
namespace {

spdlog::level::level_enum level_asked() {
  const char* text = std::getenv("TARSIA_LOG");
  if (text == nullptr) return spdlog::level::off;
  const std::string_view level(text);
  if (level == "trace") return spdlog::level::trace;
  if (level == "debug") return spdlog::level::debug;
  if (level == "info") return spdlog::level::info;
  if (level == "warn") return spdlog::level::warn;
  if (level == "error") return spdlog::level::err;
  return spdlog::level::off;
}

/// Standard error under a mutex of its own.
///
/// Work-around: spdlog's mutex stays locked in a forked child.
/// Trigger: a program forks while another thread logs; the mutex is shared with a program that uses spdlog
/// itself. Symptom: the child hangs at its first line. Removal: spdlog renews its mutex in forked children.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    static_cast<void>(write_all(STDERR_FILENO, {line.data(), line.size()}));
  }
  void flush_() override {}
};

/// Holds the logger; a forked child gets a new one.
class Log final : public ForkAware {
 public:
  Log() {
    renew();
    watch_forks();
  }
  ~Log() { forget_forks(); }
  std::atomic<spdlog::logger*> logger;

 private:
  void renew() {
    const spdlog::level::level_enum level = level_asked();
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (level != spdlog::level::off) sink = std::make_shared<StderrSink>();
    auto* made = sink ? new spdlog::logger("tarsia", std::move(sink)) : new spdlog::logger("tarsia");
    made->set_level(level);
    made->set_pattern("[%H:%M:%S.%e %P tarsia %l] %v");
    logger = made;
  }
  void before_fork() override {}
  void after_fork_in_parent() override {}
  // The old one is left as it is: another thread may have been inside.
  void after_fork_in_child() override { renew(); }
};

}  // namespace

spdlog::logger& log() {
  static std::atomic<Log*> s_log{nullptr};
  return *made_once(s_log, [] { return Log(); }).logger;
}

}  // namespace tarsia
