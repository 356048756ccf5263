// One logger of our own, kept out of spdlog's registry, which belongs to the program that loads us.
#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/fork.h"

namespace tarsia {
namespace {

struct NamedLevel {
  std::string_view name;
  spdlog::level::level_enum level;
};
constexpr NamedLevel k_levels[] = {
    {"trace", spdlog::level::trace}, {"debug", spdlog::level::debug},  {"info", spdlog::level::info},
    {"warn", spdlog::level::warn},   {"warning", spdlog::level::warn}, {"error", spdlog::level::err},
    {"off", spdlog::level::off},     {"", spdlog::level::off},
};

/// The level that TARSIA_LOG names in letters of either case; none if there is no such level.
std::optional<spdlog::level::level_enum> level_asked() {
  const char* text = std::getenv("TARSIA_LOG");
  std::string name = text ? text : "";
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const NamedLevel& one : k_levels)
    if (one.name == name) return one.level;
  return std::nullopt;
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

/// Holds spdlog's logger; a forked child gets a new one.
class Holder final : public ForkAware {
 public:
  Holder() {
    renew();
    watch_forks();
  }
  ~Holder() {  // of one that another thread was quicker than
    forget_forks();
    delete logger.load();
  }
  std::atomic<spdlog::logger*> logger;

 private:
  void renew() {
    const std::optional<spdlog::level::level_enum> asked = level_asked();
    static std::atomic<bool> s_told{false};
    if (!asked && !s_told.exchange(true)) tell_of_unknown_level();
    const spdlog::level::level_enum level = asked.value_or(spdlog::level::off);
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (level != spdlog::level::off) sink = std::make_shared<StderrSink>();
    logger = make(std::move(sink), level);
  }
  static spdlog::logger* make(std::shared_ptr<spdlog::sinks::sink> sink, spdlog::level::level_enum level) {
    auto* made = sink ? new spdlog::logger("tarsia", std::move(sink)) : new spdlog::logger("tarsia");
    made->set_level(level);
    made->set_pattern("[%H:%M:%S.%e %P tarsia %l] %v");
    return made;
  }
  static void tell_of_unknown_level() {
    const std::unique_ptr<spdlog::logger> teller(make(std::make_shared<StderrSink>(), spdlog::level::warn));
    teller->warn(
        "TARSIA_LOG={} is no level, and nothing is logged: set error, warn, info, debug, trace or off",
        std::getenv("TARSIA_LOG"));
  }
  void before_fork() override {}
  void after_fork_in_parent() override {}
  // The old one is abandoned: another thread may have been inside.
  void after_fork_in_child() override { renew(); }
};

spdlog::level::level_enum level_of(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return spdlog::level::debug;
    case Log::Level::info:
      return spdlog::level::info;
    case Log::Level::warn:
      return spdlog::level::warn;
  }
  return spdlog::level::warn;
}

}  // namespace

void Log::write(Level level, fmt::string_view format, fmt::format_args args) {
  static std::atomic<Holder*> s_holder{nullptr};
  spdlog::logger& logger = *made_once(s_holder, [] { return Holder(); }).logger;
  if (!logger.should_log(level_of(level))) return;
  try {
    logger.log(level_of(level), fmt::vformat(format, args));
  } catch (const std::bad_alloc&) {  // destructors log as well: the line is lost, the program goes on
  }
}

Log& log() {
  static Log s_log;
  return s_log;
}

}  // namespace tarsia
