// The file system that Clang sees: the user's texts, Tarsia's headers and the few real folders a request
// allows.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/source/sysroot.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace tarsia::jit {

/// Virtual places. They are constants, so that precompiled preludes, keys and module bytes are the same
/// on every machine, wherever Tarsia is installed.
inline constexpr char k_source_dir[] = "/tarsia/src";
inline constexpr char k_host_headers_dir[] = "/tarsia/host";
inline constexpr char k_include_dir[] = "/tarsia/include";
inline constexpr char k_clang_dir[] = "/tarsia/sysroot/clang/include";
/// CUDA's include folders, overlaid: a file that the first lacks comes from the next.
inline constexpr char k_cuda_dir[] = "/tarsia/cuda";
inline constexpr char k_exports_path[] = "/tarsia/exports";
inline constexpr char k_leading_path[] = "/tarsia/leading";
inline constexpr char k_wanted_path[] = "/tarsia/wanted";

/// The real file behind a path below k_cuda_dir; any other path as it is.
std::string real_cuda_path(const std::string& path, const std::vector<std::string>& cuda_dirs);

/// Serves virtual texts from memory, the sysroot from its pack, and real files only below allowed folders.
/// Real files must be regular and of bounded size; others count as absent. Remembers which real files were
/// read, with the hash of the bytes served, and which were not found. For one thread.
class SourceFileSystem final : public llvm::vfs::FileSystem {
 public:
  explicit SourceFileSystem(std::shared_ptr<const SysrootPack> pack) : m_pack(std::move(pack)) {}

  /// Both texts must live as long as the file system, with a NUL behind them. `original` is the user's
  /// text. The last of several texts for a path counts, and the first of several originals.
  void add_text(const std::string& path, llvm::StringRef text,
                std::optional<llvm::StringRef> original = std::nullopt);
  /// Serves the file with texts inserted at their offsets, which are those of what was served so far.
  void insert(const std::string& path, const std::map<size_t, std::string>& texts);
  /// It is as if the text had never been there.
  void remove_text(const std::string& path);
  /// Files below it may be read, and so may those that they include by names relative to themselves
  /// ("../common.h"), and those that these include so.
  void allow_root(const std::string& dir);
  void set_cuda_dirs(std::vector<std::string> dirs) { m_cuda_dirs = std::move(dirs); }
  /// An edit of the text of real files, other than CUDA's, before they are served.
  void edit_real(void (*edit)(std::string&)) { m_edit = edit; }

  /// The files read or missed so far, sorted by path. `inherited` ones count as read.
  std::vector<Dependency> dependencies() const;
  void inherit(const std::vector<Dependency>& read_earlier);
  /// Files that were read for a prelude may be read again, also those outside of the folders, which only the
  /// files that include them make readable.
  void find_again(const std::vector<Dependency>& of_prelude);
  /// Whether all of these that are there lie below the folders that may be read.
  bool reaches(const std::vector<Dependency>& all) const;

  /// Takes note of a name as a source writes it: a whole path that leads into one of the folders means a file
  /// of this machine, wherever the folder may lie on others.
  void note_name(llvm::StringRef name);

  /// A file as its author wrote it, for readers that take it as data. Otherwise like openFileForRead.
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> open_as_it_is(const llvm::Twine& path);
  /// Whether openFileForRead serves another text than the author's.
  bool is_edited(const llvm::Twine& path) const;

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override;
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override;
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& dir, std::error_code& ec) override;
  std::error_code setCurrentWorkingDirectory(const llvm::Twine&) override { return {}; }
  llvm::ErrorOr<std::string> getCurrentWorkingDirectory() const override { return std::string(k_source_dir); }
  std::error_code getRealPath(const llvm::Twine& path, llvm::SmallVectorImpl<char>& out) override;

 private:
  struct Found {
    enum { none, text, dir, real } kind = none;
    llvm::StringRef content;
  };
  Found find(llvm::StringRef path);
  std::string normal_noting(const llvm::Twine& path);
  void note_climb();
  Found find_real(const std::string& path, bool users);
  bool allowed(llvm::StringRef path) const;
  void allow_named_by(const std::string& path, llvm::StringRef content);
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> open(const llvm::Twine& path, bool as_it_is);

  std::shared_ptr<const SysrootPack> m_pack;
  std::map<std::string, llvm::StringRef, std::less<>> m_texts;
  std::vector<std::string> m_roots, m_cuda_dirs;
  std::set<std::string, std::less<>> m_named;  // files outside of the roots that readable files include
  void (*m_edit)(std::string&) = nullptr;
  std::map<std::string, std::string, std::less<>> m_real;  // content of real files, read once and edited
  std::map<std::string, llvm::StringRef, std::less<>> m_originals;  // of files that were edited
  std::map<std::string, std::string> m_real_originals;              // those of real files
  std::deque<std::string> m_amended;                                // what insert() made
  std::map<std::string, Dependency> m_dependencies;
};

}  // namespace tarsia::jit
