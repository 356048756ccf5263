// Times that were measured, kept in memory and in a store that outlives the process.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "registry/op/infer.h"
#include "registry/op/measured.h"
#include "registry/op/op_entry.h"

namespace tarsia::registry {

/// A store that outlives the process. Thread-safe; errors are misses.
class TimesStore {
 public:
  virtual ~TimesStore() = default;
  virtual std::optional<std::string> find(const Digest& key) = 0;
  virtual void keep(const Digest& key, const std::string& text) = 0;
};

/// Sets the store, which must live from now on. Without one, times are kept in memory alone.
void keep_times_in(TimesStore* store) noexcept;

/// What times are of: the machine, the op and its pass, the implementations with the code of their
/// libraries, devices, dtypes, shapes, storage types and attributes.
struct TimesKey {
  TimesKey(const OpEntry& entry, const BoundInfo& bound,
           std::span<const tarsia_implementation* const> implementations, tarsia_pass pass,
           const tarsia_implementation& forward);
  Digest digest;
  /// Whether code of another process can be told from this. That of libraries without a file, such as ops
  /// written in Python, cannot.
  bool is_lasting = true;
};

/// Fills in the times of these implementations. False if none are kept.
bool find_times(const TimesKey& key, std::span<const tarsia_implementation* const> implementations,
                const tarsia_op& op, Measured& measured);
/// Keeps times, unless another thread was first: then `measured` becomes what that one found. A failure may
/// pass, so times with one are kept for this process alone.
void keep_times(const TimesKey& key, std::span<const tarsia_implementation* const> implementations,
                const tarsia_op& op, Measured& measured);

}  // namespace tarsia::registry
