// A precompiled header in memory, on top of another or of nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dependency.h"
#include "jit/compile.h"
#include "jit/worker/source/macros/define_use.h"
#include "jit/worker/source/source_fs.h"
#include "jit/worker/split/header_items.h"

namespace tarsia::jit {

/// Virtual paths of the precompiled form and of the text, for a layer with this many layers below it. A
/// precompiled header names the one that it builds on by such a path.
std::string prelude_path(int depth);
std::string prelude_text_path(int depth);

/// Immutable once made.
struct PreludeLayer {
  std::shared_ptr<const PreludeLayer> base;
  int depth = 0;  ///< layers below
  std::string text;
  std::string_view pch;                  ///< a NUL follows it in memory
  std::uint64_t checksum = 0;            ///< tells `pch` from other forms of the same headers
  std::shared_ptr<const void> owner;     ///< of the bytes of `pch`
  std::vector<std::string> names;        ///< of every include that was met, as written, sorted
  std::vector<Dependency> dependencies;  ///< the real files that went into it
  std::vector<Diagnostic> warnings;      ///< about these files
  std::vector<std::string> macros;       ///< defined in its text, or in headers that are not of the system
  /// As in DefineUse. The layer serves requests that define those in `used` alike, and no other that is in
  /// `words`.
  std::vector<std::string> used;
  std::string_view words;
  std::shared_ptr<const void> words_owner;  ///< of the bytes of `words`
  /// What the split knows of its headers, if it holds those with which a CUDA source begins.
  std::shared_ptr<const HeaderItems> headers;

  /// Shows this layer and those below to Clang; all must live as long as the files.
  void add_to(SourceFileSystem& files) const;
  /// Whether a header of that name, or one that it includes, is in this layer or one below.
  bool met(const std::string& name) const;
  /// Bytes, with those below.
  std::size_t size() const { return pch.size() + (base ? base->size() : 0); }

  /// Of the macros that options define, all that this layer and those below depend on.
  std::vector<std::string> settled() const;
  /// Whether its headers, not those below, are read alike with these macros, if those in `used` are alike.
  bool fits(const Defines& defines) const;
  void set(DefineUse use);

  /// Whether the source brings a file of its own under a name that went into the layers. The layers then
  /// hold another file than the source means.
  bool is_hidden_by(const std::vector<SourceFile>& own) const;
  /// The same for the source's folders. Paths that were looked for and not found are added to `absent`.
  bool is_hidden_by(const std::vector<std::string>& include_dirs, std::vector<Dependency>& absent) const;
};

/// A layer that was made here. Its dependencies are checked before each use. For one thread.
class KeptLayer {
 public:
  KeptLayer(PreludeLayer layer, std::string pch);
  /// Takes a layer of CUDA's headers that was made elsewhere; its dependencies have virtual paths. The
  /// result is like one that was made here from the headers in these folders. Null if those headers differ.
  static std::shared_ptr<KeptLayer> adopt(const PreludeLayer& layer,
                                          const std::vector<std::string>& cuda_dirs);
  /// The bytes that `parse` takes. `headers`: HeaderItems, serialized, if the layer has them.
  std::string serialize(std::string_view headers = {}) const;
  /// In this process's own memory and in its mappings, without the layers below.
  std::size_t size() const { return m_layer.pch.size(); }
  /// Null if the bytes are not of this form, or stand on other bytes than those of `like.base`. `base`,
  /// `depth` and `text` are those of the layer that was kept.
  static std::shared_ptr<KeptLayer> parse(PartBytes bytes, PreludeLayer like);
  static std::shared_ptr<KeptLayer> parse(std::string bytes, PreludeLayer like);
  /// PreludeLayer::used of what serialize() made. Empty if the bytes are not of this form.
  static std::vector<std::string> used_of(std::string_view bytes);
  /// Whether the files are still those that the layer was made of. Renews the stamps of files that came to
  /// rest.
  bool still_holds();
  const PreludeLayer& layer() const { return m_layer; }

 private:
  KeptLayer() = default;
  PreludeLayer m_layer;
};

}  // namespace tarsia::jit
