// The device's half of one translation unit.
//
// Device code is kept as a part of its own, with its warnings, under a key in which the lines that the split
// blanked do not count: an edit of a host function moves kernels to other lines and changes nothing else. The
// lines of a file in which they can be seen count (assert, __LINE__, line information, warnings).
#include "jit/worker/device_job.h"

#include <algorithm>

#include "base/cuda/cubin.h"
#include "base/demangle.h"
#include "base/hash.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "jit/build_id.h"
#include "jit/worker/device/diagnostic_list.h"
#include "jit/worker/device/nvrtc_includes.h"
#include "jit/worker/device/ptx.h"
#include "jit/worker/device_limits.h"
#include "jit/worker/device_part.h"
#include "jit/worker/prelude/leading_text.h"
#include "jit/worker/public_headers.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

// The CUDA C++ Programming Guide asks for the same instances on both sides, under "__CUDA_ARCH__".
Diagnostic never_named(const KernelUse& kernel, const std::string& file) {
  Diagnostic error{.file = file, .severity = Severity::error};
  if (!kernel.location.empty()) set_place(error, kernel.location);
  error.message =
      "host code uses the kernel " + kernel.listed_name +
      ", and device code never names it, so it was not compiled: what names it is left out there, for "
      "instance by #ifndef __CUDA_ARCH__; name it in a text that both see, or let NVRTC compile it "
      "(device_compiler='nvrtc')";
  return error;
}

constexpr std::ptrdiff_t k_errors_that_nvrtc_tells = 100;
constexpr int k_most_rounds_cut_off = 3;
constexpr char k_why_header_kernels[] = "host code launches kernels of headers, which NVRTC cannot compile";

void add_images(DeviceUnit& unit, const std::vector<FatbinEntry>& images) {
  for (const FatbinEntry& image : images) unit.images.push_back({image.arch, image.bytes});
  unit.fatbin =
      images.size() == 1 && !images[0].arch.starts_with("compute_") ? images[0].bytes : make_fatbin(images);
}

// "(void (*)(float *, int))&ns::f": tells overloads apart.
std::string cast_expression(const KernelUse& kernel) {
  clang::PrintingPolicy policy(kernel.function->getASTContext().getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.PrintAsCanonical = true;
  policy.Bool = true;
  std::string text = "(void (*)(";
  for (const clang::ParmVarDecl* parameter : kernel.function->parameters())
    text += (parameter == kernel.function->getParamDecl(0) ? "" : ", ") +
            parameter->getType().getCanonicalType().getAsString(policy);
  return text + "))&" + kernel.name;
}

/// MXNet's extension API as device code sees it. cuRAND, which is dear, only where its states are named.
void add_mxnet_headers(const DeviceSlice& slice, const SysrootPack& pack, std::vector<SourceFile>& headers) {
  const auto types = pack.find(std::string(k_include_dir) + "/tarsia/mxnet/device.h");
  if (!types) return;
  headers.push_back({"tarsia/mxnet/device.h", std::string(*types)});
  std::string text = "#pragma once\n#include <tarsia/mxnet/device.h>\n";
  const bool random = std::any_of(slice.files.begin(), slice.files.end(), [](const SourceFile& file) {
    return file.text.find("mx_gpu_rand_t") != std::string::npos;
  });
  if (random)
    text +=
        "#include <curand_kernel.h>\n"
        "namespace mxnet { namespace ext { typedef curandStatePhilox4_32_10_t mx_gpu_rand_t; } }\n";
  for (const std::string name : {"mxnet/lib_api.h", "lib_api.h"}) {
    const bool global = name == "lib_api.h";
    const bool users = std::any_of(headers.begin(), headers.end(),
                                   [&](const SourceFile& header) { return header.name == name; });
    if (!users) headers.push_back({name, text + (global ? "using namespace mxnet::ext;\n" : "")});
  }
}

}  // namespace

DeviceJob::DeviceJob(const CompileRequest& request, const SysrootPack& pack,
                     const std::vector<SourceFile>& public_headers, DeviceSlice slice, int number,
                     DeviceCompiler& compiler, PartStore& parts, ClangChoice clang)
    : m_request(request),
      m_pack(pack),
      m_public_headers(public_headers),
      m_slice(std::move(slice)),
      m_number(number),
      m_compiler(compiler),
      m_parts(parts),
      m_clang(std::move(clang)) {
  // Expressions need the AST, which belongs to the caller's thread.
  for (KernelUse& kernel : m_slice.kernels)
    if (kernel.overloaded) kernel.name = cast_expression(kernel);
  m_outcome = std::async(std::launch::async, [this] { return run(); });
}

DeviceJob::~DeviceJob() {
  m_cancelled = true;
  m_clang.cancel();
  if (m_outcome.valid()) m_outcome.wait();
}

DeviceRequest DeviceJob::make_request() const {
  DeviceRequest request;
  for (const SourceFile& file : m_slice.files) {
    if (file.name == m_slice.main_file) {
      request.main = file;
      continue;
    }
    request.headers.push_back({name_below(m_request.options.include_dirs, file.name), file.text});
  }
  request.headers.insert(request.headers.end(), m_public_headers.begin(), m_public_headers.end());
  add_mxnet_headers(m_slice, m_pack, request.headers);
  static_cast<CompileOptions&>(request) = m_request.options;
  request.source_dir = m_request.source_dir;
  request.cuda = m_request.cuda_parts;
  for (const KernelUse& kernel : m_slice.kernels)
    if (!kernel.extern_c) request.expressions.push_back(kernel.name);
  request.ptx |= has_foreign_variables();
  if (kernels_alone()) return request;
  for (const DeviceVariable& variable : m_slice.variables) {
    if (variable.managed)
      request.managed.push_back(variable.name);
    else
      request.expressions.push_back("&" + variable.name);
  }
  return request;
}

// Blanks, in the request's texts, the doubts in which errors lie. False if there are none.
bool DeviceJob::leave_out_refused_doubts(const std::vector<Diagnostic>& diagnostics,
                                         std::vector<Doubt>& doubts, DeviceRequest& request) const {
  const size_t before = doubts.size();
  std::erase_if(doubts, [&](const Doubt& doubt) {
    const std::string name = name_below(m_request.options.include_dirs, doubt.file);
    if (std::none_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
          return is_error(d) && d.file == name && d.line >= doubt.first_line && d.line <= doubt.last_line;
        }))
      return false;
    auto blank = [&](SourceFile& file) {
      if (file.name != name) return;
      for (auto [begin, end] : doubt.ranges)
        for (uint32_t i = begin; i < end && i < file.text.size(); ++i)
          if (file.text[i] != '\n' && file.text[i] != '\r') file.text[i] = ' ';
    };
    blank(request.main);
    for (SourceFile& header : request.headers) blank(header);
    return true;
  });
  return doubts.size() < before;
}

DeviceResult DeviceJob::compile(DeviceRequest request, const DevicePlan& plan) {
  DeviceResult result = m_compiler.compile(request, plan, &m_cancelled);
  if (result.ok || m_cancelled) return result;
  std::vector<Doubt> doubts = m_slice.doubts;
  std::vector<Diagnostic> diagnostics = result.diagnostics;
  // NVRTC stops at its hundredth error. A text with several hundred is none that it takes in the end.
  const auto is_cut_off = [&] {
    return std::ranges::count_if(diagnostics, is_error) >= k_errors_that_nvrtc_tells;
  };
  int rounds_cut_off = is_cut_off();
  if (rounds_cut_off && m_clang.may_follow && !kernels_alone()) m_clang.start();  // it may well be needed
  while (leave_out_refused_doubts(diagnostics, doubts, request)) {
    DeviceResult other = m_compiler.compile(request, plan_device(request), &m_cancelled);
    other.timings.insert(other.timings.begin(), result.timings.begin(), result.timings.end());
    if (other.ok || m_cancelled) return other;
    diagnostics = std::move(other.diagnostics);
    result.timings = std::move(other.timings);
    rounds_cut_off += is_cut_off();
    if (m_clang.may_follow && rounds_cut_off > k_most_rounds_cut_off) break;
  }
  return result;  // with the messages about the text as it is
}

// Whether kernels that were compiled apart from their library would notice that they have another variable.
bool DeviceJob::is_shared(const DeviceVariable& variable) {
  return !variable.read_only || variable.managed;
}

// Variables that another module has, too: those of the library, if its kernels are compiled apart from it,
// and those of a session's earlier cells.
bool DeviceJob::has_foreign_variables() const {
  return !m_request.options.kernels_to_read &&
         ((kernels_alone() && std::ranges::any_of(m_slice.variables, is_shared)) ||
          std::ranges::any_of(m_slice.earlier_variables, is_shared));
}

// Refuses kernels that use such variables, of which they would have their own. The PTX tells.
bool DeviceJob::check_variables(const std::string& ptx, const std::vector<std::string>& kernels,
                                Outcome& outcome) const {
  const std::set<std::string> used = names_reached(ptx, kernels);
  const auto names = [](const std::set<std::string>& some, const DeviceVariable& variable) {
    return is_shared(variable) && std::ranges::any_of(some, [&](const std::string& name) {
             return is_name_of(name, variable.listed_name);
           });
  };
  const auto refuse = [&](const std::string& place, std::string message) {
    Diagnostic diagnostic;
    set_place(diagnostic, place);
    diagnostic.message = std::move(message);
    outcome.diagnostics.push_back(std::move(diagnostic));
    outcome.ok = false;
  };
  for (const DeviceVariable& variable : m_slice.variables)
    if (kernels_alone() && names(used, variable))
      refuse(variable.location,
             "the variable '" + variable.listed_name + "' is used by " + m_slice.kernels.front().listed_name +
                 ", which is compiled apart from its library and would have a variable of its own; name "
                 "the instantiation in the source, \"template __global__ void " +
                 m_slice.kernels.front().listed_name + "(...);\", and it is compiled with the library");
  for (const DeviceVariable& variable : m_slice.earlier_variables) {
    if (!names(used, variable)) continue;
    const auto kernel = std::ranges::find_if(m_slice.kernels, [&](const KernelUse& one) {
      return names(names_reached(ptx, {kernels[std::size_t(&one - m_slice.kernels.data())]}), variable);
    });
    if (kernel == m_slice.kernels.end()) continue;
    refuse(kernel->location, "kernel '" + kernel->listed_name + "' uses '" + variable.listed_name + "' (" +
                                 variable.location +
                                 "), a variable of an earlier cell in the GPU's memory. The kernels of each "
                                 "cell have their own: define it together with the kernels that use it");
  }
  return outcome.ok;
}

// ptxas names symbols; their kernels have places.
void DeviceJob::place_spills(std::vector<Diagnostic>& diagnostics) const {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.line != 0 || diagnostic.severity != Severity::warning) continue;
    const auto is_meant = [&](const KernelUse& kernel) {
      return diagnostic.message.starts_with(readable_symbol(kernel.mangled) + " lacks registers");
    };
    const auto kernel = std::ranges::find_if(m_slice.kernels, is_meant);
    if (kernel != m_slice.kernels.end())
      set_place(diagnostic, kernel->location);
    else if (diagnostic.message.find(" lacks registers on ") != std::string::npos)
      diagnostic.severity = Severity::note;  // of a header's kernel, or of a function: it has no place
  }
}

// Messages name the slice's files as the user does.
void DeviceJob::name_files(std::vector<Diagnostic>& diagnostics) const {
  for (Diagnostic& diagnostic : diagnostics)
    for (const SourceFile& file : m_slice.files)
      if (file.name != m_slice.main_file &&
          diagnostic.file == name_below(m_request.options.include_dirs, file.name)) {
        diagnostic.file = file.name;
        break;
      }
}

DeviceResult DeviceJob::kept_or_compiled(const DeviceRequest& request, const DevicePlan& plan, bool& reused) {
  // The plan's own key covers all but holds lines. These are of the same things without those that nobody
  // sees: of files in which no line can be seen, and of those of which no message tells a line.
  const ShownLines shown(m_request, m_slice);
  std::set<std::string> lineless;  // files whose lines do not count in the first key
  const auto key_of = [&](bool with_lines) {
    DeviceRequest asked = request;
    const auto condense = [&](SourceFile& file) {
      const bool lines = with_lines || shown.of(file.text);
      if (!lines) lineless.insert(file.name);
      file.text = condensed(file.text, lines);
    };
    condense(asked.main);
    for (SourceFile& header : asked.headers) condense(header);
    return Hasher("tarsia device part")
        .field(build_id())
        .field(std::uint64_t(with_lines))
        .field(plan_device(asked).key)
        .finish();
  };
  const Digest key = key_of(/*with_lines=*/false), key_with_lines = key_of(/*with_lines=*/true);

  const auto kept = [&](const Digest& one) -> std::optional<DeviceResult> {
    const auto bytes = m_parts.find(PartKind::device, one);
    return bytes ? from_bytes(*bytes) : std::nullopt;
  };
  std::optional<DeviceResult> result = kept(key);
  if (!result) result = kept(key_with_lines);
  reused = result.has_value();
  if (result) {
    result->dependencies = plan.dependencies;  // those of this place, with the same contents
    return std::move(*result);
  }
  try {
    result = compile(request, plan);
  } catch (const std::bad_alloc&) {
    throw;  // no fault of the text's: it ends the worker
  } catch (const std::exception& error) {
    result.emplace();
    Diagnostic diagnostic;
    diagnostic.file = m_slice.main_file;
    diagnostic.message = error.what();
    result->diagnostics.push_back(std::move(diagnostic));
  }
  const bool tells_lines = std::ranges::any_of(result->diagnostics, [&](const Diagnostic& one) {
    return one.line > 0 && lineless.contains(one.file);
  });
  if (result->ok && result->keyed && (keeps_lines(m_request.options) || !names_folder(*result, request)))
    m_parts.keep(PartKind::device, tells_lines ? key_with_lines : key, to_bytes(*result));
  return std::move(*result);
}

void DeviceJob::run_nvrtc(Outcome& outcome) {
  const DeviceRequest request = make_request();
  const DevicePlan plan = plan_device(request);
  DeviceResult result = kept_or_compiled(request, plan, outcome.reused);
  outcome.ok = result.ok;
  outcome.invalid = result.invalid;
  outcome.diagnostics = std::move(result.diagnostics);
  if (!outcome.ok) {
    explain_limits(m_slice, outcome.diagnostics);
    messages().explain(outcome.diagnostics);
  }
  place_spills(outcome.diagnostics);
  name_files(outcome.diagnostics);
  outcome.dependencies = std::move(result.dependencies);
  outcome.timings = std::move(result.timings);
  if (!outcome.ok) return;

  size_t lowered = 0, managed = 0;
  for (const KernelUse& kernel : m_slice.kernels)
    outcome.unit.kernel_symbols.push_back(kernel.extern_c ? kernel.mangled : result.lowered.at(lowered++));
  const auto is_ptx = [](const FatbinEntry& image) { return image.arch.starts_with("compute_"); };
  const auto ptx = std::ranges::find_if(result.images, is_ptx);
  if (has_foreign_variables() && ptx != result.images.end()) {
    if (!check_variables(ptx->bytes, outcome.unit.kernel_symbols, outcome)) return;
    if (!m_request.options.ptx) result.images.erase(ptx);  // nobody asked for it
  }
  for (const DeviceVariable& variable : m_slice.variables) {
    if (kernels_alone()) break;
    outcome.unit.variable_symbols.push_back(variable.managed ? result.managed.at(managed++)
                                                             : result.lowered.at(lowered++));
  }
  add_images(outcome.unit, result.images);
}

void DeviceJob::run_clang(Outcome& outcome, const std::string& why) {
  std::set<std::string> kernels;
  if (kernels_alone())
    for (const KernelUse& kernel : m_slice.kernels) kernels.insert(kernel.mangled);
  NvptxResult result = m_clang.result(kernels, &m_cancelled);
  outcome.ok = result.device.ok;
  outcome.invalid = result.device.invalid;
  outcome.diagnostics = std::move(result.device.diagnostics);
  if (!outcome.ok) explain_limits(m_slice, outcome.diagnostics);
  place_spills(outcome.diagnostics);
  outcome.dependencies = std::move(result.device.dependencies);
  outcome.timings = std::move(result.device.timings);
  if (!outcome.ok) return;
  outcome.unit.compiler = "clang: " + why;
  outcome.unit.has_header_kernels = true;
  const auto symbol = [&](const std::string& name) {
    return result.symbols.contains(name) ? name : std::string();
  };
  for (const KernelUse& kernel : m_slice.kernels) {
    outcome.unit.kernel_symbols.push_back(symbol(kernel.mangled));
    if (!outcome.unit.kernel_symbols.back().empty() || !kernel.defined) continue;
    outcome.diagnostics.push_back(never_named(kernel, m_slice.main_file));
    outcome.ok = false;
  }
  if (!outcome.ok) return;
  if (!kernels_alone())
    for (const DeviceVariable& variable : m_slice.variables)
      outcome.unit.variable_symbols.push_back(symbol(variable.mangled));
  if (has_foreign_variables() && !check_variables(result.ptx, outcome.unit.kernel_symbols, outcome)) return;
  if (!result.symbols.empty()) add_images(outcome.unit, result.device.images);
}

// Clang compiles the kernels of headers alone, where NVRTC has compiled the others: these are what they would
// be without the headers. False if all have to be in one piece of device code.
bool DeviceJob::add_header_kernels(Outcome& outcome) const {
  std::set<std::string> left_out;
  for (const KernelUse& kernel : m_slice.kernels) left_out.insert(kernel.mangled);
  NvptxResult result = m_clang.result_without(std::move(left_out), &m_cancelled);
  if (!result.device.ok || result.has_variables) return false;
  for (auto& timing : result.device.timings) outcome.timings.push_back(std::move(timing));
  // Of the source's lines NVRTC and the host's compiler have warned.
  std::ranges::copy_if(result.device.diagnostics, std::back_inserter(outcome.diagnostics),
                       [](const Diagnostic& one) { return one.line == 0; });
  outcome.dependencies.insert(outcome.dependencies.end(), result.device.dependencies.begin(),
                              result.device.dependencies.end());
  if (result.symbols.empty()) return true;
  DeviceUnit& unit = outcome.header_kernels.emplace();
  unit.number = m_number;
  unit.file = m_slice.main_file + " (kernels of headers)";
  unit.slice = &m_slice;
  unit.compiler = "clang: " + (m_clang.why.empty() ? std::string(k_why_header_kernels) : m_clang.why);
  unit.has_header_kernels = true;
  add_images(unit, result.device.images);
  return true;
}

// Of what NVRTC reads before the source's own text: options, sliced headers, and the includes that lead
// there. If it refuses a header among these, it refuses it under every text.
Digest DeviceJob::key_of_headers() const {
  DeviceRequest request = make_request();
  request.main.text.resize(end_of_leading_includes(request.main.text));
  request.expressions.clear();
  request.managed.clear();
  return Hasher("tarsia headers that NVRTC refuses")
      .field(build_id())
      .field(plan_device(request).key)
      .finish();
}

DeviceJob::Outcome DeviceJob::run() {
  const auto fresh = [&] {
    Outcome outcome;
    outcome.unit.number = m_number;
    outcome.unit.file = m_slice.main_file;
    outcome.unit.slice = &m_slice;
    return outcome;
  };
  Outcome outcome = fresh();
  const bool has_header_kernels = m_slice.has_header_kernels && m_clang.may_follow && !kernels_alone();
  std::string why = m_clang.why;
  if (why.empty() && has_header_kernels) why = k_why_header_kernels;
  if (!why.empty() && (m_clang.is_whole || m_slice.kernels.empty())) {
    run_clang(outcome, why);
    return outcome;
  }
  if (has_header_kernels) m_clang.start();
  if (m_slice.empty()) {
    outcome.ok = true;  // only kernels of headers, and NVRTC is to compile the device code
    return outcome;
  }
  // An edit below headers that NVRTC refused goes to Clang at once.
  std::optional<Digest> headers;
  if (m_clang.may_follow && m_slice.files.size() > 1) headers = key_of_headers();
  if (const auto refused = headers ? m_parts.find(PartKind::device, *headers) : std::nullopt) {
    run_clang(outcome, *refused);
    return outcome;
  }
  run_nvrtc(outcome);
  if (outcome.ok && !m_cancelled && has_header_kernels && !add_header_kernels(outcome)) {
    outcome = fresh();
    run_clang(outcome, why + "; all kernels are in one piece, since these use variables of the GPU's memory");
    return outcome;
  }
  const auto error = std::ranges::find_if(outcome.diagnostics, is_error);
  if (outcome.ok || m_cancelled || !m_clang.may_follow || error == outcome.diagnostics.end() ||
      !messages().may_be_nvrtcs_fault(outcome.diagnostics))
    return outcome;

  Outcome second = fresh();
  const std::string place = error->line ? (error->file == m_slice.main_file ? "line " : error->file + ":") +
                                              std::to_string(error->line)
                                        : error->file;
  why = "NVRTC refused " + place + ": " + error->message;
  run_clang(second, why);
  // An instance in a header may be refused for what the source's text gives it.
  const auto next = std::next(error);
  const bool is_instance = next != outcome.diagnostics.end() && next->severity == Severity::note &&
                           next->message.find("instantiation") != std::string::npos;
  if (second.ok && headers && error->file != m_slice.main_file && !is_instance)
    m_parts.keep(PartKind::device, *headers, why);
  second.timings.insert(second.timings.begin(), outcome.timings.begin(), outcome.timings.end());
  if (second.ok || m_cancelled) return second;
  // Which headers are read, conditions included, Clang alone knows: NVRTC was not asked.
  if (outcome.invalid || second.invalid) return second;
  // What both refuse at one line is the user's; NVRTC's words for it come with hints. Else both speak.
  const auto is_shared_line = [&](const Diagnostic& one) {
    return is_error(one) && std::ranges::any_of(second.diagnostics, [&](const Diagnostic& other) {
             return is_error(other) && other.file == one.file && other.line == one.line;
           });
  };
  const bool agreed = std::ranges::any_of(outcome.diagnostics, is_shared_line);
  for (Diagnostic& diagnostic : second.diagnostics) {
    const auto says_the_same = [&](const Diagnostic& one) { return one.message == diagnostic.message; };
    if (agreed || !is_error(diagnostic) || std::ranges::any_of(outcome.diagnostics, says_the_same)) continue;
    diagnostic.message = "Clang: " + diagnostic.message;
    outcome.diagnostics.push_back(std::move(diagnostic));
  }
  return outcome;
}

}  // namespace tarsia::jit
