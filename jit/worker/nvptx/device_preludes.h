// Precompiled headers for the device's half that Clang compiles.
//
// A worker keeps them in its memory, a few at a time. Making one takes a fifth longer than reading the
// headers, so it is made when a text begins with the same headers for the second time, as after an edit.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dependency.h"
#include "base/hash.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

/// The `#include <…>` lines with which a text begins, one a line; comments and empty lines between them do
/// not count. Whatever else stands there ends them.
std::string leading_includes_of(const std::string& text);

/// Immutable once made.
struct DevicePrelude {
  std::string includes;                  ///< its text
  std::string pch;                       ///< a NUL follows it, as behind any string
  std::vector<Dependency> dependencies;  ///< the real files that went into it
};

/// Precompiles these includes. `arguments` are those of nvptx_arguments() without a prelude, `path` is their
/// input. Null if there are errors, which the compile without it reports, or if one of the headers lies in
/// the user's folders.
std::shared_ptr<const DevicePrelude> make_device_prelude(const std::vector<std::string>& arguments,
                                                         const std::string& path, const std::string& includes,
                                                         llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                         const std::vector<std::string>& users_folders);

/// Those of one worker. Any thread.
class DevicePreludes {
 public:
  /// The prelude of that key if it is there and its files are those that it was made of.
  std::shared_ptr<const DevicePrelude> find(const Digest& key);
  /// Whether one should be made: it was asked for before.
  bool is_worth_while(const Digest& key);
  void keep(const Digest& key, std::shared_ptr<const DevicePrelude> prelude);

 private:
  static constexpr size_t k_most = 4;
  struct Entry {
    Digest key{};
    std::shared_ptr<const DevicePrelude> prelude;  ///< null: asked for once
  };
  std::mutex m_mutex;
  std::list<Entry> m_entries;  ///< the last used first
};

}  // namespace tarsia::jit
