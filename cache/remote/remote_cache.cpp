// Fetches and sends, tier by tier.
#include "cache/remote/remote_cache.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"
#include "cache/inventory.h"
#include "cache/remote/envelope.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t k_most_jobs = 256;
/// For one entry on its way out: nobody waits for it.
constexpr auto k_send = 5s;

std::vector<std::string> words(const char* text, std::string_view separators) {
  std::vector<std::string> list;
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
    if (end > 0) list.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list;
}

/// What of a list means the same elsewhere.
Manifest portable(const Manifest& all) {
  Manifest some;
  for (auto set = all.sets().rbegin(); set != all.sets().rend(); ++set)
    if (std::ranges::all_of(set->dependencies, [](const Dependency& d) { return is_portable(d.path); }))
      some.add(*set);
  return some;
}

/// The list on disk, or an empty one.
Manifest list_on(DiskStore& disk, const Key& shared) {
  Hit hit;
  if (disk.find(Kind::shared, shared, true, hit) != Lookup::hit) return {};
  return Manifest::parse(hit.entry.payload).value_or(Manifest());
}

}  // namespace

RemoteSettings RemoteSettings::of_environment() {
  RemoteSettings settings;
  settings.urls = words(std::getenv("TARSIA_REMOTE"), ",");
  if (settings.urls.empty()) return {};
  if (const char* key = std::getenv("TARSIA_SIGN_KEY")) settings.sign_key = key;
  settings.trust = words(std::getenv("TARSIA_TRUST"), ",:");
  settings.unsigned_ = std::erase(settings.trust, "unsafe-unsigned") > 0;
  return settings;
}

RemoteCache::RemoteCache(RemoteSettings settings, DiskStore& disk)
    : m_settings(std::move(settings)), m_disk(disk) {
  if (!m_settings.sign_key.empty()) m_signing.emplace(SigningKey::read(m_settings.sign_key));
  m_trust = Trust::read(m_settings.trust);
  if (m_trust.empty() && !m_signing && !m_settings.unsigned_)
    throw ArgumentError::value_error(
        "TARSIA_REMOTE names a shared store, and nothing says whose entries are believed: TARSIA_TRUST names "
        "files of public keys, TARSIA_SIGN_KEY one's own key (tarsia cache keygen makes them)");
  // Who signs believes oneself.
  if (m_signing) m_trust.add(m_signing->public_key());
  if (m_settings.unsigned_)
    log().warn("TARSIA_TRUST=unsafe-unsigned: whoever can write to {} can run code here",
               without_password(m_settings.urls.front()));
  for (const std::string& url : m_settings.urls) {
    auto store = make_remote_store(url);
    std::string file;
    if (m_disk.usable()) file = m_disk.breaker_path(hash_bytes(store->name()));
    m_tiers.push_back({std::move(store), std::make_unique<Breaker>(std::move(file))});
  }
  drop_revoked();
  watch_forks();
}

RemoteCache::~RemoteCache() {
  flush(k_last_wait);
  forget_forks();
  {
    const std::lock_guard lock(m_mutex);
    m_ends = true;
    m_jobs.clear();
  }
  m_changed->notify_all();
  if (m_thread && m_thread->joinable()) m_thread->join();
}

// The thread is the parent's, and so are the jobs.
void RemoteCache::after_fork_in_child() {
  m_jobs.clear();
  m_busy = m_runs = false;
  static_cast<void>(m_thread.release());
  static_cast<void>(m_changed.release());
  m_changed = std::make_unique<std::condition_variable>();
  m_mutex.unlock();
}

void RemoteCache::drop_revoked() {
  if (m_trust.revoked().empty() || !m_disk.usable()) return;
  std::vector<Key> signed_;
  for_each_file(m_disk.root(), [&](const StoreFile& file) {
    if (file.folder != kind_name(Kind::signer) || !file.is_file()) return;
    if (const auto name = entry_name(file)) signed_.push_back(name->key);
  });
  for (const Key& key : signed_) {
    Hit hit;
    if (m_disk.peek(Kind::signer, key, true, hit) != Lookup::hit || hit.entry.payload.size() != sizeof(KeyId))
      continue;
    KeyId id;
    std::ranges::copy(hit.entry.payload, id.begin());
    if (!m_trust.revoked().contains(id)) continue;
    log().warn("the module {} goes: its signer's key is revoked", hex(key).substr(0, 12));
    m_disk.remove(Kind::module, key);
    m_disk.remove(Kind::signer, key);
  }
}

bool RemoteCache::get(Tier& tier, Kind kind, const Key& key, Deadline deadline, Entry& entry, KeyId& signer) {
  std::string envelope, why;
  switch (tier.store->get(key, deadline, envelope, why)) {
    case Answer::failed:
      ++m_failures;
      tier.breaker->note_failure();
      log().warn("{} is left alone for a while: {}", tier.store->name(), why);
      return false;
    case Answer::unusable:
      ++m_refused;
      log().warn("{} has no entry under {}: {}", tier.store->name(), hex(key).substr(0, 12), why);
      return false;
    case Answer::absent:
      tier.breaker->note_success();
      return false;
    case Answer::found:
      tier.breaker->note_success();
      break;
  }
  const Sealed state = unseal(envelope, kind, key, m_trust, m_settings.unsigned_, entry, signer);
  if (state == Sealed::good) return true;
  ++m_refused;
  log().warn("the entry {} of {} is refused: {}", hex(key).substr(0, 12), tier.store->name(), text_of(state));
  return false;
}

bool RemoteCache::fetch_from(Tier& tier, const Request& request, Deadline deadline) {
  Entry entry;
  KeyId signer;
  if (!get(tier, Kind::shared, *request.shared, deadline, entry, signer)) return false;
  std::optional<Manifest> list = Manifest::parse(entry.payload);
  if (!list) {
    ++m_refused;
    return false;
  }
  const Manifest named = portable(*list);
  Manifest here = named;
  here.move_to(request.place);
  bool renewed = false;
  const std::optional<Key> key = here.match(renewed);
  if (!key) return false;
  {
    const std::lock_guard lock(m_mutex);
    if (m_rejected.contains(*key)) return false;
  }
  if (!get(tier, Kind::module, *key, deadline, entry, signer)) return false;
  if (!entry.payload.starts_with(ELFMAG)) {
    ++m_refused;
    return false;
  }
  // Whose it is comes first: a module that is here without it could not be revoked.
  if (signer != KeyId{} &&
      !m_disk.keep(Kind::signer, *key, {reinterpret_cast<const char*>(signer.data()), signer.size()}, {}))
    return false;
  if (!m_disk.keep(Kind::module, *key, entry.payload, entry.meta)) return false;
  Manifest known = list_on(m_disk, *request.shared);
  for (const DependencySet& set : named.sets())
    if (set.module_key == *key) known.add(set);
  return m_disk.keep(Kind::shared, *request.shared, known.serialise(), {});
}

bool RemoteCache::fetch(const Request& request) {
  if (!request.shared || !m_disk.usable() || (m_trust.empty() && !m_settings.unsigned_)) return false;
  const Deadline deadline = Clock::now() + k_look_up;
  for (Tier& tier : m_tiers) {
    if (!tier.breaker->lets_pass()) {
      ++m_skipped;
      continue;
    }
    try {
      if (fetch_from(tier, request, deadline)) {
        ++m_hits;
        return true;
      }
    } catch (const std::exception& e) {  // such as want of memory
      log().warn("{} could not be asked: {}", tier.store->name(), e.what());
    }
  }
  ++m_misses;
  return false;
}

void RemoteCache::send(const Request& request, const Key& module_key) {
  if (!request.shared || !m_disk.usable() || (!m_signing && !m_settings.unsigned_)) return;
  {
    const std::lock_guard lock(m_mutex);
    if (m_ends || m_jobs.size() >= k_most_jobs) {
      ++m_not_sent;
      return;
    }
    m_jobs.push_back({*request.shared, module_key});
    if (!m_runs) start_thread();
  }
  m_changed->notify_all();
}

void RemoteCache::start_thread() {
  // It handles no signals of the program's.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    m_thread = std::make_unique<std::thread>([this] { work(); });
    m_runs = true;
  } catch (const std::system_error& e) {
    log().warn("nothing is sent to the shared store: {}", e.what());
    m_not_sent += m_jobs.size();
    m_jobs.clear();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RemoteCache::work() {
  std::unique_lock lock(m_mutex);
  for (;;) {
    m_changed->wait(lock, [&] { return m_ends || !m_jobs.empty(); });
    if (m_jobs.empty()) return;
    const Job job = m_jobs.front();
    m_jobs.pop_front();
    m_busy = true;
    lock.unlock();
    for (Tier& tier : m_tiers) try {
        put(tier, job);
      } catch (const std::exception& e) {
        ++m_not_sent;
        log().warn("{} got nothing: {}", tier.store->name(), e.what());
      }
    lock.lock();
    m_busy = false;
    m_changed->notify_all();
  }
}

void RemoteCache::put(Tier& tier, const Job& job) {
  if (!tier.breaker->lets_pass()) {
    ++m_not_sent;
    return;
  }
  Hit hit;
  const Manifest ours = portable(list_on(m_disk, job.shared));
  const auto set = std::ranges::find(ours.sets(), job.module, &DependencySet::module_key);
  // Of use here alone, or evicted already.
  if (set == ours.sets().end() || m_disk.find(Kind::module, job.module, true, hit) != Lookup::hit) return;
  const SigningKey* signer = m_signing ? &*m_signing : nullptr;
  std::string why;
  const auto send_one = [&](Kind kind, const Key& key, std::string_view payload, std::string_view meta) {
    const std::string envelope = seal(kind, key, payload, meta, signer);
    if (envelope.empty()) {
      log().info("the module {} is too large for the shared store", hex(key).substr(0, 12));
      return false;
    }
    if (tier.store->put(key, envelope, Clock::now() + k_send, why) == Answer::found) return true;
    ++m_failures;
    tier.breaker->note_failure();
    log().warn("{} did not take an entry, and is left alone for a while: {}", tier.store->name(), why);
    return false;
  };
  // The module first, so that a list never names one that is not there yet.
  if (!send_one(Kind::module, job.module, hit.entry.payload, hit.entry.meta)) {
    ++m_not_sent;
    return;
  }
  // What others found out about the same request stays known.
  Manifest list;
  Entry entry;
  KeyId ignored;
  if (get(tier, Kind::shared, job.shared, Clock::now() + k_look_up, entry, ignored))
    if (const auto theirs = Manifest::parse(entry.payload)) list = portable(*theirs);
  list.add(*set);
  ++(send_one(Kind::shared, job.shared, list.serialise(), {}) ? m_sent : m_not_sent);
}

void RemoteCache::reject(const Key& module_key) {
  {
    const std::lock_guard lock(m_mutex);
    m_rejected.insert(module_key);
  }
  m_disk.remove(Kind::module, module_key);
  m_disk.remove(Kind::signer, module_key);
}

bool RemoteCache::flush(std::chrono::milliseconds most) {
  std::unique_lock lock(m_mutex, std::defer_lock);
  // A thread that was stopped at the program's end may hold it for ever.
  const Deadline end = Clock::now() + most;
  while (!lock.try_lock()) {
    if (Clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return m_changed->wait_until(lock, end, [&] { return m_jobs.empty() && !m_busy; });
}

RemoteCounters RemoteCache::counters() const {
  return {.hits = m_hits,
          .misses = m_misses,
          .failures = m_failures,
          .refused = m_refused,
          .skipped = m_skipped,
          .sent = m_sent,
          .not_sent = m_not_sent};
}

}  // namespace tarsia::cache
