// Requests to the compiler and their results: plain data that the worker and its client share.
#pragma once

#include "base/cuda/cuda_parts.h"
#include "base/dependency.h"
#include "base/diagnostic.h"
#include "base/file.h"
#include "jit/compile_options.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia::jit {

/// A named text. Names are relative, with '/' between folders, as diagnostics print them.
struct SourceFile {
  std::string name;
  std::string text;
  /// The file that debug information names in its place, and that file's line for each of the text's.
  /// Empty: it names the text.
  std::string debug_file = {};
  std::vector<std::uint32_t> debug_lines = {};
};

using tarsia::CudaParts;

struct CompileRequest {
  std::string name;
  std::vector<SourceFile> files;    ///< compiled, each by its suffix (jit/source_suffix.h) …
  std::vector<SourceFile> headers;  ///< … and those that are only included
  bool cuda = false;                ///< the source holds CUDA
  CompileOptions options;
  /// What of this machine's CPU decides the host's code (base/machine/cpu.h): its level where options.march
  /// is empty, its identity where that is "native"; else empty.
  std::string host_cpu;
  /// Where copies of the texts lie for debuggers. Empty: nowhere, or no debug information is wanted.
  std::string source_dir;
  CudaParts cuda_parts;
  uint32_t timeout_ms = 0;  ///< 0: the default
  /// Milliseconds that leading includes must take before their parse is held: a fork of the worker takes a
  /// few, and memory.
  uint32_t hold_after_ms = 300;
  /// The compiler crashed when NVRTC was to take the device code. Then options.device_compiler is "clang".
  bool after_crash = false;
  /// Not to be compiled: what may stand there in the header options.cell? Both count from 1, columns in
  /// bytes. 0: a compile.
  int complete_line = 0, complete_column = 0;
};

/// A name that may stand at a place.
struct Completion {
  std::string text;
  std::string detail;  ///< its declaration; may be empty
};

using tarsia::Diagnostic;
using tarsia::Severity;
using tarsia::Stage;

/// A file outside the request that the compiler read, or looked for and found absent. With its stamp, the
/// client need not read it again.
using tarsia::Dependency;

struct CompileResult {
  bool ok = false;
  Stage stage = Stage::host;   ///< where it failed
  bool limit_reached = false;  ///< it failed at a limit of size; the first diagnostic names it
  std::vector<Diagnostic> diagnostics;
  std::vector<Dependency> dependencies;
  /// The functions that the request names and that cannot be exported; then nothing is compiled to its end.
  /// And the names of those that can, sorted.
  std::vector<std::string> missing_functions, exportable_functions;
  std::string module;                                   ///< the bytes of the shared library
  bool cacheable = true;                                ///< false when the text used __TIME__ or the like
  std::string typed;                                    ///< of a name that is to be completed
  std::vector<Completion> completions;                  ///< nothing else is filled in then
  std::vector<std::pair<std::string, double>> timings;  ///< step, milliseconds
};

/// A compile is put together from these parts. Each is cached on its own.
enum class PartKind { prelude, device, host };

/// Bytes, and what keeps them in memory.
struct PartBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// A file or folder on disk that the worker may not open itself.
struct OpenFile {
  std::string path;
  bool folder = false;
  /// Why the request may read it, if it lies in none of its folders: the file that includes it, the file that
  /// includes that one, and so on to one that lies in a folder.
  std::vector<std::string> named_by = {};
};

/// The worker's questions while it compiles. The client answers them from its cache, and opens files.
struct PartStore {
  virtual ~PartStore() = default;
  /// The part's bytes, if they are kept. Keys are 32 bytes.
  virtual std::optional<std::string> find(PartKind, const std::array<unsigned char, 32>& key) = 0;
  /// The same without a copy where it can be had.
  virtual std::optional<PartBytes> map(PartKind kind, const std::array<unsigned char, 32>& key) {
    std::optional<std::string> found = find(kind, key);
    if (!found) return std::nullopt;
    const auto owner = std::make_shared<const std::string>(std::move(*found));
    return PartBytes{*owner, owner};
  }
  /// Keeps a part. A failure to keep it is no error of the compile.
  virtual void keep(PartKind, const std::array<unsigned char, 32>& key, std::string bytes) = 0;
  /// The file, open for reading; none if the request may not read it, or it cannot be opened.
  virtual UniqueFd open(const OpenFile&) { return {}; }
};

/// Keeps nothing.
class NoParts final : public PartStore {
 public:
  std::optional<std::string> find(PartKind, const std::array<unsigned char, 32>&) override {
    return std::nullopt;
  }
  void keep(PartKind, const std::array<unsigned char, 32>&, std::string) override {}
};

}  // namespace tarsia::jit
