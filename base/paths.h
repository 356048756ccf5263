// The places of this library, the worker, the cache and OpenMP's run-time library.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

/// The folder of the library or program that this code is linked into.
const std::string& library_dir();

/// The worker's program: TARSIA_COMPILER if set, else tarsia-compiler in `folder`, else
/// tarsia-compiler.zst there, unpacked on first use into `cache_dir` or, if that is empty or
/// cannot hold a program, into memory: the path is then one that only this process and its children know.
/// Throws NotFound with what to do about it.
std::string compiler_path(const std::string& cache_dir, const std::string& folder = library_dir());

/// The worker's program where it can be run as it is: nothing is unpacked, and nothing thrown. Empty: there
/// is none yet.
std::string ready_compiler_path(const std::string& cache_dir,
                                const std::string& folder = library_dir()) noexcept;

/// The cache's folder by the environment: TARSIA_CACHE_DIR, else XDG_CACHE_HOME/tarsia, else
/// ~/.cache/tarsia; empty when none of them is known or absolute. Nothing is looked up on disk.
std::string cache_dir_name();

/// Says why others may have planted the file or folder of that status at `path`, and the remedy. Empty if
/// it belongs to this user or to root and nobody else can write to it.
std::string distrust(const std::string& path, const struct stat& status);

/// Makes the folder if it is missing and checks that nobody else can write to it. Returns an empty string
/// if it can be used, else the reason and the remedy.
std::string prepare_private_dir(const std::string& path);

/// /usr/lib/llvm-*/lib, the newest first.
std::vector<std::string> llvm_folders();

/// The files that may be LLVM's libomp, the preferred first: the one that lies in `folder` beside Tarsia, the
/// environment's (CONDA_PREFIX), the system's, those of installed LLVMs, the newest first. Only those that
/// exist.
std::vector<std::string> openmp_libraries(const std::string& folder);

/// Whether a library of this name is LLVM's libomp: libomp.so, libomp.so.5.
bool is_openmp_library(std::string_view name);

/// What to do where no libomp is found, as a part of a sentence.
inline constexpr std::string_view k_openmp_remedy =
    "reinstall Tarsia, whose wheel brings it, or install LLVM's OpenMP (apt install libomp5, dnf install "
    "libomp, conda install llvm-openmp)";

}  // namespace tarsia
