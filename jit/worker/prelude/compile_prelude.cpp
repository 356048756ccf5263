// Precompiles a prelude with Clang.
#include "jit/worker/prelude/compile_prelude.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "clang/Serialization/ASTWriter.h"
#include "jit/worker/host/clocks.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/end_of_headers.h"
#include "jit/worker/source/file_checks.h"
#include "jit/worker/split/kernel_body.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {
namespace {

// Notes the names in all #includes that are met.
class IncludeNames final : public clang::PPCallbacks {
 public:
  explicit IncludeNames(std::set<std::string>& names) : m_names(names) {}
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    m_names.insert(name.str());
  }

 private:
  std::set<std::string>& m_names;
};

class PreludeGenerator final : public clang::PCHGenerator {
 public:
  template <class... Arguments>
  PreludeGenerator(const PreludeRules& rules, bool& refused, std::function<void()> before_writing,
                   Arguments&&... arguments)
      : PCHGenerator(std::forward<Arguments>(arguments)...),
        m_rules(rules),
        m_refused(refused),
        m_before_writing(std::move(before_writing)) {}

  bool shouldSkipFunctionBody(clang::Decl* decl) override {
    return m_rules.for_host && is_device_only(*decl);
  }
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group)
      if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl); function && m_rules.for_host)
        empty_kernel(function->getASTContext(), function);
    return true;
  }
  void InitializeSema(clang::Sema& sema) override {
    m_sema = &sema;
    PCHGenerator::InitializeSema(sema);
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    m_refused |= m_rules.refuses && m_rules.refuses(context);
    if (m_sema) end_headers(*m_sema);
    m_before_writing();
    PCHGenerator::HandleTranslationUnit(context);
  }

 private:
  const PreludeRules& m_rules;
  bool& m_refused;
  std::function<void()> m_before_writing;
  clang::Sema* m_sema = nullptr;
};

class PreludeAction final : public clang::ASTFrontendAction {
 public:
  PreludeAction(std::string path, SourceFileSystem& files, const PreludeRules& rules, const Defines* defines,
                std::shared_ptr<clang::PCHBuffer> buffer, std::set<std::string>& names, PreludeLayer& layer,
                bool& refused)
      : m_path(std::move(path)),
        m_files(files),
        m_rules(rules),
        m_defines(defines),
        m_buffer(std::move(buffer)),
        m_names(names),
        m_layer(layer),
        m_refused(refused) {}

 protected:
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    clang.getPreprocessor().addPPCallbacks(std::make_unique<IncludeNames>(m_names));
    clang.getPreprocessor().addPPCallbacks(std::make_unique<Clocks>(m_refused, m_refused));
    clang.getPreprocessor().addPPCallbacks(make_file_checks(clang.getPreprocessor(), m_files, m_invalid));
    take_pragmas_of_nvcc(clang.getPreprocessor());
    return std::make_unique<PreludeGenerator>(
        m_rules, m_refused, [this] { leave_out_defines(); }, clang.getPreprocessor(), clang.getModuleCache(),
        m_path, "", m_buffer, clang.getCodeGenOpts(), clang.getFrontendOpts().ModuleFileExtensions,
        /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }

  void ExecuteAction() override {
    if (m_layer.base) m_settled = m_layer.base->settled();
    keep_settled(getCompilerInstance().getPreprocessor(), m_settled);
    if (m_defines) m_watch.emplace(getCompilerInstance().getPreprocessor(), *m_defines);
    ASTFrontendAction::ExecuteAction();
  }

  void EndSourceFileAction() override {
    std::vector<std::string>& macros = m_layer.macros;
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    const clang::SourceManager& sources = preprocessor.getSourceManager();
    for (const auto& [identifier, state] : preprocessor.macros(/*IncludeExternalMacros=*/false)) {
      const clang::MacroInfo* macro = preprocessor.getMacroInfo(identifier);
      if (!macro || macro->isBuiltinMacro()) continue;
      const clang::SourceLocation place = macro->getDefinitionLoc();
      if (place.isInvalid() || sources.isLoadedSourceLocation(place) || sources.isInSystemHeader(place))
        continue;
      if (sources.getFileEntryRefForID(sources.getFileID(place)))
        macros.push_back(identifier->getName().str());
    }
    std::sort(macros.begin(), macros.end());
    ASTFrontendAction::EndSourceFileAction();
  }

 private:
  void leave_out_defines() {
    if (m_watch) m_layer.set(m_watch->forget_others(getCompilerInstance(), m_settled));
  }

  std::string m_path;
  SourceFileSystem& m_files;
  const PreludeRules& m_rules;
  const Defines* m_defines;
  std::vector<std::string> m_settled;  // by the layers below
  std::optional<DefineWatch> m_watch;
  bool m_invalid = false;  // the source that is compiled without the prelude says so itself
  std::shared_ptr<clang::PCHBuffer> m_buffer;
  std::set<std::string>& m_names;
  PreludeLayer& m_layer;
  bool& m_refused;
};

}  // namespace

Precompiled precompile(clang::CompilerInstance& clang, const std::string& path, SourceFileSystem& files,
                       const PreludeRules& rules, const Defines* defines, PreludeLayer& layer,
                       std::string& pch) {
  auto buffer = std::make_shared<clang::PCHBuffer>();
  std::set<std::string> names;
  bool refused = false;
  clang.getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
  PreludeAction action(path, files, rules, defines, buffer, names, layer, refused);
  clang.ExecuteAction(action);
  if (refused) return Precompiled::refused;
  if (!buffer->IsComplete) return Precompiled::has_errors;
  layer.names.assign(names.begin(), names.end());
  pch.assign(buffer->Data.begin(), buffer->Data.end());
  return Precompiled::made;
}

bool compile_prelude(const CompileRequest& request, Language language,
                     llvm::IntrusiveRefCntPtr<SourceFileSystem> files, PreludeLayer& layer,
                     std::string& pch) {
  initialize_llvm();
  const std::string path = prelude_text_path(layer.depth);
  if (layer.base) layer.base->add_to(*files);
  files->add_text(path, layer.text);
  DiagnosticCollector collector("", "", has_system_headers(request.options));
  std::vector<std::string> arguments =
      clang_arguments(request, language, path, layer.base ? prelude_path(layer.base->depth) : "");
  // Otherwise each source that uses the prelude would instantiate what the headers left pending (45 ms for
  // <cmath>).
  arguments.insert(arguments.begin(), "-fpch-instantiate-templates");
  auto clang = make_clang(arguments, files, collector, language == Language::cuda);
  if (!clang || precompile(*clang, prelude_path(layer.depth), *files, {}, &request.options.defines, layer,
                           pch) != Precompiled::made)
    return false;
  layer.warnings = collector.take();
  if (collector.met_openmp() && !keeps_openmp_off(request.options)) pch.clear();
  return true;
}

}  // namespace tarsia::jit
