// Routes the reads of LLVM's assembler through the file system of the source.
//
// Work-around: LLVM's assembler of inline assembly reads the machine's own files. Trigger: `.incbin` or
// `.include` in an asm statement. Symptom: a file that no key knows, of any folder, becomes part of the
// module; a FIFO stops the compile. Removal: LLVM lets the user of its code generator choose the file system
// of AsmPrinter::emitInlineAsm.
//
// One step of it is open to others: a function in the registry of targets makes the target's half of the
// parser. Tarsia's function takes its place, swaps the file system, and lets LLVM's own do the rest. This
// covers all text that reaches the assembler: top-level assembly, naked functions, and directives that the
// assembler's macros put together.
#include "jit/worker/source/assembler_files.h"

#include <mutex>
#include <optional>
#include <string>

#include "jit/worker/source/source_fs.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Triple.h"

namespace tarsia::jit {
namespace {

thread_local llvm::vfs::FileSystem* t_files = nullptr;

std::optional<llvm::Target>& llvms_own() {
  static std::optional<llvm::Target> s_target;
  return s_target;
}

llvm::MCTargetAsmParser* make_parser(const llvm::MCSubtargetInfo& subtarget, llvm::MCAsmParser& parser,
                                     const llvm::MCInstrInfo& instructions,
                                     const llvm::MCTargetOptions& options) {
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files = t_files;
  if (!files) files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  parser.getSourceManager().setVirtualFileSystem(std::move(files));
  return llvms_own()->createMCAsmParser(subtarget, parser, instructions, options);
}

}  // namespace

void guard_assembler() {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(llvm::Triple("x86_64-pc-linux-gnu"), error);
  if (!target) return;  // without a target there is no code, and LLVM says so
  // The registry hands the target out as const, but gives the same object to functions that register.
  auto& registered = const_cast<llvm::Target&>(*target);
  if (!llvms_own()) llvms_own() = registered;
  llvm::TargetRegistry::RegisterMCAsmParser(registered, &make_parser);
}

// Threads that make halves of one module share the source's file system, which is not thread-safe.
class AssemblerFiles::View final : public llvm::vfs::FileSystem {
 public:
  explicit View(SourceFileSystem& files) : m_files(files) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    std::lock_guard lock(m_mutex);
    m_asked = true;
    return m_files.status(path);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    std::lock_guard lock(m_mutex);
    m_asked = true;
    m_files.note_name(path.str());
    return m_files.open_as_it_is(path);
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine&, std::error_code& ec) override {
    ec = std::make_error_code(std::errc::function_not_supported);
    return {};
  }
  std::error_code setCurrentWorkingDirectory(const llvm::Twine&) override { return {}; }
  llvm::ErrorOr<std::string> getCurrentWorkingDirectory() const override {
    return m_files.getCurrentWorkingDirectory();
  }

  bool asked() {
    std::lock_guard lock(m_mutex);
    return m_asked;
  }

 private:
  std::mutex m_mutex;
  SourceFileSystem& m_files;
  bool m_asked = false;
};

AssemblerFiles::AssemblerFiles(SourceFileSystem& files) : m_view(llvm::makeIntrusiveRefCnt<View>(files)) {}
AssemblerFiles::~AssemblerFiles() = default;

bool AssemblerFiles::asked() const {
  return m_view->asked();
}

AssemblerFiles::OfThread::OfThread(AssemblerFiles& files) {
  t_files = files.m_view.get();
}

AssemblerFiles::OfThread::~OfThread() {
  t_files = nullptr;
}

}  // namespace tarsia::jit
