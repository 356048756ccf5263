// One logger of our own, kept out of spdlog's registry, which belongs to the program that loads us.
#include "base/log.h"

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>
#include <memory>
#include <string_view>

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

spdlog::logger* make_logger() {
  const spdlog::level::level_enum level = level_asked();
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (level == spdlog::level::off) {
    sink = std::make_shared<spdlog::sinks::null_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  auto* logger = new spdlog::logger("tarsia", std::move(sink));
  logger->set_level(level);
  logger->set_pattern("[%H:%M:%S.%e %P tarsia %l] %v");
  return logger;
}

}  // namespace

spdlog::logger& log() {
  static spdlog::logger* s_logger = make_logger();
  return *s_logger;
}

}  // namespace tarsia
