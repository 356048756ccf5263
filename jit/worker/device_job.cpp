// The device's half of one translation unit.
//
// Device code is kept as a part of its own, under a key in which the lines that the split blanked do not
// count: an edit of a host function moves kernels to other lines and changes nothing else. Where lines can be
// seen in the device code (assert, __LINE__, line information, diagnostics) they count.
#include "jit/worker/device_job.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/cuda/cubin.h"
#include "base/hash.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "jit/build_id.h"
#include "jit/worker/device/ptx.h"
#include "jit/worker/public_headers.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {
namespace {

bool shows_lines(const CompileRequest& request, const DeviceSlice& slice) {
  if (keeps_lines(request.options)) return true;
  for (const SourceFile& file : slice.files)
    for (const char* word : {"assert", "__LINE__", "source_location"})
      if (file.text.find(word) != std::string::npos) return true;
  return false;
}

// The text without empty lines and without white space at the ends of lines.
std::string condensed(llvm::StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (llvm::StringRef content = line.trim(" \t\r"); !content.empty()) (result += content) += '\n';
  }
  return result;
}

std::string to_bytes(const DeviceResult& result) {
  nlohmann::json images = nlohmann::json::array(), dependencies = nlohmann::json::array();
  for (const FatbinEntry& image : result.images)
    images.push_back({image.arch, nlohmann::json::binary({image.bytes.begin(), image.bytes.end()})});
  for (const Dependency& d : result.dependencies)
    dependencies.push_back({d.path, nlohmann::json::binary({d.content.begin(), d.content.end()}), d.absent});
  auto packed = nlohmann::json::to_msgpack({images, result.lowered, result.managed, dependencies});
  return {packed.begin(), packed.end()};
}

std::optional<DeviceResult> from_bytes(const std::string& bytes) {
  try {
    nlohmann::json all = nlohmann::json::from_msgpack(bytes);
    DeviceResult result;
    for (const auto& image : all.at(0)) {
      const auto& content = image.at(1).get_binary();
      result.images.push_back({image.at(0), std::string(content.begin(), content.end())});
    }
    result.lowered = all.at(1).get<std::vector<std::string>>();
    result.managed = all.at(2).get<std::vector<std::string>>();
    for (const auto& entry : all.at(3)) {
      Dependency dependency;
      dependency.path = entry.at(0);
      const auto& content = entry.at(1).get_binary();
      if (content.size() != dependency.content.size()) return std::nullopt;
      std::copy(content.begin(), content.end(), dependency.content.begin());
      dependency.absent = entry.at(2);
      result.dependencies.push_back(std::move(dependency));
    }
    result.ok = true;
    return result;
  } catch (const std::exception&) {
    return std::nullopt;
  }
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

DeviceJob::DeviceJob(const CompileRequest& request, const SysrootPack& pack, DeviceSlice slice, int number,
                     DeviceCompiler& compiler, PartStore& parts)
    : m_request(request),
      m_pack(pack),
      m_slice(std::move(slice)),
      m_number(number),
      m_compiler(compiler),
      m_parts(parts) {
  // Expressions need the AST, which belongs to the caller's thread.
  for (KernelUse& kernel : m_slice.kernels)
    if (kernel.overloaded) kernel.name = cast_expression(kernel);
  m_outcome = std::async(std::launch::async, [this] { return run(); });
}

DeviceJob::~DeviceJob() {
  m_cancelled = true;
  if (m_outcome.valid()) m_outcome.wait();
}

std::string DeviceJob::name_in_request(const std::string& file) const {
  std::string name = file;
  for (const std::string& dir : m_request.options.include_dirs)
    if (name.rfind(dir + "/", 0) == 0) name.erase(0, dir.size() + 1);
  return name;
}

DeviceRequest DeviceJob::make_request() const {
  DeviceRequest request;
  for (const SourceFile& file : m_slice.files) {
    if (file.name == m_slice.main_file) {
      request.main = file;
      continue;
    }
    request.headers.push_back({name_in_request(file.name), file.text});
  }
  for (SourceFile& header : public_device_headers(m_pack)) request.headers.push_back(std::move(header));
  add_mxnet_headers(m_slice, m_pack, request.headers);
  static_cast<CompileOptions&>(request) = m_request.options;
  request.source_dir = m_request.source_dir;
  request.cuda = m_request.cuda_parts;
  for (const KernelUse& kernel : m_slice.kernels)
    if (!kernel.extern_c) request.expressions.push_back(kernel.name);
  if (kernels_alone()) {
    request.ptx |= !m_request.options.kernels_to_read &&
                   std::any_of(m_slice.variables.begin(), m_slice.variables.end(), is_shared);
    return request;
  }
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
    const std::string name = name_in_request(doubt.file);
    if (std::none_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
          return d.severity >= Severity::error && d.file == name && d.line >= doubt.first_line &&
                 d.line <= doubt.last_line;
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
  while (leave_out_refused_doubts(diagnostics, doubts, request)) {
    DeviceResult other = m_compiler.compile(request, plan_device(request), &m_cancelled);
    other.timings.insert(other.timings.begin(), result.timings.begin(), result.timings.end());
    if (other.ok || m_cancelled) return other;
    diagnostics = std::move(other.diagnostics);
    result.timings = std::move(other.timings);
  }
  return result;  // with the messages about the text as it is
}

// Whether kernels that were compiled apart from their library would notice that they have another variable.
bool DeviceJob::is_shared(const DeviceVariable& variable) {
  return !variable.read_only || variable.managed;
}

// Refuses kernels that use variables of their library, of which they would have their own. The PTX tells,
// which is dropped if nobody asked for it.
bool DeviceJob::check_variables(DeviceResult& result, Outcome& outcome) const {
  const auto ptx = std::find_if(result.images.begin(), result.images.end(),
                                [](const FatbinEntry& image) { return image.arch.starts_with("compute_"); });
  if (ptx == result.images.end()) return true;
  std::vector<std::string> kernels;
  size_t lowered = 0;
  for (const KernelUse& kernel : m_slice.kernels)
    kernels.push_back(kernel.extern_c ? kernel.mangled : result.lowered.at(lowered++));
  const std::set<std::string> used = names_reached(ptx->bytes, kernels);
  for (const DeviceVariable& variable : m_slice.variables) {
    if (!is_shared(variable)) continue;
    const bool names_it = std::any_of(used.begin(), used.end(), [&](const std::string& name) {
      return is_name_of(name, variable.listed_name);
    });
    if (!names_it) continue;
    Diagnostic diagnostic;
    const size_t colon = variable.location.rfind(':');
    diagnostic.file = variable.location.substr(0, colon);
    diagnostic.line = colon == std::string::npos ? 0 : std::atoi(variable.location.c_str() + colon + 1);
    diagnostic.message =
        "the variable '" + variable.listed_name + "' is used by " + m_slice.kernels.front().listed_name +
        ", which is compiled apart from its library and would have a variable of its own; name "
        "the instantiation in the source, \"template __global__ void " +
        m_slice.kernels.front().listed_name + "(...);\", and it is compiled with the library";
    outcome.diagnostics.push_back(std::move(diagnostic));
    outcome.ok = false;
  }
  if (!m_request.options.ptx) result.images.erase(ptx);
  return outcome.ok;
}

// Says of names that the device's compiler does not know, since they are the host's, that they are.
void DeviceJob::explain_host_names(std::vector<Diagnostic>& diagnostics) const {
  for (Diagnostic& diagnostic : diagnostics) {
    llvm::StringRef text = diagnostic.message;
    const bool lacks_member = text.contains("\" has no member \"");
    if (!text.consume_front("identifier \"") && !lacks_member) continue;
    const llvm::StringRef name =
        lacks_member ? text.split("has no member \"").second.split('"').first : text.split('"').first;
    const auto found =
        std::ranges::find_if(m_slice.host_names, [&](const HostName& one) { return one.name == name; });
    if (found == m_slice.host_names.end()) continue;
    const std::string place = found->file == m_slice.main_file
                                  ? "line " + std::to_string(found->line)
                                  : found->file + ":" + std::to_string(found->line);
    diagnostic.message +=
        "; '" + found->name + "' is a host " +
        (found->is_function
             ? "function (" + place + "): write __device__, or __host__ __device__, in front of it"
             : "variable (" + place +
                   "): write __device__ or __constant__ in front of it, make it constexpr, or pass it to the "
                   "kernel");
  }
}

DeviceJob::Outcome DeviceJob::run() {
  Outcome outcome;
  outcome.unit.number = m_number;
  outcome.unit.file = m_slice.main_file;
  outcome.unit.slice = &m_slice;
  DeviceRequest request = make_request();
  DevicePlan plan = plan_device(request);

  // The plan's own key covers all but holds lines; this one is of the same things without them.
  DeviceRequest lineless = request;
  if (!shows_lines(m_request, m_slice)) {
    lineless.main.text = condensed(lineless.main.text);
    for (SourceFile& header : lineless.headers) header.text = condensed(header.text);
  }
  Digest key = Hasher("tarsia device part").field(build_id()).field(plan_device(lineless).key).finish();

  std::optional<DeviceResult> result;
  if (auto bytes = m_parts.find(PartKind::device, key)) result = from_bytes(*bytes);
  outcome.reused = result.has_value();
  if (!result) {
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
    if (result->ok && result->keyed && result->diagnostics.empty())
      m_parts.keep(PartKind::device, key, to_bytes(*result));
  }
  outcome.ok = result->ok;
  outcome.diagnostics = std::move(result->diagnostics);
  if (!outcome.ok) explain_host_names(outcome.diagnostics);
  for (Diagnostic& diagnostic : outcome.diagnostics)
    for (const SourceFile& file : m_slice.files)
      if (file.name != m_slice.main_file && diagnostic.file == name_in_request(file.name)) {
        diagnostic.file = file.name;
        break;
      }
  outcome.dependencies = std::move(result->dependencies);
  outcome.timings = std::move(result->timings);
  if (!outcome.ok) return outcome;

  size_t lowered = 0, managed = 0;
  for (const KernelUse& kernel : m_slice.kernels)
    outcome.unit.kernel_symbols.push_back(kernel.extern_c ? kernel.mangled : result->lowered.at(lowered++));
  if (kernels_alone() && !m_request.options.kernels_to_read && !check_variables(*result, outcome))
    return outcome;
  for (const DeviceVariable& variable : m_slice.variables) {
    if (kernels_alone()) break;
    outcome.unit.variable_symbols.push_back(variable.managed ? result->managed.at(managed++)
                                                             : result->lowered.at(lowered++));
  }
  for (const FatbinEntry& image : result->images) outcome.unit.images.push_back({image.arch, image.bytes});
  outcome.unit.fatbin = result->images.size() == 1 ? result->images[0].bytes : make_fatbin(result->images);
  return outcome;
}

}  // namespace tarsia::jit
