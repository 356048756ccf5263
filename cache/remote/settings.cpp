// Reads the environment and the config file.
#include "cache/remote/settings.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/fork.h"
#include "base/paths.h"

namespace tarsia::cache {
namespace {

struct Name {
  const char* variable;
  std::string_view in_file;
};
constexpr Name k_remote{"TARSIA_REMOTE", "remote"}, k_sign_key{"TARSIA_SIGN_KEY", "sign_key"},
    k_trust{"TARSIA_TRUST", "trust"}, k_access{"TARSIA_REMOTE_ACCESS", "remote_access"};
constexpr Name k_names[] = {k_remote, k_sign_key, k_trust, k_access};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_blank = " \t\r";
  const std::size_t first = text.find_first_not_of(k_blank);
  return first == text.npos ? std::string_view()
                            : text.substr(first, text.find_last_not_of(k_blank) - first + 1);
}

std::string config_path() {
  if (const char* path = std::getenv("TARSIA_CONFIG")) return path;
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home && *home == '/')
    return std::string(home) + "/tarsia/config";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.config/tarsia/config";
  return {};
}

/// ~/ at the beginning of each path, which no shell has replaced in a file.
std::string from_home(std::string_view text) {
  const char* home = std::getenv("HOME");
  std::string whole;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || std::string_view(",: \t").find(text[i - 1]) != std::string_view::npos;
    if (home && *home == '/' && begins && text.substr(i).starts_with("~/"))
      whole += home;
    else
      whole += text[i];
  }
  return whole;
}

using Values = std::map<std::string, std::string, std::less<>>;

Values read_config(const std::string& path) {
  if (path.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return ArgumentError::value_error("the config file " + path + " is not used: " + why);
  };
  UniqueFd fd;
  struct stat status;
  std::string text;
  if (const int error = open_regular(path, fd, status, Links::follow)) {
    // Nobody asked for the file that is looked for by default.
    if ((error == ENOENT || error == ENOTDIR) && !std::getenv("TARSIA_CONFIG")) return {};
    if (error == EMFILE || error == ENFILE) raise_errno("cannot open " + path, error);
    throw refuse(errno_message("it cannot be opened", error) +
                 "; let this user read it, or set TARSIA_CONFIG to another file, or to nothing");
  }
  if (const std::string why = distrust(path, status); !why.empty()) throw refuse(why);
  constexpr std::uint64_t k_largest = 1 << 20;
  if (const int error = read_all(fd.get(), text, k_largest))
    throw refuse(errno_message("it cannot be read", error));
  Values values;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    bool known = false;
    for (const Name& one : k_names) known = known || one.in_file == name;
    if (known && values.contains(name))
      throw refuse("line " + std::to_string(number) + " gives " + std::string(name) +
                   " a second time: several values stand in one line, with commas");
    if (equals == line.npos || !known)
      throw refuse("line " + std::to_string(number) +
                   " is none of: remote = URL, trust = FILES, sign_key = FILE, remote_access = read");
    values[std::string(name)] = from_home(trimmed(line.substr(equals + 1)));
  }
  return values;
}

struct Known {
  ForkSafeMutex mutex;
  std::map<std::string, Values> files;
};

/// As it was when this process first looked at that path.
const Values& config() {
  static std::atomic<Known*> s_known{nullptr};
  Known& known = made_once(s_known, [] { return Known(); });
  const std::string path = config_path();
  {
    const std::lock_guard lock(known.mutex);
    if (const auto found = known.files.find(path); found != known.files.end()) return found->second;
  }
  Values values = read_config(path);
  const std::lock_guard lock(known.mutex);
  return known.files.try_emplace(path, std::move(values)).first->second;
}

std::string_view value_of(const Name& name, const Values& values) {
  if (const char* value = std::getenv(name.variable)) return value;
  const auto found = values.find(name.in_file);
  return found == values.end() ? std::string_view() : found->second;
}

std::vector<std::string> words(std::string_view text, std::string_view separators) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (const std::string_view word = trimmed(text.substr(0, end)); !word.empty()) list.emplace_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

}  // namespace

std::string RemoteSettings::fingerprint() {
  std::string all;
  const Values& values = config();
  for (const Name& name : k_names) {
    const std::string_view value = value_of(name, values);
    if (value.empty()) continue;
    all += name.in_file;
    all += '\0';
    all += value;
    all += '\0';
  }
  return all;
}

RemoteSettings RemoteSettings::read() {
  RemoteSettings settings;
  const Values& values = config();
  settings.urls = words(value_of(k_remote, values), ",");
  for (const std::string& url : settings.urls)  // not shown: it may be the rest of a password
    if (url.find("://") == url.npos)
      throw ArgumentError::value_error(
          "TARSIA_REMOTE: number " + std::to_string(&url - settings.urls.data() + 1) +
          " of its URLs does not begin with http://, https:// or redis://; a comma in a password is %2C");
  settings.sign_key = value_of(k_sign_key, values);
  settings.trust = words(value_of(k_trust, values), ",:");
  // Variables that are unset leave such a text behind, and nobody means to trust everybody by it.
  if (settings.trust.empty() && !value_of(k_trust, values).empty())
    throw ArgumentError::value_error(
        "TARSIA_TRUST is set, and names no file of public keys: name one, or unset it");
  settings.unsigned_ = std::erase(settings.trust, "unsafe-unsigned") > 0;
  const std::string access(value_of(k_access, values));
  if (access == "read")
    settings.writes = false;
  else if (access == "write")
    settings.reads = false;
  else if (!access.empty() && access != "read-write")
    throw ArgumentError::value_error("TARSIA_REMOTE_ACCESS is '" + access +
                                     "': it is read, write or read-write (the default)");
  return settings;
}

}  // namespace tarsia::cache
