// Precompiled preludes: the leading includes of a source, parsed once and used again where they are
// equivalent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/host/clang_setup.h"
#include "jit/worker/prelude/further_includes.h"
#include "jit/worker/prelude/prelude_layer.h"
#include "jit/worker/prelude/shipped_preludes.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

/// The prelude that a unit is compiled on top of.
struct Prelude {
  std::shared_ptr<const PreludeLayer> top;  ///< null: of nothing
  std::vector<Dependency> absent;           ///< looked for in the source's folders and not found
  enum { none, shipped, kept, made, leading } origin = none;
  /// So much of the source's text the prelude stands for, whatever headers do when they are read twice.
  std::size_t covered = 0;
  std::vector<Diagnostic> warnings;  ///< about the headers that it holds
  std::vector<std::string> macros;   ///< of the user's text and folders, that it defines
  bool needs_openmp = false;         ///< the headers have its pragmas: ask again with it
  Digest key{};                      ///< names the layers, if the text is CUDA
};

/// The preludes of one worker: in memory, shipped, from the client's cache, or made now. Used by one thread.
class Preludes {
 public:
  Preludes(std::shared_ptr<const SysrootPack> pack, std::string shipped_path)
      : m_pack(std::move(pack)), m_shipped(std::move(shipped_path)) {}

  using MakeFiles = std::function<llvm::IntrusiveRefCntPtr<SourceFileSystem>()>;

  /// None if no prelude pays off, or if none can be made (for an include that is not found, which the
  /// compile will report). `make_files` makes a fresh file system of the request.
  Prelude find_or_make(const CompileRequest& request, const SourceFile& file, Language language,
                       PartStore& parts, const MakeFiles& make_files);

  /// Names all leading includes of a CUDA text, those of the request's folders, too, and what decides how
  /// they are read but for the macros that the options define. They stand on the prelude that it gets
  /// otherwise. None if there are no such folders, or other texts in the request, which headers may ask for.
  std::optional<Digest> family_of_leading(const CompileRequest& request, const SourceFile& file,
                                          const LeadingPart& part, const Prelude& below) const;
  /// What another process wrote of them. None if nothing is kept, or no longer holds.
  Prelude find_leading(const CompileRequest& request, const SourceFile& file, const LeadingPart& part,
                       const Prelude& below, PartStore& parts);
  /// Bytes for the cache of what a parse on top of the prelude wrote.
  std::string serialize_leading(const CompileRequest& request, const Digest& family, PreludeLayer layer,
                                const Prelude& below, std::string pch, std::string_view headers) const;

  /// Keeps these bytes for find_leading().
  static void keep_leading(const CompileRequest& request, const Digest& family, std::string bytes,
                           PartStore& parts);

  /// Makes the pack that lies beside the worker. Throws Error naming the layer that could not be made.
  void make_shipped(const std::string& path, bool with_cuda);

 private:
  Prelude find_or_make_cxx(const CompileRequest& request, const std::vector<std::string>& includes,
                           PartStore& parts, const MakeFiles& make_files);
  Prelude find_or_make_further(const CompileRequest& request, const SourceFile& file, Language language,
                               const std::vector<std::string>& includes, PartStore& parts,
                               const MakeFiles& make_files);
  Prelude find_or_make_cuda(const CompileRequest& request, const std::vector<std::string>& includes,
                            PartStore& parts, const MakeFiles& make_files);
  /// `key` names all but the macros that the options define. Where a layer is found or made, it then names
  /// those too that the layer's headers depend on.
  std::shared_ptr<KeptLayer> find(Digest& key, const CompileRequest& request, const PreludeLayer& wanted,
                                  PartStore& parts);
  std::shared_ptr<KeptLayer> make(const CompileRequest& request, Language language, Digest& key,
                                  PreludeLayer wanted, PartStore& parts, const MakeFiles& make_files);
  /// By its whole key.
  std::shared_ptr<KeptLayer> find_kept(const Digest& key, const PreludeLayer& wanted, PartStore& parts);
  /// A layer that this compile has found under the key may fail to serve it: its headers mention a macro, and
  /// nobody knew that they do not depend on it. The new layer knows that, and learns here what the old one
  /// knew of others.
  void widen(const Digest& key, PreludeLayer& layer) const;
  static void note_used(const Digest& family, const std::vector<std::string>& used, PartStore& parts);
  Prelude find_shipped(const CompileRequest& request, Language language,
                       const std::vector<std::string>& includes, Digest& identity);
  Digest settings(const CompileRequest& request, Language language, bool with_warnings = false) const;
  void remember(const Digest& key, std::shared_ptr<KeptLayer> layer);

  std::shared_ptr<const SysrootPack> m_pack;
  ShippedPreludes m_shipped;
  struct Remembered {
    std::shared_ptr<KeptLayer> layer;
    std::uint64_t used = 0;  ///< when, in compiles
  };
  std::map<Digest, Remembered> m_kept;
  std::map<Digest, std::vector<std::vector<std::string>>> m_used;  ///< lists that were read (note_used)
  std::vector<std::pair<Digest, std::shared_ptr<KeptLayer>>>
      m_misfits;  ///< that this compile has found (widen)
  std::uint64_t m_compiles = 0;
  struct Adopted {
    std::vector<std::string> cuda_dirs;
    std::shared_ptr<KeptLayer> layer;  ///< null: these folders hold other headers
  };
  std::map<const ShippedLayer*, Adopted> m_adopted;
};

}  // namespace tarsia::jit
