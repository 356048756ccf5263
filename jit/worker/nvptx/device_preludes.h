// Precompiled headers for the device's half that Clang compiles.
//
// The client's cache keeps them. Making one takes a fifth longer than reading the headers, so it is made when
// a text begins with the same includes for the second time, as after an edit.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/prelude/prelude_layer.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

/// Precompiles the text, with which a source begins, up to its last leading include. `arguments` are those of
/// nvptx_arguments() without a prelude, `path` is their input. Null if there are errors, which the compile
/// without it reports. Null, and `refused`, if a header that is not of the system has a variable of the
/// device: Tarsia's tables need its symbol, and Clang reads from a prelude only what the source names.
std::shared_ptr<KeptLayer> make_device_prelude(const std::vector<std::string>& arguments,
                                               const std::string& path, const std::string& text,
                                               llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                               bool& refused);

/// Those of one worker. Any thread.
class DevicePreludes {
 public:
  /// The prelude of that key, from memory or from the cache, if its files are those that it was made of.
  std::shared_ptr<const KeptLayer> find(const Digest& key, PartStore& parts);
  /// Whether one should be made: it was asked for before, in this process or another, and nobody gave up.
  static bool is_worth_while(const Digest& key, PartStore& parts);
  /// None may be made of these includes.
  static void give_up(const Digest& key, PartStore& parts);
  /// `find` maps it from the cache thereafter.
  static void keep(const Digest& key, const KeptLayer& prelude, PartStore& parts);

 private:
  static constexpr size_t k_most = 4;
  struct Entry {
    Digest key{};
    std::shared_ptr<KeptLayer> prelude;
  };

  std::mutex m_mutex;
  std::list<Entry> m_entries;  ///< the last used first
};

}  // namespace tarsia::jit
