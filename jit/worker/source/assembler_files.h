// The files that inline assembly reads: .incbin and .include, wherever macros of the assembler's may hide
// them.
#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace llvm::vfs {
class FileSystem;
}

namespace tarsia::jit {

class SourceFileSystem;

/// Has LLVM's assembler read through the AssemblerFiles of its thread, and nothing where there is none. Call
/// it after whatever registers LLVM's own parsers of assembly (LLD does, at each link) and before code is
/// made; not while another thread makes code.
void guard_assembler();

/// What inline assembly of one compile may read: what an #include of the same name would find, as it is on
/// disk. What was read is among the dependencies of `files`, which must outlive this. Any thread.
class AssemblerFiles {
 public:
  explicit AssemblerFiles(SourceFileSystem& files);
  ~AssemblerFiles();
  AssemblerFiles(const AssemblerFiles&) = delete;
  AssemblerFiles& operator=(const AssemblerFiles&) = delete;

  /// Whether a file was asked for, found or not.
  bool asked() const;

  /// Makes them those of this thread, for as long as it lives.
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
