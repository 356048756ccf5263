// The places of this library, the worker and the cache.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tarsia {

/// The folder of the library or program that this code is linked into.
const std::string& library_dir();

/// The worker's program: TARSIA_COMPILER if set, else tarsia-compiler in `folder`, else
/// tarsia-compiler.zst there, unpacked on first use into `cache_dir` or, if that is empty or
/// cannot hold a program, into memory: the path is then one that only this process and its children know.
/// Throws NotFound with what to do about it.
std::string compiler_path(const std::string& cache_dir, const std::string& folder = library_dir());

/// The cache's folder by the environment: TARSIA_CACHE_DIR, else XDG_CACHE_HOME/tarsia, else
/// ~/.cache/tarsia; empty when none of them is known or absolute. Nothing is looked up on disk.
std::string cache_dir_name();

/// Why others may have planted what lies at `path`, a file or folder of that status, and what to do about it.
/// Empty if it belongs to this user or to root and nobody else can write to it.
std::string distrust(const std::string& path, const struct stat& status);

/// Makes the folder where missing and checks that nobody else can write to it. Gives an empty string
/// when it can be used, else why not and what to do about it.
std::string prepare_private_dir(const std::string& path);

}  // namespace tarsia
