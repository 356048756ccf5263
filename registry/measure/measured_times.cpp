// Times are kept as JSON: [["name", seconds, "failure"], …] in the order of the implementations, with null
// for the seconds of one that failed.
#include "registry/measure/measured_times.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/fork.h"
#include "registry/measure/machine.h"
#include "registry/op/choice.h"
#include "registry/op/op_registry.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

using nlohmann::json;

std::atomic<TimesStore*> g_store{nullptr};

constexpr std::uint64_t k_largest_library = std::uint64_t{4} << 30;

/// A file as it was.
struct Place {
  std::string path;
  FileStamp stamp;
  bool operator==(const Place&) const = default;
};
struct KnownCode {
  Place place;
  Digest digest;
};

struct Kept {
  ForkSafeMutex mutex;
  std::map<Digest, std::string> times;
  std::vector<KnownCode> libraries;
};
/// Never destroyed: threads may bind ops while the process exits.
Kept& kept() {
  static std::atomic<Kept*> s_kept{nullptr};
  return made_once(s_kept, [] { return Kept(); });
}

/// The hash of a library's file; nothing if it has none that can be read.
std::optional<Digest> code_of(const Library& library) {
  const std::string path = library.path();
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  const Place place{path, FileStamp::of(status)};
  {
    const std::lock_guard lock(kept().mutex);
    const auto known = std::ranges::find(kept().libraries, place, &KnownCode::place);
    if (known != kept().libraries.end()) return known->digest;
  }
  std::string bytes;
  if (read_file(path, bytes, k_largest_library) != 0) return std::nullopt;
  const Digest digest = hash_bytes(bytes);
  const std::lock_guard lock(kept().mutex);
  kept().libraries.push_back({place, digest});
  return digest;
}

void add_value(Hasher& hasher, const tarsia_value& value) {
  hasher.field(std::uint64_t{value.kind});
  if (value.kind == TARSIA_KIND_STRING)
    hasher.field(std::string_view(value.s, value.size));
  else if (value.kind == TARSIA_KIND_LIST)
    for (std::uint32_t i = 0; i < value.size; ++i) add_value(hasher.field(std::uint64_t{i}), value.v[i]);
  else if (value.kind != TARSIA_KIND_NONE)
    hasher.field(value.u);
}

void add_meta(Hasher& hasher, const tarsia_meta& meta) {
  hasher.field(std::uint64_t{meta.present}).field(std::uint64_t{meta.storage});
  if (!meta.present) return;
  hasher.field(std::uint64_t{meta.dtype.code}).field(std::uint64_t{meta.dtype.bits});
  hasher.field(std::uint64_t{meta.dtype.lanes}).field(static_cast<std::uint64_t>(meta.ndim));
  for (int i = 0; i < meta.ndim; ++i) hasher.field(static_cast<std::uint64_t>(meta.shape[i]));
}

json to_json(const Measured& measured) {
  json list = json::array();
  for (const MeasuredTime& time : measured.times)
    list.push_back({time.name, time.seconds < 0 ? json() : json(time.seconds), time.failure});
  return list;
}

/// False if these are not their times.
bool read_json(const std::string& text, std::span<const tarsia_implementation* const> implementations,
               const tarsia_op& op, Measured& measured) {
  const json list = json::parse(text, nullptr, false);
  if (!list.is_array() || list.size() != implementations.size()) return false;
  std::vector<MeasuredTime> times;
  for (std::size_t i = 0; i < implementations.size(); ++i) {
    const json& one = list[i];
    const std::string name = name_of(op, *implementations[i]);
    if (!one.is_array() || one.size() != 3 || one[0] != name || !one[2].is_string()) return false;
    if (!one[1].is_null() && (!one[1].is_number() || one[1].get<double>() < 0)) return false;
    times.push_back(
        {implementations[i], name, one[1].is_null() ? -1 : one[1].get<double>(), one[2].get<std::string>()});
  }
  measured.times = std::move(times);
  return true;
}

}  // namespace

void keep_times_in(TimesStore* store) noexcept {
  g_store = store;
}

TimesKey::TimesKey(const OpEntry& entry, const BoundInfo& bound,
                   std::span<const tarsia_implementation* const> implementations, tarsia_pass pass,
                   const tarsia_implementation& forward) {
  const tarsia_bind_info& info = bound.info();
  Hasher hasher("implementations 1");
  hasher.field(machine_identity(info.device)).field(std::string_view(entry.op().name));
  hasher.field(static_cast<std::uint64_t>(pass)).field(std::uint64_t{is_gpu(info.device)});
  hasher.field(std::uint64_t{info.n_inputs}).field(std::uint64_t{info.n_outputs});
  for (const tarsia_meta& meta : bound.inputs()) add_meta(hasher, meta);
  for (const tarsia_meta& meta : bound.outputs()) add_meta(hasher, meta);
  for (std::uint32_t i = 0; i < info.n_attributes; ++i) {
    hasher.field(std::string_view(info.attribute_names[i]));
    add_value(hasher, info.attributes[i]);
  }
  const auto add_code = [&](const tarsia_implementation& one) {
    const Library& library = entry.library_of(one);
    hasher.field(name_of(entry.op(), one));
    if (const std::optional<Digest> code = code_of(library)) {
      hasher.field(*code);
      return;
    }
    is_lasting = false;
    hasher.field(reinterpret_cast<std::uintptr_t>(&library));
    hasher.field(OpRegistry::instance().generation());
  };
  add_code(forward);
  for (const tarsia_implementation* one : implementations) add_code(*one);
  digest = hasher.finish();
}

bool find_times(const TimesKey& key, std::span<const tarsia_implementation* const> implementations,
                const tarsia_op& op, Measured& measured) {
  {
    const std::lock_guard lock(kept().mutex);
    const auto known = kept().times.find(key.digest);
    if (known != kept().times.end()) return read_json(known->second, implementations, op, measured);
  }
  TimesStore* store = g_store;
  if (!key.is_lasting || !store) return false;
  const std::optional<std::string> text = store->find(key.digest);
  if (!text || !read_json(*text, implementations, op, measured)) return false;
  const std::lock_guard lock(kept().mutex);
  kept().times.emplace(key.digest, *text);
  return true;
}

void keep_times(const TimesKey& key, std::span<const tarsia_implementation* const> implementations,
                const tarsia_op& op, Measured& measured) {
  const std::string text = to_json(measured).dump(-1, ' ', false, json::error_handler_t::replace);
  {
    const std::lock_guard lock(kept().mutex);
    const auto [first, is_first] = kept().times.emplace(key.digest, text);
    if (!is_first) {
      read_json(first->second, implementations, op, measured);
      return;
    }
  }
  const bool has_failed =
      std::ranges::any_of(measured.times, [](const MeasuredTime& time) { return time.seconds < 0; });
  TimesStore* store = g_store;
  if (key.is_lasting && store && !has_failed) store->keep(key.digest, text);
}

}  // namespace tarsia::registry
