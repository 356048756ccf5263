// Explains NVRTC's messages by what the host's half of the source shows.
#include "jit/worker/nvrtc_messages.h"

#include <algorithm>

#include "jit/worker/device_limits.h"
#include "jit/worker/source/missing_names.h"
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

}  // namespace

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

bool NvrtcMessages::explain_unresolved(Diagnostic& diagnostic) const {
  const llvm::StringRef symbol = llvm::StringRef(diagnostic.message).split('\'').second.split('\'').first;
  const std::string name = symbol.split('(').first.str();
  const size_t scope = name.rfind("::");
  const HostName* found = find_host_name(scope == name.npos ? name : name.substr(scope + 2));
  if (!found || !found->is_function) return false;
  diagnostic.file = found->file;
  diagnostic.line = found->line;
  diagnostic.severity = Severity::error;
  diagnostic.message = call_of_host(name, *found);
  return true;
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
    if (diagnostic.message.starts_with("ptxas: Unresolved extern function") &&
        !explain_unresolved(diagnostic))
      diagnostic.message +=
          "; if it is a host function, write __device__, or __host__ __device__, in front of it";
    const HostName* found = find_host_name(missing_name(diagnostic.message));
    if (!found) {
      const auto file = std::ranges::find(m_slice.files, diagnostic.file, &SourceFile::name);
      if (file != m_slice.files.end() && diagnostic.severity != Severity::warning)
        diagnostic.message += missing_device_name_remedy(diagnostic, file->text, m_system_headers);
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
  const auto is_users_file = [&](const std::string& file) {
    return std::ranges::any_of(m_slice.files, [&](const SourceFile& one) { return one.name == file; });
  };
  // Names that the host knows, where nothing says that they are the host's alone: the slice may lack them.
  const auto is_lost = [&](llvm::StringRef name) {
    if (find_host_name(name)) return false;
    if (m_slice.words_of_headers && std::ranges::binary_search(*m_slice.words_of_headers, name.str()))
      return true;
    return std::ranges::any_of(m_slice.host_texts,
                               [&](const auto& one) { return has_word(one->text, name); });
  };
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity < Severity::error) continue;
    const llvm::StringRef text = diagnostic.message;
    if (!is_users_file(diagnostic.file)) return true;
    if (std::ranges::any_of(k_users, [&](const char* words) { return text.contains(words); })) continue;
    if (const llvm::StringRef name = missing_name(text); !name.empty() && !is_lost(name)) continue;
    return true;
  }
  return false;
}

}  // namespace tarsia::jit
