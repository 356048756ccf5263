// Walks a store.
#include "cache/inventory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace tarsia::cache {
namespace {

constexpr Kind k_kinds[] = {Kind::module, Kind::manifest, Kind::prelude, Kind::device,
                            Kind::host,   Kind::fact,     Kind::inputs,  Kind::shared};

/// Visits what lies in a folder. A link to one is not followed: its target is not the store's.
template <typename Visit>
void for_each_name(const std::string& folder, Visit visit) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd), &::closedir);
  if (!dir) {
    ::close(fd);
    return;
  }
  while (const dirent* item = ::readdir(dir.get())) {
    if (std::strcmp(item->d_name, ".") != 0 && std::strcmp(item->d_name, "..") != 0) visit(item->d_name);
  }
}

/// The bytes that hexadecimal digits say. Returns false for other digits.
bool unhex(std::string_view digits, Key& key) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (digits.size() != 2 * key.size()) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = value(digits[2 * i]), low = value(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

/// Whether the file of this status is still the one of that name.
bool is_still(const std::string& path, const struct stat& status) {
  struct stat now;
  return ::lstat(path.c_str(), &now) == 0 && now.st_ino == status.st_ino && now.st_dev == status.st_dev;
}

std::string what_it_is(const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return "a symbolic link";
  if (S_ISDIR(status.st_mode)) return "a folder";
  if (S_ISFIFO(status.st_mode)) return "a FIFO";
  return "a device or socket";
}

bool remove(const StoreFile& file) {
  if (!is_still(file.path, file.status)) return false;
  std::error_code failed;
  // Does not follow links.
  return std::filesystem::remove_all(file.path, failed) > 0 && !failed;
}

}  // namespace

std::uint64_t bytes_of(const struct stat& status) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(status.st_blocks) * 512,
                                 static_cast<std::uint64_t>(status.st_size));
}

void for_each_file(const std::string& root, const std::function<void(const StoreFile&)>& visit) {
  const auto take = [&](std::string_view folder, std::string path) {
    StoreFile file{.folder = folder, .path = std::move(path)};
    if (::lstat(file.path.c_str(), &file.status) != 0) return;
    file.name = std::string_view(file.path).substr(file.path.rfind('/') + 1);
    visit(file);
  };
  for_each_name(root, [&](const char* kind) {
    const std::string kind_dir = root + '/' + kind;
    if (std::strcmp(kind, "locks") == 0) return;
    if (std::strcmp(kind, "aside") == 0) {
      for_each_name(kind_dir, [&](const char* name) { take(kind, kind_dir + '/' + name); });
      return;
    }
    const bool nests = std::strcmp(kind, "source") == 0;  // names of sources may have folders
    const std::function<void(const std::string&)> enter = [&](const std::string& folder) {
      for_each_name(folder, [&](const char* name) {
        const std::string path = folder + '/' + name;
        struct stat status;
        if (nests && ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
          enter(path);
        else
          take(kind, path);
      });
    };
    for_each_name(kind_dir, [&](const char* shard) {
      const std::string path = kind_dir + '/' + shard;
      struct stat status;
      if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        enter(path);
      else
        take(kind, path);
    });
  });
}

std::optional<EntryName> entry_name(const StoreFile& file) {
  for (const Kind kind : k_kinds) {
    if (file.folder != kind_name(kind)) continue;
    // …/KIND/ab/cdef…, and .so behind a module's.
    std::string_view path = file.path;
    if (kind == Kind::module) {
      if (!path.ends_with(".so")) return std::nullopt;
      path.remove_suffix(3);
    }
    if (path.size() < 65) return std::nullopt;
    std::string digits(path.substr(path.size() - 65));
    if (digits[2] != '/') return std::nullopt;
    digits.erase(2, 1);
    EntryName name{.kind = kind};
    return unhex(digits, name.key) ? std::optional(name) : std::nullopt;
  }
  return std::nullopt;
}

Totals count_files(const std::string& root) {
  Totals totals;
  for_each_file(root, [&](const StoreFile& file) {
    if (!file.is_file() || file.is_temporary()) return;
    Totals::Of& folder = totals.folders[std::string(file.folder)];
    const std::uint64_t bytes = bytes_of(file.status);
    ++folder.files, ++totals.all.files;
    folder.bytes += bytes, totals.all.bytes += bytes;
  });
  return totals;
}

Verified verify(const DiskStore& store, bool remove_damaged,
                const std::function<std::string(const EntryName&, const Entry&)>& check) {
  Verified verified;
  for_each_file(store.root(), [&](const StoreFile& file) {
    if (file.folder == "source" || file.is_temporary()) return;
    const auto damage = [&](std::string why) {
      Damage found{.path = file.path, .why = std::move(why)};
      if (remove_damaged) found.removed = remove(file);
      verified.damaged.push_back(std::move(found));
    };
    if (file.folder == "aside") return damage("it was found damaged before, and set aside");
    if (!file.is_file()) return damage("it is " + what_it_is(file.status) + " where an entry would be");
    const std::optional<EntryName> name = entry_name(file);
    if (!name) return damage("it is no entry by its name");
    UniqueFd fd;
    struct stat status;
    const int error = open_regular(file.path, fd, status);
    if (error == ENOENT) return;  // swept meanwhile
    if (error != 0) {
      verified.unread.push_back({file.path, errno_message("it cannot be opened", error)});
      return;
    }
    Entry entry;
    switch (read_entry(fd.get(), static_cast<std::uint64_t>(status.st_size), name->kind, name->key,
                       name->kind != Kind::module, entry)) {
      case ReadStatus::ok:
        break;
      case ReadStatus::failed:
        verified.unread.push_back({file.path, errno_message("it cannot be read", errno)});
        return;
      case ReadStatus::corrupt:
        return damage("it is not whole, or is the entry of another key");
    }
    std::string wrong = check ? check(*name, entry) : std::string();
    if (!wrong.empty()) return damage(std::move(wrong));
    ++verified.whole;
  });
  return verified;
}

}  // namespace tarsia::cache
