// Warnings as bytes.
#include "pipeline/meta.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/little_endian.h"
#include "pipeline/key.h"

namespace tarsia::pipeline {
namespace {

constexpr std::uint32_t k_meta_version = 1;

}  // namespace

std::string encode_meta(const std::vector<Diagnostic>& warnings) {
  std::string bytes;
  LittleWriter out(bytes);
  out.number(k_meta_version).number(static_cast<std::uint32_t>(warnings.size()));
  for (const Diagnostic& warning : warnings) {
    out.text(warning.file)
        .number(static_cast<std::uint32_t>(warning.line))
        .number(static_cast<std::uint32_t>(warning.column))
        .number(static_cast<std::uint32_t>(warning.severity))
        .text(warning.message);
  }
  return bytes;
}

std::vector<Diagnostic> decode_meta(std::string_view meta) {
  LittleReader in(meta);
  std::vector<Diagnostic> warnings;
  if (in.number<std::uint32_t>() != k_meta_version) return {};
  const auto count = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    Diagnostic warning;
    warning.file = in.text();
    warning.line = static_cast<int>(in.number<std::uint32_t>());
    warning.column = static_cast<int>(in.number<std::uint32_t>());
    const auto severity = in.number<std::uint32_t>();
    warning.message = in.text();
    if (!in.good() || severity > static_cast<std::uint32_t>(Severity::fatal)) return {};
    warning.severity = static_cast<Severity>(severity);
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<Diagnostic> named_files(std::vector<Diagnostic> diagnostics, const cache::Place& place) {
  for (Diagnostic& diagnostic : diagnostics) diagnostic.file = place.name_of(diagnostic.file);
  return diagnostics;
}

void move_to(std::vector<Diagnostic>& diagnostics, const jit::CompileRequest& request) {
  const auto is_named = [](const Diagnostic& diagnostic) { return diagnostic.file.starts_with('<'); };
  if (std::ranges::none_of(diagnostics, is_named)) return;
  const cache::Place place = place_of(request);
  for (Diagnostic& diagnostic : diagnostics)
    if (auto path = place.path_of(diagnostic.file)) diagnostic.file = std::move(*path);
}

}  // namespace tarsia::pipeline
