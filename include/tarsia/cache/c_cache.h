// The cache as a C interface, which <tarsia/c_api.h> includes. The rules are those of that header.
//
// All functions that return JSON work on the folder that the environment names, and fail with TARSIA_ERROR,
// which says what to do about it, where that folder is not used. docs/cache.md describes the JSON.
#pragma once

#include <tarsia/c_api.h>

#include <tarsia/detail/macros_push.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What became of this process's requests for modules. Each request is one hit or one miss.
typedef struct tarsia_cache_counters {
  uint32_t size;        /* sizeof(tarsia_cache_counters), set by the caller */
  uint64_t hits_memory; /* modules that the process had used before */
  uint64_t hits_disk;
  uint64_t misses_absent;        /* nothing is kept under the request's key */
  uint64_t misses_changed;       /* a file that the module was compiled from is another one now */
  uint64_t misses_gone;          /* the module was swept, pruned or cleared */
  uint64_t misses_damaged;       /* it was not whole, and is set aside */
  uint64_t misses_fault;         /* the store could not look */
  uint64_t compiles;             /* that gave a module */
  uint64_t compile_failures;     /* that gave none: errors, crashes, time-outs, interrupts */
  uint64_t waits;                /* misses that were served by another caller's compile */
  uint64_t forbidden;            /* misses where no compile was allowed */
  uint64_t hits_remote;          /* modules of a shared store */
  uint64_t remote_misses;        /* no shared store that was asked had what fits */
  uint64_t remote_failures;      /* a store did not answer in time, or said that it cannot */
  uint64_t remote_refused;       /* an entry was none, or was not signed as it must be */
  uint64_t remote_skipped;       /* a store was left alone, since it had failed shortly before */
  uint64_t remote_sent;          /* modules that a store took */
  uint64_t remote_not_sent;      /* modules that a store did not get */
  uint64_t compile_microseconds; /* that compiles took, and those that gave no module */
  /* How many of these took at most 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5, 10, 30 and 60 s, and longer;
     each counts once. */
  uint64_t compile_times[13];
  uint64_t store_failures; /* entries that the folder did not keep, as on a full disk */
} tarsia_cache_counters;

/// Fills in this process's counters of the folder that the environment names now.
TARSIA_API int32_t tarsia_cache_get_counters(tarsia_cache_counters* counters);

/// From now on, a source or kernel that this thread asks for and that is not in the cache is refused at once:
/// TARSIA_COMPILE_FORBIDDEN, with the reason of the miss. Scopes nest; each thread has its own. A thread that
/// compiles for another passes the other's ban on in tarsia_options.cached_only.
TARSIA_API void tarsia_no_compile_enter(void);

/// Leaves the scope that this thread entered last. Errors: TARSIA_ERROR if it is in none.
TARSIA_API int32_t tarsia_no_compile_leave(void);

/// Returns how many of these scopes this thread is in.
TARSIA_API uint32_t tarsia_no_compile_depth(void);

/// Reports as JSON what the folder holds and what became of the requests of all processes: `hits` by tier,
/// `misses` by reason, `entries`, `bytes`. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_cache_stats(char** json);

/// Writes the same counters and sums as metrics in Prometheus's text format. Free `*text` with tarsia_free.
TARSIA_API int32_t tarsia_cache_prometheus(char** text);

/// Lists the modules of the folder as JSON, the one used last first. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_cache_list(char** json);

/// Describes one module as JSON: its inputs, and the files that it was compiled from. `key` is the beginning
/// of its key. Free `*json` with tarsia_free. Errors: TARSIA_NOT_FOUND, TARSIA_ARGUMENT_VALUE if several
/// begin so.
TARSIA_API int32_t tarsia_cache_show(const char* key, char** json);

/// Reads every entry of the folder whole and reports as JSON which are damaged. With `remove` 1, removes
/// those. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_cache_verify(int32_t remove, char** json);

/// Removes entries, the longest unused first, until at most `max_bytes` are left; 0 removes all. Entries that
/// a process has open stay. Reports as JSON. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_cache_prune(uint64_t max_bytes, char** json);

/// Writes all modules of the folder, with what leads to them, into a file: a pack for other machines. Reports
/// `modules`, `revoked` (modules that are left out, since the key of one who signed them is revoked), `bytes`
/// and `signer` as JSON. Free `*json` with tarsia_free. Errors: TARSIA_ERROR if it cannot be written, as to
/// what is no regular file; then no file is there.
TARSIA_API int32_t tarsia_cache_export(const char* path, char** json);

/// Takes the modules of a pack into the folder. A pack is code that will run: where TARSIA_TRUST names keys,
/// one of them has to have signed it. Reports `modules`, `known` (of these, how many the folder had),
/// `revoked` (modules of revoked keys, which are not taken), `bytes` and `signer` (the trusted key that
/// signed it, or "") as JSON. Free `*json` with tarsia_free. Errors: TARSIA_LOAD_ERROR for a file that is no
/// whole pack of a version that this Tarsia reads, or that no trusted key signed; then nothing is taken in.
TARSIA_API int32_t tarsia_cache_import(const char* path, char** json);

/// Reports as JSON which entry a source hits, or which of its inputs differ from the nearest entry, and how.
/// Compiles nothing. Free `*json` with tarsia_free. Errors: TARSIA_INVALID_SOURCE, TARSIA_ARGUMENT_VALUE and
/// others that tarsia_compile gives before it compiles.
TARSIA_API int32_t tarsia_cache_explain(const tarsia_file* files, uint64_t n_files,
                                        const tarsia_options* options, char** json);

/// Begins to note every module that this process asks for from now on, whichever thread asks and wherever the
/// module comes from. `path` is the pack that tarsia_record_end writes; its folder has to be there.
/// Recordings may overlap: each notes all. A process that is forked meanwhile is not recorded. Errors:
/// TARSIA_ERROR if nothing can be written there, TARSIA_ARGUMENT_VALUE for keys that cannot be read.
TARSIA_API int32_t tarsia_record_begin(const char* path, uint64_t* recording);

/// Writes what a recording noted into its pack, which is there whole or not at all, and ends it. Reports as
/// JSON `modules`, `bytes`, `signer` (the key of TARSIA_SIGN_KEY that signed it, or ""), `written` (false in
/// a process that was forked meanwhile: nothing is written there) and `left_out`: the `name` of each source
/// whose module is not in the pack, and `why`. Free `*json` with tarsia_free. Errors: TARSIA_ERROR if it
/// cannot be written; then the recording goes on.
TARSIA_API int32_t tarsia_record_end(uint64_t recording, char** json);

/// Ends a recording, and writes nothing. One that has ended is no error.
TARSIA_API void tarsia_record_drop(uint64_t recording);

/// Compiles the CUDA sources that a recording has noted for further architectures, each for one of them, as
/// machines ask whose GPUs are of one. Several compiles run at once. Needs no GPU. Errors: those of
/// tarsia_compile, of the first that failed; the recording has those that did not.
TARSIA_API int32_t tarsia_record_add_archs(uint64_t recording, const char* const* archs, uint64_t n_archs);

/// Compiles a source into the cache, unless it is there, and loads nothing: neither its ops nor its device
/// code. Errors: those of tarsia_compile. Thread-safe.
TARSIA_API int32_t tarsia_cache_fill(const tarsia_file* files, uint64_t n_files,
                                     const tarsia_options* options);

/// Makes a pair of keys for a shared store: the signing key in the file `path`, which its owner alone may
/// read, and the public key beside it, in PATH.pub. Errors: TARSIA_ERROR if one of them is there or cannot be
/// written.
TARSIA_API int32_t tarsia_cache_keygen(const char* path);

/// Takes the modules of a pack into this process's memory: from now on they are found before any other. A
/// pack is code that will run: where TARSIA_TRUST names keys, one of them has to have signed it. Then makes
/// these GPUs ready for them; `devices` null: all that this process sees, none: CUDA is not initialised, so
/// that the process may be forked. Reports as JSON `modules`, `known` (of these, how many an earlier replay
/// brought), `revoked` (modules of revoked keys, which are not taken), `bytes`, `signer` and `gpus`, those
/// that are ready. Free `*json` with tarsia_free. Errors: TARSIA_ERROR if the file cannot be read;
/// TARSIA_LOAD_ERROR for a file that is no whole pack of this build of Tarsia, or not signed as it must be;
/// TARSIA_CUDA_ERROR for a GPU that was named and is not there; then nothing of it is used.
TARSIA_API int32_t tarsia_replay(const char* path, const int32_t* devices, uint64_t n_devices, char** json);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
