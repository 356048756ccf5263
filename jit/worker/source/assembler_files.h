// The files that inline assembly reads by .incbin and .include, even if macros of the assembler hide these.
#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace llvm::vfs {
class FileSystem;
}

namespace tarsia::jit {

class SourceFileSystem;

/// Makes LLVM's assembler read through the AssemblerFiles of its thread, and read nothing if there is none.
/// The caller calls it after everything that registers LLVM's own parsers of assembly (LLD does, at each
/// link), before code is made, and while no other thread makes code.
void guard_assembler();

/// The files that inline assembly of one compile may read: those that an #include of the same name would
/// find, as they are on disk. The files read are among the dependencies of `files`, which must outlive
/// this. Any thread.
class AssemblerFiles {
 public:
  explicit AssemblerFiles(SourceFileSystem& files);
  ~AssemblerFiles();
  AssemblerFiles(const AssemblerFiles&) = delete;
  AssemblerFiles& operator=(const AssemblerFiles&) = delete;

  /// Whether a file was asked for, found or not.
  bool asked() const;

  /// Makes these the files of this thread, as long as it lives.
  class OfThread {
   public:
    explicit OfThread(AssemblerFiles& files);
    ~OfThread();
    OfThread(const OfThread&) = delete;
    OfThread& operator=(const OfThread&) = delete;
  };

 private:
  class View;
  llvm::IntrusiveRefCntPtr<View> m_view;
};

}  // namespace tarsia::jit
