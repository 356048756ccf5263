// Explains NVRTC's messages by what the host's half of the source shows.
#include "jit/worker/nvrtc_messages.h"

#include <algorithm>
#include <tuple>

#include "jit/worker/device_limits.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/names/words.h"

namespace tarsia::jit {
namespace {

/// The name in NVRTC's message that an identifier is undefined, or that a class has no such member; else
/// empty.
llvm::StringRef missing_name(llvm::StringRef message) {
  if (message.starts_with("identifier \"") && message.contains("\" is undefined"))
    return message.split('"').second.split('"').first;
  return message.split("\" has no member \"").second.split('"').first;
}

/// "n::S::S" of "n::S<int>::S<float>(float)". Words of operators stay.
std::string without_arguments(llvm::StringRef symbol) {
  std::string name;
  int depth = 0;
  for (size_t i = 0; i < symbol.size(); ++i) {
    if (depth == 0 && llvm::StringRef(name).ends_with("operator"))
      return name + symbol.substr(i).split('(').first.str();
    depth += symbol[i] == '<';
    if (depth == 0 && symbol[i] == '(') break;
    if (depth == 0) name += symbol[i];
    depth -= symbol[i] == '>';
  }
  return name;
}

/// 20 of "c++20".
int version_of(llvm::StringRef standard) {
  int version = 0;
  return standard.take_back(2).getAsInteger(10, version) ? Compiled().standard : version;
}

/// The line of the word's first place in a text, outside of comments of one line; 0 if it has none.
int line_of_word(llvm::StringRef text, llvm::StringRef word) {
  for (int line = 1; !text.empty(); ++line) {
    llvm::StringRef one;
    std::tie(one, text) = text.split('\n');
    if (has_word(one.split("//").first, word)) return line;
  }
  return 0;
}

/// How the message of a variable begins that ptxas did not find.
constexpr char k_uses[] = "device code uses '";

/// Names of GNU's compiler that NVRTC may lack: built-in functions, predefined macros, and keywords.
bool is_gnu_name(llvm::StringRef name) {
  return name.starts_with("__builtin_") || name.starts_with("__sync_") || name.starts_with("__atomic_") ||
         (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) || name == "typeof" ||
         name == "__typeof" || name == "__complex" || name == "__real" || name == "__imag";
}

/// Whether a line may have one of GNU's extensions, which nvcc and Clang take on the device and NVRTC does
/// not: statements as an expression, compound literals of arrays, a ?: b, case 1 ... 5.
bool may_have_gnu_extension(llvm::StringRef text, int line) {
  for (; line > 1 && !text.empty(); --line) text = text.split('\n').second;
  const llvm::StringRef one = text.split('\n').first;
  for (size_t at = 0; (at = one.find('?', at)) != one.npos;)
    if (one.substr(++at).ltrim().starts_with(":")) return true;
  return one.contains("({") || one.contains("]){") || one.contains("]) {") || one.contains("...");
}

}  // namespace

NvrtcMessages::NvrtcMessages(const DeviceSlice& slice, const CompileOptions& options)
    : m_slice(slice),
      m_how{.system_headers = has_system_headers(options), .standard = version_of(options.std)} {}

const HostName* NvrtcMessages::find_host_name(std::string_view name) const {
  for (const auto& names : m_slice.host_names)
    for (const HostName& one : *names)
      if (one.name == name) return &one;
  return nullptr;
}

std::string NvrtcMessages::place_of(const HostName& one) const {
  return (one.file == m_slice.main_file ? "line " : one.file + ":") + std::to_string(one.line);
}

std::string NvrtcMessages::call_of_host(const std::string& name, const HostName& one) const {
  return "'" + name + "' is a host function (" + place_of(one) +
         "), and device code calls it: write __device__, or __host__ __device__, in front of it";
}

const HostName* NvrtcMessages::find_member(const std::string& symbol) const {
  const auto is_symbol = [&](const HostName& one) { return one.symbol == symbol; };
  if (const auto found = std::ranges::find_if(m_slice.refused, is_symbol); found != m_slice.refused.end())
    return &*found;
  const std::string name = without_arguments(symbol);
  const auto is_template = [&](const HostName& one) {
    return one.symbol.empty() && without_arguments(one.name) == name;
  };
  const auto found = std::ranges::find_if(m_slice.refused, is_template);
  return found == m_slice.refused.end() ? nullptr : &*found;
}

void NvrtcMessages::explain_unresolved(Diagnostic& diagnostic, const char* begin, const char* remedy) const {
  const std::string symbol = llvm::StringRef(diagnostic.message).split('\'').second.split('\'').first.str();
  const std::string full = without_arguments(symbol);
  const size_t scope = full.rfind("::");
  const std::string name = scope == full.npos ? full : full.substr(scope + 2);
  diagnostic.severity = Severity::error;
  const HostName* found = find_member(symbol);
  if (!found) found = find_host_name(name);
  if (found && found->is_function) {
    diagnostic.file = found->file;
    diagnostic.line = found->line;
    diagnostic.message = call_of_host(full, *found);
    return;
  }
  // Nothing of the host's: the device's own, declared and not defined.
  diagnostic.message = begin + symbol + "', which is defined nowhere in this source; " + remedy;
  for (const SourceFile& file : m_slice.files) {
    diagnostic.line = line_of_word(file.text, name);
    if (diagnostic.line == 0) continue;
    diagnostic.file = file.name;
    break;
  }
}

void NvrtcMessages::explain(std::vector<Diagnostic>& diagnostics) const {
  // ptxas says it twice.
  std::erase_if(diagnostics, [](const Diagnostic& one) {
    return one.message.starts_with("ptxas: Unknown symbol '" + std::string(k_refused_prefix));
  });
  for (Diagnostic& diagnostic : diagnostics) {
    if (const size_t at = diagnostic.message.find(k_refused_prefix); at != std::string::npos) {
      const std::string symbol = diagnostic.message.substr(at, diagnostic.message.find('\'', at) - at);
      const auto is_meant = [&](const HostName& one) { return refused_symbol(one.name) == symbol; };
      const auto method = std::ranges::find_if(m_slice.refused, is_meant);
      if (method != m_slice.refused.end()) diagnostic.message = call_of_host(method->name, *method);
      continue;
    }
    if (diagnostic.message.starts_with("ptxas: Unresolved extern function")) {
      explain_unresolved(diagnostic, "device code calls '", "define it here, marked __device__");
      continue;
    }
    if (diagnostic.message.starts_with("ptxas: Unresolved extern variable")) {
      explain_unresolved(diagnostic, k_uses,
                         "define it here, with its size, marked __device__ or __constant__");
      continue;
    }
    if (diagnostic.message.starts_with("device-side kernel launch could not be processed")) {
      diagnostic.message = k_no_device_runtime;
      continue;
    }
    const HostName* found = find_host_name(missing_name(diagnostic.message));
    if (!found) {
      const auto file = std::ranges::find(m_slice.files, diagnostic.file, &SourceFile::name);
      if (file != m_slice.files.end() && diagnostic.severity != Severity::warning)
        diagnostic.message += missing_device_name_remedy(diagnostic, file->text, m_how);
      continue;
    }
    const std::string place = place_of(*found);
    diagnostic.message +=
        "; '" + found->name + "' is a host " +
        (found->is_function
             ? "function (" + place + "): write __device__, or __host__ __device__, in front of it"
             : "variable (" + place +
                   "): write __device__ or __constant__ in front of it, make it constexpr, or pass it to the "
                   "kernel");
  }
}

bool NvrtcMessages::may_be_nvrtcs_fault(const std::vector<Diagnostic>& diagnostics) const {
  static constexpr const char* k_users[] = {"expected a",
                                            "expected an",
                                            "too few arguments",
                                            "too many arguments",
                                            "no instance of",
                                            "incompatible with",
                                            "cannot be assigned",
                                            "cannot be used to initialize",
                                            "modifiable lvalue",
                                            "already been declared",
                                            "has already been defined",
                                            "no operator",
                                            "static assertion failed",
                                            "ptxas",
                                            k_limit_words,
                                            "no suitable",
                                            "missing closing",
                                            "unrecognized token",
                                            "asm operand",
                                            "outside of the include directories",
                                            "architecture '"};
  // Names that the host knows, where nothing says that they are the host's alone: the slice may lack them.
  const auto is_lost = [&](llvm::StringRef name) {
    if (find_host_name(name)) return false;
    if (is_gnu_name(name)) return true;
    if (m_slice.words_of_headers && std::ranges::binary_search(*m_slice.words_of_headers, name.str()))
      return true;
    return std::ranges::any_of(m_slice.host_texts,
                               [&](const auto& one) { return has_word(one->text, name); });
  };
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity < Severity::error) continue;
    const llvm::StringRef text = diagnostic.message;
    // Defined nowhere, and without a size: Clang would define it with one element.
    if (text.starts_with(k_uses)) continue;
    const auto file = std::ranges::find(m_slice.files, diagnostic.file, &SourceFile::name);
    if (file == m_slice.files.end()) return true;
    if (text.contains("expected a") && may_have_gnu_extension(file->text, diagnostic.line)) return true;
    if (std::ranges::any_of(k_users, [&](const char* words) { return text.contains(words); })) continue;
    if (const llvm::StringRef name = missing_name(text); !name.empty() && !is_lost(name)) continue;
    return true;
  }
  return false;
}

}  // namespace tarsia::jit
