// Makes, keeps and finds precompiled headers of device code.
#include "jit/worker/nvptx/device_preludes.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "jit/worker/nvptx/nvptx_setup.h"
#include "jit/worker/prelude/compile_prelude.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {
namespace {

/// Whether a header that is not of the system has a variable of the device.
bool has_device_variable(const clang::SourceManager& sources, const clang::DeclContext& scope) {
  return std::any_of(scope.noload_decls_begin(), scope.noload_decls_end(), [&](const clang::Decl* decl) {
    if (sources.isInSystemHeader(sources.getExpansionLoc(decl->getLocation()))) return false;
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl))
      return has_device_variable(sources, *llvm::cast<clang::DeclContext>(decl));
    return llvm::isa<clang::VarDecl, clang::VarTemplateDecl>(decl) && has_device_attribute(templated(*decl));
  });
}

constexpr const char* k_asked_for = "asked for";

Digest mark_of(const Digest& key) {
  return Hasher("tarsia device prelude asked for").field(key).finish();
}

}  // namespace

std::shared_ptr<KeptLayer> make_device_prelude(const std::vector<std::string>& arguments,
                                               const std::string& path, const std::string& text,
                                               llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                               bool& refused) {
  PreludeLayer layer;
  layer.text = text;
  files->add_text(path, layer.text);
  DiagnosticCollector collector("", "", false);
  std::vector<std::string> words{"-fpch-instantiate-templates"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto clang = make_device_clang(words, files, collector);
  const PreludeRules rules{.for_host = false, .refuses = [](clang::ASTContext& context) {
                             return has_device_variable(context.getSourceManager(),
                                                        *context.getTranslationUnitDecl());
                           }};
  std::string pch;
  if (!clang) return nullptr;
  const Precompiled outcome = precompile(*clang, path + ".pch", *files, rules, nullptr, layer, pch);
  refused = outcome == Precompiled::refused;
  if (outcome != Precompiled::made) return nullptr;
  layer.dependencies = files->dependencies();
  return std::make_shared<KeptLayer>(std::move(layer), std::move(pch));
}

std::shared_ptr<const KeptLayer> DevicePreludes::find(const Digest& key, PartStore& parts) {
  const std::lock_guard lock(m_mutex);
  const auto found = std::ranges::find_if(m_entries, [&](const Entry& entry) { return entry.key == key; });
  if (found != m_entries.end()) {
    if (found->prelude->still_holds()) {
      m_entries.splice(m_entries.begin(), m_entries, found);
      return found->prelude;
    }
    m_entries.erase(found);
  }
  auto bytes = parts.map(PartKind::prelude, key);
  std::shared_ptr<KeptLayer> kept = bytes ? KeptLayer::parse(std::move(*bytes), {}) : nullptr;
  if (!kept || !kept->still_holds()) return nullptr;
  m_entries.push_front({key, kept});
  while (m_entries.size() > k_most) m_entries.pop_back();
  return kept;
}

bool DevicePreludes::is_worth_while(const Digest& key, PartStore& parts) {
  const auto mark = parts.find(PartKind::prelude, mark_of(key));
  if (!mark) parts.keep(PartKind::prelude, mark_of(key), k_asked_for);
  return mark == k_asked_for;
}

void DevicePreludes::give_up(const Digest& key, PartStore& parts) {
  parts.keep(PartKind::prelude, mark_of(key), "refused");
}

void DevicePreludes::keep(const Digest& key, const KeptLayer& prelude, PartStore& parts) {
  parts.keep(PartKind::prelude, key, prelude.serialize());
}

}  // namespace tarsia::jit
