// Hashes every field of the request, in order; or writes the fields down for people.
#include "pipeline/key.h"

#include <tarsia/abi.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <type_traits>
#include <vector>

#include "base/machine/folders.h"
#include "base/machine/run_time.h"
#include "jit/build_id.h"
#include "jit/readable.h"
#include "pipeline/inputs.h"

namespace tarsia::pipeline {
namespace {

// One walk over the request serves both, so that what people read is what the key is made of. A sink has
// field() for texts and numbers, as Hasher has, and begin() for what the fields that follow belong to.

/// The key.
class KeySink {
 public:
  explicit KeySink(std::string_view domain) : m_hasher(domain) {}
  void begin(std::string_view, std::string_view = {}) {}
  /// The name that begin() got, where it counts.
  void name(std::string_view name) { m_hasher.field(name); }
  void field(std::string_view text) { m_hasher.field(text); }
  void field(std::uint64_t number) { m_hasher.field(number); }
  /// A number that only keeps fields apart.
  void mark(std::uint64_t number) { m_hasher.field(number); }
  /// A text that other fields tell, too.
  void mark(std::string_view text) { m_hasher.field(text); }
  /// How many inputs of a sort follow.
  void count(std::uint64_t number) { m_hasher.field(number); }
  /// A text too long to read.
  void long_text(std::string_view text) { m_hasher.field(text); }
  /// Folders that count by how they lie to each other.
  void folders(std::string_view relations, const std::vector<std::string>&) { m_hasher.field(relations); }
  cache::Key finish() { return m_hasher.finish(); }

 private:
  Hasher m_hasher;
};

/// The inputs by name.
class InputsSink {
 public:
  void begin(std::string_view what, std::string_view name = {}) {
    end();
    m_name = what;
    if (!name.empty()) m_name.append(" ").append(name);
  }
  void name(std::string_view) {}
  void count(std::uint64_t) {}
  void field(std::string_view text) {
    show(text);
    m_hasher.field(text);
  }
  void field(std::uint64_t number) {
    show(std::to_string(number));
    m_hasher.field(number);
  }
  void mark(std::uint64_t number) { m_hasher.field(number); }
  void mark(std::string_view) {}
  void long_text(std::string_view text) {
    show(std::to_string(text.size()) + " bytes");
    m_hasher.field(text);
  }
  void folders(std::string_view relations, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) show(path);
    m_hasher.field(relations);
  }
  std::vector<Input> finish() {
    end();
    return std::move(m_inputs);
  }

 private:
  void show(std::string_view text) {
    constexpr std::size_t k_most = 400;
    if (m_shown.size() > k_most) return;
    if (!m_shown.empty()) m_shown += ' ';
    m_shown += text.substr(0, k_most);
  }
  void end() {
    if (m_name.empty()) return;
    m_inputs.push_back({std::move(m_name), std::move(m_shown), m_hasher.finish()});
    m_name.clear(), m_shown.clear();
    m_hasher = Hasher("input");
  }

  std::vector<Input> m_inputs;
  std::string m_name, m_shown;
  Hasher m_hasher{"input"};
};

template <class Sink>
void add(Sink& sink, const std::vector<std::string>& list) {
  sink.mark(list.size());
  for (const std::string& item : list) sink.field(item);
}

template <class Sink>
void add(Sink& sink, const jit::SourceFile& file, std::string_view what) {
  sink.begin(what, file.name);
  sink.name(file.name);
  sink.long_text(file.text);
}

template <class Sink>
void add_headers(Sink& sink, const std::vector<jit::SourceFile>& headers) {
  std::vector<const jit::SourceFile*> sorted;
  for (const jit::SourceFile& header : headers) sorted.push_back(&header);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const jit::SourceFile* header : sorted) add(sink, *header, "header");
}

template <class Sink>
void add(Sink& sink, const std::string& text) {
  sink.field(text);
}

template <class Sink>
void add(Sink& sink, const Mode& mode) {
  sink.field(mode.word());
}

template <class Sink>
void add(Sink& sink, int number) {
  sink.field(static_cast<std::uint64_t>(number));
}

template <class Sink>
void add(Sink& sink, bool flag) {
  sink.field(flag ? "yes" : "no");
}

template <class Sink>
void add(Sink& sink, const jit::kept::names& names) {
  sink.mark(names.has_value());
  if (names) add(sink, *names);
}

template <class Sink>
void add(Sink& sink, const jit::kept::defines& defines) {
  sink.mark(defines.size());
  for (const auto& [name, value] : defines) {
    sink.mark(value.has_value());
    sink.field(value ? name + '=' + *value : name);
  }
}

/// Names folders "`name` 0" and on, save those of the machine's libraries, which modules name.
void add_roots(std::vector<cache::Root>& roots, const char* name, const std::vector<std::string>& folders) {
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const bool is_machines =
        std::ranges::any_of(k_machine_library_dirs, [&](const char* dir) { return folders[i] == dir; });
    roots.push_back({is_machines ? std::string() : name + (' ' + std::to_string(i)), folders[i]});
  }
}

std::vector<cache::Root> header_roots(const jit::CompileRequest& request) {
  std::vector<cache::Root> roots;
  add_roots(roots, "include_dirs", request.options.include_dirs);
  if (request.cuda) add_roots(roots, "cuda", request.cuda_parts.include_dirs);
  for (const char* folder : k_machine_dirs) roots.push_back({"", folder});
  return roots;
}

std::vector<cache::Root> library_roots(const jit::CompileRequest& request) {
  std::vector<cache::Root> roots;
  const jit::LibraryFolders folders = jit::library_folders(request);
  add_roots(roots, "library_dirs", request.options.library_dirs);
  add_roots(roots, "libraries", folders.of_paths);
  add_roots(roots, "cuda libraries", folders.of_cuda);
  return roots;
}

/// Libraries, those that are paths by the names of the files.
std::vector<std::string> named(std::vector<std::string> libraries, const cache::Place& place) {
  for (std::string& library : libraries)
    if (library.starts_with('/')) library = place.name_of(library);
  return libraries;
}

/// `place` stands for the paths of the folders of headers and libraries; null: the paths count.
template <class Sink>
void add(Sink& sink, const jit::CompileRequest& request, const Surroundings& around,
         const cache::Place* place) {
  sink.begin("the build of the compiler");
  sink.field(around.build_id);
  sink.field(around.abi);
  sink.field("x86_64-linux-gnu");
  sink.count(request.files.size());
  for (const jit::SourceFile& file : request.files) {
    add(sink, file, "file");
    sink.begin("the place for debuggers of", file.name);
    sink.field(file.debug_file);
    sink.mark(file.debug_lines.size());
    if (!file.debug_lines.empty()) sink.field(std::uint64_t{file.debug_lines.front()});  // people read one
    for (const std::uint32_t line : file.debug_lines) sink.mark(line);
  }
  sink.count(request.headers.size());
  add_headers(sink, request.headers);
  if (place) sink.mark(place->relations());
  sink.begin("the language");
  sink.field(request.cuda ? "CUDA" : "C++");
  // The manifest lists the files that were read. The order of the searched folders decides which files these
  // are, so folders count.
  jit::for_each_option(request.options, [&](const OptionRow& row, const auto& value) {
    if (!row.in_key) return;
    sink.begin("option", row.name);
    if constexpr (std::is_same_v<decltype(value), const std::vector<std::string>&>)
      if (place) {
        if (&value == &request.options.include_dirs)
          return sink.folders(cache::Place(header_roots(request)).relations(), value);
        if (&value == &request.options.library_dirs)
          return sink.folders(cache::Place(library_roots(request)).relations(), value);
        if (&value == &request.options.libraries) return add(sink, named(value, *place));
      }
    add(sink, value);
  });
  sink.begin("the CPU");
  sink.field(request.host_cpu);
  sink.begin("the C and C++ libraries");
  sink.field(around.run_time);
  sink.begin("the folder of the source for debuggers");
  sink.field(request.source_dir);
  sink.begin("NVRTC");
  sink.field(request.cuda_parts.nvrtc_identity);
  sink.begin("libdevice and nvJitLink");
  sink.field(request.cuda_parts.clang_identity);
  sink.begin("the CUDA version");
  sink.field(static_cast<std::uint64_t>(request.cuda_parts.major));
  // There, a library is looked for by its name alone.
  if (request.options.libraries.empty()) return;
  sink.begin("the folders of NVIDIA's libraries");
  if (place)
    return sink.folders(std::to_string(request.cuda_parts.library_dirs.size()),
                        request.cuda_parts.library_dirs);
  add(sink, request.cuda_parts.library_dirs);
}

}  // namespace

const Surroundings& Surroundings::here() {
  static const Surroundings around{std::string(jit::build_id()), TARSIA_ABI_VERSION, run_time_identity()};
  return around;
}

cache::Place place_of(const jit::CompileRequest& request) {
  std::vector<cache::Root> roots = header_roots(request);
  std::ranges::move(library_roots(request), std::back_inserter(roots));
  return cache::Place(std::move(roots));
}

bool is_for_all_places(const jit::CompileRequest& request) {
  return !jit::keeps_lines(request.options);
}

cache::Request request_of(const jit::CompileRequest& request, const cache::Key& key) {
  cache::Request made(key);
  if (!is_for_all_places(request)) return made;
  made.place = place_of(request);
  made.shared = shared_key(request, made.place);
  return made;
}

cache::Key request_key(const jit::CompileRequest& request, const Surroundings& around) {
  KeySink sink("request");
  add(sink, request, around, nullptr);
  return sink.finish();
}

cache::Key shared_key(const jit::CompileRequest& request, const cache::Place& place,
                      const Surroundings& around) {
  KeySink sink("request anywhere");
  add(sink, request, around, &place);
  return sink.finish();
}

Inputs inputs_of(const jit::CompileRequest& request, bool kept) {
  InputsSink sink;
  const cache::Place place = place_of(request);
  add(sink, request, Surroundings::here(), is_for_all_places(request) ? &place : nullptr);
  return {.library = request.name,
          .made = ::time(nullptr),
          .kept = kept,
          .cuda = request.cuda,
          .archs = request.options.archs,
          .inputs = sink.finish()};
}

}  // namespace tarsia::pipeline
