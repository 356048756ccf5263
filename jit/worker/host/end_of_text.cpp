// Lists the exports of a text that has been read, and enters the text that describes them.
#include "jit/worker/host/end_of_text.h"

#include <set>
#include <string>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/exports/export_text.h"
#include "jit/worker/host/cell_parse.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/host/host_tables.h"
#include "jit/worker/host/leading_parse.h"
#include "jit/worker/host/wanted_kernels.h"
#include "jit/worker/source/raw_tokens.h"
#include "jit/worker/split/kernel_body.h"

namespace tarsia::jit {
namespace {

constexpr std::string_view k_exports_pragma = k_ending.substr(3);

// Directives that undefine the user's macros: the text that describes the exports must not meet them.
std::string without_macros_of_user(const HostParse& parse, const clang::Preprocessor& preprocessor) {
  std::set<std::string> names = macros_of_user(preprocessor);
  for (const auto& [name, definition] : parse.unit.request->options.defines)
    if (!name.starts_with("TARSIA_")) names.insert(name);
  if (parse.unit.macros) names.insert(parse.unit.macros->begin(), parse.unit.macros->end());
  std::string text;
  for (const std::string& name : names) text += "#undef " + name + "\n";
  return text;
}

}  // namespace

// Work-around: Clang checks the calls of a device function against the host's functions.
// Trigger: a device function that is constexpr, or of a deduced type, and calls a function of CUDA's headers,
// such as __shfl_sync, which have no attributes here (tarsia_cuda_host.h). Symptom: "no matching function" in
// a body that the host does not need. The device's compiler judges it. Removal: Clang steps over such bodies,
// too, or CUDA's headers keep their attributes.
void forget_passed_over(clang::DiagnosticsEngine& diagnostics, const DiagnosticCollector& collector) {
  if (collector.passed_over_all()) diagnostics.Reset(/*soft=*/true);
}

void empty_kernels(clang::ASTContext& context, clang::DeclContext* scope) {
  for (clang::Decl* decl : scope->noload_decls()) {
    if (!is_user_file(context.getSourceManager(), decl->getLocation())) continue;
    if (auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) empty_kernels(context, space);
    if (auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) empty_kernels(context, linkage);
    if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      // Explicit instantiations were made on the spot.
      for (clang::FunctionDecl* special : pattern->specializations()) empty_kernel(context, special);
      decl = pattern->getTemplatedDecl();
    }
    empty_kernel(context, llvm::dyn_cast<clang::FunctionDecl>(decl));
  }
}

Exports list_exports_of(HostParse& parse, clang::ASTContext& context) {
  for (const auto* group : {&parse.unit.request->files, &parse.unit.request->headers})
    for (const SourceFile& file : *group)
      parse.choice.marked_alone |= has_identifier(file.text, "TARSIA_EXPORT");
  parse.choice.marked_alone |= parse.unit.file->name == k_th_routines;
  Exports exports = list_exports(context, parse.choice);
  for (const clang::FunctionDecl* function : exports.functions)
    parse.result.exported.push_back(exported_name(*function));
  parse.result.left_out = std::move(exports.left_out);
  return exports;
}

void describe_exports(HostParse& parse, clang::Preprocessor& preprocessor, clang::SourceLocation place) {
  if (close_brace(parse, preprocessor, place, k_exports_pragma)) return;
  forget_passed_over(preprocessor.getDiagnostics(), parse.diagnostics);
  if (parse.described || !parse.sema || preprocessor.getDiagnostics().hasErrorOccurred()) return;
  // An unclosed brace leaves nothing to describe: the parser reports it.
  if (!parse.sema->CurContext->isTranslationUnit()) return;
  const bool kernels_alone = !parse.unit.request->options.kernels.empty();
  if (kernels_alone && !std::exchange(parse.wanted, true))
    return enter(preprocessor, text_of_wanted(parse.unit.request->options.kernels).append(k_exports_pragma),
                 k_wanted_path, place);
  parse.described = true;
  if (parse.checks) parse.checks->end();
  clang::ASTContext& context = parse.sema->getASTContext();
  if (parse.cuda()) empty_kernels(context, context.getTranslationUnitDecl());
  // Virtual functions are instantiated with the tables that name them, and may use further tables.
  const NoKeyFunctions no_keys(context, parse.classes_of_cells);
  do parse.sema->PerformPendingInstantiations();
  while (parse.sema->DefineUsedVTables());
  // What an earlier cell declares, a later one may define.
  if (parse.cuda() && !parse.cell) define_declared_variables(context);
  if (parse.cuda())
    list_device_entities(context, parse.slice, parse.cell ? parse.cell->path() : std::string(),
                         kernels_of_headers(parse));
  if (kernels_alone)
    return choose_kernels(parse.unit.request->options.kernels, context, parse.clang->getDiagnostics(),
                          parse.slice);
  Exports exports = list_exports_of(parse, context);
  // With device code, the device tables carry the places. The host's object then does not change with them.
  parse.export_text = without_macros_of_user(parse, preprocessor) +
                      export_text(exports, context, parse.unit.request->cuda, parse.unit.number,
                                  parse.slice.empty() ? nullptr : &parse.result.places);
  enter(preprocessor, parse.export_text, k_exports_path, place);
}

}  // namespace tarsia::jit
