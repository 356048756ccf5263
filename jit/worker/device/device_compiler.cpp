// Compiles plans by NVRTC: the light one first, then the full one if something left out may be to blame.
#include "jit/worker/device/device_compiler.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/cuda/cubin.h"
#include "base/error.h"
#include "base/figures/elapsed.h"
#include "jit/worker/device/diagnostic_list.h"
#include "jit/worker/device/nvrtc_includes.h"
#include "jit/worker/device/nvrtc_log.h"
#include "jit/worker/device/nvrtc_source.h"
#include "jit/worker/device/ptxas_log.h"

namespace tarsia::jit {
namespace {

using Clock = std::chrono::steady_clock;
using Status = NvrtcOutput::Status;

/// "sm_90a" → 90; 0 if the text is no architecture.
int number_of(const std::string& arch) {
  if (!arch.starts_with("sm_")) return 0;
  size_t digits = 3;
  int number = 0;
  for (; digits < arch.size() && arch[digits] >= '0' && arch[digits] <= '9' && number < 10000; ++digits)
    number = 10 * number + (arch[digits] - '0');
  const std::string rest = arch.substr(digits);
  return rest.empty() || rest == "a" || rest == "f" ? number : 0;
}

/// Names it from the global namespace on, so that `using namespace std` makes no name ambiguous: "f<int>" →
/// "::f<int>".
std::string qualified(const std::string& expression) {
  const bool address = expression.starts_with('&');
  const std::string name = expression.substr(address);
  if (name.empty() || name.starts_with(':') || name.starts_with('(') || name.starts_with("static_cast"))
    return expression;
  return (address ? "&::" : "::") + name;
}

std::string known_architectures(const Nvrtc& nvrtc) {
  std::string list;
  for (int arch : nvrtc.architectures()) list += (list.empty() ? "sm_" : ", sm_") + std::to_string(arch);
  return list;
}

std::vector<const std::string*> names_of(const DeviceRequest& request) {
  std::vector<const std::string*> names = {&request.main.name};
  for (const SourceFile& header : request.headers) names.push_back(&header.name);
  return names;
}

/// What line information calls the main text: a file that profilers and debuggers can open.
std::string path_of_main(const DeviceRequest& request) {
  return request.source_dir + "/" + request.main.name;
}

/// The main text, which says where its copy is if there is one.
///
/// Work-around: NVRTC writes paths into PTX as they are.
/// Trigger: a quotation mark or backslash in the path of the cache. Symptom: ptxas refuses the PTX. There,
/// line information names the text alone. Removal: NVRTC escapes them.
std::string text_with_path(const DeviceRequest& request, const DevicePlan& plan) {
  const std::string path = path_of_main(request);
  if (request.source_dir.empty() || path.find_first_of("\"\\\n") != path.npos) return plan.text;
  return "#line 1 \"" + path + "\"\n" + plan.text;
}

/// Whether a message may come from a declaration that the light plan left out.
bool may_be_missing(const Diagnostic& diagnostic, const DeviceRequest& request) {
  if (diagnostic.severity < Severity::error) return false;
  if (diagnostic.message.find("tarsia_no_curand_tables") != std::string::npos) return true;
  const std::vector<const std::string*> names = names_of(request);
  if (std::none_of(names.begin(), names.end(),
                   [&](const std::string* name) { return *name == diagnostic.file; }))
    return !diagnostic.file.empty();
  for (std::string_view words :
       {"undefined", "has no member", "incomplete", "no instance of", "not a template", "no operator",
        "not a class", "must be a class", "not declared", "#error"})
    if (diagnostic.message.find(words) != std::string::npos) return true;
  return false;
}

/// Whether a function of the 16-bit types was not found. The headers' own functions are then asked for.
///
/// Work-around: NVRTC lacks conversions of the 16-bit floats.
/// Trigger: device code converts one to char, long or unsigned long. Seen with NVRTC 13.0 to 13.3.
/// Symptom: "Unresolved extern function", as the functions precompiled inside of NVRTC are without these.
/// Removal: an NVRTC that has them is the oldest that is supported.
bool lacks_conversion(const std::string& log) {
  constexpr std::string_view k_words = "Unresolved extern function '";
  const size_t at = log.find(k_words);
  if (at == log.npos) return false;
  const std::string_view symbol = std::string_view(log).substr(at + k_words.size());
  return symbol.starts_with("_ZNK6__half") || symbol.starts_with("_ZNK13__nv_bfloat16");
}

/// The option that this NVRTC does not know, taken from its log.
std::string refused_option(const std::string& log) {
  constexpr std::string_view k_words = "unrecognized option ";
  const size_t at = log.find(k_words);
  if (at == log.npos) return {};
  const size_t begin = at + k_words.size();
  return log.substr(begin, log.find_first_of(" \n", begin) - begin);
}

std::string without_any_blank(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != ' ') result += c;
  return result;
}

/// NVRTC's messages about expressions that it could not name use its own terms. This uses the user's text.
void explain_names(const DeviceRequest& request, std::vector<Diagnostic>& diagnostics) {
  constexpr std::string_view k_file = "__nv_name_map", k_input = "Input name expression was: \"";
  std::vector<Diagnostic> kept;
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.file != k_file) {
      kept.push_back(std::move(diagnostic));
      continue;
    }
    const size_t at = diagnostic.message.find(k_input);
    if (at == std::string::npos) continue;
    std::string input = diagnostic.message.substr(at + k_input.size());
    input = without_any_blank(input.substr(0, input.rfind('"')));
    for (const std::string& expression : request.expressions)
      if (without_any_blank(qualified(expression)) == input) input = expression;
    kept.push_back(error_of(
        request.main, "'" + input + "', which host code refers to, is no kernel or variable in device code"));
  }
  diagnostics = std::move(kept);
}

/// The part of the plan's texts that a precompiled header of its prefix would hold, without the options.
void hash_prefix(Hasher& hasher, const DeviceRequest& request, const DevicePlan& plan) {
  std::map<std::string, const SourceFile*> users;
  for (const SourceFile& header : request.headers) users[normal_path(header.name)] = nullptr;
  for (const SourceFile& header : plan.headers) {
    auto found = users.find(header.name);
    if (found == users.end())
      hasher.field(header.name).field(header.text);
    else
      found->second = &header;
  }
  hasher.field(plan.prefix);
  std::vector<std::string_view> work = {plan.prefix};
  while (!work.empty()) {
    const std::string_view text = work.back();
    work.pop_back();
    for (const IncludeLine& line : scan_includes(text)) {
      auto found = users.find(line.name);
      if (found == users.end() || !found->second) continue;
      hasher.field(line.name).field(found->second->text);
      work.push_back(found->second->text);
      users.erase(found);
    }
  }
  for (const Dependency& dependency : plan.dependencies) hasher.field(dependency.content);
}

/// Nobody needs warnings about the headers of CUDA and Tarsia.
void drop_foreign_warnings(const DeviceRequest& request, std::vector<Diagnostic>& diagnostics) {
  bool dropped = false;  // the message before, and with it the notes that belong to it
  std::erase_if(diagnostics, [&](const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::note && dropped) return true;
    dropped = diagnostic.severity == Severity::warning && diagnostic.file.starts_with("tarsia/");
    for (const std::string& dir : request.cuda.include_dirs)
      dropped |= diagnostic.severity == Severity::warning && diagnostic.file.starts_with(dir + "/");
    return dropped;
  });
}

}  // namespace

void DeviceCompiler::leave_out_refused(std::vector<std::string>& options) const {
  std::erase_if(options, [&](const std::string& option) {
    return std::any_of(m_refused_options.begin(), m_refused_options.end(), [&](const std::string& refused) {
      return option == refused || option.starts_with(refused + "=");
    });
  });
}

NvrtcOutput DeviceCompiler::run(const Nvrtc& nvrtc, const DeviceRequest& request, const DevicePlan& plan,
                                const std::string& arch, const std::atomic<bool>* cancelled) {
  NvrtcJob job{.name = request.main.name,
               .text = text_with_path(request, plan),
               .headers = plan.headers,
               .options = plan.options,
               .cancelled = cancelled};
  for (const std::string& expression : request.expressions) job.expressions.push_back(qualified(expression));
  job.options.push_back("-arch=" + arch);
  job.options.push_back("--ptxas-options=-v");  // for spills_of()
  leave_out_refused(job.options);
  // A precompiled header fits only texts that begin as it does.
  NvrtcOutput output = plan.heavy_prefix && request.source_dir.empty()
                           ? run_with_headers(nvrtc, request, plan, job)
                           : nvrtc.compile(job);
  if (output.status == Status::failed && lacks_conversion(output.log)) {
    for (const char* name : {"FP16_HPP_FROM_FP16_H__", "BF16_HPP_FROM_BF16_H__"})
      job.options.push_back(std::string("-D__FORCE_INCLUDE_CUDA_") + name);
    output = nvrtc.compile(job);
  }
  while (output.status ==
         Status::bad_option) {  // an older NVRTC: all options that it may not know can be spared
    const std::string refused = refused_option(output.log);
    const size_t before = job.options.size();
    if (!refused.empty()) m_refused_options.push_back(refused.substr(0, refused.find('=')));
    leave_out_refused(job.options);
    if (job.options.size() == before) break;
    output = nvrtc.compile(job);
  }
  // Messages name the text as the user does.
  if (const std::string path = path_of_main(request); !request.source_dir.empty())
    for (std::size_t at; (at = output.log.find(path)) != std::string::npos;)
      output.log.replace(at, path.size(), request.main.name);
  return output;
}

NvrtcOutput DeviceCompiler::run_with_headers(const Nvrtc& nvrtc, const DeviceRequest& request,
                                             const DevicePlan& plan, NvrtcJob& job) {
  std::unique_ptr<NvrtcPch>& pch = m_pch[request.cuda.nvrtc];
  if (!pch) pch = std::make_unique<NvrtcPch>(nvrtc);
  Hasher hasher("tarsia device prefix");
  hasher.field(job.options.size());
  for (const std::string& option : job.options) hasher.field(option);
  hash_prefix(hasher, request, plan);
  const Digest key = hasher.finish();

  const std::string ready = pch->find(key);
  if (ready.empty()) {
    // Work-around: NVRTC sees the end of a precompiled header only where something follows.
    // Trigger: a text of directives alone. Symptom: NVRTC does not see where they end. Removal: it does.
    m_next_header =
        std::make_unique<Header>(Header{.pch = pch.get(),
                                        .key = key,
                                        .job = {.name = job.name,
                                                .text = plan.prefix + "\nstatic_assert(true, \"\");\n",
                                                .options = job.options},
                                        .texts = plan.headers});
    return nvrtc.compile(job);
  }
  job.options.push_back("-use-pch=" + ready);
  NvrtcOutput output = nvrtc.compile(job);
  job.options.pop_back();
  if (output.log.find("precompiled header") == std::string::npos &&
      output.log.find("PCH") == std::string::npos) {
    ++m_headers_used;
    return output;
  }
  pch->drop(key);  // it did not fit after all
  return nvrtc.compile(job);
}

// Work-around: NVRTC places errors of inline assembly in its PTX alone.
// Trigger: ptxas refuses the user's PTX. Symptom: the message tells a line of the PTX, none of the source.
// Removal: NVRTC tells the source's line.
void DeviceCompiler::place_ptxas_errors(const Nvrtc& nvrtc, const DeviceRequest& request,
                                        const DevicePlan& plan, const std::string& arch,
                                        std::vector<Diagnostic>& diagnostics) {
  if (ptxas_lines(diagnostics).empty()) return;
  // Compiles once more with line information, for the lines in the PTX's messages and for that PTX itself.
  NvrtcJob job{
      .name = request.main.name, .text = plan.text, .headers = plan.headers, .options = plan.options};
  if (!keeps_lines(request)) job.options.push_back(k_line_option);
  leave_out_refused(job.options);
  for (const std::string& expression : request.expressions) job.expressions.push_back(qualified(expression));
  job.options.push_back("-arch=" + arch);
  std::vector<Diagnostic> placed = parse_nvrtc_log(nvrtc.compile(job).log);
  job.options.back() = "-arch=compute_" + arch.substr(3);
  const NvrtcOutput output = nvrtc.compile(job);
  if (output.status != Status::ok) return;
  for (const PtxasMessage& message : ptxas_lines(placed)) {
    Diagnostic& diagnostic = placed[message.diagnostic];
    const Diagnostic place = source_of_ptx_line(output.ptx, message.ptx_line);
    if (place.line == 0) continue;
    diagnostic.line = place.line;
    diagnostic.column = place.column;
    diagnostic.file = place.file;
    for (const std::string* name : names_of(request))
      if (place.file == *name || place.file.ends_with("/" + *name)) diagnostic.file = *name;
    diagnostic.message = "ptxas: " + diagnostic.message.substr(diagnostic.message.find(": ") + 2);
  }
  diagnostics = std::move(placed);
}

DeviceResult DeviceCompiler::compile(const DeviceRequest& request, const DevicePlan& light,
                                     const std::atomic<bool>* cancelled) {
  DeviceResult result;
  result.dependencies = light.dependencies;
  result.diagnostics = light.refused;
  result.invalid = light.invalid;
  if (!light.refused.empty()) return result;
  auto start = Clock::now();
  const Nvrtc& nvrtc = Nvrtc::open(request.cuda.nvrtc);
  if (double time = milliseconds_since(start); time > 0.1) result.timings.emplace_back("nvrtc open", time);

  for (const std::string& arch : request.archs) {
    const auto& known = nvrtc.architectures();
    if (std::find(known.begin(), known.end(), number_of(arch)) == known.end()) {
      result.diagnostics.push_back(
          error_of(request.main, "architecture '" + arch + "' is not known to NVRTC " +
                                     std::to_string(nvrtc.major()) + "." + std::to_string(nvrtc.minor()) +
                                     ", which makes code for " + known_architectures(nvrtc)));
      return result;
    }
  }

  DevicePlan full;
  const DevicePlan* plan = &light;
  NvrtcOutput last;
  for (size_t i = 0; i < request.archs.size(); ++i) {
    const std::string& arch = request.archs[i];
    start = Clock::now();
    NvrtcOutput output = run(nvrtc, request, *plan, arch, cancelled);
    std::vector<Diagnostic> diagnostics = parse_nvrtc_log(without_figures(output.log));
    if (output.status == Status::failed && plan == &light &&
        std::any_of(diagnostics.begin(), diagnostics.end(),
                    [&](const Diagnostic& d) { return may_be_missing(d, request); })) {
      full = plan_device(request, PlanKind::full);
      plan = &full;
      result.keyed = false;
      result.dependencies = full.dependencies;
      output = run(nvrtc, request, full, arch, cancelled);
      diagnostics = parse_nvrtc_log(without_figures(output.log));
    }
    result.timings.emplace_back("nvrtc " + arch, milliseconds_since(start));
    if (output.status == Status::cancelled) {
      result.diagnostics.clear();
      return result;
    }
    if (output.status == Status::out_of_memory) throw std::bad_alloc();
    explain_names(request, diagnostics);
    drop_foreign_warnings(request, diagnostics);
    if (output.status != Status::ok) {
      place_ptxas_errors(nvrtc, request, *plan, arch, diagnostics);
      if (!has_errors(diagnostics))
        diagnostics.push_back(
            error_of(request.main, "NVRTC failed: " + output.status_text +
                                       (output.log.empty() ? "" : ": " + without_figures(output.log))));
      append_new(result.diagnostics, std::move(diagnostics));
      return result;
    }
    append_new(result.diagnostics, std::move(diagnostics));
    append_new(result.diagnostics, spills_of(output.log, request.main.name, arch));
    if (!is_cubin(output.cubin)) {
      result.diagnostics.push_back(error_of(request.main, "NVRTC gave no device code for " + arch));
      return result;
    }
    if (i == 0) {
      result.lowered = output.lowered;
      if (!request.managed.empty()) {
        const std::vector<CubinSymbol> symbols = cubin_symbols(output.cubin);
        for (const std::string& name : request.managed)
          result.managed.push_back(find_variable(symbols, name));
      }
    }
    result.images.push_back({arch, std::move(output.cubin)});
    last = std::move(output);
  }
  if (request.ptx && !request.archs.empty())
    result.images.push_back({"compute_" + request.archs.back().substr(3), std::move(last.ptx)});
  result.ok = true;
  return result;
}

void DeviceCompiler::warm_up(const std::string& path) {
  if (path.empty() || m_warm_up.valid()) return;
  m_warm_up = std::async(std::launch::async, [path] {
    try {
      const Nvrtc& nvrtc = Nvrtc::open(path);
      nvrtc.compile({.name = "warm_up.cu",
                     .text = "__global__ void k(float* x) { x[threadIdx.x] *= 2; }",
                     .options = {"--gpu-architecture=sm_" + std::to_string(nvrtc.architectures().back())}});
    } catch (const std::exception&) {
    }
  });
}

void DeviceCompiler::precompile_headers() {
  if (!m_next_header) return;
  std::unique_ptr<Header> header = std::move(m_next_header);
  header->job.headers = header->texts;
  header->pch->make(header->key, std::move(header->job));
}

void DeviceCompiler::forget_child() {
  for (auto& [path, pch] : m_pch) pch->forget_child();
}

void DeviceCompiler::wait_for_headers() {
  for (auto& [path, pch] : m_pch) pch->wait();
}

}  // namespace tarsia::jit
