// Asks the client, and remembers who named which file.
#include "jit/worker/isolation/files_beyond.h"

#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>

namespace tarsia::jit {
namespace {

struct State {
  std::atomic<bool> forbidden{
      false};  // asked first: in a forked child the mutex may be another thread's for ever
  std::mutex mutex;
  PartStore* files = nullptr;
  std::map<std::string, std::string, std::less<>> named_by;
};

State& state() {
  static auto& s_state = *new State;  // never destroyed: threads may open files as the process ends
  return s_state;
}

constexpr std::size_t k_longest_chain = 64;

/// ".." goes by the text, as in the file system that Clang sees.
std::string plain(const std::string& path) {
  const bool is_plain = path.find("/.") == path.npos && path.find("//") == path.npos;
  return is_plain ? path : std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

FilesBeyond::FilesBeyond(PartStore& files) {
  const std::lock_guard lock(state().mutex);
  state().files = &files;
  state().named_by.clear();
}

FilesBeyond::~FilesBeyond() {
  const std::lock_guard lock(state().mutex);
  state().files = nullptr;
}

void FilesBeyond::forbid() {
  state().forbidden = true;
}

void FilesBeyond::note(const std::string& path, const std::string& by) {
  if (state().forbidden) return;
  const std::lock_guard lock(state().mutex);
  const std::string named = plain(path), includer = plain(by);
  if (named != includer) state().named_by.try_emplace(named, includer);
}

UniqueFd open_beyond(const char* path, bool folder) {
  if (path == nullptr || path[0] != '/') return {};
  State& known = state();
  if (known.forbidden) return {};
  const std::lock_guard lock(known.mutex);
  if (known.files == nullptr) return {};
  try {
    OpenFile asked{.path = plain(path), .folder = folder};
    for (auto by = known.named_by.find(asked.path);
         by != known.named_by.end() && asked.named_by.size() < k_longest_chain;
         by = known.named_by.find(by->second))
      asked.named_by.push_back(by->second);
    return known.files->open(asked);
  } catch (const std::exception&) {
    return {};  // callers are open() and fopen()
  }
}

}  // namespace tarsia::jit
