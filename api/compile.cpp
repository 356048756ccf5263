// Compiling sources: the C ABI over the pipeline.
#include <tarsia/c_api.h>
#include <tarsia/detail/support.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "api/cache/cache_report.h"
#include "api/handles.h"
#include "api/json_text.h"
#include "api/load.h"
#include "api/options.h"
#include "api/source.h"
#include "api/symbolizer.h"
#include "api/text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/machine/sanitizer.h"
#include "base/origin.h"
#include "base/text_origin.h"
#include "jit/source_suffix.h"
#include "pipeline/cflags.h"
#include "pipeline/pipeline.h"
#include "pipeline/source_kind.h"
#include "registry/crash/literal.h"
#include "registry/loader.h"
#include "registry/op/conversions.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using pipeline::Pipeline;
using registry::guarded;

namespace {

/// The steps of this thread's last compile, with their milliseconds. Empty if the module came from the
/// cache.
thread_local std::vector<std::pair<std::string, double>> t_last_compile;

/// The warnings of the module that this thread compiled last, or took from the cache.
thread_local std::vector<Diagnostic> t_last_warnings;

/// Where that module came from; "" after a failure.
thread_local std::string t_last_origin;

pipeline::Module compile(pipeline::Source source) {
  t_last_compile.clear();
  t_last_warnings.clear();
  t_last_origin.clear();
  pipeline::Module module = Pipeline::instance().compile(std::move(source));
  t_last_compile = std::move(module.timings);
  t_last_warnings = module.warnings;
  t_last_origin = origin_name(module.origin);
  return module;
}

std::function<bool()> interrupt_of(const tarsia_options* given) {
  if (!given || !TARSIA_DETAIL_HAS_FIELD(*given, interrupt_context)) return nullptr;
  return api::interrupt_check(given->interrupted, given->interrupt_context);
}

/// Where the texts stand as literals in the caller's file.
std::vector<TextOrigin> search_origins(const tarsia_file* files, std::uint64_t n_files,
                                       const tarsia_options* given) {
  constexpr std::uint64_t k_most = 16u << 20;
  std::vector<TextOrigin> origins;
  std::string caller;
  if (read_file(given->caller_file, caller, k_most)) return origins;
  const auto find = [&](const tarsia_file& file) {
    std::vector<std::uint32_t> lines =
        registry::lines_of_literal(caller, {file.text, file.bytes}, given->caller_line);
    if (!lines.empty()) origins.push_back({api::name_of(file), given->caller_file, std::move(lines)});
  };
  std::for_each_n(files, n_files, find);
  std::for_each_n(given->headers, given->n_headers, find);
  return origins;
}

/// The same, searched once for a source and a place: a source may be loaded in a loop. Without a key, it is
/// searched each time.
std::vector<TextOrigin> find_origins(const tarsia_file* files, std::uint64_t n_files,
                                     const tarsia_options* given, const std::string& key) {
  constexpr std::size_t k_most = 64;
  if (!given || !TARSIA_DETAIL_HAS_FIELD(*given, caller_line) || !given->caller_file) return {};
  if (key.empty()) return search_origins(files, n_files, given);
  // Of a thread: a forked child finds no lock that is held.
  thread_local std::map<std::tuple<std::string, std::string, std::uint32_t>, std::vector<TextOrigin>> t_found;
  auto where = std::make_tuple(key, std::string(given->caller_file), given->caller_line);
  if (const auto found = t_found.find(where); found != t_found.end()) return found->second;
  if (t_found.size() >= k_most) t_found.clear();
  return t_found[std::move(where)] = search_origins(files, n_files, given);
}

/// Debug information is to name the caller's file where a text without a name of its own stands there.
void add_debug_lines(pipeline::Source& source, const std::vector<TextOrigin>& origins) {
  for (const TextOrigin& origin : origins)
    for (jit::SourceFile& file : source.files)
      if (file.name == origin.name && file.name == api::k_lone_name) {
        std::error_code none;  // without a working folder the path stays as it is
        const std::filesystem::path path = std::filesystem::absolute(origin.file, none);
        file.debug_file = none ? origin.file : path.lexically_normal().string();
        file.debug_lines = origin.lines;
      }
}

registry::ModuleFile to_module_file(pipeline::Module module, std::string name,
                                    std::vector<TextOrigin> origins = {}) {
  if (name.empty()) name = "tarsia_" + module.key.substr(0, 12);
  return {.file = std::move(module.file),
          .file_path = std::move(module.path),
          .path = name,
          .name = name,
          .key = std::move(module.key),
          .origin = module.origin,
          .warnings = std::move(module.warnings),
          .library_dirs = std::move(module.library_dirs),
          .origins = std::move(origins)};
}

}  // namespace

void tarsia_options_defaults(tarsia_options* options, uint32_t size) {
  tarsia_options defaults{};
  defaults.size = size;
#define TARSIA_DEFAULT(kind, name, field, initial, ...) TARSIA_DEFAULT_##kind(field, initial)
#define TARSIA_DEFAULT_flag(field, initial) defaults.field = initial;
#define TARSIA_DEFAULT_number(field, initial) defaults.field = initial;
#define TARSIA_DEFAULT_word(field, initial) defaults.field = initial;
// For the other kinds, zeros are the defaults: empty lists, and the first of the values.
#define TARSIA_DEFAULT_texts(field, initial)
#define TARSIA_DEFAULT_text(field, initial)
#define TARSIA_DEFAULT_paths(field, initial)
#define TARSIA_DEFAULT_flags(field, initial)
#define TARSIA_DEFAULT_symbols(field, initial)
#define TARSIA_DEFAULT_archs(field, initial)
#define TARSIA_DEFAULT_defines(field, initial)
#define TARSIA_DEFAULT_dirs(field, initial)
#define TARSIA_DEFAULT_names(field, initial)
#define TARSIA_DEFAULT_choice(field, initial)
#define TARSIA_DEFAULT_mode(field, initial)
  TARSIA_COMPILER_OPTIONS(TARSIA_DEFAULT)
  std::memcpy(options, &defaults, std::min<std::size_t>(size, sizeof(defaults)));
}

std::function<bool()> api::interrupt_check(std::int32_t (*interrupted)(void*), void* context) {
  if (!interrupted) return nullptr;
  return [=] { return interrupted(context) != 0; };
}

registry::Ref<registry::Library> api::load_inline(const tarsia_file* files, std::uint64_t n_files,
                                                  const tarsia_options* options) {
  pipeline::Source source = api::to_source(files, n_files, options);
  std::string name = source.name;
  // Before it is compiled in vain.
  pipeline::take_cflags(source.options);
  if (const Sanitizer* sanitizer = sanitizer_of_mode(source.options.debug.word()))
    require_in_process(*sanitizer, "debug=\"" + source.options.debug.word() + "\"");
  std::vector<TextOrigin> origins;
  const bool is_debug = bool(source.options.debug);
  if (is_debug) add_debug_lines(source, origins = find_origins(files, n_files, options, ""));
  const pipeline::Source again = source;
  pipeline::Module module = compile(std::move(source));
  api::name_symbolizer();  // a compile may just have unpacked it
  if (!is_debug) origins = find_origins(files, n_files, options, module.key);
  const auto load = [&](pipeline::Module loaded) {
    return registry::load_module(to_module_file(std::move(loaded), name, origins));
  };
  if (!module.fetched) return load(std::move(module));
  // What another machine compiled may want what this one lacks: as good as a miss.
  pipeline::Module same{.key = module.key, .fetched = true};
  try {
    return load(std::move(module));
  } catch (const LoadError&) {
    Pipeline::instance().reject(same);
    return load(compile(again));
  }
}

const tarsia_suffix* tarsia_source_suffixes(uint64_t* n) {
  static constexpr auto s_all = [] {
    std::array<tarsia_suffix, std::size(jit::k_source_suffixes)> all{};
    std::ranges::transform(jit::k_source_suffixes, all.begin(), [](const jit::SourceSuffix& one) {
      return tarsia_suffix{one.suffix, one.language == jit::Language::cuda  ? "cuda"
                                       : one.language == jit::Language::cxx ? "c++"
                                                                            : "c"};
    });
    return all;
  }();
  *n = s_all.size();
  return s_all.data();
}

int32_t tarsia_mentions_cuda(const char* text, uint64_t bytes) {
  bool found = false;
  guarded([&] { found = pipeline::mentions_cuda({text, bytes}); });
  return found;
}

int32_t tarsia_load_inline(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                           tarsia_library** library) {
  return guarded([&] {
    const InterruptScope scope(interrupt_of(options));
    *library = api::to_c(api::load_inline(files, n_files, options).detach());
  });
}

int32_t tarsia_compile(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                       const char* output) {
  return guarded([&] {
    const InterruptScope scope(interrupt_of(options));
    pipeline::Source source = api::to_source(files, n_files, options);
    std::string name = source.name;
    const bool is_part = source.options.undefined == "load";
    pipeline::Module module = compile(std::move(source));
    const Mapping file(module.file.get());
    const std::vector<std::string> library_dirs = module.library_dirs;
    // A part of something larger needs nothing to call.
    if (!is_part && registry::seems_empty(file.bytes(), module.cuda))
      registry::load_module(to_module_file(std::move(module), name));  // says what is missing
    registry::export_library(file.bytes(), output, library_dirs);
  });
}

int32_t tarsia_cache_fill(const tarsia_file* files, uint64_t n_files, const tarsia_options* options) {
  return guarded([&] {
    const InterruptScope scope(interrupt_of(options));
    compile(api::to_source(files, n_files, options));
  });
}

int32_t tarsia_stats(char** text) {
  return guarded([&] {
    Pipeline& pipeline = Pipeline::instance();
    const cache::Counters disk = pipeline.counters();
    const registry::ConversionCounters& conversions = registry::conversion_counters();
    nlohmann::json warnings = nlohmann::json::array();
    for (const Diagnostic& one : t_last_warnings)
      warnings.push_back({one.file, one.line, one.column, severity_name(one.severity), one.message});
    const nlohmann::json json = {{"disk",
                                  {{"hits", disk.hits},
                                   {"misses", disk.misses},
                                   {"faults", disk.faults},
                                   {"corrupt", disk.corrupt},
                                   {"stores", disk.stores},
                                   {"store_failures", disk.store_failures},
                                   {"evictions", disk.evictions}}},
                                 {"cache_refusal", pipeline.cache_refusal()},
                                 {"cache", api::to_json(pipeline.counts())},
                                 {"workers_started", pipeline.workers_started()},
                                 {"conversions",
                                  {{"bindings", conversions.bindings.load(std::memory_order_relaxed)},
                                   {"tensors", conversions.tensors.load(std::memory_order_relaxed)}}},
                                 {"last_compile", t_last_compile},
                                 {"last_origin", t_last_origin},
                                 {"last_warnings", warnings}};
    *text = api::give_json(json);
  });
}
