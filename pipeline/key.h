// The keys of a request, and its folders as a place of the cache.
#pragma once

#include <cstdint>
#include <string>

#include "cache/key.h"
#include "cache/module_cache.h"
#include "cache/place.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

/// What is no part of a request and decides the module's bytes, too: this build and this machine.
struct Surroundings {
  std::string build_id;   ///< of the compiler
  std::uint64_t abi = 0;  ///< the version of the structs between modules and libtarsia
  std::string run_time;   ///< the C and C++ libraries that modules are linked with
  static const Surroundings& here();
};

/// Hashes all of a resolved request that can change the module's bytes, with the build of the compiler, the
/// ABI's version and NVRTC's identity. The request's name, its time limit, the order of its headers and the
/// places of CUDA's parts change nothing, so they are left out. So are the files that the compiler reads
/// from disk; cache/manifest.h adds those.
cache::Key request_key(const jit::CompileRequest& request, const Surroundings& around = Surroundings::here());

/// The same, but the folders of headers and libraries count by how they lie to each other, and not by their
/// paths.
cache::Key shared_key(const jit::CompileRequest& request, const cache::Place& place,
                      const Surroundings& around = Surroundings::here());

/// The roots of a resolved request: its include folders by their places in the list, CUDA's, those of its
/// libraries, and the machine's folders of headers, whose files keep their paths.
cache::Place place_of(const jit::CompileRequest& request);

/// Whether other places may use a module of the request. One whose module names the source's lines has the
/// paths of its files, for debuggers.
bool is_for_all_places(const jit::CompileRequest& request);

/// The request by both of its keys; `key` is request_key().
cache::Request request_of(const jit::CompileRequest& request, const cache::Key& key);

}  // namespace tarsia::pipeline
