// Which shared stores are asked, whose entries are believed, and who signs: the environment, else a config
// file.
//
//   file  := line*                       TARSIA_CONFIG, else $XDG_CONFIG_HOME/tarsia/config, else ~/.config/…
//   line  := name "=" value | "#" anything | ""
//   name  := "remote" | "sign_key" | "trust" | "remote_access"
//
// Each name stands for the variable TARSIA_NAME, which goes before it; one that is set and empty turns it
// off.
#pragma once

#include <string>
#include <vector>

namespace tarsia::cache {

struct RemoteSettings {
  std::vector<std::string> urls;   ///< TARSIA_REMOTE, in the order of the search
  std::string sign_key;            ///< TARSIA_SIGN_KEY: a file; empty: nothing is signed
  std::vector<std::string> trust;  ///< TARSIA_TRUST: files
  bool unsigned_ = false;          ///< TARSIA_TRUST=unsafe-unsigned
  bool reads = true;               ///< TARSIA_REMOTE_ACCESS
  bool writes = true;

  /// Reads the environment and the file. Throws ArgumentError for a file with something else in it, for one
  /// that others may write, and for values that make no sense.
  static RemoteSettings read();
  /// A short text that changes when read() would read something else. The file is taken as it was when the
  /// process first looked.
  static std::string fingerprint();
};

}  // namespace tarsia::cache
