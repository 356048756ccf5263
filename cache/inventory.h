// What a store holds: a walk over its files, the check of every entry, and removing on request.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/disk_store.h"

namespace tarsia::cache {

/// The space that a file takes: its blocks, at least its size.
std::uint64_t bytes_of(const struct stat& status);

/// Something in a store that takes space, or stands where something would.
struct StoreFile {
  std::string_view folder;  ///< below FOLDER/1: a kind's name, "source" or "aside"
  std::string_view name;    ///< the last part of the path
  std::string path;
  struct stat status;  ///< of the link itself, if it is one

  bool is_file() const { return S_ISREG(status.st_mode); }
  /// A file that a publish has not renamed yet.
  bool is_temporary() const { return name.find(".tmp.") != name.npos; }
};

/// Visits all of them at FOLDER/1, in no order; locks, totals and counts are not among them. A folder in the
/// place of an entry is visited and not entered.
void for_each_file(const std::string& root, const std::function<void(const StoreFile&)>& visit);

/// An entry's place, as its path tells. Nothing: the file is no entry by its name.
struct EntryName {
  Kind kind;
  Key key;
};
std::optional<EntryName> entry_name(const StoreFile& file);

/// Numbers and bytes of the files, by folder.
struct Totals {
  struct Of {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Of, std::less<>> folders;
  Of all;
};
Totals count_files(const std::string& root);

/// An entry that is not whole, or no entry at all.
struct Damage {
  std::string path;
  std::string why;
  bool removed = false;
};

struct Verified {
  std::uint64_t whole = 0;
  std::vector<Damage> damaged;
  /// Those that could not be read, which says nothing about them.
  std::vector<Damage> unread;
};

/// Reads every entry whole, by its kind and key, and compares its checksum. With `remove`, takes away what is
/// damaged; a link's target, and an entry that somebody put in its place meanwhile, stay.
/// `check` looks into the content of a whole entry, and returns what is wrong with it, or "".
Verified verify(const DiskStore& store, bool remove,
                const std::function<std::string(const EntryName&, const Entry&)>& check);

}  // namespace tarsia::cache
