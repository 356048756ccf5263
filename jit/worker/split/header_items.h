// What the split knows of the headers with which a text begins, as bytes that go with their precompiled form.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/worker/split/split.h"
#include "jit/worker/split/split_headers.h"
#include "jit/worker/split/split_items.h"
#include "jit/worker/split/token_recorder.h"

namespace clang {
class ASTReader;
class ASTWriter;
}  // namespace clang

namespace tarsia::jit {

/// Tokens, declarations and directives of headers that a text begins with, and what was recorded of that
/// beginning. Declarations and places are named as in the headers' precompiled form.
struct HeaderItems {
  TokenRecorder::File leading;  ///< of the main file, without tokens
  unsigned counter = 0;         ///< what __COUNTER__ gives next
  /// Kernels of the user's headers and templates of them, in order, as the precompiled form names
  /// declarations.
  std::vector<std::uint64_t> entities;
  std::string_view files;             ///< what FilesOfHeaders::write made
  std::shared_ptr<const void> owner;  ///< of these bytes

  std::string serialize() const;
  /// None if the bytes are not of this form. They are not copied.
  static std::optional<HeaderItems> parse(std::string_view bytes, std::shared_ptr<const void> owner);
};

/// What a slicer has of headers on disk.
struct FilesOfHeaders {
  struct One {
    clang::FileID id;
    TokenRecorder::File recorded;
    SplitFile items;  ///< its tokens are those of `recorded`
    std::shared_ptr<const HostText> host_text;
    std::shared_ptr<const HostNames> host_names;
  };
  std::vector<One> files;  ///< in order of inclusion
  DefinedMacros defined;
  DeviceMacros::Names device_macros;
  std::shared_ptr<const std::vector<std::string>> words;  ///< every identifier in them, sorted

  /// Of a parse that has just been written as a precompiled form, by this writer.
  std::string write(clang::ASTContext& context, clang::ASTWriter& writer) const;
  /// In a parse on top of that form. Texts of the host are empty, but for their digests. None if the bytes
  /// are not of this form.
  static std::optional<FilesOfHeaders> read(std::string_view bytes, clang::ASTContext& context,
                                            clang::ASTReader& reader);
};

}  // namespace tarsia::jit
