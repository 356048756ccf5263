// Fetches and sends, tier by tier.
#include "cache/remote/remote_cache.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/little_endian.h"
#include "base/log.h"
#include "cache/inventory.h"
#include "cache/later.h"
#include "cache/mark.h"
#include "cache/remote/envelope.h"
#include "cache/remote/listing.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t k_most_jobs = 256;
constexpr auto k_renew = RemoteCache::k_lease / 4;
/// For one entry on its way out: nobody waits for it.
constexpr auto k_send = 5s;

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

/// Marks that a store is being written to.
class RemoteCache::Sending {
 public:
  Sending(RemoteCache& cache, Tier& tier) : m_cache(cache) {
    const std::lock_guard lock(cache.m_mutex);
    cache.m_sending = &tier;
    cache.m_sending_since = Clock::now();
  }
  ~Sending() {
    const std::lock_guard lock(m_cache.m_mutex);
    m_cache.m_sending = nullptr;
  }
  Sending(const Sending&) = delete;

 private:
  RemoteCache& m_cache;
};

RemoteCache::RemoteCache(RemoteSettings settings, DiskStore& disk, Tally& tally)
    : m_settings(std::move(settings)), m_disk(disk), m_tally(tally) {
  m_trust = Trust::read(m_settings.trust);
  if (!m_settings.urls.empty() && !m_settings.sign_key.empty())
    m_signing.emplace(SigningKey::read(m_settings.sign_key));
  // Who signs believes oneself.
  if (m_signing) m_trust.add(m_signing->public_key());
  PublicKey own;
  if (m_signing && m_trust.find(id_of(m_signing->public_key()), own) == Signer::revoked)
    throw ArgumentError::value_error("TARSIA_SIGN_KEY: the key of " + m_settings.sign_key +
                                     " is revoked, so nobody would take what it signs; tarsia cache keygen "
                                     "PATH makes a new one");
  drop_revoked();
  open_tiers();
  watch_forks();
}

// Goes through the folder once for these keys: the time grows with the number of modules. Those that come
// later are removed when they are met (ModuleCache::refuse_signed_by).
void RemoteCache::drop_revoked() {
  if (m_trust.revoked().empty() || !m_disk.usable()) return;
  std::string all;
  for (const KeyId& id : m_trust.revoked()) LittleWriter(all).raw(id);
  const std::string note = m_disk.note_path("revoked-", all);
  if (!note.empty() && ::access(note.c_str(), F_OK) == 0) return;
  drop_signed_by(m_disk, m_trust.revoked());
  if (!note.empty()) DiskStore::write_note(note, "");
}

void RemoteCache::open_tiers() {
  if (m_settings.urls.empty()) return;
  m_reads = m_settings.reads && (!m_trust.empty() || m_settings.unsigned_);
  m_writes = m_settings.writes && (m_signing || m_settings.unsigned_);
  const auto refuse = [](const char* why) {
    return ArgumentError::value_error(std::string("TARSIA_REMOTE names a shared store, and ") + why +
                                      " (tarsia cache keygen makes keys)");
  };
  if (!m_reads && !m_writes)
    throw refuse(m_settings.reads
                     ? "nothing says whose entries are believed: TARSIA_TRUST names files of public "
                       "keys, TARSIA_SIGN_KEY one's own key"
                     : "nothing signs what is to be written: TARSIA_SIGN_KEY names one's own key");
  if (m_settings.unsigned_)
    log().warn("TARSIA_TRUST=unsafe-unsigned: whoever can write to {} can run code here",
               without_password(m_settings.urls.front()));
  for (const std::string& url : m_settings.urls) {
    auto store = make_remote_store(url);
    const auto breaker = [&](const char* what) {
      return std::make_unique<Breaker>(m_disk.note_path("remote-", store->name() + what));
    };
    auto reads = breaker(" reads"), writes = breaker(" writes");
    m_tiers.push_back({std::move(store), std::move(reads), std::move(writes), {}});
  }
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
  m_leases.clear();
  m_busy = m_runs = false;
  m_sending = nullptr;
  static_cast<void>(m_thread.release());
  static_cast<void>(m_changed.release());
  m_changed = std::make_unique<std::condition_variable>();
  m_mutex.unlock();
}

std::size_t drop_signed_by(DiskStore& disk, const std::set<KeyId>& revoked) {
  std::size_t dropped = 0;
  if (revoked.empty()) return dropped;
  for_each_file(disk.root(), [&](const StoreFile& file) {
    if (file.folder != kind_name(Kind::module) || !file.is_file() || file.is_temporary()) return;
    // The marks are the last before the footer. A link is none of ours, and is not followed.
    UniqueFd fd;
    struct stat status;
    if (open_regular(file.path, fd, status) != 0) return;
    bool is_revoked = false;
    std::array<char, k_mark_size> mark;
    const std::string_view text(mark.data(), mark.size());
    for (auto end = static_cast<std::uint64_t>(status.st_size) - k_footer_size;
         !is_revoked && end >= mark.size() && end < static_cast<std::uint64_t>(status.st_size) &&
         read_at(fd.get(), mark.data(), mark.size(), end -= mark.size()) == 0 && has_mark(text);)
      is_revoked = is_signed_by_any(text, revoked);
    if (!is_revoked) return;
    const auto name = entry_name(file);
    if (!name || !disk.remove(Kind::module, name->key)) return;
    log().warn("the module {} goes: its signer's key is revoked", hex(name->key).substr(0, 12));
    ++dropped;
  });
  return dropped;
}

bool RemoteCache::can_ask(Tier& tier, bool writes) {
  {
    const std::lock_guard lock(m_mutex);
    if (!tier.lacks.empty()) return false;
  }
  return tier.reads->lets_pass() && (!writes || tier.writes->lets_pass());
}

void RemoteCache::note_lack(Tier& tier, const std::string& why) {
  log().warn("{} is not asked: {}", tier.store->name(), why);
  const std::lock_guard lock(m_mutex);
  tier.lacks = why;
}

void RemoteCache::note_no_write(Tier& tier, const std::string& why) {
  m_tally.add(Count::remote_failed);
  tier.writes->note_failure();
  log().warn("{} took no entry, and gets none for a while: {}", tier.store->name(), why);
}

std::string RemoteCache::lacks() {
  const std::lock_guard lock(m_mutex);
  for (const Tier& tier : m_tiers)
    if (!tier.lacks.empty()) return "the shared store " + tier.store->name() + " is not asked: " + tier.lacks;
  return {};
}

bool RemoteCache::get(Tier& tier, Kind kind, const Key& key, Deadline deadline, Entry& entry, KeyId& signer) {
  std::string envelope, why;
  switch (tier.store->get(key, deadline, envelope, why)) {
    case Answer::failed:
      m_tally.add(Count::remote_failed);
      tier.reads->note_failure();
      log().warn("{} is left alone for a while: {}", tier.store->name(), why);
      return false;
    case Answer::lacking:
      note_lack(tier, why);
      return false;
    case Answer::unusable:
      m_tally.add(Count::remote_refused);
      log().warn("{} has no entry under {}: {}", tier.store->name(), hex(key).substr(0, 12), why);
      return false;
    case Answer::absent:
      tier.reads->note_success();
      return false;
    case Answer::found:
      tier.reads->note_success();
      break;
  }
  const Sealed state = unseal(envelope, kind, key, m_trust, m_settings.unsigned_, entry, signer);
  if (state == Sealed::good) return true;
  m_tally.add(Count::remote_refused);
  log().warn("the entry {} of {} is refused: {}", hex(key).substr(0, 12), tier.store->name(), text_of(state));
  return false;
}

std::optional<NewModule> RemoteCache::fetch_from(Tier& tier, const Request& request, Deadline deadline) {
  Entry entry;
  KeyId signer;
  if (!get(tier, Kind::shared, *request.shared, deadline, entry, signer)) return std::nullopt;
  std::optional<Listing> listing = Listing::parse(entry.payload);
  if (!listing) {
    m_tally.add(Count::remote_refused);
    return std::nullopt;
  }
  const Manifest named = portable(listing->list);
  Manifest here = named;
  here.move_to(request.place);
  bool renewed = false;
  const std::optional<Key> key = here.match(renewed);
  if (!key) return std::nullopt;
  {
    const std::lock_guard lock(m_mutex);
    if (m_rejected.contains(*key)) return std::nullopt;
  }
  if (listing->newest && listing->newest->key == *key) {
    entry.payload = std::move(listing->newest->payload);
    entry.meta = std::move(listing->newest->meta);
  } else if (!get(tier, Kind::module, *key, deadline, entry, signer)) {
    return std::nullopt;
  }
  if (!entry.payload.starts_with(ELFMAG)) {
    m_tally.add(Count::remote_refused);
    return std::nullopt;
  }
  NewModule brought{.key = *key, .bytes = std::move(entry.payload), .meta = std::move(entry.meta)};
  brought.meta = without_marks(brought.meta);
  add_mark(brought.meta, signer);
  const auto with_key = [&](const Manifest& manifest) {
    return *std::ranges::find(manifest.sets(), *key, &DependencySet::module_key);
  };
  brought.here = with_key(here);
  brought.everywhere = with_key(named);
  return brought;
}

std::optional<NewModule> RemoteCache::fetch(const Request& request, bool again) {
  if (!request.shared || !m_reads) return std::nullopt;
  const Deadline deadline = Clock::now() + k_look_up;
  for (Tier& tier : m_tiers) {
    if (!can_ask(tier, false)) {
      if (!again) m_tally.add(Count::remote_skipped);
      continue;
    }
    try {
      if (auto brought = fetch_from(tier, request, deadline)) return brought;
    } catch (const std::exception& e) {  // such as want of memory
      log().warn("{} could not be asked: {}", tier.store->name(), e.what());
    }
  }
  if (!again) m_tally.add(Count::remote_missed);
  return std::nullopt;
}

Lease RemoteCache::take_turn(const Request& request) {
  // Who cannot send what it compiles keeps nobody waiting.
  if (!request.shared || !m_reads || !m_writes) return Lease::none;
  for (Tier& tier : m_tiers) {
    if (!can_ask(tier, true)) continue;
    Lease lease = Lease::none;
    const Deadline deadline = Clock::now() + k_look_up;
    try {
      lease = tier.store->take_lease(*request.shared, k_lease, deadline);
      // It answers who reads, and nobody who writes: the next compile does not wait for it again.
      if (lease == Lease::none && Clock::now() >= deadline)
        note_no_write(tier, "it did not answer in time when it was asked for a lease");
    } catch (const std::exception& e) {
      log().debug("{} gives no lease: {}", tier.store->name(), e.what());
    }
    if (lease == Lease::none) continue;
    if (lease == Lease::others) return lease;
    const std::lock_guard lock(m_mutex);
    if (m_ends || (!m_runs && !start_thread())) return Lease::none;  // nobody would renew it
    m_leases[*request.shared] = &tier;
    m_changed->notify_all();
    return lease;
  }
  return Lease::none;
}

void RemoteCache::end_turn(const Request& request) {
  {
    const std::lock_guard lock(m_mutex);
    if (!m_runs || m_ends) return;  // a forked child, or the end: the lease ends by itself
    m_jobs.push_back({.shared = *request.shared, .ends_turn = true});
  }
  m_changed->notify_all();
}

void RemoteCache::renew(const std::map<Key, Tier*>& leases, std::chrono::milliseconds life) {
  for (const auto& [key, tier] : leases) {
    try {
      if (!can_ask(*tier, true)) continue;
      const Deadline deadline = Clock::now() + k_look_up;
      tier->store->renew_lease(key, life, deadline);
      if (Clock::now() >= deadline)
        note_no_write(*tier, "it did not answer in time when a lease was renewed");
    } catch (const std::exception& e) {
      log().debug("{} renews no lease: {}", tier->store->name(), e.what());
    }
  }
}

bool RemoteCache::send(const Request& request, const Key& module_key) {
  if (!request.shared || !m_writes) return false;
  if (std::ranges::none_of(m_tiers, [&](Tier& tier) { return can_ask(tier, true); })) {
    for (std::size_t i = 0; i < m_tiers.size(); ++i) m_tally.add(Count::remote_not_sent);
    return false;
  }
  for (const Tier& tier : m_tiers) tier.store->open_libraries();
  {
    const std::lock_guard lock(m_mutex);
    if (m_disk.usable() && !m_ends && m_jobs.size() < k_most_jobs && (m_runs || start_thread())) {
      m_jobs.push_back({*request.shared, module_key});
      m_changed->notify_all();
      return !std::exchange(m_has_sent, true);
    }
  }
  m_tally.add(Count::remote_not_sent);
  return false;
}

bool RemoteCache::start_thread() {
  try {
    m_thread = std::make_unique<std::thread>(start_quietly([this] { work(); }));
    m_runs = true;
  } catch (const std::exception& e) {
    log().warn("nothing is sent to the shared store: {}", e.what());
  }
  return m_runs;
}

void RemoteCache::run(const Job& job) {
  if (job.ends_turn) {
    std::map<Key, Tier*> ended;
    {
      const std::lock_guard lock(m_mutex);
      if (auto lease = m_leases.extract(job.shared)) ended.insert(std::move(lease));
    }
    return renew(ended, 1ms);
  }
  for (Tier& tier : m_tiers) {
    bool sent = false;
    try {
      sent = put(tier, job);
    } catch (const std::exception& e) {
      log().warn("{} got nothing: {}", tier.store->name(), e.what());
    }
    m_tally.add(sent ? Count::remote_sent : Count::remote_not_sent);
  }
}

void RemoteCache::work() {
  std::unique_lock lock(m_mutex);
  for (Deadline next = Clock::now() + k_renew;;) {
    const auto ready = [&] { return m_ends || !m_jobs.empty(); };
    if (m_leases.empty()) {
      m_changed->wait(lock, [&] { return ready() || !m_leases.empty(); });
      next = std::max(next, Clock::now() + k_renew);
    }
    if (!m_leases.empty() && (Clock::now() >= next || !m_changed->wait_until(lock, next, ready))) {
      const std::map<Key, Tier*> leases = m_leases;
      lock.unlock();
      renew(leases, k_lease);
      lock.lock();
      next = Clock::now() + k_renew;
    }
    if (!ready()) continue;
    if (m_jobs.empty()) return;
    const Job job = m_jobs.front();
    m_jobs.pop_front();
    m_busy = true;
    lock.unlock();
    run(job);
    lock.lock();
    m_busy = false;
    m_changed->notify_all();
  }
}

bool RemoteCache::put(Tier& tier, const Job& job) {
  if (!can_ask(tier, true)) return false;
  Hit hit;
  const Manifest ours = portable(list_on(m_disk, job.shared));
  const auto set = std::ranges::find(ours.sets(), job.module, &DependencySet::module_key);
  // Of use here alone, or evicted already; or another's of the same key lies there, which is not ours to
  // sign.
  if (set == ours.sets().end() || m_disk.find(Kind::module, job.module, true, hit) != Lookup::hit ||
      has_mark(hit.entry.meta))
    return false;
  const SigningKey* signer = m_signing ? &*m_signing : nullptr;
  std::size_t sent_size = 0;
  const auto send_one = [&](Kind kind, const Key& key, std::string_view payload, std::string_view meta) {
    const std::string envelope = seal(kind, key, payload, meta, signer);
    sent_size = envelope.size();
    if (envelope.empty()) {
      log().warn("the module {} is too large for the shared store", hex(key).substr(0, 12));
      return false;
    }
    std::string why;
    const Sending sending(*this, tier);
    switch (tier.store->put(key, envelope, Clock::now() + k_send, why)) {
      case Answer::found:
        tier.writes->note_success();
        return true;
      case Answer::lacking:
        note_lack(tier, why);
        return false;
      default:
        note_no_write(tier, why);
        return false;
    }
  };
  // The module first, so that a list never names one that is not there yet.
  const std::string_view meta = hit.entry.meta;
  if (!send_one(Kind::module, job.module, hit.entry.payload, meta)) return false;
  // What others found out about the same request stays known.
  Manifest list;
  Entry entry;
  KeyId ignored;
  if (get(tier, Kind::shared, job.shared, Clock::now() + k_look_up, entry, ignored))
    if (const auto theirs = Listing::parse(entry.payload)) list = portable(theirs->list);
  list.add(*set);
  const bool attached = sent_size <= k_most_attached;
  return send_one(Kind::shared, job.shared,
                  attached ? listing_of(list, job.module, meta, hit.entry.payload) : listing_of(list), {});
}

void RemoteCache::reject(const Key& module_key) {
  const std::lock_guard lock(m_mutex);
  m_rejected.insert(module_key);
}

bool RemoteCache::flush(std::chrono::milliseconds most) {
  std::unique_lock lock(m_mutex, std::defer_lock);
  // A thread that was stopped at the program's end may hold it for ever.
  const Deadline end = Clock::now() + most;
  while (!lock.try_lock()) {
    if (Clock::now() >= end) return false;
    std::this_thread::yield();
  }
  if (m_changed->wait_until(lock, end, [&] { return m_jobs.empty() && !m_busy; })) return true;
  // The program may end now, and with it the thread that would tell. Who comes next does not wait as long.
  Tier* const silent = Clock::now() - m_sending_since >= k_last_wait * 4 / 5 ? m_sending : nullptr;
  m_sending = nullptr;
  lock.unlock();
  if (silent) note_no_write(*silent, "it did not take it before the program's end");
  return false;
}

}  // namespace tarsia::cache
