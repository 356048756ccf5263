// Copies sources, once they are known not to be too large.
#include "api/source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/options.h"
#include "pipeline/check.h"

namespace tarsia::api {
namespace {

bool is_header(std::string_view name) {
  constexpr std::array<std::string_view, 9> k_suffixes{".h",   ".hh",  ".hpp", ".hxx", ".cuh",
                                                       ".inc", ".inl", ".ipp", ".def"};
  return std::ranges::any_of(k_suffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

static_assert(TARSIA_MAX_SOURCE_BYTES == pipeline::k_max_source_bytes);

jit::SourceFile to_file(const tarsia_file& file) {
  return {name_of(file), file.text ? std::string(file.text, file.bytes) : std::string()};
}

}  // namespace

std::string name_of(const tarsia_file& file) {
  return file.name ? file.name : k_lone_name;
}

pipeline::Source to_source(const tarsia_file* files, std::uint64_t n_files, const tarsia_options* given) {
  const tarsia_options options = whole(given);
  // Checked before any text is copied.
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < n_files; ++i) pipeline::count_bytes(name_of(files[i]), files[i].bytes, bytes);
  for (std::uint64_t i = 0; i < options.n_headers; ++i)
    pipeline::count_bytes(name_of(options.headers[i]), options.headers[i].bytes, bytes);
  pipeline::Source source;
  if (options.name) source.name = options.name;
  for (std::uint64_t i = 0; i < n_files; ++i) {
    jit::SourceFile file = to_file(files[i]);
    (is_header(file.name) ? source.headers : source.files).push_back(std::move(file));
  }
  for (std::uint64_t i = 0; i < options.n_headers; ++i) source.headers.push_back(to_file(options.headers[i]));
  source.options = to_options(options);
  source.timeout = std::chrono::milliseconds(options.timeout_ms);
  source.ban = options.cached_only == 2   ? pipeline::Ban::capturing
               : options.cached_only != 0 ? pipeline::Ban::caller
                                          : pipeline::Ban::none;
  return source;
}

}  // namespace tarsia::api
