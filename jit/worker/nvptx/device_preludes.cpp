// Makes, keeps and finds precompiled headers of device code.
#include "jit/worker/nvptx/device_preludes.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Serialization/ASTWriter.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/nvptx/nvptx_setup.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/end_of_headers.h"
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

class Generator final : public clang::PCHGenerator {
 public:
  using PCHGenerator::PCHGenerator;
  bool has_variable = false;

  void InitializeSema(clang::Sema& sema) override {
    m_sema = &sema;
    PCHGenerator::InitializeSema(sema);
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    has_variable = has_device_variable(context.getSourceManager(), *context.getTranslationUnitDecl());
    if (m_sema) end_headers(*m_sema);
    PCHGenerator::HandleTranslationUnit(context);
  }

 private:
  clang::Sema* m_sema = nullptr;
};

class PreludeAction final : public clang::ASTFrontendAction {
 public:
  PreludeAction(std::string path, std::shared_ptr<clang::PCHBuffer> buffer, bool& refused)
      : m_path(std::move(path)), m_buffer(std::move(buffer)), m_refused(refused) {}

 protected:
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    ignore_pragmas_of_nvcc(clang.getPreprocessor());
    auto generator =
        std::make_unique<Generator>(clang.getPreprocessor(), clang.getModuleCache(), m_path, "", m_buffer,
                                    clang.getCodeGenOpts(), clang.getFrontendOpts().ModuleFileExtensions,
                                    /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
    m_generator = generator.get();
    return generator;
  }
  void EndSourceFileAction() override {
    m_refused = m_generator && m_generator->has_variable;
    ASTFrontendAction::EndSourceFileAction();
  }

 private:
  std::string m_path;
  std::shared_ptr<clang::PCHBuffer> m_buffer;
  bool& m_refused;
  const Generator* m_generator = nullptr;
};

constexpr const char* k_asked_for = "asked for";

Digest mark_of(const Digest& key) {
  return Hasher("tarsia device prelude asked for").field(key).finish();
}

}  // namespace

std::shared_ptr<KeptLayer> make_device_prelude(const std::vector<std::string>& arguments,
                                               const std::string& path, const std::string& text,
                                               llvm::IntrusiveRefCntPtr<SourceFileSystem> files) {
  PreludeLayer layer;
  layer.text = text;
  files->add_text(path, layer.text);
  DiagnosticCollector collector("", "", false);
  std::vector<std::string> words{"-fpch-instantiate-templates"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto clang = make_device_clang(words, files, collector);
  if (!clang) return nullptr;
  auto buffer = std::make_shared<clang::PCHBuffer>();
  clang->getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
  bool refused = false;
  PreludeAction action(path + ".pch", buffer, refused);
  clang->ExecuteAction(action);
  if (!buffer->IsComplete || refused) return nullptr;
  layer.dependencies = files->dependencies();
  return std::make_shared<KeptLayer>(std::move(layer), std::string(buffer->Data.begin(), buffer->Data.end()));
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
  remember(key, kept);
  return kept;
}

bool DevicePreludes::is_worth_while(const Digest& key, PartStore& parts) {
  const auto mark = parts.find(PartKind::prelude, mark_of(key));
  if (!mark) parts.keep(PartKind::prelude, mark_of(key), k_asked_for);
  return mark == k_asked_for;
}

void DevicePreludes::give_up(const Digest& key, PartStore& parts) {
  parts.keep(PartKind::prelude, mark_of(key), "cannot be made");
}

void DevicePreludes::keep(const Digest& key, std::shared_ptr<KeptLayer> prelude, PartStore& parts) {
  parts.keep(PartKind::prelude, key, prelude->serialize());
  const std::lock_guard lock(m_mutex);
  remember(key, std::move(prelude));
}

void DevicePreludes::remember(const Digest& key, std::shared_ptr<KeptLayer> prelude) {
  m_entries.push_front({key, std::move(prelude)});
  while (m_entries.size() > k_most) m_entries.pop_back();
}

}  // namespace tarsia::jit
