// The steps from a source to a module, in order: see Pipeline::compile.
#include "pipeline/pipeline.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/figures/elapsed.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"
#include "cache/mark.h"
#include "cache/remote/our_turn.h"
#include "cache/remote/pack_keys.h"
#include "jit/build_id.h"
#include "jit/readable.h"
#include "pipeline/cflags.h"
#include "pipeline/check.h"
#include "pipeline/inputs.h"
#include "pipeline/key.h"
#include "pipeline/meta.h"
#include "pipeline/source_kind.h"

namespace tarsia::pipeline {
namespace {

Module ready(cache::CachedModule&& found, const jit::CompileRequest& request) {
  Module module{.key = hex(found.key),
                .origin = found.origin,
                .fetched = cache::has_mark(found.meta),
                .cuda = request.cuda,
                .warnings = decode_meta(found.meta),
                .library_dirs = jit::library_folders(request).all()};
  move_to(module.warnings, request);
  if (!found.path.starts_with("/proc/")) module.path = std::move(found.path);
  module.file = UniqueFd(::fcntl(found.file->get(), F_DUPFD_CLOEXEC, 3));
  if (!module.file) throw Error(errno_message("cannot open a module", errno));
  return module;
}

using namespace std::chrono_literals;

// For files that are small, on whatever file system.
constexpr std::chrono::seconds k_longest_write{10};

using Clock = std::chrono::steady_clock;

/// As far as people need the key to tell sources apart.
std::string short_name(const cache::Key& key) {
  return hex(key).substr(0, 12);
}

/// The bytes of a module, without what the cache wrote behind them. Returns false if they cannot be read:
/// that is the recording's loss, and not that of whoever asked for the module.
bool read_whole(const cache::CachedModule& module, cache::Entry& entry) {
  const int fd = module.file->get();
  struct stat status;
  if (!module.path.starts_with("/proc/"))
    return ::fstat(fd, &status) == 0 &&
           cache::read_entry(fd, static_cast<std::uint64_t>(status.st_size), cache::Kind::module, module.key,
                             true, entry) == cache::ReadStatus::ok;
  try {
    entry.payload = read_descriptor(fd, cache::k_max_entry);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

jit::WorkerProgram own_compiler(const std::string& cache_dir) {
  const char* const service = std::getenv("TARSIA_SERVICE");
  // An unpacked worker does not lie beside the files that it needs, so it gets their paths.
  return {.path = compiler_path(cache_dir),
          .arguments = {"--serve", library_dir()},
          .build_id = std::string(jit::build_id()),
          .memory_bytes = jit::compiler_memory_limit(),
          .isolation = jit::wanted_isolation(),
          .cuda = &find_cuda_parts,
          .service = service ? service : ""};
}

Pipeline::Pipeline(Settings settings)
    : m_settings(std::move(settings)),
      m_pool({.program =
                  [this] {
                    const cache::DiskStore& disk = stores().disk;
                    const std::string folder = disk.usable() ? disk.folder() : std::string();
                    return m_settings.program ? m_settings.program(folder) : own_compiler(folder);
                  },
              // A program of the settings says it itself.
              .isolation = m_settings.program ? nullptr : &jit::wanted_isolation,
              .max_workers = m_settings.max_workers}),
      m_failures(m_settings.failures_last) {
  watch_forks();
}

Pipeline::~Pipeline() {
  forget_forks();
}

Pipeline& Pipeline::instance() {
  // Never destroyed: threads may still compile while the program ends. The workers notice our end by
  // themselves.
  static std::atomic<Pipeline*> s_pipeline{nullptr};
  Pipeline& made = made_once(s_pipeline, [] { return Pipeline(); });
  static std::atomic<bool> s_watches_end{false};
  if (!s_watches_end.load(std::memory_order_relaxed) && !s_watches_end.exchange(true))
    std::atexit([] { s_pipeline.load()->finish(); });
  return made;
}

Module Pipeline::compile(Source source) {
  // 1. Check. From here on every text is UTF-8 and every option a known one. What two options could say is
  //    said by one.
  take_cflags(source.options);
  take_environment(source.options);
  check(source);
  const Ban given_ban = source.ban;

  // 2. Resolve. From here on the request holds all that decides the module's bytes, save the files that the
  //    compiler will read from disk.
  Stores& stores = this->stores();
  cache::RemoteCache* const remote = this->remote(stores);  // drops what a revoked key signed
  std::string lacks;
  jit::CompileRequest request = resolve(std::move(source), stores, m_packs.is_empty() ? nullptr : &lacks);
  std::vector<Diagnostic> missing = warn_of_missing_folders(request.options);
  Module module = serve(std::move(request), lacks, given_ban, stores, remote);
  module.warnings.insert(module.warnings.begin(), std::make_move_iterator(missing.begin()),
                         std::make_move_iterator(missing.end()));
  return module;
}

Module Pipeline::serve(jit::CompileRequest request, const std::string& lacks, Ban given_ban, Stores& stores,
                       cache::RemoteCache* remote) {
  const Recorder::Request recorded(m_recorder, request);

  // 3. Key.
  cache::Key key = request_key(request);

  // 4. Look into the packs that are replayed, and into the cache, which know the files that were read from
  //    disk.
  const auto began = Clock::now();
  std::string changed;
  const auto keys_of = [](const jit::CompileRequest& one) { return request_of(one, request_key(one)); };
  if (!m_packs.is_empty())
    if (auto found = m_packs.find(request, key, keys_of, changed)) {
      stores.tally.add(cache::Count::hit_memory);
      log().info("{} [{}]: found in a pack in {:.1f} ms", named(request), short_name(key),
                 milliseconds_since(began));
      note_use(request, key, *found, stores);
      return ready(std::move(*found), request);
    }
  cache::Missing why{cache::Count::miss_absent, "this machine lacks " + lacks};
  if (lacks.empty())
    if (auto found = stores.modules.find(key, &why)) {
      note_use(request, key, *found, stores);
      stores.tally.add(found->origin == Origin::disk ? cache::Count::hit_disk : cache::Count::hit_memory);
      log().info("{} [{}]: found {} in {:.1f} ms", named(request), short_name(key),
                 found->origin == Origin::disk ? "on disk" : "in memory", milliseconds_since(began));
      return ready(std::move(*found), request);
    }

  // Another checkout or machine may have compiled the same, with its files elsewhere.
  const cache::Request asked = request_of(request, key);
  FileStamp seen;
  if (auto found = lacks.empty() ? stores.modules.find_elsewhere(asked, &seen, &why) : std::nullopt) {
    note_use(request, key, *found, stores);
    stores.tally.add(cache::Count::hit_disk);
    stores.disk.keep(cache::Kind::inputs, key, inputs_of(request, true).serialise(), {});
    log().info("{} [{}]: found on disk, compiled at another place, in {:.1f} ms", named(request),
               short_name(key), milliseconds_since(began));
    return ready(std::move(*found), request);
  }

  if (!changed.empty()) why.text = changed + " is not as it was when the pack's module was compiled";
  log().debug("{} [{}]: not in the cache: {}", named(request), short_name(key), why.text);

  if (const Ban ban = given_ban != Ban::none ? given_ban : current_ban(); ban != Ban::none) {
    if (remote && lacks.empty())
      if (auto module = fetch(request, asked, {}, stores, *remote)) return std::move(*module);
    stores.tally.add(why.reason);
    refuse(request, key, why.text, ban, stores);
  }
  if (!lacks.empty()) stores.tally.add(why.reason);
  if (!lacks.empty())
    throw NotFound("the source holds CUDA, and this machine lacks " + lacks +
                   "; no pack that is replayed has its module");

  // 5. Fetch or compile, once for all callers that ask now.
  return compile_once(request, asked, seen, why, stores, remote);
}

void Pipeline::add_archs(Recorder::Id recording, const std::vector<std::string>& archs) {
  Stores& stores = this->stores();
  cache::RemoteCache* const remote = this->remote(stores);
  for (const std::string& arch : archs) check_arch(arch);
  std::vector<jit::CompileRequest> requests;
  const Recorded recorded = m_recorder.so_far(recording);
  for (const auto& used : recorded.used) {
    // A program that asks for several at once names them, and gets that module on all machines.
    if (!used->request || used->request->options.archs.size() != 1) continue;
    for (const std::string& arch : archs) {
      jit::CompileRequest request = *used->request;
      request.options.archs = {arch};
      requests.push_back(std::move(request));
    }
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr first;
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < requests.size();) try {
        serve(requests[i], {}, Ban::none, stores, remote);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
  };
  const std::size_t n_threads =
      std::min<std::size_t>(requests.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < n_threads; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (first) std::rethrow_exception(first);
}

void Pipeline::refuse(const jit::CompileRequest& request, const cache::Key& key, const std::string& why,
                      Ban ban, Stores& stores) {
  stores.tally.add(cache::Count::forbidden);
  std::string text = named(request) + " [" + short_name(key) + "] is not in the cache (" + why + ")";
  if (!m_packs.is_empty()) {
    text += ", nor in a pack that is replayed";
    const std::vector<Difference> differences =
        differences_from_nearest(m_packs.store().inputs(), inputs_of(request, true));
    constexpr std::size_t k_most = 3;
    for (std::size_t i = 0; i < std::min(differences.size(), k_most); ++i)
      text += (i == 0 ? " (what differs from the nearest of these: " : "; ") + differences[i].input + ": " +
              differences[i].how;
    if (!differences.empty()) text += differences.size() > k_most ? "; …)" : ")";
  }
  throw CompileForbidden(text + ", and " + ban_text(ban));
}

void Pipeline::note_use(const jit::CompileRequest& request, const cache::Key& key,
                        const cache::CachedModule& module, Stores& stores) {
  if (!m_recorder.wants(key, module.key)) return;
  auto dependencies = m_packs.store().dependencies_of(key, module.key);
  if (!dependencies) dependencies = stores.modules.dependencies_of(key, module.key);
  if (!dependencies) {
    m_recorder.leave_out(named(request), "the list of the files that it was compiled from is gone");
    return;
  }
  cache::Entry entry{.meta = module.meta};
  if (!read_whole(module, entry)) {
    m_recorder.leave_out(named(request), "its module cannot be read");
    return;
  }
  // Those that the compile kept say when that was. So a run that hits gives the pack of the run that
  // compiled.
  std::string inputs = m_packs.store().inputs_of(key);
  if (cache::Hit hit;
      inputs.empty() && stores.disk.peek(cache::Kind::inputs, key, true, hit) == cache::Lookup::hit)
    inputs = std::move(hit.entry.payload);
  if (inputs.empty()) inputs = inputs_of(request, true).serialise();
  auto everywhere = cache::set_for_all_places(request_of(request, key), module.key, *dependencies,
                                              entry.payload, module.meta);
  m_recorder.note({.request_key = key,
                   .module_key = module.key,
                   .payload = std::move(entry.payload),
                   .meta = std::move(entry.meta),
                   .inputs = std::move(inputs),
                   .made_with = MadeWith::of(request).serialise(),
                   .dependencies = std::move(*dependencies),
                   .everywhere = std::move(everywhere),
                   .request = request.cuda ? std::make_shared<const jit::CompileRequest>(request) : nullptr});
}

Pipeline::Completed Pipeline::complete(Source source, int line, int column) {
  take_cflags(source.options);
  take_environment(source.options);
  check(source);
  Stores& stores = this->stores();
  jit::CompileRequest request = resolve(std::move(source), stores);
  request.complete_line = line;
  request.complete_column = column;
  jit::CompileResult result = m_pool.compile(request, stores.parts);
  return {std::move(result.typed), std::move(result.completions)};
}

Explanation Pipeline::explain(Source source) {
  take_cflags(source.options);
  take_environment(source.options);
  check(source);
  Stores& stores = settled_stores();
  return pipeline::explain(resolve(std::move(source), stores), stores.disk,
                           cache::read_pack_keys().trust.revoked());
}

void Pipeline::finish() {
  // The process ends: a thread that was stopped within stores() may hold the mutex for ever.
  const std::unique_lock lock(m_mutex, std::try_to_lock);
  if (!lock) return;
  // It may run twice, and waits once.
  static std::atomic_flag s_waited;
  const bool is_first = !s_waited.test_and_set();
  const auto end = Clock::now() + (is_first ? cache::RemoteCache::k_last_wait : 0ms);
  const auto left = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(end - Clock::now(), Clock::duration::zero()));
  };
  for (const auto& [folder, stores] : m_stores) {
    if (!stores->later.flush(left()) && is_first)
      log().warn("the cache {} lacks modules of the last cells: the program ended before they were written",
                 folder);
    for (const auto& [settings, remote] : stores->remotes)
      if (remote) remote->flush(left());
    stores->tally.merge();
  }
}

void Pipeline::settle() {
  std::vector<Stores*> all;
  {
    const std::lock_guard lock(m_mutex);
    for (const auto& [folder, stores] : m_stores) all.push_back(stores.get());
  }
  const auto end = Clock::now() + cache::RemoteCache::k_last_wait;
  for (Stores* const stores : all)
    stores->later.flush(
        std::chrono::ceil<std::chrono::milliseconds>(std::max(end - Clock::now(), Clock::duration::zero())));
}

cache::RemoteCache* Pipeline::remote(Stores& stores) {
  const std::string settings = cache::RemoteSettings::fingerprint();
  if (settings.empty()) return nullptr;
  {
    const std::lock_guard lock(m_mutex);
    if (const auto known = stores.remotes.find(settings); known != stores.remotes.end())
      return known->second.get();
  }
  auto made = std::make_unique<cache::RemoteCache>(cache::RemoteSettings::read(), stores.disk, stores.tally);
  stores.modules.refuse_signed_by(made->revoked());
  const std::lock_guard lock(m_mutex);
  return stores.remotes.try_emplace(settings, std::move(made)).first->second.get();
}

bool Pipeline::reject(const Module& module) {
  if (!module.fetched) return false;
  Stores& stores = this->stores();
  cache::Key key;
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<unsigned char>(std::stoul(module.key.substr(2 * i, 2), nullptr, 16));
  if (cache::RemoteCache* const remote = this->remote(stores)) {
    remote->reject(key);
  }
  stores.later.flush(k_longest_write);  // it may be about to reach the disk
  stores.modules.forget(key);
  log().warn("the module {} of a shared store does not load here: it is compiled", module.key.substr(0, 12));
  return true;
}

Pipeline::Stores& Pipeline::stores() {
  const std::string folder = cache_dir_name();
  {
    const std::lock_guard lock(m_mutex);
    const auto known = m_stores.find(folder);
    if (known != m_stores.end()) return *known->second;
  }
  auto made = std::make_unique<Stores>(folder);
  const std::lock_guard lock(m_mutex);
  return *m_stores.try_emplace(folder, std::move(made)).first->second;
}

Pipeline::Stores& Pipeline::settled_stores() {
  Stores& settled = stores();
  settled.later.flush(k_longest_write);
  return settled;
}

std::optional<std::string> Pipeline::find_fact(const cache::Key& key) {
  cache::Hit hit;
  if (stores().disk.find(cache::Kind::fact, key, true, hit) != cache::Lookup::hit) return std::nullopt;
  return std::move(hit.entry.payload);
}

void Pipeline::keep_fact(const cache::Key& key, const std::string& text) {
  stores().disk.keep(cache::Kind::fact, key, text, {});
}

std::optional<Module> Pipeline::fetch(const jit::CompileRequest& request, const cache::Request& asked,
                                      std::shared_ptr<FileLock> turn, Stores& stores,
                                      cache::RemoteCache& remote, bool again) {
  const auto began = Clock::now();
  std::optional<cache::NewModule> brought = remote.fetch(asked, again);
  if (!brought) return std::nullopt;
  cache::CachedModule kept = stores.modules.take(asked, *brought);
  if (stores.disk.usable())
    stores.later.add([&stores, asked, turn = std::move(turn), brought = std::move(*brought),
                      inputs = inputs_of(request, true).serialise()] {
      stores.modules.keep_on_disk(asked, brought);
      stores.disk.keep(cache::Kind::inputs, asked.key, inputs, {});
    });
  note_use(request, asked.key, kept, stores);
  stores.tally.add(cache::Count::hit_remote);
  log().info("{} [{}]: found in a shared store in {:.1f} ms", named(request), short_name(asked.key),
             milliseconds_since(began));
  Module module = ready(std::move(kept), request);
  module.origin = Origin::remote;
  return module;
}

Module Pipeline::compile_once(const jit::CompileRequest& request, const cache::Request& asked, FileStamp seen,
                              const cache::Missing& why, Stores& stores, cache::RemoteCache* remote) {
  const cache::Key& key = asked.key;
  bool counted = false;
  const auto count_miss = [&] {
    if (!counted) stores.tally.add(why.reason);
    counted = true;
  };
  const auto look = [&]() -> std::optional<Module> {
    auto found = stores.modules.find(key);
    if (!found) found = stores.modules.find_elsewhere(asked, &seen);
    if (!found) return std::nullopt;
    count_miss();
    stores.tally.add(cache::Count::waited);
    note_use(request, key, *found, stores);
    return ready(std::move(*found), request);
  };
  for (;;) {
    // One thread of this process leads. The others wait for the entry that it stores, or share its error.
    cache::Flights::Ticket ticket = m_flights.board(key);
    if (!ticket.leads()) {
      if (ticket.error()) count_miss(), std::rethrow_exception(ticket.error());
      if (auto module = look()) return std::move(*module);
      continue;
    }
    if (const std::exception_ptr error = m_failures.find(key)) {
      count_miss();
      ticket.fail(error, false);
      std::rethrow_exception(error);
    }
    try {
      // One process at a time, as long as the other is quick, whatever the place that it asks from. What a
      // store brings is with its caller before it is in the folder, so the turn ends when it is there.
      const auto turn = std::make_shared<FileLock>();
      std::optional<Module> appeared;
      bool has_waited = false;
      if (stores.disk.usable()) {
        const auto look_again = [&] {
          has_waited = true;
          return (appeared = look()).has_value();
        };
        cache::wait_for_turn(stores.disk.lock_path(asked.shared.value_or(key)), m_settings.patience,
                             look_again, *turn);
      }
      if (!appeared && has_waited) appeared = look();
      if (appeared) return std::move(*appeared);
      if (remote)
        if (auto module = fetch(request, asked, turn, stores, *remote)) return std::move(*module);
      // Who had the lock at once may have come just behind another's compile. A store's hit needs no look.
      if (!has_waited) appeared = look();
      if (appeared) return std::move(*appeared);
      std::optional<Module> sent;
      const cache::OurTurn ours(remote, asked, named(request), m_settings.patience, [&] {
        return (sent = fetch(request, asked, turn, stores, *remote, true)).has_value();
      });
      if (sent) return std::move(*sent);
      count_miss();
      return compile_now(request, asked, turn, stores, remote);
    } catch (const Interrupted&) {
      throw;  // other threads still wait: one of them leads now
    } catch (const CompilerCrashed&) {
      // Perhaps somebody killed the worker.
      ticket.fail(std::current_exception(), true);
      throw;
    } catch (...) {
      ticket.fail(std::current_exception(), false);
      throw;
    }
  }
}

Module Pipeline::compile_now(const jit::CompileRequest& request, const cache::Request& asked,
                             std::shared_ptr<FileLock> turn, Stores& stores, cache::RemoteCache* remote) {
  const cache::Key& key = asked.key;
  const auto began = Clock::now();
  log().debug("{} [{}]: begins to compile", named(request), short_name(key));
  jit::CompileResult result;
  try {
    result = compile_in_worker(request, stores);
  } catch (...) {
    stores.tally.add_compile(false, milliseconds_since(began) / 1000);
    stores.tally.merge();
    throw;
  }
  for (const auto& [step, ms] : result.timings)
    log().debug("{} [{}]:   {} took {:.1f} ms", named(request), short_name(key), step, ms);
  stores.tally.add_compile(result.ok, milliseconds_since(began) / 1000);
  // Who has typed a cell waits for no file.
  const bool is_hurried =
      !request.options.cell.empty() && result.ok && result.cacheable && !remote && stores.disk.usable();
  if (!is_hurried) stores.tally.merge();
  if (!result.ok)
    log().info("{} [{}]: failed to compile after {:.1f} ms", named(request), short_name(key),
               milliseconds_since(began));
  std::vector<Dependency> dependencies = std::move(result.dependencies);
  // The order in which the compiler read the files does not matter.
  std::ranges::sort(dependencies, {}, &Dependency::path);
  if (!result.ok) {
    const bool by_text = result.stage != Stage::worker;
    try {
      raise_failure(named(request), request, std::move(result));
    } catch (...) {
      if (by_text) m_failures.keep(key, std::current_exception(), std::move(dependencies));
      throw;
    }
  }
  if (!result.module.starts_with(ELFMAG))
    throw CompilerCrashed("the compiler gave something that is no module for " + named(request));
  std::string meta = encode_meta(named_files(std::move(result.diagnostics), asked.place));
  std::optional<cache::NewModule> made;
  if (result.cacheable) made = cache::new_module(asked, result.module, meta, std::move(dependencies));
  const bool whole = made || !result.cacheable;
  cache::CachedModule kept = !made ? cache::ModuleCache::pass_through(key, result.module, std::move(meta))
                             : is_hurried ? stores.modules.take(asked, *made)
                                          : stores.modules.keep(asked, *made);
  const auto keep_inputs = [&stores, key,
                            inputs = whole ? inputs_of(request, result.cacheable).serialise() : ""] {
    if (!inputs.empty()) stores.disk.keep(cache::Kind::inputs, key, inputs, {});
  };
  if (is_hurried && made)
    stores.later.add([&stores, asked, keep_inputs, made = std::move(*made), turn = std::move(turn)] {
      stores.modules.keep_on_disk(asked, made);
      keep_inputs();
      stores.tally.merge();
    });
  else
    keep_inputs();
  // Registered after what the libraries of the connections have registered, so that it runs before them.
  if (whole && result.cacheable && remote && remote->send(asked, kept.key))
    std::atexit([] { instance().finish(); });
  log().info("{} [{}]: compiled in {:.1f} ms, {}", named(request), short_name(key), milliseconds_since(began),
             !result.cacheable      ? "not kept, since its text asks for the time"
             : stores.disk.usable() ? "kept in the cache"
                                    : "kept in memory alone");
  if (!result.cacheable)
    m_recorder.leave_out(named(request), "its text asks for the time, so it is compiled each time");
  else if (!whole)
    m_recorder.leave_out(named(request), "a file that it reads changed while it was compiled");
  else
    note_use(request, key, kept, stores);
  Module module = ready(std::move(kept), request);
  module.origin = Origin::compiled;
  module.timings = std::move(result.timings);
  if (!stores.disk.usable()) {
    module.warnings.push_back({"", 0, 0, Severity::warning, stores.disk.refusal()});
  }
  if (remote)
    if (std::string lacks = remote->lacks(); !lacks.empty())
      module.warnings.push_back({"", 0, 0, Severity::warning, std::move(lacks)});
  return module;
}

}  // namespace tarsia::pipeline
