// Hashes every field of the request, in order.
#include "pipeline/key.h"

#include <tarsia/abi.h>

#include <algorithm>
#include <vector>

#include "jit/build_id.h"

namespace tarsia::pipeline {
namespace {

void add(Hasher& hasher, const std::vector<std::string>& list) {
  hasher.field(std::uint64_t{list.size()});
  for (const std::string& item : list) hasher.field(item);
}

void add(Hasher& hasher, const std::vector<jit::SourceFile>& files) {
  hasher.field(std::uint64_t{files.size()});
  for (const jit::SourceFile& file : files) {
    hasher.field(file.name).field(file.text).field(file.debug_file);
    hasher.field(std::uint64_t{file.debug_lines.size()});
    for (const std::uint32_t line : file.debug_lines) hasher.field(std::uint64_t{line});
  }
}

void add_headers(Hasher& hasher, const std::vector<jit::SourceFile>& headers) {
  std::vector<const jit::SourceFile*> sorted;
  for (const jit::SourceFile& header : headers) sorted.push_back(&header);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  hasher.field(std::uint64_t{sorted.size()});
  for (const jit::SourceFile* header : sorted) hasher.field(header->name).field(header->text);
}

void add(Hasher& hasher, const std::string& text) {
  hasher.field(text);
}

void add(Hasher& hasher, const Mode& mode) {
  hasher.field(mode.word());
}

void add(Hasher& hasher, int number) {
  hasher.field(static_cast<std::uint64_t>(number));
}

void add(Hasher& hasher, bool flag) {
  hasher.field(std::uint64_t{flag});
}

void add(Hasher& hasher, const jit::kept::names& names) {
  add(hasher, names.has_value());
  if (names) add(hasher, *names);
}

void add(Hasher& hasher, const jit::kept::defines& defines) {
  hasher.field(std::uint64_t{defines.size()});
  for (const auto& [name, value] : defines)
    hasher.field(name).field(std::uint64_t{value.has_value()}).field(value.value_or(""));
}

// The manifest lists the files that were read. The order of the searched folders decides which files these
// are, so folders count.
void add(Hasher& hasher, const jit::CompileOptions& options) {
  jit::for_each_option(options, [&](const OptionRow& row, const auto& value) {
    if (row.in_key) add(hasher, value);
  });
}

}  // namespace

cache::Key request_key(const jit::CompileRequest& request) {
  Hasher hasher("request");
  hasher.field(jit::build_id()).field(std::uint64_t{TARSIA_ABI_VERSION}).field("x86_64-linux-gnu");
  add(hasher, request.files);
  add_headers(hasher, request.headers);
  hasher.field(std::uint64_t{request.cuda});
  add(hasher, request.options);
  hasher.field(request.host_cpu).field(request.source_dir);
  hasher.field(request.cuda_parts.nvrtc_identity).field(request.cuda_parts.clang_identity);
  hasher.field(static_cast<std::uint64_t>(request.cuda_parts.major));
  // There, a library is looked for by its name alone.
  if (!request.options.libraries.empty()) add(hasher, request.cuda_parts.library_dirs);
  return hasher.finish();
}

}  // namespace tarsia::pipeline
