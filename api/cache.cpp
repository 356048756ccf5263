// The cache: its counters, what it holds, and what is done to it on request.
#include <tarsia/c_api.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/cache/cache_prometheus.h"
#include "api/cache/cache_report.h"
#include "api/json_text.h"
#include "api/source.h"
#include "api/text.h"
#include "base/error.h"
#include "cache/inventory.h"
#include "cache/keys.h"
#include "cache/pack.h"
#include "cache/remote/pack_keys.h"
#include "cache/sweep.h"
#include "pipeline/entries.h"
#include "pipeline/no_compile.h"
#include "pipeline/pipeline.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using pipeline::Pipeline;
using registry::guarded;

namespace {

/// The store of the folder that the environment names.
cache::DiskStore& usable_store() {
  cache::DiskStore& store = Pipeline::instance().disk();
  if (!store.usable()) throw Error(store.refusal());
  return store;
}

/// Those of all processes, with what this one counted up to now.
cache::Counts counts_of_all() {
  cache::Tally& tally = Pipeline::instance().tally();
  tally.merge();
  return tally.of_all();
}

std::uint64_t modules_of(const cache::Totals& totals) {
  const auto modules = totals.folders.find("module");
  return modules == totals.folders.end() ? 0 : modules->second.files;
}

nlohmann::json removed(const cache::SweepResult& result) {
  return {{"removed", result.evicted}, {"in_use", result.kept}, {"bytes", result.bytes}};
}

}  // namespace

int32_t tarsia_cache_get_counters(tarsia_cache_counters* counters) {
  return guarded([&] {
    const cache::Counts now = Pipeline::instance().counts();
    tarsia_cache_counters filled{.size = counters->size};
    uint64_t* next = &filled.hits_memory;
    static_assert(sizeof(tarsia_cache_counters) ==
                  offsetof(tarsia_cache_counters, hits_memory) + cache::k_counts * sizeof(uint64_t));
    std::ranges::copy(now.numbers, next);
    std::memcpy(counters, &filled, std::min<std::size_t>(counters->size, sizeof(filled)));
  });
}

void tarsia_no_compile_enter(void) {
  pipeline::enter_no_compile();
}

int32_t tarsia_no_compile_leave(void) {
  return guarded([] {
    if (!pipeline::leave_no_compile())
      throw Error("this thread is in no scope without compiles: leave one on the thread that entered it");
  });
}

uint32_t tarsia_no_compile_depth(void) {
  return pipeline::no_compile_depth();
}

int32_t tarsia_cache_stats(char** json) {
  return guarded([&] {
    const cache::DiskStore& store = usable_store();
    const cache::Counts counts = counts_of_all();
    nlohmann::json report = api::to_json(counts);
    const cache::Totals totals = cache::count_files(store.root());
    nlohmann::json kinds;
    for (const auto& [name, of] : totals.folders) kinds[name] = {{"files", of.files}, {"bytes", of.bytes}};
    report["folder"] = store.folder();
    report["since"] = counts.since;
    report["entries"] = modules_of(totals);
    report["bytes"] = totals.all.bytes;
    report["max_bytes"] = store.max_bytes();
    report["kinds"] = std::move(kinds);
    *json = api::give_json(report);
  });
}

int32_t tarsia_cache_prometheus(char** text) {
  return guarded([&] {
    const cache::DiskStore& store = usable_store();
    const cache::Totals totals = cache::count_files(store.root());
    *text = api::give_text(api::to_prometheus(
        counts_of_all(),
        {.modules = modules_of(totals), .bytes = totals.all.bytes, .max_bytes = store.max_bytes()}));
  });
}

int32_t tarsia_cache_list(char** json) {
  return guarded([&] {
    nlohmann::json list = nlohmann::json::array();
    for (const pipeline::StoredEntry& entry : pipeline::list_entries(usable_store()))
      list.push_back(api::to_json(entry, false));
    *json = api::give_json(list);
  });
}

int32_t tarsia_cache_show(const char* key, char** json) {
  return guarded([&] {
    const std::string_view wanted = key;
    const std::vector<pipeline::StoredEntry> entries = pipeline::list_entries(usable_store());
    const auto is_wanted = [&](const pipeline::StoredEntry& entry) {
      return hex(entry.module_key).starts_with(wanted);
    };
    const auto found = std::ranges::find_if(entries, is_wanted);
    if (found == entries.end())
      throw NotFound("no entry's key begins with '" + std::string(wanted) +
                     "'; tarsia cache ls lists the entries");
    if (std::find_if(found + 1, entries.end(), is_wanted) != entries.end())
      throw ArgumentError::value_error("several entries' keys begin with '" + std::string(wanted) +
                                       "': give more of its digits");
    *json = api::give_json(api::to_json(*found, true));
  });
}

int32_t tarsia_cache_verify(int32_t remove, char** json) {
  return guarded(
      [&] { *json = api::give_json(api::to_json(pipeline::verify_entries(usable_store(), remove != 0))); });
}

int32_t tarsia_cache_prune(uint64_t max_bytes, char** json) {
  return guarded([&] {
    const cache::DiskStore& store = usable_store();
    *json = api::give_json(removed(cache::prune(store.root(), store.size_lock(), max_bytes)));
  });
}

int32_t tarsia_cache_export(const char* path, char** json) {
  return guarded([&] {
    const cache::Packed packed = cache::export_pack(usable_store(), path, cache::read_pack_keys());
    *json = api::give_json({{"modules", packed.modules},
                            {"revoked", packed.revoked},
                            {"bytes", packed.bytes},
                            {"signer", packed.signer}});
  });
}

int32_t tarsia_cache_import(const char* path, char** json) {
  return guarded([&] {
    const cache::Packed packed = cache::import_pack(usable_store(), path, cache::read_pack_keys());
    *json = api::give_json({{"modules", packed.modules},
                            {"known", packed.known},
                            {"revoked", packed.revoked},
                            {"bytes", packed.bytes},
                            {"signer", packed.signer}});
  });
}

int32_t tarsia_cache_keygen(const char* path) {
  return guarded([&] { cache::make_key_files(path); });
}

int32_t tarsia_cache_explain(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                             char** json) {
  return guarded([&] {
    *json =
        api::give_json(api::to_json(Pipeline::instance().explain(api::to_source(files, n_files, options))));
  });
}
