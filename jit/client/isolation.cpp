// The setting, and what this kernel has.
#include "jit/client/isolation.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "jit/landlock_version.h"

namespace tarsia::jit {
namespace {

std::string remedy() {
  return "; Linux 5.13 has Landlock if its boot parameter lsm= names it, 6.12 has all of it; containers' own "
         "filters must let it pass. TARSIA_ISOLATION=off says that it is not wanted";
}

}  // namespace

Isolation wanted_isolation() {
  const char* const value = std::getenv("TARSIA_ISOLATION");
  const std::string_view word = value == nullptr ? "" : value;
  if (word.empty() || word == "on") return Isolation::on;
  if (word == "off") return Isolation::off;
  if (word == "required") return Isolation::required;
  throw ArgumentError::value_error("the environment variable TARSIA_ISOLATION is '" + std::string(word) +
                                   "': set it to on, off or required, or unset it");
}

void tell_of_lacking_isolation(Isolation wanted, const std::vector<std::string>& lacks) {
  if (lacks.empty()) return;
  std::string text = "the compiler is less isolated than it should be: ";
  for (const std::string& lack : lacks) text += (&lack == lacks.data() ? "" : "; ") + lack;
  text += remedy();
  if (wanted == Isolation::required) throw Unsupported(text);
  static std::atomic_flag s_told;
  if (!s_told.test_and_set()) log().warn("{}", text);
}

IsolationFinding isolation_here() {
  const long landlock = landlock_version();
  const int error = errno;
  const std::string lacks = lacks_of_landlock(landlock);
  const std::uint32_t answer = SECCOMP_RET_ERRNO;
  const bool seccomp = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &answer) == 0;
  IsolationFinding found;
  found.complete = landlock > 0 && lacks.empty() && seccomp;
  found.text = landlock > 0 ? "files: Landlock, version " + std::to_string(landlock)
                            : errno_message("files: no Landlock", error);
  if (landlock > 0 && !lacks.empty()) found.text += ", which " + lacks;
  found.text += seccomp ? "; system calls: seccomp" : "; system calls: no seccomp";
  if (!found.complete) found.text += remedy();
  return found;
}

}  // namespace tarsia::jit
