// The main file's bytes while Clang reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// The user's text, Tarsia's ending, and blanks. The text behind the leading includes may be replaced while
/// Clang has read no more than these: the bytes change under Clang's view of them.
class MainText {
 public:
  /// With `leading`, the offset behind the leading includes, it begins with these alone, and a
  /// `#pragma tarsia leading` is met behind them. The file must outlive it.
  MainText(const SourceFile& file, std::optional<std::size_t> leading, std::string_view ending);
  /// How long a text may be that takes the place of one of this size.
  static constexpr std::size_t room_for(std::size_t size) { return 2 * size + (std::size_t{64} << 10); }

  /// Always the same view.
  llvm::StringRef bytes() const { return m_bytes; }
  /// Shows the file's text as it is now. It must begin like the first one.
  void show_all();
  /// Of the user's text.
  std::size_t size() const { return m_file.text.size(); }

 private:
  const SourceFile& m_file;
  const std::size_t m_leading;
  const std::string_view m_ending;
  std::string m_bytes;
};

}  // namespace tarsia::jit
