// The log is for people, and its --xml form lists no races: NVIDIA documents the text. A record is a line
// "========= WHAT", and lines with deeper indentation that say where:
//
//     ========= Invalid __global__ read of size 4 bytes
//     =========     at shifted(const float *, int)+0x110 in shift.cu:2
//     =========     by thread (255,0,0) in block (3,0,0)
//     =========     Access to 0x7fcf80801000 is out of bounds
//     =========         Device Frame: shift(const float *, float *, int)+0x90 in shift.cu:5
//     =========     Saved host backtrace up to driver entry point at kernel launch time
//     =========         Host Frame: run() [0x1754] in library.so
//     =========         Host Frame: <module> in program.py:20
//     =========
//     ========= ERROR SUMMARY: 1 error
#include "tools/sanitize/log.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>

namespace tarsia::tools {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}

/// Takes "at", "FUNCTION+0x90 in FILE:LINE" and the like apart. Older versions write "0x90 in
/// FILE:LINE:FUNCTION".
SanitizedPlace place_of(const std::string& text) {
  static const std::regex s_new(R"((.*?)(?:\+|:)0x[0-9a-f]+(?: in (.+):(\d+))?(?: \[.*)?)");
  static const std::regex s_old(R"(0x[0-9a-f]+ in (?:(.+?):(\d+):)?(.*))");
  static const std::regex s_old_frame(R"((\S+\.\w+):(\d+):(.*?)(?: \[.*)?)");
  std::smatch found;
  if (std::regex_match(text, found, s_old_frame))
    return {found[3], found[1], std::atoi(found[2].str().c_str())};
  if (std::regex_match(text, found, s_old))
    return {found[3], found[1], found[2].matched ? std::atoi(found[2].str().c_str()) : 0};
  if (std::regex_match(text, found, s_new))
    return {found[1], found[2], found[3].matched ? std::atoi(found[3].str().c_str()) : 0};
  return {text, "", 0};
}

/// A frame of the host: "FUNCTION [0x1] in LIBRARY", "FUNCTION in FILE:LINE", "FUNCTION in FILE:LINE [0x1] in
/// LIBRARY".
struct HostFrame {
  SanitizedPlace place;
  std::string library;
};
HostFrame host_frame(const std::string& text) {
  static const std::regex s_with_line(R"((.*?) in (\S+):(\d+)(?: \[0x[0-9a-f]+\](?: in (.*))?)?)");
  static const std::regex s_without(R"((.*?) ?\[0x[0-9a-f]+\](?: in (.*))?)");
  std::smatch found;
  if (std::regex_match(text, found, s_with_line))
    return {{found[1], found[2], std::atoi(found[3].str().c_str())}, found[4]};
  if (std::regex_match(text, found, s_without)) return {{found[1], "", 0}, found[2]};
  return {{text, "", 0}, ""};
}

/// Whether a frame is no code of the user's: the driver, the CUDA runtime, Tarsia, the interpreter.
bool is_machinery(const HostFrame& frame) {
  const std::string_view library = std::string_view(frame.library).substr(frame.library.rfind('/') + 1);
  return frame.place.function.empty() ||
         starts_with_any(frame.place.function, {"cuda", "cuLaunch", "cuMem", "__cudart", "tarsia_", "Py",
                                                "_Py", "_start", "__libc_start"}) ||
         starts_with_any(library,
                         {"libcuda", "libtarsia", "_tarsia", "python", "libpython", "libc.so", "libffi"});
}

class Reader {
 public:
  SanitizerLog read(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      take(line);
    }
    end_record();
    return std::move(m_log);
  }

 private:
  void take(std::string_view line) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.starts_with("========")) return;
    line.remove_prefix(std::min(line.find_first_not_of('='), line.size()));
    const std::size_t indentation = std::min(line.find_first_not_of(' '), line.size());
    const std::string text(line.substr(indentation));
    if (text.empty())
      end_record();
    else if (indentation <= 1)
      begin_record(text);
    else
      take_detail(text);
  }

  void begin_record(std::string text) {
    end_record();
    if (text == "COMPUTE-SANITIZER" || text == "CUDA-MEMCHECK" || text.starts_with("LEAK SUMMARY")) return;
    static const std::regex s_summary(
        R"((?:RACECHECK |ERROR )SUMMARY: (\d+) (?:errors?|hazards? displayed)(.*))");
    std::smatch found;
    if (std::regex_match(text, found, s_summary)) {
      const std::string rest = found[2];
      if (rest.find("not printed") == rest.npos) m_log.errors = std::atol(found[1].str().c_str());
      return;
    }
    if (text == "Target application returned an error" ||
        text.find("process didn't terminate successfully") != text.npos) {
      m_log.program_failed = true;
      return;
    }
    std::string severity = take_severity(text);
    const bool is_finding =
        severity.empty() || starts_with_any(text, {"Race reported", "Potential ", "(Warp Level"});
    if (!is_finding || starts_with_any(text, {"No attachable process", "Target application terminated",
                                              "No CUDA", "Unable to", "Internal ", "This tool is"})) {
      m_log.remarks.push_back(text);
      return;
    }
    m_is_open = true;
    m_record = {};
    if (!severity.empty()) m_record.severity = severity;
    static const std::regex s_race(R"((Race reported between \w+ access) at (.*))");
    if (std::regex_match(text, found, s_race)) {
      m_record.place = place_of(found[2]);
      text = found[1];
    }
    while (text.ends_with('.') || text.ends_with(':') || text.ends_with(' ')) text.pop_back();
    m_record.message = text;
  }

  /// Takes "Error: " and the like off the text.
  static std::string take_severity(std::string& text) {
    const std::size_t colon = text.find(": ");
    if (colon == text.npos) return {};
    std::string word = text.substr(0, colon);
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word != "error" && word != "warning" && word != "info" && word != "fatal") return {};
    text.erase(0, colon + 2);
    return word == "info" ? "note" : word == "fatal" ? "error" : word;
  }

  void take_detail(const std::string& text) {
    if (!m_is_open) {
      if (!m_log.remarks.empty()) m_log.remarks.back() += ' ' + text;
      return;
    }
    std::smatch found;
    static const std::regex s_race(R"((and \w+ access) at (.*?)( \[\d+ hazards?\])?)");
    static const std::regex s_hazard(R"((\w+ Thread \([^)]*\)) at (.*))");
    if (text.starts_with("at ")) {
      m_record.place = place_of(text.substr(3));
    } else if (text.starts_with("by thread")) {
      m_record.thread = text.substr(3);
    } else if (text.starts_with("Device Frame:")) {
      m_record.notes.push_back({"called from", place_of(trimmed(text.substr(13)))});
    } else if (text.starts_with("Host Frame:")) {
      m_frames.push_back(host_frame(trimmed(text.substr(11))));
    } else if (text.starts_with("in ") && !m_frames.empty() && m_frames.back().library.empty()) {
      m_frames.back().library = text.substr(3);  // older versions give it a line of its own
    } else if (text.starts_with("Saved host backtrace")) {
      return;
    } else if (std::regex_match(text, found, s_race)) {
      m_record.notes.push_back({found[1].str() + found[3].str(), place_of(found[2])});
    } else if (std::regex_match(text, found, s_hazard)) {
      const SanitizedPlace place = place_of(found[2]);
      if (m_record.place == SanitizedPlace()) m_record.place = place;
      m_record.notes.push_back({found[1], place});
    } else if (text.starts_with("and ") && !m_record.details.empty()) {
      m_record.details.back() += ' ' + text;
    } else {
      m_record.details.push_back(text);
    }
  }

  static std::string trimmed(std::string text) {
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    return text;
  }

  /// The innermost frame with a line, or else the innermost function of the user's.
  SanitizedPlace host_place() const {
    for (const HostFrame& frame : m_frames)
      if (frame.place.line) return frame.place;
    for (const HostFrame& frame : m_frames)
      if (!is_machinery(frame)) return frame.place;
    return {};
  }

  void end_record() {
    if (!m_is_open) return;
    m_is_open = false;
    m_record.host = host_place();
    m_frames.clear();
    const auto same = std::ranges::find_if(m_log.findings, [&](const SanitizedFinding& one) {
      return one.message == m_record.message && one.severity == m_record.severity &&
             one.place == m_record.place && one.host == m_record.host && one.notes == m_record.notes;
    });
    if (same == m_log.findings.end())
      m_log.findings.push_back(std::move(m_record));
    else
      ++same->count;
  }

  SanitizerLog m_log;
  bool m_is_open = false;
  SanitizedFinding m_record;
  std::vector<HostFrame> m_frames;
};

}  // namespace

SanitizerLog read_sanitizer_log(std::string_view text) {
  return Reader().read(text);
}

}  // namespace tarsia::tools
