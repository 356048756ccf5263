// `tarsia sanitize`: runs a program under compute-sanitizer and shows what it finds as a compiler would.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/commands.h"
#include "tools/file.h"
#include "tools/library.h"
#include "tools/opening.h"
#include "tools/process/programs.h"
#include "tools/process/temporary.h"
#include "tools/report.h"
#include "tools/sanitize/log.h"

namespace tarsia::tools {
namespace {

namespace fs = std::filesystem;

/// Nothing where the file cannot be read.
std::string text_of(const std::string& path) {
  std::string text;
  return read_file(path, text) == 0 ? text : std::string();
}

std::optional<std::string> line_of(const std::string& text, int number) {
  std::size_t at = 0;
  for (; number > 1 && at != std::string::npos; --number) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos || at >= text.size()) return std::nullopt;
  return text.substr(at, text.find('\n', at) - at);
}

/// The line of a script's text at a line of a source that stands there as a string literal; 0: it does not,
/// or with escapes other than doubled backslashes.
int line_of_literal(const std::string& script, std::string source, int line) {
  if (source.empty()) return 0;
  std::size_t at = script.find(source);
  if (at == std::string::npos) {
    for (std::size_t i = 0; (i = source.find('\\', i)) != std::string::npos; i += 2)
      source.insert(i, 1, '\\');
    at = script.find(source);
  }
  if (at == std::string::npos) return 0;
  return line +
         static_cast<int>(std::count(script.begin(), script.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// A place as the user knows it.
struct Shown {
  std::string file;
  int line = 0;
  std::string origin;  ///< "model.py:17", of a source that is a string literal there
  std::optional<std::string> excerpt;

  std::string text() const {
    return file.empty() ? "tarsia"
                        : file + ':' + std::to_string(line) + (origin.empty() ? "" : " (" + origin + ")");
  }
};

/// Finds the user's files behind those that compute-sanitizer names.
class Places {
 public:
  Places(const Sources& sources, const std::string& script)
      : m_sources(sources), m_script(script), m_script_text(script.empty() ? "" : text_of(script)) {}

  Shown shown(const SanitizedPlace& place) const {
    if (place.line <= 0) return {};
    if (!m_script.empty() && fs::path(place.file).filename() == fs::path(m_script).filename())
      return {m_script, place.line, "", line_of(m_script_text, place.line)};
    // The line tables of sources name kept copies: …/1/source/HASH/NAME.
    static constexpr char k_copies[] = "/1/source/";
    const std::size_t copies = place.file.find(k_copies);
    std::size_t name =
        copies == std::string::npos ? copies : place.file.find('/', copies + sizeof k_copies - 1);
    name = name == std::string::npos ? 0 : name + 1;
    Shown shown{m_sources.shown(place.file.substr(name)), place.line, "",
                m_sources.line(place.file.substr(name), place.line)};
    if (!shown.excerpt && place.file.starts_with('/')) {
      const std::string text = text_of(place.file);
      shown.excerpt = line_of(text, place.line);
      if (const int line = line_of_literal(m_script_text, text, place.line))
        shown.origin = m_script + ':' + std::to_string(line);
    }
    return shown;
  }

 private:
  const Sources& m_sources;
  std::string m_script, m_script_text;
};

/// "in f(int)" with a place, or without one.
std::string with_function(const std::string& text, const SanitizedPlace& place) {
  return place.function.empty() ? text : text + ", in " + place.function;
}

void print(const Shown& at, const char* severity, const std::string& message, bool with_excerpt) {
  std::fprintf(stderr, "%s: %s: %s\n", at.text().c_str(), severity, message.c_str());
  if (with_excerpt && at.excerpt) print_excerpt(*at.excerpt, at.line, 0);
}

/// Where a finding is: in device code, or else in the host's.
Shown main_place(const SanitizedFinding& finding, const Places& places) {
  const Shown own = places.shown(finding.place);
  return own.file.empty() ? places.shown(finding.host) : own;
}

std::string thread_text(const SanitizedFinding& finding) {
  std::string text = finding.thread;
  if (finding.count > 1) text += " and " + std::to_string(finding.count - 1) + " more";
  return text;
}

void print(const SanitizedFinding& finding, const Places& places) {
  const Shown at = main_place(finding, places);
  const bool is_of_device = !finding.place.function.empty();
  print(at, finding.severity.c_str(),
        with_function(finding.message, is_of_device ? finding.place : finding.host), true);
  for (const std::string& detail : finding.details) print(at, "note", detail, false);
  for (const SanitizedNote& note : finding.notes) {
    const Shown place = places.shown(note.place);
    const std::string text = note.text + (note.text == "called from" ? " " : ", in ") + note.place.function;
    print(place.file.empty() ? at : place, "note", text, !place.file.empty());
  }
  if (!finding.thread.empty()) print(at, "note", "by " + thread_text(finding), false);
  if (finding.thread.empty() && finding.count > 1)
    print(at, "note", std::to_string(finding.count) + " times", false);
  if (is_of_device && !finding.host.function.empty()) {
    const Shown host = places.shown(finding.host);
    print(host.file.empty() ? at : host, "note", "launched by " + finding.host.function, !host.file.empty());
  }
}

nlohmann::json json_of(const SanitizedPlace& place, const Places& places) {
  const Shown at = places.shown(place);
  return {{"file", at.file}, {"line", at.line}, {"origin", at.origin}, {"function", place.function}};
}

nlohmann::json json_of(const std::string& tool, const SanitizerLog& log, const Places& places) {
  nlohmann::json findings = nlohmann::json::array();
  for (const SanitizedFinding& one : log.findings) {
    nlohmann::json notes = nlohmann::json::array();
    for (const SanitizedNote& note : one.notes) {
      nlohmann::json row = json_of(note.place, places);
      row["text"] = note.text;
      notes.push_back(row);
    }
    nlohmann::json row = json_of(one.place, places);
    row.update({{"severity", one.severity},
                {"message", one.message},
                {"thread", one.thread},
                {"count", one.count},
                {"details", one.details},
                {"notes", notes},
                {"launch", json_of(one.host, places)}});
    findings.push_back(row);
  }
  return {{"tool", tool}, {"errors", log.errors}, {"findings", findings}};
}

std::string find_sanitizer() {
  if (std::string found = find_program("compute-sanitizer", {}); !found.empty()) return found;
  std::vector<std::string> folders;
  for (const std::string& folder : cuda_folders()) {
    folders.push_back(folder);
    folders.push_back(folder.substr(0, folder.rfind('/')) + "/compute-sanitizer");
  }
  return find_program("compute-sanitizer", folders);
}

/// The interpreter of scripts: the one that started this command, or the first on PATH.
std::string find_python() {
  const char* const own = std::getenv("TARSIA_COMMAND_PYTHON");
  if (own && *own) return own;
  const std::string found = find_program("python3", {});
  return found.empty() ? find_program("python", {}) : found;
}

std::string counted(long n, const char* what) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

/// What the program's run under a tool gave.
struct Outcome {
  SanitizerLog log;
  int exit = 0;
};

Outcome run_tool(const std::string& sanitizer, const std::string& tool,
                 const std::vector<std::string>& program, Output output) {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.txt");
  // Each thread may give a record. The limit is high so that one place does not hide the others. A script may
  // take its time before it calls CUDA.
  std::vector<std::string> words{sanitizer, "--tool",           tool, "--log-file",
                                 log,       "--strip-paths",    "no", "--print-limit",
                                 "1000",    "--launch-timeout", "120"};
  words.insert(words.end(), program.begin(), program.end());
  Outcome outcome;
  outcome.exit = run_program(words, {"TARSIA_LINEINFO=1"}, output);
  outcome.log = read_sanitizer_log(text_of(log));
  return outcome;
}

/// Why a tool has checked nothing; empty: it has.
std::string failure_of(const Outcome& outcome) {
  std::string said;
  bool nothing_ran = false;
  for (const std::string& remark : outcome.log.remarks) {
    said += (said.empty() ? "" : "; ") + remark;
    nothing_ran |=
        remark.find("before first instrumented") != remark.npos || remark.find("attachable") != remark.npos;
  }
  if (outcome.log.errors >= 0 && !nothing_ran) return {};
  if (said.empty()) said = "it gave no summary, and ended with the exit code " + std::to_string(outcome.exit);
  return said +
         (nothing_ran ? " (the program called nothing of CUDA, or there is no GPU: see tarsia doctor)" : "");
}

/// The words of the program to run; empty after an error, with the exit code.
std::vector<std::string> program_of(const SanitizeCommand& command, const Sources& sources, int& exit) {
  std::vector<std::string> words;
  if (command.is_script()) {
    if (!command.run_words.empty()) {
      print_error(command.run_words.front() + " is for sources: a script has its own options");
      exit = k_usage;
      return {};
    }
    words = {find_python(), command.file};
    if (words[0].empty()) {
      print_error("there is no python3 on PATH to run " + command.file + " with");
      exit = k_failed;
      return {};
    }
  } else {
    // Compiled here, so that the compiler's messages come first, and once.
    CompileOptions options = command.options;
    options.options.lineinfo = true;
    const tarsia_library* library = open_library(command.file, options, sources, exit);
    if (!library) return {};
    if (!find_main(library)) {
      print_error(command.file +
                  " has no main to run: give a program, or a Python script that calls its functions");
      exit = k_usage;
      return {};
    }
    words = {own_program(), "run", "-w"};
    words.insert(words.end(), command.run_words.begin(), command.run_words.end());
    words.push_back(command.file);
    if (!command.arguments.empty()) words.emplace_back("--");
  }
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  return words;
}

}  // namespace

int sanitize(const SanitizeCommand& command) {
  if (command.file == "-") {
    print_error("sanitize takes a file: the program that it runs reads standard input itself");
    return k_usage;
  }
  if (!fs::exists(command.file)) {
    print_error("cannot read '" + command.file + "': No such file or directory");
    return k_failed;
  }
  const std::string sanitizer = find_sanitizer();
  if (sanitizer.empty()) {
    print_error(
        "there is no compute-sanitizer on PATH, in CUDA_HOME, in CUDA_PATH or in /usr/local/cuda: it is a "
        "part of "
        "NVIDIA's CUDA toolkit (package cuda-sanitizer); install it, or set CUDA_HOME to a toolkit that has "
        "it");
    return k_failed;
  }
  const Sources sources = command.is_script() ? Sources({}) : sources_for(command.file, command.with);
  int exit = k_done;
  const std::vector<std::string> program = program_of(command, sources, exit);
  if (program.empty()) return exit;
  const Places places(sources, command.is_script() ? command.file : "");
  const std::vector<std::string> tools =
      command.all ? std::vector<std::string>{"memcheck", "racecheck", "initcheck", "synccheck"}
                  : std::vector<std::string>{command.tool};
  nlohmann::json report = nlohmann::json::array();
  for (const std::string& tool : tools) {
    const Outcome outcome =
        run_tool(sanitizer, tool, program, command.as_json ? Output::to_standard_error : Output::as_it_is);
    const SanitizerLog& log = outcome.log;
    if (const std::string failure = failure_of(outcome); !failure.empty()) {
      print_error("compute-sanitizer did not check " + command.file + ": " + failure);
      return k_failed;
    }
    for (const std::string& remark : log.remarks)
      std::fprintf(stderr, "tarsia: note: compute-sanitizer: %s\n", remark.c_str());
    if (command.as_json)
      report.push_back(json_of(tool, log, places));
    else
      for (const SanitizedFinding& finding : log.findings) print(finding, places);
    const bool found = !log.findings.empty() || log.errors > 0;
    if (found)
      std::fprintf(stderr, "tarsia: %s found %s in %s of %s\n", tool.c_str(),
                   counted(log.errors, tool == "racecheck" ? "hazard" : "error").c_str(),
                   counted(static_cast<long>(log.findings.size()), "place").c_str(), command.file.c_str());
    else
      std::fprintf(stderr, "tarsia: %s found nothing in %s\n", tool.c_str(), command.file.c_str());
    if (found) {
      exit = k_failed;
    } else if (outcome.exit != 0) {
      print_error(command.file + " ended with the exit code " + std::to_string(outcome.exit));
      exit = k_failed;
    }
  }
  if (command.as_json)
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return exit;
}

}  // namespace tarsia::tools
