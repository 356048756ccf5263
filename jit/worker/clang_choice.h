// Which of the two device compilers takes a text, or which part of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "jit/worker/nvptx/nvptx_compiler.h"

namespace tarsia::jit {

/// Whether Clang compiles a unit's device code, and how it is asked to.
struct ClangChoice {
  using Symbols = std::set<std::string>;
  /// `kernels` and `left_out`: as NvptxUnit has them.
  using Compile = std::function<NvptxResult(const Symbols& kernels, std::function<Symbols()> left_out,
                                            const std::atomic<bool>*)>;
  std::string why;          ///< there is code that NVRTC cannot take; "": none that is known
  bool is_whole = false;    ///< NVRTC is not asked for the rest
  bool may_follow = false;  ///< where NVRTC refuses, Clang is asked
  Compile compile;

  /// Parses the text, beside whatever the caller does, if it has not begun. Its code is made when
  /// result_without() or result() asks for it. The last copy of this choice ends it.
  void start() const;
  /// The code of all kernels but these, which are not none.
  NvptxResult result_without(Symbols kernels, const std::atomic<bool>* cancelled) const;
  /// The code of all kernels, or of these, whether it was started or not.
  NvptxResult result(const Symbols& kernels, const std::atomic<bool>* cancelled) const;
  /// Any thread may call it, the others one at a time.
  void cancel() const;

 private:
  struct Beside;
  static std::shared_ptr<Beside> make_beside();
  std::shared_ptr<Beside> m_beside = make_beside();
};

}  // namespace tarsia::jit
