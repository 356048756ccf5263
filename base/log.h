// The log: silent unless TARSIA_LOG is trace, debug, info, warn or error; then on standard error.
#pragma once

#include <fmt/core.h>

namespace tarsia {

/// Formats and writes lines. spdlog stays behind it: its headers cost a source six seconds of compile time.
class Log {
 public:
  enum class Level { debug, info, warn };

  template <class... Args>
  void debug(fmt::format_string<Args...> format, const Args&... args) {
    write(Level::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, const Args&... args) {
    write(Level::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, const Args&... args) {
    write(Level::warn, format, fmt::make_format_args(args...));
  }

 private:
  static void write(Level level, fmt::string_view format, fmt::format_args args);
};

/// Lives as long as the process. Thread-safe, also in a forked child.
Log& log();

}  // namespace tarsia
