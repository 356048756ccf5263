// The table of compile options. From its rows follow tarsia_options (c_api.h), tarsia::Options (options.h),
// the keywords of Python and of %%tarsia, the options of the command, the requests to the compiler, the key
// of the cache, and the tables of docs/.
//
// A new option is a row at the end of TARSIA_OPTIONS_ADDED and code that acts on it: for the host's half in
// jit/worker/host/clang_setup.cpp, for the device's in jit/worker/device/device_plan.cpp. `scripts/options
// --write` then updates the stub and docs/, and test_compile_options.py fails until it has a value to test
// the option with. A row is never moved or removed, because the rows are the C struct's layout.
//
// The columns of X(kind, name, field, initial, values, in_key, command, help):
//   kind     the kind of its values, below
//   name     in Python, in C++ and in messages
//   field    in tarsia_options and jit::CompileOptions
//   initial  the default in C++, and the default that the pages show
//   values   if there are few: a range "0..3", or words "own system"
//   in_key   whether it can change the bytes of a module, so that the cache's key must contain it
//   command  the option's names in the command and its value; "": the command does not have it
//   help     one sentence, without the full stop
//
// clang-format off
//   kind     in Python              in C++                   in tarsia_options
//   flag     bool                   bool                     int32_t
//   number   int, one of `values`   int                      int32_t
//   word     str, of `values`       std::string              const char*
//   choice   str, one of `values`   std::string              int32_t, the place among `values`
//   mode     bool, or one of        tarsia::Mode             int32_t, 0: off, 1: on, from 2 on: of `values`
//            `values`
//   names    list of str or None    optional of a vector     const char* const*, n_…, restrict_…: it is given
//   paths    list of names, paths   vector of std::string    const char* const*, n_…
//   dirs     list of folders        vector of std::string    const char* const*, n_…
//   archs    str, int, or a list    vector of std::string    const char* const*, n_…
//   headers  dict of name to text   std::map                 const tarsia_file*, n_…
//   defines  dict of name to value  std::map                 const tarsia_define*, n_…
//   flags    list of options as gcc  vector of std::string    const char* const*, n_…
//            spells them
//   symbols  list of str            vector of std::string    const char* const*, n_…
//   seconds  float or None          milliseconds             uint32_t, milliseconds; 0: the default
// clang-format on
// Rows that no person writes have kinds of their own: texts (as paths) and text (as word, of any value).
#pragma once

// clang-format off
#define TARSIA_OPTIONS_EXPORTS(X) \
  X(names, functions, functions, {}, "", true, "--functions NAME", "Export these functions alone; otherwise all that are not static and have supported types")
#define TARSIA_OPTIONS_HEADERS(X) \
  X(headers, headers, headers, {}, "", true, "", "Headers that the source may include: names and texts")
#define TARSIA_OPTIONS_SOURCE(X) \
  X(dirs, include_dirs, include_dirs, {}, "", true, "-I DIR", "Folders to find headers in") \
  X(defines, defines, defines, {}, "", true, "-D NAME[=VALUE]", "Macros, with or without a value") \
  X(paths, libraries, libraries, {}, "", true, "-l NAME", "Libraries to link, by their bare names or paths; those in NVIDIA's wheels are found too") \
  X(dirs, library_dirs, library_dirs, {}, "", true, "-L DIR", "Folders to find libraries in") \
  X(word, std, std, "c++20", "c++11 c++14 c++17 c++20 c++23", true, "--std STANDARD", "The C++ standard") \
  X(number, opt, opt, 2, "0..3", true, "-O LEVEL", "The level of optimisation")
#define TARSIA_OPTIONS_ARCH(X) \
  X(archs, arch, archs, {}, "", true, "--arch ARCH", "GPU architectures, as in sm_90; otherwise those of the GPUs present, or sm_90 without any")
#define TARSIA_OPTIONS_PTX(X) \
  X(flag, ptx, ptx, false, "", true, "--ptx", "Add PTX, for newer GPUs")
#define TARSIA_OPTIONS_CODE(X) \
  X(flag, fast_math, fast_math, false, "", true, "--fast-math", "Trade exactness of floating-point math for speed, as nvcc's -use_fast_math") \
  X(mode, debug, debug, {}, "undefined address thread", true, "-g,--debug", "Add debug information, as nvcc's -g and -G; or checks of host code, too: for undefined behaviour, by AddressSanitizer, by ThreadSanitizer") \
  X(flag, lineinfo, lineinfo, false, "", true, "--lineinfo", "Add line numbers for profilers, as nvcc's -lineinfo")
#define TARSIA_OPTIONS_HOST_HEADERS(X) \
  X(choice, host_headers, host_headers, "own", "own system", true, "--host-headers WHOSE", "Whose C and C++ headers the source includes, Tarsia's own or the system's")
#define TARSIA_OPTIONS_TIMEOUT(X) \
  X(seconds, timeout, timeout_ms, {}, "0..4294967", false, "--timeout SECONDS", "The most seconds that the compile may take, 300 if it is left out")
#define TARSIA_OPTIONS_ADDED(X) \
  X(word, march, march, "", "", true, "--march CPU", "The CPU that host code is for, as in x86-64-v3, znver4 or native; otherwise the x86-64 level of this machine") \
  X(flag, openmp, openmp, false, "", true, "--fopenmp", "Turn OpenMP on for host code; by itself it is on where the source has a pragma of OpenMP's") \
  X(flag, dev, dev, false, "", true, "--dev", "Compile as fast as possible, for code that runs slower: while it is being written") \
  X(flags, cflags, cflags, {}, "", true, "--cflags FLAG", "Options as gcc or nvcc spells them, of those that docs/options.md lists") \
  X(choice, undefined, undefined, "error", "error load", true, "--undefined WHAT", "What symbols are that neither the source nor a library defines: an error, or left to the loader") \
  X(symbols, exports, exports, {}, "", true, "--exports NAME", "Functions and variables whose symbols the library shows to others, by their C or qualified C++ names") \
  X(choice, device_compiler, device_compiler, "auto", "auto nvrtc clang", true, "--device-compiler WHICH", "What compiles kernels: NVRTC, Clang, or the first of them that can") \
  X(number, maxrregcount, maxrregcount, 0, "0..255", true, "--maxrregcount N", "The most registers that a thread may have, as nvcc's -maxrregcount; 0 leaves it to the compiler")

/* The options by which libtarsia requests more of a source's kernels; described in tarsia_options. */
#define TARSIA_KERNEL_OPTIONS(X) \
  X(texts, kernels, kernels, {}, "", true, "", "") \
  X(text, kernels_file, kernels_file, {}, "", true, "", "") \
  X(flag, kernels_to_read, kernels_to_read, false, "", true, "", "")

/* The options by which a session compiles a cell (session/session.h): the header that is the cell, and whether the
   value of its last expression is shown. */
#define TARSIA_CELL_OPTIONS(X) \
  X(text, cell, cell, {}, "", true, "", "") \
  X(flag, cell_shows, cell_shows, false, "", true, "", "")

/* All options, in the order of the faces. The order of tarsia_options is older and differs. */
#define TARSIA_COMPILE_OPTIONS(X) \
  TARSIA_OPTIONS_EXPORTS(X) TARSIA_OPTIONS_HEADERS(X) TARSIA_OPTIONS_SOURCE(X) TARSIA_OPTIONS_ARCH(X) TARSIA_OPTIONS_PTX(X) \
  TARSIA_OPTIONS_CODE(X) TARSIA_OPTIONS_HOST_HEADERS(X) TARSIA_OPTIONS_TIMEOUT(X) TARSIA_OPTIONS_ADDED(X)

/* The options that the compiler gets unchanged. The source's texts and the time limit are sent separately. */
#define TARSIA_COMPILER_OPTIONS(X) \
  TARSIA_OPTIONS_EXPORTS(X) TARSIA_OPTIONS_SOURCE(X) TARSIA_OPTIONS_ARCH(X) TARSIA_OPTIONS_PTX(X) \
  TARSIA_OPTIONS_CODE(X) TARSIA_OPTIONS_HOST_HEADERS(X) TARSIA_OPTIONS_ADDED(X) TARSIA_KERNEL_OPTIONS(X)

// clang-format on

/* A row's fields in tarsia_options. */
#define TARSIA_OPTION_FIELD(kind, name, field, initial, values, in_key, command, help) \
  TARSIA_OPTION_FIELD_##kind(field)
#define TARSIA_OPTION_FIELD_flag(field) int32_t field;
#define TARSIA_OPTION_FIELD_number(field) int32_t field;
#define TARSIA_OPTION_FIELD_choice(field) int32_t field;
#define TARSIA_OPTION_FIELD_mode(field) int32_t field;
#define TARSIA_OPTION_FIELD_seconds(field) uint32_t field;
#define TARSIA_OPTION_FIELD_word(field) const char* field;
#define TARSIA_OPTION_FIELD_text(field) const char* field;
#define TARSIA_OPTION_FIELD_list(type, field) \
  type const* field;                          \
  uint64_t n_##field;
#define TARSIA_OPTION_FIELD_texts(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_paths(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_flags(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_symbols(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_dirs(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_archs(field) TARSIA_OPTION_FIELD_list(const char*, field)
#define TARSIA_OPTION_FIELD_headers(field) TARSIA_OPTION_FIELD_list(tarsia_file, field)
#define TARSIA_OPTION_FIELD_defines(field) TARSIA_OPTION_FIELD_list(tarsia_define, field)
#define TARSIA_OPTION_FIELD_names(field) \
  TARSIA_OPTION_FIELD_list(const char*, field) int32_t restrict_##field;
