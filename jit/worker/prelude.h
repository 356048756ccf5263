// Precompiled preludes: the leading includes of a source, parsed once and used again where they are
// equivalent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/clang_setup.h"
#include "jit/worker/source_fs.h"

namespace tarsia::jit {

/// The `#include <…>` directives with which the text begins, one a line: up to the first other directive or
/// declaration, and up to the first header that is not the system's, Tarsia's or CUDA's.
std::string leading_includes(const SourceFile& file, const CompileRequest& request);

/// A precompiled header and the real files that went into it.
struct Prelude {
  std::string pch;
  std::vector<Dependency> dependencies;
};

/// The preludes of one worker: in memory, from the client's cache, or made now. Used by one thread.
class Preludes {
 public:
  explicit Preludes(std::shared_ptr<const SysrootPack> pack) : m_pack(std::move(pack)) {}

  /// Null where none pays off or none can be made (an include that is not found: the compile will say so).
  /// `make_files` gives a fresh file system of the request.
  std::shared_ptr<const Prelude> find_or_make(
      const CompileRequest& request, const SourceFile& file, Language language, PartStore& parts,
      const std::function<llvm::IntrusiveRefCntPtr<SourceFileSystem>()>& make_files);

 private:
  struct Kept;
  std::shared_ptr<const SysrootPack> m_pack;
  std::map<Digest, std::shared_ptr<const Kept>> m_kept;
};

}  // namespace tarsia::jit
