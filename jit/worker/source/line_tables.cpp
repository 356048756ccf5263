// Keeps line tables small. A source of ten lines with <vector> and <algorithm> inlines hundreds of the
// library's functions. Described one by one they would cost a quarter of the compile, and twice the module.
// Nobody who looks for a line of the source misses them: what a function without debug information leaves
// behind where LLVM inlines it gets the line of its call.
//
// What LLVM inlines *into* such a function loses its line where that function stays a function. So those
// that may call code of the user's, since a type or function of the user's is an argument of the template,
// are described like the user's own: std::sort with a lambda. So is Tarsia's text that describes the exports.
#include "jit/worker/source/line_tables.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/SourceManagerInternals.h>

#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

namespace {

// What has no place is the compiler's own.
bool is_of_headers(const clang::Decl& decl, const clang::SourceManager& sources) {
  const clang::SourceLocation place = sources.getExpansionLoc(decl.getLocation());
  return !place.isValid() ||
         (sources.isInSystemHeader(place) && sources.getBufferName(place) != llvm::StringRef(k_exports_path));
}

bool names_user(llvm::ArrayRef<clang::TemplateArgument> arguments, const clang::SourceManager& sources);

bool names_user(clang::QualType type, const clang::SourceManager& sources) {
  while (true) {
    if (const clang::QualType target = type->getPointeeType(); !target.isNull())
      type = target;
    else if (const clang::ArrayType* array = type->getAsArrayTypeUnsafe())
      type = array->getElementType();
    else
      break;
  }
  const clang::TagDecl* tag = type->getAsTagDecl();
  if (!tag) return false;
  if (!is_of_headers(*tag, sources)) return true;
  const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(tag);
  return special && names_user(special->getTemplateArgs().asArray(), sources);
}

bool names_user(llvm::ArrayRef<clang::TemplateArgument> arguments, const clang::SourceManager& sources) {
  return llvm::any_of(arguments, [&](const clang::TemplateArgument& argument) {
    switch (argument.getKind()) {
      case clang::TemplateArgument::Type:
        return names_user(argument.getAsType(), sources);
      case clang::TemplateArgument::Declaration:
        return !is_of_headers(*argument.getAsDecl(), sources);
      case clang::TemplateArgument::Pack:
        return names_user(argument.getPackAsArray(), sources);
      default:
        return false;
    }
  });
}

// An argument of the template, or of a template around it, is the user's.
bool may_call_user(const clang::FunctionDecl& function, const clang::SourceManager& sources) {
  if (const clang::TemplateArgumentList* arguments = function.getTemplateSpecializationArgs();
      arguments && names_user(arguments->asArray(), sources))
    return true;
  for (const clang::DeclContext* scope = function.getDeclContext(); scope && scope->isRecord();
       scope = scope->getParent())
    if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(scope);
        special && names_user(special->getTemplateArgs().asArray(), sources))
      return true;
  return false;
}

void leave_out(clang::Decl& decl) {
  if (!decl.hasAttr<clang::NoDebugAttr>())
    decl.addAttr(clang::NoDebugAttr::CreateImplicit(decl.getASTContext()));
}

}  // namespace

void LineTables::choose(clang::DeclGroupRef group) {
  for (clang::Decl* decl : group) choose(*decl);
}

void LineTables::choose(clang::Decl& decl) {
  const clang::SourceManager& sources = decl.getASTContext().getSourceManager();
  if (auto* made_from = llvm::dyn_cast<clang::FunctionTemplateDecl>(&decl))
    return choose(*made_from->getTemplatedDecl());
  if (auto* made_from = llvm::dyn_cast<clang::ClassTemplateDecl>(&decl))
    return choose(*made_from->getTemplatedDecl());
  if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl)) {
    if (!is_of_headers(decl, sources)) return;
    if (may_call_user(*function, sources))
      decl.dropAttr<clang::NoDebugAttr>();
    else
      leave_out(decl);
  } else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::CXXRecordDecl>(decl)) {
    if (is_of_headers(decl, sources))
      for (clang::Decl* member : llvm::cast<clang::DeclContext>(decl).noload_decls()) choose(*member);
  }
}

void LineTables::DeclRead(clang::GlobalDeclID, const clang::Decl* decl) {
  if (m_preludes_are_headers && llvm::isa<clang::FunctionDecl>(decl))
    leave_out(const_cast<clang::Decl&>(*decl));
}

void tell_debug_lines(clang::SourceManager& sources, const SourceFile& file) {
  if (file.debug_lines.empty()) return;
  const clang::FileID text = sources.getMainFileID();
  if (sources.hasLineTable())
    for (const auto& [noted, lines] : sources.getLineTable())
      if (noted == text) return;  // it has #line directives
  const int name = static_cast<int>(sources.getLineTableFilenameID(file.debug_file));
  for (std::size_t i = 0; i < file.debug_lines.size(); ++i) {
    const std::uint32_t line = file.debug_lines[i];
    if (i > 0 && file.debug_lines[i - 1] + 1 == line) continue;  // the last note says so
    // A note speaks of the line behind it.
    sources.AddLineNote(sources.translateLineCol(text, static_cast<unsigned>(i + 1), 1), line + 1, name,
                        false, false, clang::SrcMgr::C_User);
  }
}

}  // namespace tarsia::jit
