// A store on another machine: envelopes under keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cache/key.h"

namespace tarsia::cache {

enum class Answer {
  found,
  absent,
  unusable,  ///< it answered with something that is no entry: too large, a page of HTML, …
  failed,    ///< it did not answer in time, or says that it cannot. It is left alone for a while then
  lacking,   ///< this machine lacks what it takes to ask; `why` says what to install
};

using Deadline = std::chrono::steady_clock::time_point;

/// Who compiles what a store does not have.
enum class Lease {
  ours,
  others,  ///< another host has it
  none,    ///< this store knows no leases, or it cannot be asked: nobody waits for anybody
};

/// Thread-safe, and safe across fork: a child opens connections of its own.
class RemoteStore {
 public:
  virtual ~RemoteStore() = default;
  /// For messages; without a password.
  virtual const std::string& name() const = 0;
  /// Opens the libraries that requests need. These register what they do when the program ends.
  virtual void open_libraries() {}
  /// `why` says what was wrong unless it was found.
  virtual Answer get(const Key& key, Deadline deadline, std::string& envelope, std::string& why) = 0;
  /// found: it is stored.
  virtual Answer put(const Key& key, std::string_view envelope, Deadline deadline, std::string& why) = 0;
  /// Takes the lease of a key, unless somebody has it. It ends by itself after `life`.
  virtual Lease take_lease(const Key&, std::chrono::milliseconds /*life*/, Deadline) { return Lease::none; }
  /// Gives a lease that was taken so long from now. A moment ends it.
  virtual void renew_lease(const Key&, std::chrono::milliseconds /*life*/, Deadline) {}
};

/// The longest wait for a connection.
inline constexpr std::chrono::milliseconds k_connect{100};

/// Makes the store of a URL: http:// and https:// (http_store.h), redis:// (redis_store.h). Connects to
/// nothing. Throws ArgumentError for any other one.
std::unique_ptr<RemoteStore> make_remote_store(const std::string& url);

/// The URL without user and password, and without what follows a ? or #. Of text that is no URL, all up to
/// the last @ is left out.
std::string without_password(const std::string& url);

}  // namespace tarsia::cache
