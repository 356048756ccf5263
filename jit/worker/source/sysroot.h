// The sysroot pack: the headers that Tarsia brings along, in one mapped file. Format: docs/sysroot.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarsia::jit {

/// A pack mapped into memory, read only. Any thread may call const members. Their results point into the
/// mapping and live as long as the pack, even if the file is removed or replaced.
class SysrootPack {
 public:
  struct File {
    std::string_view path;     ///< "/tarsia/sysroot/usr/include/stdio.h"
    std::string_view content;  ///< a NUL follows it in memory
  };

  /// Throws NotFound if there is no such file, and LoadError if it is not a whole pack of this version.
  /// Contents are not hashed: the packer wrote the identity.
  explicit SysrootPack(const std::string& path);
  ~SysrootPack();
  SysrootPack(const SysrootPack&) = delete;
  SysrootPack& operator=(const SysrootPack&) = delete;

  /// The content of the file at an absolute path without "." and ".." parts. A NUL follows it in memory.
  std::optional<std::string_view> find(std::string_view path) const;

  /// Whether some file lies below this folder, named without a '/' at its end.
  bool is_directory(std::string_view path) const;

  /// The number of files. They are `file(0)` … `file(size() - 1)`, sorted by path as bytes.
  size_t size() const { return m_size; }
  File file(size_t index) const;

  /// The index of the first file whose path is not less than `path`: where a folder's files begin.
  size_t lower_bound(std::string_view path) const;

  /// BLAKE2b-256 of the index and all contents: equal if and only if the packs are the same.
  const std::array<unsigned char, 32>& identity() const { return m_identity; }

 private:
  struct Entry;
  void check(const std::string& path) const;
  const Entry* entries() const;
  const char* paths() const;

  const char* m_data = nullptr;
  size_t m_bytes = 0;
  size_t m_size = 0;
  std::array<unsigned char, 32> m_identity{};
};

}  // namespace tarsia::jit
