// What compute-sanitizer writes: its findings, and what it says of itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarsia::tools {

/// A place in a source; `line` 0: only the function is known, or not even that.
struct SanitizedPlace {
  std::string function;
  std::string file;
  int line = 0;
  bool operator==(const SanitizedPlace&) const = default;
};

struct SanitizedNote {
  std::string text;  ///< "called from", "and Read access"; with a place, its function is not in it
  SanitizedPlace place;
  bool operator==(const SanitizedNote&) const = default;
};

struct SanitizedFinding {
  std::string severity = "error";  ///< or "warning", "note"
  std::string message;             ///< "Invalid __global__ read of size 4 bytes"
  SanitizedPlace place;
  std::string thread;                ///< "thread (255,0,0) in block (3,0,0)", of the first
  std::vector<std::string> details;  ///< other lines, as "Access to 0x… is out of bounds"
  std::vector<SanitizedNote> notes;  ///< device functions around it, other accesses of a race
  SanitizedPlace host;               ///< where the kernel was launched, or the call made
  int count = 1;                     ///< findings that differ in threads and addresses alone
};

struct SanitizerLog {
  std::vector<SanitizedFinding> findings;
  long errors = -1;  ///< that the tool counted, with those that it did not list; -1: it gave no summary
  bool program_failed = false;
  std::vector<std::string> remarks;  ///< of the tool about itself
};

/// Reads the text of a log file, as versions from 2021 to 2025 write it.
SanitizerLog read_sanitizer_log(std::string_view text);

}  // namespace tarsia::tools
