// Runs LLVM's optimiser and code generator over a host module.
#include "jit/worker/host/host_code.h"

#include <future>
#include <system_error>
#include <utility>

#include "clang/Basic/DiagnosticFrontend.h"
#include "clang/CodeGen/BackendUtil.h"
#include "clang/Frontend/CompilerInstance.h"
#include "jit/worker/host/code_halves.h"
#include "jit/worker/host/loop_nests.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

namespace tarsia::jit {

namespace {

/// An error of the code generator.
struct CodeError {
  clang::SourceLocation place;  ///< of the inline assembly; invalid if it is about something else
  std::string message;
};

// Keeps errors until they can be told on one thread. Without it LLVM prints them and ends the process.
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

/// What a thread makes.
struct Made {
  std::string object;
  std::vector<CodeError> errors;
};

Made generate(clang::CompilerInstance& clang, llvm::Module& module) {
  Made made;
  llvm::LLVMContext& context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<Errors>(made.errors));
  llvm::SmallVector<char, 0> object;
  clang::emitBackendOutput(clang, clang.getCodeGenOpts(), clang.getTarget().getDataLayoutString(), &module,
                           clang::Backend_EmitObj, clang.getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(object));
  context.setDiagnosticHandler(nullptr);
  made.object.assign(object.begin(), object.end());
  return made;
}

Made generate_from(clang::CompilerInstance& clang, const std::string& bitcode) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "tarsia_module"), context);
  if (!module) return {{}, {{{}, llvm::toString(module.takeError())}}};
  return generate(clang, **module);
}

void report(clang::DiagnosticsEngine& diagnostics, const std::vector<CodeError>& errors) {
  for (const CodeError& error : errors)
    if (error.place.isValid())
      diagnostics.Report(error.place, clang::diag::err_fe_inline_asm).AddString(error.message);
    else
      diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0")) << error.message;
}

}  // namespace

std::vector<std::string> generate_host_code(clang::CompilerInstance& clang,
                                            std::unique_ptr<llvm::Module> module, int unit) {
  CodeHalves halves;
  if (clang.getCodeGenOpts().OptimizationLevel == 2) keep_loop_nests_apart(*module);
  if (clang.getCodeGenOpts().OptimizationLevel >= 2) halves = halve(*module, unit);
  std::vector<Made> made;
  if (halves.first) {
    const auto second = [&] { return generate_from(clang, halves.second); };
    std::future<Made> other;
    try {
      other = std::async(std::launch::async, second);
    } catch (const std::system_error&) {  // there is no thread to be had
      other = std::async(std::launch::deferred, second);
    }
    made.push_back(generate(clang, *halves.first));
    made.push_back(other.get());
  } else {
    made.push_back(generate(clang, *module));
  }
  std::vector<std::string> objects;
  for (Made& one : made) {
    report(clang.getDiagnostics(), one.errors);
    objects.push_back(std::move(one.object));
  }
  if (clang.getDiagnostics().hasErrorOccurred()) return {};
  return objects;
}

}  // namespace tarsia::jit
