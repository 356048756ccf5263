// Folders are named by their process: PID-XXXXXX.
#include "jit/scratch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace tarsia::jit {
namespace {

namespace fs = std::filesystem;

/// The folder of all scratch folders of this user, if it is safe to use. Processes of another container have
/// numbers of their own, by which nobody here could tell whether they live.
std::string parent_folder() {
  const char* dir = std::getenv("TMPDIR");
  std::string path =
      std::string(dir && *dir == '/' ? dir : "/tmp") + "/tarsia-" + std::to_string(::geteuid());
  if (struct stat space{}; ::stat("/proc/self/ns/pid", &space) == 0)
    path += "-" + std::to_string(space.st_ino);
  ::mkdir(path.c_str(), 0700);
  struct stat status{};
  const bool is_private = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                          status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  return is_private ? path : std::string();
}

template <class Condition>
void remove_those(const std::string& parent, Condition is_over) {
  std::error_code ec;
  for (fs::directory_iterator at(parent, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename();
    pid_t pid = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    std::error_code ignored;
    if (error == std::errc() && *stop == '-' && pid > 0 && is_over(pid)) fs::remove_all(at->path(), ignored);
  }
}

/// The folder that this process has made, and its number then.
struct Own {
  std::string path;
  pid_t pid = -1;
};
Own& own() {
  static Own s_own;
  return s_own;
}

}  // namespace

std::string make_scratch() {
  const std::string parent = parent_folder();
  if (parent.empty()) return {};
  remove_those(parent, [](pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; });
  std::string path = parent + "/" + std::to_string(::getpid()) + "-XXXXXX";
  if (!::mkdtemp(path.data())) return {};
  own() = {path, ::getpid()};
  return path;
}

void remove_own_scratch() {
  if (own().pid != ::getpid()) return;
  std::error_code ignored;
  for (fs::directory_iterator at(own().path, ignored), end; at != end; at.increment(ignored))
    fs::remove_all(at->path(), ignored);
  ::rmdir(own().path.c_str());  // remove_all() would try unlink(), and may not
}

void remove_scratch(pid_t pid) {
  const std::string parent = parent_folder();
  if (!parent.empty()) remove_those(parent, [&](pid_t other) { return other == pid; });
}

}  // namespace tarsia::jit
