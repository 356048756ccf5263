// The parse of one unit.
#include "jit/worker/host/host_parse.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Preprocessor.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/source/file_checks.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/IR/GlobalValue.h"

namespace tarsia::jit {

std::string main_path_of(const SourceFile& file) {
  return std::string(k_source_dir) + "/" + file.name;
}

void prepare_preprocessor(clang::Preprocessor& preprocessor, const HostUnit& unit, SourceFileSystem& files,
                          bool& invalid) {
  take_pragmas_of_nvcc(preprocessor);
  preprocessor.addPPCallbacks(make_debug_pragmas());
  preprocessor.addPPCallbacks(make_file_checks(preprocessor, files, invalid));
  if (unit.headers) preprocessor.setCounterValue(unit.headers->counter);
  step_over_covered(preprocessor, unit);
  if (unit.prelude.empty()) return;
  // Clang is about to name all builtins. Work-around: Clang reads what a prelude declares for each builtin.
  // Trigger: a source with a precompiled prelude. Symptom: the declarations of all of C's library are read
  // from it, used or not. Names that are older than the prelude wait until they are used.
  // Removal: Clang names the builtins without looking them up in the prelude.
  preprocessor.getBuiltinInfo().initializeBuiltins(preprocessor.getIdentifierTable(),
                                                   preprocessor.getLangOpts());
}

void step_over_covered(clang::Preprocessor& preprocessor, const HostUnit& unit) {
  preprocessor.setSkipMainFilePreamble(unsigned(unit.covered), /*StartOfLine=*/true);
}

void begin_reading(HostParse& parse, clang::Preprocessor& preprocessor) {
  step_over_covered(preprocessor, parse.unit);
  keep_settled(preprocessor, parse.unit.settled);
  if (parse.unit.writes_leading)
    parse.define_watch.emplace(preprocessor, parse.unit.request->options.defines);
}

bool is_of_user(const HostParse& parse, clang::SourceLocation place) {
  const clang::SourceManager& sources = parse.clang->getSourceManager();
  if (is_user_file(sources, place)) return true;
  place = sources.getExpansionLoc(place);
  return parse.unit.headers && place.isValid() && sources.isLoadedSourceLocation(place) &&
         !sources.isInSystemHeader(place);
}

CodeOrigin origin_of(const HostParse& parse, const clang::Decl* decl, const llvm::GlobalValue& value) {
  if (!decl) return value.hasLocalLinkage() ? CodeOrigin::user : CodeOrigin::header;
  const clang::SourceManager& sources = parse.clang->getSourceManager();
  const clang::SourceLocation place = sources.getExpansionLoc(decl->getLocation());
  if (place.isInvalid() || in_user_text(sources, place) ||
      sources.getBufferName(place) == llvm::StringRef(k_exports_path))
    return CodeOrigin::user;
  const auto* written = llvm::dyn_cast<clang::FunctionDecl>(decl);
  return written && written->getTemplateInstantiationPattern() ? CodeOrigin::instance : CodeOrigin::header;
}

std::set<std::string> macros_of_user(const clang::Preprocessor& preprocessor) {
  std::set<std::string> names;
  for (const auto& [identifier, state] : preprocessor.macros(/*IncludeExternalMacros=*/false))
    if (const clang::MacroInfo* macro = preprocessor.getMacroInfo(identifier);
        macro && is_user_file(preprocessor.getSourceManager(), macro->getDefinitionLoc()))
      names.insert(identifier->getName().str());
  return names;
}

void enter(clang::Preprocessor& preprocessor, const std::string& text, const char* path,
           clang::SourceLocation place, clang::SrcMgr::CharacteristicKind kind) {
  const clang::FileID file = preprocessor.getSourceManager().createFileID(
      llvm::MemoryBuffer::getMemBufferCopy(text, path), kind, 0, 0, place);
  preprocessor.EnterSourceFile(file, nullptr, place);
}

Slicer& slicer_of(HostParse& parse, clang::ASTContext& context) {
  const bool columns = bool(parse.unit.request->options.debug);  // line tables name none
  if (!parse.slicer) parse.slicer = std::make_unique<Slicer>(context, *parse.tokens, columns);
  return *parse.slicer;
}

}  // namespace tarsia::jit
