// What happens behind the leading includes.
#include "jit/worker/host/leading_parse.h"

#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "clang/Serialization/ASTReader.h"
#include "clang/Serialization/ModuleFile.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/source/end_of_headers.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace tarsia::jit {
namespace {

// Is read behind the leading includes. The semicolon ends the declaration before it, for the parser looks one
// token ahead.
constexpr char k_at_leading[] = ";\n#pragma tarsia hold\n";

// Is read behind HostUnit::begun.
constexpr char k_behind_begun[] = "#pragma tarsia begun\n";

// From here on, Clang knows a file that it has read by another path, at which one has to be.
// False if Clang knows that there is none.
bool name_file(HostParse& parse, clang::FileID file, const std::string& path) {
  clang::SourceManager& sources = parse.clang->getSourceManager();
  auto& content =
      const_cast<clang::SrcMgr::ContentCache&>(sources.getSLocEntry(file).getFile().getContentCache());
  if (content.OrigEntry && content.OrigEntry->getName() == path) return true;
  auto entry = parse.clang->getFileManager().getFileRef(path);
  if (!entry) {
    llvm::consumeError(entry.takeError());
    return false;
  }
  content.OrigEntry = *entry;
  content.ContentsEntry = *entry;
  return true;
}

// Clang shall see the text of the unit's file as it is now, under its name.
bool show_text(HostParse& parse, clang::SourceManager& sources) {
  const HostUnit& unit = parse.unit;
  parse.text->show_all();
  parse.diagnostics.set_main_text(unit.file->name, unit.file->text);
  parse.files->add_text(main_path_of(*unit.file), parse.text->bytes(), unit.file->text);
  if (!name_file(parse, sources.getMainFileID(), main_path_of(*unit.file))) return false;
  // Its lines may have been counted.
  sources.getSLocEntry(sources.getMainFileID()).getFile().getContentCache().SourceLineCache = {};
  return true;
}

LeadingContent write_leading(HostParse& parse, const clang::Preprocessor& preprocessor) {
  LeadingContent content;
  if (!parse.writer || !parse.slicer->can_take_headers()) return content;
  std::set<std::string> names;
  for (const auto& [path, written] : parse.tokens->included_as())
    names.insert(written.begin(), written.end());
  content.names.assign(names.begin(), names.end());
  const std::set<std::string> macros = macros_of_user(preprocessor);
  content.macros.assign(macros.begin(), macros.end());
  content.warnings = parse.diagnostics.so_far();
  content.use = parse.define_watch->forget_others(*parse.clang, parse.unit.settled);
  content.pch = parse.writer->write(parse.sema->getASTContext());
  if (content.pch.empty()) return content;
  HeaderItems headers;
  headers.leading = parse.tokens->files().at(preprocessor.getSourceManager().getMainFileID());
  headers.leading.tokens.clear();
  headers.counter = preprocessor.getCounterValue();
  for (const clang::Decl* decl : kernels_so_far(parse.sema->getASTContext()))
    headers.entities.push_back(parse.writer->ast().getDeclID(decl).getRawValue());
  const std::string files = parse.slicer->take_headers(parse.writer->ast());
  headers.files = files;
  content.headers = headers.serialize();
  return content;
}

}  // namespace

void name_leading_text(HostParse& parse) {
  auto reader = parse.clang->getASTReader();
  clang::serialization::ModuleFile& form = reader->getModuleManager().getPrimaryModule();
  // The text is the first of the form's own files. Clang gives no place to what comes before it.
  const auto place = reader->TranslateSourceLocation(form, clang::SourceLocation::getFromRawEncoding(2));
  name_file(parse, parse.clang->getSourceManager().getFileID(place), main_path_of(*parse.unit.file));
}

// The lexer stands behind the leading includes, the parser perhaps one token before.
void end_leading(HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place) {
  clang::SourceManager& sources = preprocessor.getSourceManager();
  if (parse.led || sources.getFileID(place) != sources.getMainFileID()) return;
  parse.led = true;
  show_text(parse, sources);
  static_cast<clang::Lexer*>(preprocessor.getCurrentLexer())->seek(*parse.unit.leading, true);
  if (parse.unit.begun.empty())
    end_begun(parse, preprocessor, place);
  else if (parse.tokens && parse.tokens->is_between_declarations())
    enter(preprocessor, parse.unit.begun + k_behind_begun, k_leading_path, place, clang::SrcMgr::C_User);
}

void end_begun(const HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place) {
  // A header that ends amid a declaration needs what follows.
  if (parse.tokens && parse.tokens->is_between_declarations())
    enter(preprocessor, k_at_leading, k_leading_path, place);
}

void hold(HostParse& parse, clang::Preprocessor& preprocessor) {
  if (!parse.led || std::exchange(parse.held, true) || !parse.sema) return;
  if (preprocessor.getDiagnostics().hasErrorOccurred() || !parse.sema->CurContext->isTranslationUnit())
    return;
  // Another text would have another time, and this one will be parsed anew with OpenMP.
  // So would one of another name, where the headers say __BASE_FILE__.
  if (parse.result.volatile_text || parse.names_main || parse.lacks_openmp()) return;
  LeadingParse leading;
  leading.prepare = [&] {
    end_headers(*parse.sema);
    slicer_of(parse, parse.sema->getASTContext()).read_headers();
    parse.pass_on();
  };
  leading.write = [&] { return write_leading(parse, preprocessor); };
  leading.show = [&] {
    clang::SourceManager& sources = preprocessor.getSourceManager();
    parse.tokens->name(sources.getMainFileID(), main_path_of(*parse.unit.file));
    return show_text(parse, sources);
  };
  if (!parse.hooks.on_leading(leading)) return;
  // This process ends with this compile, and the kernel takes its memory back faster.
  parse.leaves = true;
  parse.clang->getFrontendOpts().DisableFree = true;
  parse.start = std::chrono::steady_clock::now();
}

std::vector<clang::Decl*> kernels_of_headers(const HostParse& parse) {
  std::vector<clang::Decl*> all;
  if (!parse.unit.headers) return all;
  const auto reader = parse.clang->getASTReader();
  clang::serialization::ModuleFile& form = reader->getModuleManager().getPrimaryModule();
  for (const std::uint64_t one : parse.unit.headers->entities)
    if (clang::Decl* decl = reader->GetLocalDecl(form, clang::LocalDeclID::get(*reader, form, one)))
      all.push_back(decl);
  return all;
}

void name_line_tables(const HostParse& parse, llvm::Module& module) {
  for (llvm::DICompileUnit* unit : module.debug_compile_units()) {
    const llvm::DIFile* file = unit->getFile();
    llvm::StringRef folder = file->getFilename();
    if (!folder.consume_back(parse.begun_as)) continue;
    const std::string name = (folder + parse.unit.file->name).str();
    unit->replaceOperandWith(0, llvm::DIFile::get(module.getContext(), name, file->getDirectory(),
                                                  file->getChecksum(), file->getSource()));
  }
}

}  // namespace tarsia::jit
