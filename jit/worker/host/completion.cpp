// Clang completes: it parses with a mark at the place, and says there what its parser could take.
#include "jit/worker/host/completion.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "clang/AST/ASTConsumer.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/CodeCompleteConsumer.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/host/host_parse.h"
#include "jit/worker/source/main_text.h"

namespace tarsia::jit {
namespace {

/// So many names may have a text of their own besides: that of the others would cost more than the parse.
constexpr std::size_t k_most_detailed = 400;

/// "int square(int x)" of a function, and so on. A class, a macro or a keyword has nothing to add to its
/// name.
std::string detail_of(const clang::CodeCompletionString& completion) {
  using Chunk = clang::CodeCompletionString;
  std::string text;
  bool has_more = false;
  for (const Chunk::Chunk& chunk : completion) {
    if (chunk.Kind == Chunk::CK_Optional) {
      text += chunk.Optional ? detail_of(*chunk.Optional) : "";
      continue;
    }
    has_more |= chunk.Kind != Chunk::CK_TypedText;
    if (chunk.Kind == Chunk::CK_VerticalSpace)
      text += ' ';
    else
      text += chunk.Text;
    if (chunk.Kind == Chunk::CK_ResultType) text += ' ';
  }
  return has_more ? text : std::string();
}

class Collector final : public clang::CodeCompleteConsumer {
 public:
  Collector(Completions& to, const clang::CodeCompleteOptions& options)
      : CodeCompleteConsumer(options),
        m_to(to),
        m_info(std::make_shared<clang::GlobalCodeCompletionAllocator>()) {}

  void ProcessCodeCompleteResults(clang::Sema& sema, clang::CodeCompletionContext context,
                                  clang::CodeCompletionResult* results, unsigned n) override {
    if (std::exchange(m_is_done, true)) return;  // what the parser takes while it recovers
    m_to.typed = sema.getPreprocessor().getCodeCompletionFilter().str();
    std::map<std::string, clang::CodeCompletionResult*> found;
    for (unsigned i = 0; i < n; ++i) {
      clang::CodeCompletionResult& result = results[i];
      if (result.Availability == CXAvailability_NotAvailable ||
          result.Availability == CXAvailability_NotAccessible)
        continue;
      std::string name = name_of(result, sema, context);
      if (name.empty() || !name.starts_with(m_to.typed) || is_internal(name)) continue;
      found.try_emplace(std::move(name), &result);
    }
    for (const auto& [name, result] : found)
      m_to.completions.push_back({name, found.size() > k_most_detailed
                                            ? std::string()
                                            : detail_of(*string_of(*result, sema, context))});
  }
  clang::CodeCompletionAllocator& getAllocator() override { return m_info.getAllocator(); }
  clang::CodeCompletionTUInfo& getCodeCompletionTUInfo() override { return m_info; }

 private:
  clang::CodeCompletionString* string_of(clang::CodeCompletionResult& result, clang::Sema& sema,
                                         const clang::CodeCompletionContext& context) {
    return result.CreateCodeCompletionString(sema, context, getAllocator(), m_info,
                                             /*IncludeBriefComments=*/false);
  }
  std::string name_of(clang::CodeCompletionResult& result, clang::Sema& sema,
                      const clang::CodeCompletionContext& context) {
    switch (result.Kind) {
      case clang::CodeCompletionResult::RK_Keyword:
        return result.Keyword;
      case clang::CodeCompletionResult::RK_Macro:
        return result.Macro->getName().str();
      case clang::CodeCompletionResult::RK_Declaration:
        if (const clang::IdentifierInfo* name = result.Declaration->getIdentifier())
          return name->getName().str();
        return {};  // operators, constructors
      case clang::CodeCompletionResult::RK_Pattern:
        break;  // a header, or a statement
    }
    const char* typed = string_of(result, sema, context)->getTypedText();
    return typed ? typed : "";
  }
  /// Names of implementations, unless somebody begins to type one.
  bool is_internal(const std::string& name) const {
    return m_to.typed.empty() && (name.starts_with('_') || name.starts_with("tarsia_cell_"));
  }

  Completions& m_to;
  clang::CodeCompletionTUInfo m_info;
  bool m_is_done = false;
};

class CompletionAction final : public clang::ASTFrontendAction {
 public:
  CompletionAction(const HostUnit& unit, SourceFileSystem& files) : m_unit(unit), m_files(files) {}
  bool hasCodeCompletionSupport() const override { return true; }

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    prepare_preprocessor(clang.getPreprocessor(), m_unit, m_files, m_invalid);
    return std::make_unique<clang::ASTConsumer>();
  }
  void ExecuteAction() override {
    keep_settled(getCompilerInstance().getPreprocessor(), m_unit.settled);
    ASTFrontendAction::ExecuteAction();
  }

 private:
  const HostUnit& m_unit;
  SourceFileSystem& m_files;
  bool m_invalid = false;
};

}  // namespace

Completions complete_host(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files) {
  initialize_llvm();
  Completions result;
  const CompileRequest& request = *unit.request;
  const std::string main_path = main_path_of(*unit.file);
  const MainText text(*unit.file, std::nullopt, {});
  files->add_text(main_path, text.bytes(), unit.file->text);
  clang::IgnoringDiagConsumer ignored;
  // Bodies of kernels are read like others.
  auto clang = make_clang(clang_arguments(request, unit.language, main_path, unit.prelude), files, ignored,
                          /*skips_bodies=*/false);
  if (!clang) return result;
  clang::FrontendOptions& options = clang->getFrontendOpts();
  options.CodeCompletionAt = {std::string(k_source_dir) + "/" + request.options.cell,
                              unsigned(request.complete_line), unsigned(request.complete_column)};
  options.CodeCompleteOpts.IncludeMacros = true;
  options.CodeCompleteOpts.IncludeCodePatterns = true;  // or `while` is none
  options.CodeCompleteOpts.IncludeGlobals = true;
  options.CodeCompleteOpts.LoadExternal = true;
  clang->setCodeCompletionConsumer(new Collector(result, options.CodeCompleteOpts));  // Clang owns it
  CompletionAction action(unit, *files);
  clang->ExecuteAction(action);
  return result;
}

}  // namespace tarsia::jit
