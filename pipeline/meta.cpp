// Warnings as bytes.
#include "pipeline/meta.h"

#include <cstdint>

namespace tarsia::pipeline {
namespace {

constexpr std::uint32_t k_version = 1;

void put(std::string& out, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(number >> (8 * i));
}

void put(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

bool get(std::string_view& in, std::uint32_t& number) {
  if (in.size() < 4) return false;
  number = 0;
  for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(in[i]);
  in.remove_prefix(4);
  return true;
}

bool get(std::string_view& in, std::string& text) {
  std::uint32_t size;
  if (!get(in, size) || size > in.size()) return false;
  text = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

}  // namespace

std::string encode_meta(const std::vector<Diagnostic>& warnings) {
  std::string out;
  put(out, k_version);
  put(out, static_cast<std::uint32_t>(warnings.size()));
  for (const Diagnostic& warning : warnings) {
    put(out, warning.file);
    put(out, static_cast<std::uint32_t>(warning.line));
    put(out, static_cast<std::uint32_t>(warning.column));
    put(out, static_cast<std::uint32_t>(warning.severity));
    put(out, warning.message);
  }
  return out;
}

std::vector<Diagnostic> decode_meta(std::string_view meta) {
  std::uint32_t version, count;
  std::vector<Diagnostic> warnings;
  if (!get(meta, version) || version != k_version || !get(meta, count)) return {};
  for (std::uint32_t i = 0; i < count; ++i) {
    Diagnostic warning;
    std::uint32_t line, column, severity;
    if (!get(meta, warning.file) || !get(meta, line) || !get(meta, column) || !get(meta, severity) ||
        severity > static_cast<std::uint32_t>(Severity::fatal) || !get(meta, warning.message)) {
      return {};
    }
    warning.line = static_cast<int>(line);
    warning.column = static_cast<int>(column);
    warning.severity = static_cast<Severity>(severity);
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace tarsia::pipeline
