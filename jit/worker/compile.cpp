// The steps of a compile.
#include "jit/worker/compile.h"
#include "base/figures/elapsed.h"
#include "jit/include_lines.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/dependency.h"
#include "base/error.h"
#include "jit/worker/class_op_folders.h"
#include "jit/worker/device/device_features.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/host/completion.h"
#include "jit/worker/link/th_routines.h"
#include "jit/worker/nvptx/inline_assembly.h"
#include "jit/worker/nvptx/nvptx_compiler.h"
#include "jit/worker/public_headers.h"
#include "jit/worker/source/device_lambdas.h"
#include "jit/worker/source/host_headers.h"
#include "jit/worker/source/nvcc_spellings.h"
#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {
namespace {

using Clock = std::chrono::steady_clock;

/// Descriptors are C++, so a C++ main is generated that calls a main in C.
const SourceFile& main_of_c() {
  static const SourceFile s_file{std::string(k_main_of_c_symbol) + ".cc",
                                 "extern \"C\" int " + std::string(k_main_of_c_symbol) +
                                     "(int, char**, char**);\n"
                                     "int main(int argc, char** argv, char** envp) { return " +
                                     k_main_of_c_symbol + "(argc, argv, envp); }\n"};
  return s_file;
}

std::string to_bytes(const std::vector<std::string>& objects) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& object : objects)
    list.push_back(nlohmann::json::binary({object.begin(), object.end()}));
  const std::vector<uint8_t> packed = nlohmann::json::to_msgpack(list);
  return {packed.begin(), packed.end()};
}

std::optional<std::vector<std::string>> objects_from(const std::string& bytes) {
  const nlohmann::json list =
      nlohmann::json::from_msgpack(bytes, /*strict=*/true, /*allow_exceptions=*/false);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> objects;
  for (const nlohmann::json& object : list) {
    if (!object.is_binary()) return std::nullopt;
    objects.emplace_back(object.get_binary().begin(), object.get_binary().end());
  }
  return objects;
}

// Of the request's texts, and of headers on disk; and the same where Clang is to compile the device code.
void edit(std::string& text) {
  join_launch_brackets(text);
  name_braced_launches(text);
  type_main(text);
  adapt_assembly(text);
}

void edit_for_clang(std::string& text) {
  edit(text);
  mark_device_lambdas(text);
}

void edit_header(std::string& text) {
  join_launch_brackets(text);
  adapt_assembly_of_header(text);
}

void edit_header_for_clang(std::string& text) {
  edit_for_clang(text);
  adapt_assembly_of_header(text);
}

/// Why Clang is to compile the device code of which files, where NVRTC is not even asked.
std::map<std::string, std::string> why_clang(const CompileRequest& request) {
  std::map<std::string, std::string> why;
  if (!request.cuda || request.options.device_compiler == "nvrtc") return why;
  if (request.options.device_compiler == "clang")
    for (const SourceFile& file : request.files)
      why[file.name] = request.after_crash ? "the compiler crashed when NVRTC was to take it"
                                           : "asked for by device_compiler";
  for (const Diagnostic& refused : refused_features(request.files))
    why.try_emplace(refused.file, "line " + std::to_string(refused.line) + ": " +
                                      refused.message.substr(0, refused.message.find("; ")));
  return why;
}

}  // namespace

CompileRequest prepared(CompileRequest request, bool marks_lambdas) {
  add_class_op_folders(request);
  if (request.cuda)
    for (auto* group : {&request.files, &request.headers})
      for (SourceFile& file : *group) (marks_lambdas ? edit_for_clang : edit)(file.text);
  if (!keeps_openmp_off(request.options))
    for (const auto* group : {&request.files, &request.headers})
      for (const SourceFile& file : *group)
        request.options.openmp |= has_openmp_pragma(file.text) ||
                                  // The parse does not tell of pragmas in headers of Tarsia's own.
                                  (!request.cuda && includes_header(file.text, "mobula_op.h"));
  return request;
}

Compile::Compile(const CompileRequest& request, PartStore& parts, WorkerState& worker)
    : m_asked(&request),
      m_why_clang(why_clang(request)),
      m_marks_lambdas(!m_why_clang.empty()),
      m_request(prepared(request, m_marks_lambdas)),
      m_openmp(m_request.options.openmp),
      m_parts(parts),
      m_worker(worker) {}

CompileResult Compile::run() {
  if (m_request.complete_line > 0) return complete();
  if (is_refused()) return fail(Stage::split);

  // 1 to 5. Prelude, parse, exports, split and code of each text. Compiling one may append another: what
  // describes a C text is C++.
  std::vector<const SourceFile*> texts = chosen_texts();
  for (size_t i = 0; i < texts.size(); ++i)
    if (auto failed = compile_text(int(i), texts)) return fail(*failed);
  if (m_request.cuda && !kernels_alone())
    if (std::string routines = th_routines(m_objects, *m_worker.pack); !routines.empty()) {
      texts.push_back(&m_made.emplace_back(k_th_routines, std::move(routines)));
      if (auto failed = compile_text(int(texts.size()) - 1, texts)) return fail(*failed);
    }
  if (lacks_functions()) return fail(Stage::source);

  // 6. Device tables: the device code gets an object of its own.
  add_device_tables();

  // 7. Link.
  if (!link_module()) return fail(Stage::link);
  m_result.ok = true;
  return std::move(m_result);
}

bool Compile::answer_elsewhere() {
  const SourceFile* file = held_text();
  return file && m_worker.held.answer(held_key(*file), encode(*m_asked));
}

std::vector<SourceFile> Compile::slices(std::vector<Diagnostic>& diagnostics) {
  std::vector<SourceFile> all;
  for (const SourceFile& file : m_request.files) {
    HostUnit unit;
    unit.request = &m_request;
    unit.file = &file;
    unit.language = language_of(file, m_request.cuda);
    HostHooks hooks;
    hooks.on_split = [&](DeviceSlice&& slice) {
      for (const KernelUse& kernel : slice.kernels) all.push_back({"kernel " + kernel.name, ""});
      std::move(slice.files.begin(), slice.files.end(), std::back_inserter(all));
    };
    HostResult host = compile_host(unit, make_files(), hooks);
    std::move(host.diagnostics.begin(), host.diagnostics.end(), std::back_inserter(diagnostics));
  }
  return all;
}

bool Compile::is_refused() {
  if (!m_request.cuda || m_request.options.device_compiler != "nvrtc") return false;
  auto refused = refused_features(m_request.files);
  append(refused);
  return !refused.empty();
}

std::vector<const SourceFile*> Compile::chosen_texts() const {
  std::vector<const SourceFile*> chosen;
  for (const SourceFile& file : m_request.files) {
    const bool asked_for = !kernels_alone() || m_request.options.kernels_file.empty() ||
                           m_request.options.kernels_file == file.name;
    if (asked_for) chosen.push_back(&file);
    if (kernels_alone() && !chosen.empty()) break;
  }
  return chosen;
}

std::optional<Stage> Compile::compile_text(int number, std::vector<const SourceFile*>& texts) {
  HostUnit unit;
  unit.request = &m_request;
  unit.file = texts[number];
  unit.language = language_of(*unit.file, m_request.cuda);
  unit.number = number;
  std::unique_ptr<DeviceJob> job;
  std::optional<DeviceJob::Outcome> device;
  // Device code that NVRTC cannot take: Clang starts on it now.
  ClangChoice clang = device_clang_for(unit);

  // 1 to 5, and what the device's compiler makes of the slice of step 4.
  const size_t templates = m_templates.size();
  const auto compile = [&] {
    device.reset();
    job.reset();
    m_templates.erase(m_templates.begin() + std::ptrdiff_t(templates), m_templates.end());
    HostResult host = compile_unit(unit, job, clang);
    if (!job || host.needs_openmp || host.needs_headers) return host;
    if (!m_request.options.cell.empty() && !job->is_done()) m_worker.next_cell.make_ready(m_worker);
    const auto start = Clock::now();
    device = job->finish();
    m_result.timings.emplace_back("wait for device", milliseconds_since(start));
    return host;
  };
  HostResult host = compile();
  // 1 to 5 again, where the text has shown that it needs more than it was compiled with.
  if (host.needs_openmp) {  // a pragma stands in a file on disk
    m_request.options.openmp = true;
    host = compile();
  }
  if (host.needs_headers) {
    m_reads_headers = true;
    host = compile();
  }
  if (host.needs.any()) {
    unit.allowances = host.needs;
    if (HostResult again = compile(); again.ok) host = std::move(again);
  }

  // 2. Parse: what both halves say.
  append(host.diagnostics);
  m_result.cacheable &= !host.volatile_text;
  for (auto& [step, time] : host.timings) m_result.timings.emplace_back(step, time);

  // 3. Exports: what describes a C text is one more text.
  m_has_main |= host.has_main;
  m_has_effects |= host.has_effects;
  if (host.has_main && unit.language == Language::c) texts.push_back(&main_of_c());
  if (!host.exports_of_c.empty())
    texts.push_back(&m_made.emplace_back(unit.file->name + ".exports.cc", std::move(host.exports_of_c)));

  // 4. Split: the device's code.
  const bool invalid = host.invalid || (device && device->invalid);
  const Stage failed = invalid ? Stage::source : host.ok ? Stage::device : Stage::host;
  if (device && !take(std::move(*device), std::move(job), host)) return failed;
  if (!host.ok) return failed;

  // 5. Code: the host's objects.
  m_exported.insert(host.exported.begin(), host.exported.end());
  m_left_out.insert(host.left_out.begin(), host.left_out.end());
  for (std::string& object : host.objects) m_objects.push_back({unit.file->name, std::move(object)});
  return std::nullopt;
}

bool Compile::take(DeviceJob::Outcome device, std::unique_ptr<DeviceJob> job, HostResult& host) {
  // Of a pragma within a kernel the host's compiler has warned already, by its -W name.
  std::erase_if(device.diagnostics, [&](const Diagnostic& one) {
    return one.message == "unrecognized #pragma" &&
           std::ranges::any_of(m_result.diagnostics, [&](const Diagnostic& other) {
             return other.file == one.file && other.line == one.line &&
                    other.message.ends_with("-Wunknown-pragmas]");
           });
  });
  // Both halves read host code.
  std::erase_if(device.diagnostics, [&](const Diagnostic& one) {
    return std::ranges::any_of(m_result.diagnostics, [&](const Diagnostic& other) {
      return other.file == one.file && other.line == one.line && other.column == one.column &&
             other.message == one.message;
    });
  });
  // Of earlier cells their own compiles have warned.
  if (!m_request.options.cell.empty())
    std::erase_if(device.diagnostics, [&](const Diagnostic& one) {
      return one.severity < Severity::error && one.file != m_request.options.cell &&
             std::ranges::any_of(
                 m_request.headers, [&](const SourceFile& earlier) { return earlier.name == one.file; });
    });
  append(device.diagnostics);
  add(device.dependencies);
  for (auto& [step, time] : device.timings) m_result.timings.emplace_back("device " + step, time);
  if (!device.ok) return false;
  device.unit.places = std::move(host.places);
  device.unit.without_host = kernels_alone();
  if (!device.unit.images.empty()) m_units.push_back(std::move(device.unit));
  if (device.header_kernels) m_units.push_back(std::move(*device.header_kernels));
  m_jobs.push_back(std::move(job));
  return true;
}

ClangChoice Compile::device_clang_for(const HostUnit& unit) {
  ClangChoice choice;
  const std::string& wanted = m_request.options.device_compiler;
  if (unit.language != Language::cuda || wanted == "nvrtc") return choice;
  choice.why = m_why_clang.contains(unit.file->name) ? m_why_clang[unit.file->name] : "";
  choice.may_follow = wanted == "auto";
  auto request = std::make_shared<const CompileRequest>(m_request);
  const SourceFile* file = unit.file;
  // As it was asked for: in the text that Clang reads, lambdas are marked as it needs them.
  const auto is_it = [&](const SourceFile& one) { return one.name == file->name && has_device_lambda(one); };
  choice.is_whole = !choice.may_follow || m_request.after_crash ||
                    (!choice.why.empty() && std::ranges::any_of(m_asked->files, is_it));
  choice.compile = [this, request, file](const std::set<std::string>& kernels,
                                         std::function<std::set<std::string>()> left_out,
                                         const std::atomic<bool>* cancelled) {
    return compile_nvptx(
        {request.get(), file, kernels, &m_worker.device_preludes, std::move(left_out)},
        [this] { return make_files(); }, m_parts, cancelled);
  };
  // Of a cell it is known after the host's parse alone that no brace is open, which the device's could not
  // end.
  if (!choice.why.empty() && !kernels_alone() && m_request.options.cell.empty()) choice.start();
  return choice;
}

bool Compile::lacks_functions() {
  if (kernels_alone() || !m_request.options.functions) return false;
  for (const std::string& name : *m_request.options.functions)
    if (!m_exported.count(name)) m_result.missing_functions.push_back(name);
  if (m_result.missing_functions.empty()) return false;
  std::ranges::set_union(m_exported, m_left_out, std::back_inserter(m_result.exportable_functions));
  return true;
}

void Compile::add_device_tables() {
  auto start = Clock::now();
  if (!m_units.empty() || !m_templates.empty())
    m_objects.push_back({"the device code", make_device_tables(m_units, m_templates)});
  m_result.timings.emplace_back("device tables", milliseconds_since(start));
}

bool Compile::link_module() {
  m_worker.next_cell.wait();  // LLD sets LLVM's options
  auto start = Clock::now();
  LinkResult linked = link(
      m_request, std::move(m_objects),
      {.cuda = m_request.cuda, .has_main = m_has_main, .has_effects = m_has_effects, .home = m_worker.home});
  m_result.timings.emplace_back("link", milliseconds_since(start));
  m_worker.usable &= linked.can_link_again;
  append(linked.diagnostics);
  add(linked.dependencies);
  m_result.module = std::move(linked.module);
  return linked.ok;
}

HostResult Compile::compile_unit(HostUnit& unit, std::unique_ptr<DeviceJob>& job, const ClangChoice& clang) {
  // 1. Prelude. Behind it, the leading includes may be there as well, parsed by another process.
  auto start = Clock::now();
  m_worker.next_cell.wait();  // it reads what is known of preludes
  Prelude prelude = m_worker.preludes.find_or_make(m_request, *unit.file, unit.language, m_parts,
                                                   [&] { return make_files(); });
  unit.prelude.clear();
  unit.settled.clear();
  unit.covered = 0;
  unit.leading = std::nullopt;
  unit.begun.clear();
  unit.headers = nullptr;
  const bool may_hold = unit.file == held_text();
  const Prelude below = prelude;
  if (may_hold && !m_reads_headers)
    if (Prelude leading = m_worker.preludes.find_leading(m_request, *unit.file, *m_leading, below, m_parts);
        leading.top)
      prelude = std::move(leading);
  static constexpr const char* k_origins[] = {"prelude", "prelude shipped", "prelude kept", "prelude made",
                                              "leading includes kept"};
  m_result.timings.emplace_back(k_origins[prelude.origin], milliseconds_since(start));
  if (prelude.needs_openmp) return {.needs_openmp = true};
  use_prelude(prelude, unit);

  // 2. Parse. Behind the leading includes it may be held, for the sources to come, or written.
  HostHooks hooks;
  ChildWriter writer;
  bool is_heavy = false;
  const std::optional<Digest> leading =
      may_hold && !m_reads_headers
          ? m_worker.preludes.family_of_leading(m_request, *unit.file, *m_leading, below)
          : std::nullopt;
  const bool reads_leading = may_hold && !unit.headers && !unit.allowances.any();
  unit.writes_leading = leading && reads_leading;
  std::unique_ptr<HostClang> host = clang_for(unit, prelude);
  const llvm::IntrusiveRefCntPtr<SourceFileSystem> own_files = host->files();
  SourceFileSystem& files = *own_files;
  const bool is_cell = !m_request.options.cell.empty();
  if (is_cell) m_worker.next_cell.expect(*m_asked, prelude, unit.language == Language::cxx, m_worker);
  if (reads_leading) {
    unit.leading = m_leading->end;
    unit.begun = m_leading->begun;
    hooks.on_leading = [&](const LeadingParse& parse) {
      is_heavy = milliseconds_since(start) >= m_request.hold_after_ms;
      if (!is_heavy) return false;
      if (hold_parse(unit, files, parse)) return true;
      if (unit.writes_leading && m_worker.held.has_any())
        write_leading(parse, files, below, *leading, writer);
      return false;
    };
  }

  // 3. Exports. They need nothing of what a worker keeps.

  // 4. Split. The device's compiler starts with the slice.
  hooks.on_split = [&](DeviceSlice&& slice) {
    if (!slice.templates.empty() && unit.file->name != k_th_routines)
      m_templates.push_back({unit.file->name, std::move(slice.templates)});
    if (!slice.empty() || slice.has_header_kernels || !clang.why.empty())
      if (m_worker.public_headers.empty()) m_worker.public_headers = public_device_headers(*m_worker.pack);
    job = std::make_unique<DeviceJob>(m_request, *m_worker.pack, m_worker.public_headers, std::move(slice),
                                      unit.number, m_worker.device, m_parts, clang);
  };

  // 5. Code, unless the cache has objects of the same host text.
  hooks.find_objects = [&](const Digest& text) -> std::optional<std::vector<std::string>> {
    const auto bytes = m_parts.find(PartKind::host, text);
    return bytes ? objects_from(*bytes) : std::nullopt;
  };
  hooks.keep_objects = [&](const Digest& text, const std::vector<std::string>& objects) {
    m_parts.keep(PartKind::host, text, to_bytes(objects));
  };

  HostResult result = host->compile(unit, hooks);
  // A cell's answer does not wait until Clang has given back what it took, unless that is much.
  if (!is_cell || is_heavy) host.reset();
  // The text is parsed once more then, and may be parsed on top of them.
  if (!result.ok && !result.needs.any()) writer.cancel();
  if (leading) keep_leading(writer, *leading);
  // It took a gigabyte. A client lets go of a worker that keeps too much, and with it of its held parses.
  if (is_heavy && m_worker.held.has_any()) ::malloc_trim(0);
  unit.macros = nullptr;
  result.diagnostics.insert(result.diagnostics.end(), prelude.warnings.begin(), prelude.warnings.end());
  add(files.dependencies());
  if (host) m_worker.next_cell.spend(std::move(host), std::move(prelude));
  return result;
}

std::unique_ptr<HostClang> Compile::clang_for(const HostUnit& unit, const Prelude& prelude) {
  if (const auto key = key_of_begun(unit, prelude))
    if (auto begun = m_worker.next_cell.take(*key)) {
      add_texts(*begun->files());
      begun->files()->inherit(prelude.absent);
      return begun;
    }
  return std::make_unique<HostClang>(unit, files_behind(prelude));
}

std::unique_ptr<HostClang> Compile::begin_host(const Prelude& prelude, Digest& key) {
  HostUnit unit;
  unit.request = &m_request;
  unit.file = &m_request.files.front();
  unit.language = language_of(*unit.file, m_request.cuda);
  use_prelude(prelude, unit);
  const auto found = key_of_begun(unit, prelude);
  auto files = make_files();
  if (!found || !reaches(*files, prelude)) return nullptr;
  key = *found;
  add_prelude(prelude, *files);
  auto begun = std::make_unique<HostClang>(unit, std::move(files));
  return begun->begin() ? std::move(begun) : nullptr;
}

// A file that lies elsewhere, a worker may have to ask its client for.
bool Compile::reaches(const SourceFileSystem& files, const Prelude& prelude) {
  for (const PreludeLayer* layer = prelude.top.get(); layer; layer = layer->base.get())
    if (!files.reaches(layer->dependencies)) return false;
  return true;
}

std::optional<Digest> Compile::key_of_begun(const HostUnit& unit, const Prelude& prelude) const {
  if (m_request.options.cell.empty() || unit.number != 0 || unit.writes_leading || unit.headers ||
      has_long_word(m_request))
    return std::nullopt;
  Hasher hasher("tarsia begun");
  for (const std::string& argument :
       clang_arguments(m_request, unit.language, main_path_of(*unit.file), unit.prelude))
    hasher.field(argument);
  hasher.field(std::uint64_t(reinterpret_cast<std::uintptr_t>(prelude.top.get())));
  for (const std::string& root : readable_roots(m_request)) {
    struct stat status;  // Clang forgets the folders that are not there when it begins
    hasher.field(root).field(std::uint64_t(::stat(root.c_str(), &status) == 0));
  }
  for (const std::string& folder : m_request.cuda_parts.include_dirs) hasher.field(folder);
  return hasher.field(std::uint64_t(m_marks_lambdas))
      .field(std::uint64_t(!unit.file->debug_lines.empty()))
      .field(std::uint64_t(keeps_lines(m_request.options)))
      .finish();
}

void Compile::add_prelude(const Prelude& prelude, SourceFileSystem& files) {
  if (!prelude.top) return;
  prelude.top->add_to(files);
  files.inherit(prelude.absent);
  for (const PreludeLayer* layer = prelude.top.get(); layer; layer = layer->base.get())
    files.find_again(layer->dependencies);
}

llvm::IntrusiveRefCntPtr<SourceFileSystem> Compile::files_behind(const Prelude& prelude) const {
  auto files = make_files();
  add_prelude(prelude, *files);
  return files;
}

void Compile::use_prelude(const Prelude& prelude, HostUnit& unit) {
  if (!prelude.top) return;
  unit.prelude = prelude_path(prelude.top->depth);
  unit.covered = prelude.covered;
  unit.macros = &prelude.macros;
  unit.settled = prelude.top->settled();
  unit.headers = prelude.top->headers;
}

CompileResult Compile::complete() {
  HostUnit unit;
  unit.request = &m_request;
  unit.file = &m_request.files.front();
  unit.language = language_of(*unit.file, m_request.cuda);
  const Prelude prelude = m_worker.preludes.find_or_make(m_request, *unit.file, unit.language, m_parts,
                                                         [&] { return make_files(); });
  use_prelude(prelude, unit);
  Completions found = complete_host(unit, files_behind(prelude));
  m_result.typed = std::move(found.typed);
  m_result.completions = std::move(found.completions);
  return fail(Stage::host);  // there is no module
}

void Compile::add_texts(SourceFileSystem& files) const {
  const auto add = [&](const std::vector<SourceFile>& group, const std::vector<SourceFile>& originals) {
    for (size_t i = 0; i < group.size(); ++i)
      files.add_text(std::string(k_source_dir) + "/" + group[i].name, group[i].text, originals[i].text);
  };
  add(m_request.files, m_asked->files);
  add(m_request.headers, m_asked->headers);
}

llvm::IntrusiveRefCntPtr<SourceFileSystem> Compile::make_files() const {
  auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(m_worker.pack);
  add_texts(*files);
  for (const HostHeader& header : host_headers())
    files->add_text(std::string(k_host_headers_dir) + "/" + header.name, header.text);
  for (const std::string& root : readable_roots(m_request)) files->allow_root(root);
  files->set_cuda_dirs(m_request.cuda_parts.include_dirs);
  if (m_request.cuda) files->edit_real(m_marks_lambdas ? &edit_header_for_clang : &edit_header);
  return files;
}

void Compile::append(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    diagnostic.file = real_cuda_path(diagnostic.file, m_request.cuda_parts.include_dirs);
    m_result.diagnostics.push_back(std::move(diagnostic));
  }
}

void Compile::add(const std::vector<Dependency>& dependencies) {
  for (const Dependency& dependency : dependencies)
    if (m_seen.insert(dependency.path).second) m_result.dependencies.push_back(dependency);
}

CompileResult Compile::fail(Stage stage) {
  m_result.ok = false;
  m_result.stage = stage;
  return std::move(m_result);
}

}  // namespace tarsia::jit
