// Compiling sources: the C ABI over the pipeline.
#include <tarsia/c_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/handles.h"
#include "api/text.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "pipeline/pipeline.h"
#include "registry/library/library.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using pipeline::Pipeline;
using registry::guarded;

namespace {

/// What a lone string is called in diagnostics. Without suffix: it may hold CUDA or not.
constexpr char k_lone_name[] = "source";

/// The steps of this thread's last compile and their milliseconds; empty if it came from the cache.
thread_local std::vector<std::pair<std::string, double>> t_last_compile;

/// Of the functions that were asked for, those that a module does not export.
std::vector<std::string> missing_functions(const pipeline::Module& module, std::vector<std::string> wanted) {
  const std::vector<std::string> names = registry::exported_names(Mapping(module.file.get()).bytes());
  std::erase_if(wanted, [&](const std::string& name) { return std::ranges::count(names, name) != 0; });
  return wanted;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

/// What is there is known from the same source without the restriction.
[[noreturn]] void throw_missing_functions(pipeline::Source source, const std::vector<std::string>& missing) {
  source.options.functions.clear();
  source.options.restrict_functions = false;
  const pipeline::Module whole = Pipeline::instance().compile(std::move(source));
  std::vector<std::string> names = registry::exported_names(Mapping(whole.file.get()).bytes());
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  throw ArgumentError::value_error("functions: the source has no function " + listed(missing) +
                                   " that can be exported; " +
                                   (names.empty() ? "it has none at all" : "it has " + listed(names)));
}

pipeline::Module compile(pipeline::Source source) {
  t_last_compile.clear();
  const std::vector<std::string> wanted = source.options.functions;
  std::optional<pipeline::Source> again;
  if (!wanted.empty()) again = source;
  pipeline::Module module = Pipeline::instance().compile(std::move(source));
  t_last_compile = std::move(module.timings);
  if (again)
    if (const std::vector<std::string> missing = missing_functions(module, wanted); !missing.empty())
      throw_missing_functions(std::move(*again), missing);
  return module;
}

bool is_header(std::string_view name) {
  constexpr std::array<std::string_view, 9> k_suffixes{".h",   ".hh",  ".hpp", ".hxx", ".cuh",
                                                       ".inc", ".inl", ".ipp", ".def"};
  return std::ranges::any_of(k_suffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

jit::SourceFile to_file(const tarsia_file& file) {
  return {file.name ? file.name : k_lone_name, std::string(file.text ? file.text : "", file.bytes)};
}

std::vector<std::string> to_texts(const char* const* texts, std::uint64_t n) {
  return {texts, texts + n};
}

std::vector<std::string> to_dirs(const char* const* dirs, std::uint64_t n) {
  std::vector<std::string> list;
  for (std::uint64_t i = 0; i < n; ++i)
    list.push_back(std::filesystem::absolute(dirs[i]).lexically_normal().string());
  return list;
}

pipeline::Source to_source(const tarsia_file* files, std::uint64_t n_files, const tarsia_options* given) {
  tarsia_options options;
  tarsia_options_init(&options);
  if (given) std::memcpy(&options, given, std::min<std::size_t>(given->size, sizeof(options)));
  pipeline::Source source;
  if (options.name) source.name = options.name;
  for (std::uint64_t i = 0; i < n_files; ++i) {
    jit::SourceFile file = to_file(files[i]);
    (is_header(file.name) ? source.headers : source.files).push_back(std::move(file));
  }
  for (std::uint64_t i = 0; i < options.n_headers; ++i) source.headers.push_back(to_file(options.headers[i]));
  jit::CompileOptions& o = source.options;
  o.functions = to_texts(options.functions, options.n_functions);
  o.restrict_functions = options.restrict_functions != 0;
  for (std::uint64_t i = 0; i < options.n_defines; ++i)
    o.defines.emplace_back(options.defines[i].name, options.defines[i].value
                                                        ? std::optional<std::string>(options.defines[i].value)
                                                        : std::nullopt);
  o.include_dirs = to_dirs(options.include_dirs, options.n_include_dirs);
  o.libraries = to_texts(options.libraries, options.n_libraries);
  o.library_dirs = to_dirs(options.library_dirs, options.n_library_dirs);
  if (options.std) o.std = options.std;
  o.opt = options.opt;
  o.archs = to_texts(options.archs, options.n_archs);
  o.ptx = options.ptx != 0;
  o.fast_math = options.fast_math != 0;
  o.debug = options.debug != 0;
  o.lineinfo = options.lineinfo != 0;
  o.host_headers = options.host_headers ? jit::HostHeaders::system : jit::HostHeaders::own;
  o.kernels = to_texts(options.kernels, options.n_kernels);
  if (options.kernels_file) o.kernels_file = options.kernels_file;
  o.kernels_to_read = options.kernels_to_read != 0;
  source.timeout = std::chrono::milliseconds(options.timeout_ms);
  source.cached_only = options.cached_only != 0;
  return source;
}

std::function<bool()> interrupt_of(const tarsia_options* given) {
  constexpr std::size_t k_end =
      offsetof(tarsia_options, interrupt_context) + sizeof(given->interrupt_context);
  if (!given || given->size < k_end || !given->interrupted) return nullptr;
  return [ask = given->interrupted, context = given->interrupt_context] { return ask(context) != 0; };
}

registry::ModuleFile to_module_file(pipeline::Module module, std::string name) {
  if (name.empty()) name = "tarsia_" + module.key.substr(0, 12);
  return {.file = std::move(module.file),
          .path = name,
          .name = name,
          .origin = module.origin,
          .warnings = std::move(module.warnings)};
}

}  // namespace

void tarsia_options_defaults(tarsia_options* options, uint32_t size) {
  tarsia_options defaults{};
  defaults.size = size;
  defaults.std = "c++20";
  defaults.opt = 2;
  std::memcpy(options, &defaults, std::min<std::size_t>(size, sizeof(defaults)));
}

int32_t tarsia_load_inline(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                           tarsia_library** library) {
  return guarded([&] {
    const InterruptScope scope(interrupt_of(options));
    pipeline::Source source = to_source(files, n_files, options);
    std::string name = source.name;
    *library = api::to_c(registry::load_module(to_module_file(compile(std::move(source)), name)).detach());
  });
}

int32_t tarsia_compile(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                       const char* output) {
  return guarded([&] {
    const InterruptScope scope(interrupt_of(options));
    pipeline::Source source = to_source(files, n_files, options);
    std::string name = source.name;
    pipeline::Module module = compile(std::move(source));
    const Mapping file(module.file.get());
    if (registry::seems_empty(file.bytes(), module.cuda))
      registry::load_module(to_module_file(std::move(module), name));  // says what is missing
    registry::export_library(file.bytes(), output);
  });
}

int32_t tarsia_statistics(char** text) {
  return guarded([&] {
    Pipeline& pipeline = Pipeline::instance();
    const cache::Counters disk = pipeline.counters();
    const nlohmann::json json = {{"disk",
                                  {{"hits", disk.hits},
                                   {"misses", disk.misses},
                                   {"faults", disk.faults},
                                   {"corrupt", disk.corrupt},
                                   {"stores", disk.stores},
                                   {"store_failures", disk.store_failures},
                                   {"evictions", disk.evictions}}},
                                 {"cache_refusal", pipeline.cache_refusal()},
                                 {"workers_started", pipeline.workers_started()},
                                 {"last_compile", t_last_compile}};
    *text = api::give_text(json.dump());
  });
}
