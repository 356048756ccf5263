// Checks texts, names and options. Everything that becomes part of a compiler's command line is checked
// against a list of allowed characters: an option must never turn into another one.
#include "pipeline/check.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.h"

namespace tarsia::pipeline {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text.substr(0, 80)) {
    if (c >= ' ' && c != 127) {
      out += c;
    } else {
      out += "?";
    }
  }
  return out += text.size() > 80 ? "…'" : "'";
}

[[noreturn]] void refuse(const std::string& message) {
  throw ArgumentError::value_error(message);
}

/// The length of the well-formed UTF-8 sequence at `at`, or 0. The table is Unicode's 3-7.
std::size_t sequence_length(const unsigned char* at, std::size_t left) {
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    return i < left && at[i] >= low && at[i] <= high;
  };
  const unsigned char lead = at[0];
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return in(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80, high = lead == 0xED ? 0x9F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xF4 ? 0x8F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

/// Eight bytes, none of them NUL and all ASCII.
bool plain_block(const unsigned char* at) {
  std::uint64_t block;
  std::memcpy(&block, at, 8);
  constexpr std::uint64_t k_high = 0x8080808080808080, k_ones = 0x0101010101010101;
  return ((block | (block - k_ones)) & k_high) == 0;
}

[[noreturn]] void refuse_byte(const jit::SourceFile& file, std::size_t at, std::string message) {
  const std::string_view before(file.text.data(), at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.find_last_of('\n') + 1;  // npos + 1 is 0
  throw InvalidSource({file.name, static_cast<int>(line), static_cast<int>(at - line_start + 1),
                       Severity::error, std::move(message)});
}

void check_text(const jit::SourceFile& file) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.text.data());
  const std::size_t size = file.text.size();
  for (std::size_t at = 0; at < size;) {
    if (at + 8 <= size && plain_block(bytes + at)) {
      at += 8;
      continue;
    }
    if (bytes[at] == 0) refuse_byte(file, at, k_nul_byte);
    const std::size_t length = sequence_length(bytes + at, size - at);
    if (length == 0) {
      static constexpr char k_digits[] = "0123456789abcdef";
      refuse_byte(file, at,
                  std::string("the byte 0x") + k_digits[bytes[at] >> 4] + k_digits[bytes[at] & 15] +
                      " is not UTF-8: save the text as UTF-8");
    }
    at += length;
  }
}

void check_name(const std::string& name) {
  const auto bad = [&](const char* why) { refuse("file name " + quoted(name) + " " + why); };
  if (name.empty()) refuse("a file of the source has no name: name it, as in {'relu.cu': text}");
  if (name.size() > 1024) bad("is too long");
  if (name[0] == '/') bad("is absolute: file names in a source are relative, like 'ops/relu.cu'");
  for (char c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127 || c == '\\' || c == '"') {
      bad("holds a character that file names in a source cannot have");
    }
  }
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    const std::string_view part = std::string_view(name).substr(start, slash - start);
    if (part == "..") bad("leads out of the source with '..': put the files of a source into one tree");
    if (part.empty() || part == ".") bad("has an empty part: write it as in 'ops/relu.cu'");
    start = slash + 1;
  }
}

void check_files(const Source& source) {
  if (source.files.empty()) refuse("the source has no file: pass a text, or a dict of file names to texts");
  std::set<std::string_view> names;
  std::uint64_t bytes = 0;
  for (const auto* group : {&source.files, &source.headers}) {
    for (const jit::SourceFile& file : *group) {
      check_name(file.name);
      if (!names.insert(file.name).second) refuse("the source has two files named " + quoted(file.name));
      count_bytes(file.name, file.text.size(), bytes);
    }
  }
  for (const auto* group : {&source.files, &source.headers}) {
    for (const jit::SourceFile& file : *group) check_text(file);
  }
}

void check_define(const std::string& name, const std::optional<std::string>& value) {
  std::string_view head = name;
  // "MAX(a, b)" defines a macro with parameters.
  if (const std::size_t open = head.find('('); open != std::string_view::npos) {
    const std::string_view list = head.substr(open + 1);
    const bool good =
        !list.empty() && list.back() == ')' && std::all_of(list.begin(), list.end() - 1, [](char c) {
          return detail::is_identifier_part(c) || c == ',' || c == ' ' || c == '.';
        });
    if (!good) refuse("define " + quoted(name) + " is no macro name");
    head = head.substr(0, open);
  }
  if (!detail::is_identifier(head)) {
    refuse("define " + quoted(name) + " is no macro name: write defines={'NAME': 'value'}");
  }
  if (value && value->find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
    refuse("the value of define " + quoted(name) + " has a line break or NUL byte");
  }
}

void check_path(std::string_view what, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos || path.find('\n') != std::string::npos) {
    refuse(std::string(what) + " " + quoted(path) + " is no path");
  }
}

void check_library(const std::string& library) {
  check_path("library", library);
  if (library[0] == '-') {
    refuse("library " + quoted(library) +
           " looks like an option: write the bare name, as in libraries=['z']");
  }
  if (library.find('/') != std::string::npos) return;
  for (char c : library) {
    if (!detail::is_identifier_part(c) && c != '-' && c != '+' && c != '.') {
      refuse("library " + quoted(library) + " is no library's name");
    }
  }
}

}  // namespace

// The worker asks the device's compiler what it knows, and sources without device code do not get so far.
void check_arch(const std::string& arch) {
  // What some compiler of CUDA 13 makes code for.
  static constexpr std::string_view k_numbers[] = {"75",  "80",  "86",  "87",  "88",  "89", "90",
                                                   "100", "103", "107", "110", "120", "121"};
  std::string_view number = arch;
  const bool prefixed = number.starts_with("sm_");
  if (prefixed) number.remove_prefix(3);
  const char suffix = number.empty() || detail::is_digit(number.back()) ? '\0' : number.back();
  if (suffix) number.remove_suffix(1);
  const auto known = std::ranges::find(k_numbers, number);
  const auto has_suffix = [&] {
    return suffix == '\0' || (suffix == 'a' && number != "75" && number[0] != '8') ||
           (suffix == 'f' && number.size() == 3);
  };
  if (prefixed && known != std::end(k_numbers) && has_suffix()) return;
  std::string list;
  for (const std::string_view& one : k_numbers)
    list += (&one == k_numbers                 ? "sm_"
             : &one == std::end(k_numbers) - 1 ? " and sm_"
                                               : ", sm_") +
            std::string(one);
  refuse(
      "architecture " + quoted(arch) + " is unknown: write it as in 'sm_90'; CUDA 13 makes code for " + list +
      ", from sm_90 on with an 'a' behind it for one architecture alone, and from sm_100 on with an 'f' for "
      "its family");
}

namespace {

void check_function(const std::string& function) {
  if (function.empty() || function.find_first_of(std::string_view("\n\r\"\\\0", 5)) != std::string::npos) {
    refuse("function " + quoted(function) + " is no function's name");
  }
}

void check_symbol(const std::string& symbol) {
  if (symbol.empty() || symbol.find_first_of(std::string_view("\n\r\"\\\0", 5)) != std::string::npos) {
    refuse("exports: " + quoted(symbol) + " is no name of a function or variable");
  }
}

/// "a, b or c"
std::string listed(const OptionRow& row) {
  std::string text;
  int left = 0;
  for_each_value(row, [&](std::string_view) { ++left; });
  for_each_value(row, [&](std::string_view word) {
    --left;
    if (!text.empty()) text += left ? ", " : " or ";
    text += word;
  });
  return text;
}

[[noreturn]] void refuse_value(const OptionRow& row, const std::string& value, const std::string& known) {
  refuse(std::string(row.name) + " " + value + " is unknown: it may be " + known);
}

void check_option(const OptionRow&, bool) {}

void check_option(const OptionRow& row, int number) {
  const OptionRange range = range_of(row);
  if (number < range.first || number > range.last)
    refuse_value(row, std::to_string(number),
                 std::to_string(range.first) + " to " + std::to_string(range.last));
}

void check_option(const OptionRow& row, const std::string& word) {
  if (!row.values.empty() && index_of_value(row, word) < 0) refuse_value(row, quoted(word), listed(row));
}

void check_option(const OptionRow& row, const Mode& mode) {
  if (number_of_mode(row, mode) < 0) refuse_value(row, quoted(mode.word()), "on, off, " + listed(row));
}

void check_option(const OptionRow& row, const std::vector<std::string>& list) {
  for (const std::string& item : list) {
    if (row.kind == OptionKind::dirs) check_path(row.name, item);
    if (row.kind == OptionKind::paths) check_library(item);
    if (row.kind == OptionKind::archs) check_arch(item);
    if (row.kind == OptionKind::symbols) check_symbol(item);
  }
}

void check_option(const OptionRow&, const jit::kept::names& names) {
  if (!names) return;
  for (const std::string& name : *names) check_function(name);
}

void check_option(const OptionRow&, const jit::kept::defines& defines) {
  for (const auto& [name, value] : defines) check_define(name, value);
}

void check_options(const jit::CompileOptions& options) {
  jit::for_each_option(options, [](const OptionRow& row, const auto& value) { check_option(row, value); });
}

}  // namespace

void count_bytes(const std::string& name, std::uint64_t bytes, std::uint64_t& total) {
  // A caller may make up sizes; their sum must not wrap around.
  if (bytes <= k_max_source_bytes && (total += bytes) <= k_max_source_bytes) return;
  throw InvalidSource({name, 0, 0, Severity::error,
                       "the source is larger than " + std::to_string(k_max_source_bytes >> 20) +
                           " MiB: move data out of the text"});
}

void check(const Source& source) {
  check_options(source.options);
  check_files(source);
}

std::vector<Diagnostic> warn_of_missing_folders(const jit::CompileOptions& options) {
  std::vector<Diagnostic> warnings;
  for (const std::string& flag : options.cflags)
    if (flag == "-w" || flag == "-Wno-missing-include-dirs") return warnings;
  const auto look = [&](const char* option, const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      struct stat status;
      const bool is_there = ::stat(folder.c_str(), &status) == 0;
      if (is_there && S_ISDIR(status.st_mode)) continue;
      warnings.push_back({.severity = Severity::warning,
                          .message = std::string(option) + ": '" + folder + "' is no folder" +
                                     (is_there ? "" : ": it does not exist") + " [-Wmissing-include-dirs]"});
    }
  };
  look("include_dirs", options.include_dirs);
  look("library_dirs", options.library_dirs);
  return warnings;
}

}  // namespace tarsia::pipeline
