// Runs LLVM's optimiser and code generator over a host module.
#include "jit/worker/code/host_code.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/DiagnosticFrontend.h"
#include "clang/CodeGen/BackendUtil.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "jit/worker/code/code_halves.h"
#include "jit/worker/code/early_passes.h"
#include "jit/worker/code/header_code.h"
#include "jit/worker/code/loop_nests.h"
#include "jit/worker/source/assembler_files.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace tarsia::jit {

namespace {

/// An error of the code generator.
struct CodeError {
  clang::SourceLocation place;  ///< of the inline assembly; invalid if it is about something else
  std::string message;
  int top_level_line = 0;  ///< of all assembly outside of functions, from 1; 0: it is not about that
};

// The place of the assembly that holds this location, or that reads the file that holds it.
int outermost_line(const llvm::SMDiagnostic& message) {
  const llvm::SourceMgr* buffers = message.getSourceMgr();
  if (!buffers || !message.getLoc().isValid()) return message.getLineNo();
  llvm::SMLoc place = message.getLoc();
  for (unsigned buffer; (buffer = buffers->FindBufferContainingLoc(place)) != 0;) {
    const llvm::SMLoc included_at = buffers->getParentIncludeLoc(buffer);
    if (!included_at.isValid()) return int(buffers->FindLineNumber(place, buffer));
    place = included_at;
  }
  return 0;
}

// Keeps errors until they can be reported on one thread. Without it LLVM prints them and ends the process.
class Errors final : public llvm::DiagnosticHandler {
 public:
  explicit Errors(std::vector<CodeError>& errors) : m_errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    CodeError error;
    if (const auto* assembly = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&info)) {
      error.place =
          clang::SourceLocation::getFromRawEncoding(clang::SourceLocation::UIntTy(assembly->getLocCookie()));
      const llvm::SMDiagnostic& message = assembly->getSMDiag();
      error.message = message.getMessage().str();
      if (llvm::StringRef text = error.message; text.starts_with("Could not find in"))
        error.message += "; inline assembly reads regular files in include_dirs, and the source's own texts";
      if (error.place.isInvalid()) error.top_level_line = outermost_line(message);
      if (llvm::StringRef line = message.getLineContents().trim(); !line.empty())
        error.message += " in '" + line.str() + "'";
    } else {
      llvm::raw_string_ostream text(error.message);
      llvm::DiagnosticPrinterRawOStream printer(text);
      info.print(printer);
      if (const auto* assembly = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info))
        error.place = clang::SourceLocation::getFromRawEncoding(
            clang::SourceLocation::UIntTy(assembly->getLocCookie()));
    }
    m_errors.push_back(std::move(error));
    return true;
  }

 private:
  std::vector<CodeError>& m_errors;
};

/// The output of one thread.
struct Made {
  std::string object;
  std::vector<CodeError> errors;
};

std::vector<std::string> objects_of(const std::vector<Made>& all) {
  std::vector<std::string> objects;
  for (const Made& one : all) objects.push_back(one.object);
  return objects;
}

/// A part of the headers' code, which is found or made.
struct HeaderPart {
  std::string bitcode;
  std::optional<std::vector<std::string>> found;
  std::future<std::vector<Made>> made;
};

std::string emit(clang::CompilerInstance& clang, llvm::Module& module, clang::BackendAction what) {
  llvm::SmallVector<char, 0> bytes;
  clang::emitBackendOutput(clang, clang.getCodeGenOpts(), clang.getTarget().getDataLayoutString(), &module,
                           what, clang.getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(bytes));
  return {bytes.begin(), bytes.end()};
}

// The optimiser works on a copy: code generation changes what it left, and gets the module as it was.
void add_ir(clang::CompilerInstance& clang, llvm::Module& module) {
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  // Line tables, which every module has, would be most of the text.
  if (!clang.getCodeGenOpts().hasReducedDebugInfo()) llvm::StripDebugInfo(*copy);
  const std::string text = emit(clang, *copy, clang::Backend_EmitLL);
  auto* bytes = llvm::ConstantDataArray::getString(module.getContext(), text, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, bytes, "tarsia_ir");
  variable->setSection(".tarsia.ir");
  variable->setAlignment(llvm::Align(1));
  llvm::appendToUsed(module, {variable});
}

Made generate(clang::CompilerInstance& clang, llvm::Module& module, AssemblerFiles& files, bool keep_ir) {
  Made made;
  const AssemblerFiles::OfThread of_thread(files);
  llvm::LLVMContext& context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<Errors>(made.errors));
  if (keep_ir) add_ir(clang, module);
  made.object = emit(clang, module, clang::Backend_EmitObj);
  context.setDiagnosticHandler(nullptr);
  return made;
}

using LoadedModule = llvm::Expected<std::unique_ptr<llvm::Module>>;

LoadedModule load(const std::string& bitcode, llvm::LLVMContext& context, bool keep_ir) {
  context.setDiscardValueNames(!keep_ir);
  return llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "tarsia_module"), context);
}

// On a thread of its own.
template <class Work>
auto begin(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {  // the system gives no thread
    return std::async(std::launch::deferred, work);
  }
}

// One object, or two if two threads shared the work. `unit`: halve().
std::vector<Made> generate_halves(clang::CompilerInstance& clang, llvm::Module& module,
                                  std::optional<int> unit, AssemblerFiles& files, bool keep_ir) {
  CodeHalves halves;
  if (clang.getCodeGenOpts().OptimizationLevel == 2) keep_loop_nests_apart(module);
  if (clang.getCodeGenOpts().OptimizationLevel >= 2) halves = halve(module, unit);
  std::vector<Made> made;
  if (!halves.first) {
    made.push_back(generate(clang, module, files, keep_ir));
    return made;
  }
  std::future<Made> other = begin([&]() -> Made {
    llvm::LLVMContext context;
    LoadedModule second = load(halves.second, context, keep_ir);
    if (!second) return {{}, {{{}, llvm::toString(second.takeError())}}};
    return generate(clang, **second, files, keep_ir);
  });
  made.push_back(generate(clang, *halves.first, files, keep_ir));
  made.push_back(other.get());
  return made;
}

// Of the headers' code.
std::vector<Made> generate_part(clang::CompilerInstance& clang, const std::string& bitcode,
                                AssemblerFiles& files) {
  llvm::LLVMContext context;
  std::vector<Made> made;
  if (LoadedModule module = load(bitcode, context, /*keep_ir=*/false))
    made = generate_halves(clang, **module, std::nullopt, files, /*keep_ir=*/false);
  else
    made.push_back({{}, {{{}, llvm::toString(module.takeError())}}});
  return made;
}

// The assembly outside of functions, in the order in which Clang joins it.
void list_top_level(const clang::DeclContext& scope, std::vector<const clang::FileScopeAsmDecl*>& all) {
  for (const clang::Decl* decl : scope.noload_decls()) {
    if (const auto* assembly = llvm::dyn_cast<clang::FileScopeAsmDecl>(decl)) all.push_back(assembly);
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl))
      list_top_level(*llvm::cast<clang::DeclContext>(decl), all);
  }
}

// Clang hands this assembly to LLVM as one text, and LLVM knows no places in it.
clang::SourceLocation top_level_place(const clang::ASTContext& context, int line) {
  std::vector<const clang::FileScopeAsmDecl*> all;
  list_top_level(*context.getTranslationUnitDecl(), all);
  for (const clang::FileScopeAsmDecl* assembly : all) {
    const std::string text = assembly->getAsmString();
    line -= int(llvm::StringRef(text).count('\n')) + !llvm::StringRef(text).ends_with("\n");
    if (line <= 0) return assembly->getAsmLoc();
  }
  return {};
}

void report(clang::CompilerInstance& clang, const std::vector<CodeError>& errors) {
  clang::DiagnosticsEngine& diagnostics = clang.getDiagnostics();
  for (const CodeError& error : errors) {
    const clang::SourceLocation place =
        error.top_level_line > 0 ? top_level_place(clang.getASTContext(), error.top_level_line) : error.place;
    if (place.isValid())
      diagnostics.Report(place, clang::diag::err_fe_inline_asm).AddString(error.message);
    else
      diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0")) << error.message;
  }
}

void warn_of_chains(clang::CompilerInstance& clang, clang::CodeGenerator& generator,
                    const std::vector<std::string>& not_optimised) {
  clang::DiagnosticsEngine& diagnostics = clang.getDiagnostics();
  const unsigned id = diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Warning,
                                                  "'%0' is not optimised, since a thousand ifs or more "
                                                  "follow one another in it: make the chain of ifs a "
                                                  "switch or a table, or divide the function");
  for (const std::string& name : not_optimised) {
    const clang::Decl* decl = generator.GetDeclForMangledName(name);
    diagnostics.Report(decl ? decl->getLocation() : clang::SourceLocation(), id) << llvm::demangle(name);
  }
}

}  // namespace

std::vector<std::string> generate_host_code(clang::CompilerInstance& clang, clang::CodeGenerator& generator,
                                            std::unique_ptr<llvm::Module> module, int unit,
                                            AssemblerFiles& files, bool keep_ir,
                                            const HeaderObjects* headers) {
  guard_assembler();
  drop_unreached(*module);
  trap_forbidden_returns(*module);
  keep_callers(*module);
  if (clang.getCodeGenOpts().OptimizationLevel > 0) warn_of_chains(clang, generator, shorten_chains(*module));
  std::vector<HeaderPart> parts;
  if (headers && !keep_ir) {
    for (std::string& bitcode :
         cut_header_code(*module, unit, headers->origin_of, clang.getCodeGenOpts().OptimizationLevel >= 2))
      parts.push_back({std::move(bitcode), {}, {}});
    for (HeaderPart& part : parts) {
      part.found = headers->find(part.bitcode);
      if (!part.found) part.made = begin([&] { return generate_part(clang, part.bitcode, files); });
    }
  }
  std::vector<Made> made = generate_halves(clang, *module, unit, files, keep_ir);
  for (HeaderPart& part : parts) {
    std::vector<Made> more;
    if (part.found) {
      for (std::string& object : *part.found) more.push_back({std::move(object), {}});
    } else {
      more = part.made.get();
      if (headers && std::ranges::all_of(more, [](const Made& one) { return one.errors.empty(); }))
        headers->keep(part.bitcode, objects_of(more));
    }
    std::ranges::move(more, std::back_inserter(made));
  }
  std::vector<std::string> objects;
  for (Made& one : made) {
    report(clang, one.errors);
    objects.push_back(std::move(one.object));
  }
  if (clang.getDiagnostics().hasErrorOccurred()) return {};
  return objects;
}

}  // namespace tarsia::jit
