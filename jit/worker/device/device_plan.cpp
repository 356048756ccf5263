// Plans what NVRTC gets: which headers, which parts of std, which options.
#include "jit/worker/device/device_plan.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "jit/standard_headers.h"
#include "jit/worker/device/device_headers.h"
#include "jit/worker/device/nvrtc_includes.h"

namespace tarsia::jit {
namespace {

/// Work-around: NVRTC sees no pragma in what a macro expands to.
/// Trigger: `#define UNROLL #pragma unroll`, and `UNROLL` before a loop. Symptom: "# not expected here". nvcc
/// takes it for the pragma. So the macro gets the operator in its place: `#define UNROLL _Pragma("unroll")`,
/// on the same line. Removal: NVRTC does as nvcc.
std::string with_pragmas_of_macros(std::string text) {
  constexpr std::string_view k_word = "pragma";
  const auto skip_blanks = [&](size_t at) {
    return std::min(text.find_first_not_of(" \t", at), text.size());
  };
  for (size_t at = text.find(k_word); at != text.npos; at = text.find(k_word, at + 1)) {
    const size_t hash = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (hash == text.npos || hash == 0 || text[hash] != '#') continue;
    size_t begin = text.rfind('\n', hash - 1) + 1;  // npos + 1 is 0
    begin = skip_blanks(begin);
    if (begin == hash || text[begin] != '#') continue;
    begin = skip_blanks(begin + 1);
    if (text.compare(begin, 6, "define") != 0) continue;
    begin = skip_blanks(begin + 6);
    while (begin < hash && detail::is_identifier_part(text[begin])) ++begin;
    if (skip_blanks(begin) != hash) continue;
    const size_t behind = at + k_word.size(), first = skip_blanks(behind);
    if (behind < text.size() && detail::is_identifier_part(text[behind])) continue;
    size_t end = std::min(text.find_first_of("\r\n", first), text.size());
    for (const char* comment : {"//", "/*"}) end = std::min(end, text.find(comment, first));
    if (end > first && text[end - 1] == '\\') continue;  // goes on in the next line
    std::string quoted = "_Pragma(\"";
    for (const char c : text.substr(first, end - first)) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += "\")";
    text.replace(hash, end - hash, quoted);
    at = hash + quoted.size() - 1;
  }
  return text;
}

constexpr std::string_view k_planner_version = "1";
constexpr std::string_view k_curand_tables = "curand_precalc.h";

std::string folder_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == name.npos ? std::string() : std::string(name.substr(0, slash));
}

bool is_cccl(std::string_view name) {
  return name.starts_with("cub/") || name.starts_with("cuda/") || name.starts_with("thrust/");
}

class Planner {
 public:
  Planner(const DeviceRequest& request, bool light) : m_request(request), m_light(light) {}

  DevicePlan run() {
    for (const auto* dirs : {&m_request.include_dirs, &m_request.cuda.include_dirs})
      for (const std::string& dir : *dirs) m_dirs.push_back(normal_path(dir));
    for (const SourceFile& header : m_request.headers) m_user[normal_path(header.name)] = &header;
    m_user.erase(m_request.main.name);

    m_names.reserve(m_request.headers.size() + 1);  // references to its elements stay good
    reach(m_request.main);
    for (size_t i = 0; i < m_names.size(); ++i)
      for (const ComputedInclude& include : m_names[i].computed_includes)
        for (const std::string& header : headers_of(include))
          if (const SourceFile* user = users_header(m_files[i]->name, {.name = header})) reach(*user);
    choose_tricks();

    IncludeWalk walk(m_dirs, [&](const std::string& name) { return is_virtual(name); });
    m_walk = &walk;
    m_plan.text = rewritten(m_request.main, m_names[0]);
    for (size_t i = 1; i < m_files.size(); ++i)
      put(normal_path(m_files[i]->name), rewritten(*m_files[i], m_names[i]));
    for (size_t i = 0; i < m_files.size(); ++i) computed_includes(m_files[i]->name, m_names[i]);
    for (const std::string& name : walk.virtual_names()) resolve_virtual(name);
    put(std::string(k_device_prelude), prelude());
    close_over_embedded();
    options();

    m_plan.prefix = m_plan.text.substr(0, std::min(scan_source(m_plan.text).first_code, m_plan.text.size()));
    for (const std::string& path : walk.outside())
      refuse(m_request.main.name, 0,
             "an include leads to " + path + ", which lies outside of the include directories");
    if ((walk.climbs() || m_climbs) && m_plan.refused.empty())
      m_plan.dependencies.push_back({.path = k_climbed, .absent = true});
    for (auto& [path, header] : walk.headers()) {
      if (!header) continue;
      m_plan.dependencies.push_back(header->dependency);
      if (header->nul.line == 0) continue;
      m_plan.invalid = true;
      m_plan.refused.push_back({path, header->nul.line, header->nul.column, Severity::fatal, k_nul_byte});
    }
    for (auto& [name, text] : m_texts) m_plan.headers.push_back({name, std::move(text)});
    m_plan.heavy_prefix = m_uses_cccl;
    m_plan.key = key();
    return std::move(m_plan);
  }

 private:
  /// Scans a text of the user's, and the user's headers that it leads to.
  void reach(const SourceFile& file) {
    if (std::find(m_files.begin(), m_files.end(), &file) != m_files.end()) return;
    m_files.push_back(&file);
    const SourceNames& names = m_names.emplace_back(scan_source(file.text));
    for (const auto* lines : {&names.includes, &names.asked})
      for (const IncludeLine& line : *lines)
        if (const SourceFile* header = users_header(file.name, line)) reach(*header);
  }

  /// The headers that "#include NAME" may mean.
  std::vector<std::string> headers_of(const ComputedInclude& include) const {
    std::vector<std::string> headers;
    if (include.macro.empty()) return headers;
    for (const SourceNames& text : m_names)
      for (const HeaderMacro& macro : text.header_macros)
        if (macro.name == include.macro && macro.parameter.empty() == include.argument.empty())
          headers.push_back(header_of(macro, include.argument));
    for (const auto& [name, value] : m_request.defines)
      if (name == include.macro && value && value->size() > 2)
        headers.push_back(value->substr(1, value->size() - 2));
    return headers;
  }

  bool mentions(std::string_view name) const {
    return std::any_of(m_names.begin(), m_names.end(),
                       [&](const SourceNames& n) { return n.identifiers.contains(name); });
  }

  void choose_tricks() {
    for (const SourceNames& names : m_names)
      for (const IncludeLine& line : names.includes) {
        const bool users = m_user.contains(line.name);
        m_uses_cccl |= !users && is_cccl(line.name);
        m_uses_cuda_headers |= !users && !is_built_in(line.name) &&
                               !find_in_dirs(m_request.cuda.include_dirs, line.name).empty();
      }
    for (const SourceNames& names : m_names)
      m_uses_cccl |= names.std_names.contains("optional") || names.std_names.contains("span");
    m_uses_cccl |= mentions("cuda");
    // Under `using namespace std`, one name too many could make a name of the user's ambiguous.
    m_everything = !m_light && std::none_of(m_names.begin(), m_names.end(),
                                            [](const SourceNames& n) { return n.using_std; });
    m_versions = mentions("CUDART_VERSION") || mentions("CUDA_VERSION");
    if (!m_light) return;
    m_without_curand_tables = true;
    for (std::string_view state :
         {"curandState", "curandState_t", "curandStateXORWOW", "curandStateXORWOW_t"})
      m_without_curand_tables &= !mentions(state);
    m_without_cccl = !m_uses_cccl;
    m_minimal = !m_uses_cccl;
    for (const SourceNames& names : m_names) {
      if (names.launch.line) m_minimal = false;
      for (std::string_view name : names.identifiers)
        if (name.starts_with("cuda") || name.starts_with("texture") || name.starts_with("surface") ||
            name.starts_with("tex1D") || name.starts_with("tex2D") || name.starts_with("tex3D") ||
            name.starts_with("texCubemap") || name.starts_with("surf"))
          m_minimal = false;
    }
  }

  /// Whether NVRTC gets a text of ours under this name.
  bool is_virtual(const std::string& name) {
    if (m_user.contains(name) || m_texts.contains(name)) return true;
    if (is_host_library(name)) return true;
    if (m_light && is_built_in(name)) return !m_versions;
    if (name == "cub/cub.cuh") return true;
    if (is_patched(name)) return !find_in_dirs(m_dirs, name).empty();
    if (name == k_curand_tables) return m_without_curand_tables;
    if (m_without_cccl && is_cccl(name)) return true;
    if (name == "cuda.h" && (m_versions || !m_light)) return false;
    return find_device_header(name) || is_system_header(name);
  }

  void put(const std::string& name, std::string text) { m_texts[name] = std::move(text); }

  void resolve_virtual(const std::string& name) {
    if (m_texts.contains(name)) return;
    if (auto user = m_user.find(name); user == m_user.end())
      put(name, text_of(name));
    else if (const size_t before = m_files.size(); reach(*user->second), true)  // included by a file on disk
      for (size_t i = before; i < m_files.size(); ++i)
        put(normal_path(m_files[i]->name), rewritten(*m_files[i], m_names[i]));
  }

  std::string text_of(const std::string& name) {
    if (name == "cub/cub.cuh") return cub_of(m_names);
    if (is_patched(name)) return patched(name);
    if (name == k_curand_tables) return "#include <tarsia/no_curand_tables.h>\n";
    if (m_without_cccl && is_cccl(name))
      return "#pragma once\n#include <tarsia/type_traits.h>\nnamespace cuda { namespace std { using "
             "namespace ::std; } }\n";
    if (const SourceFile* header = find_device_header(name)) return header->text;
    for (auto [cxx, c] : {std::pair{"cstdint", "stdint.h"},
                          {"climits", "limits.h"},
                          {"cfloat", "float.h"},
                          {"cmath", "math.h"},
                          {"cassert", "assert.h"},
                          {"cstddef", "stddef.h"}})
      if (name == cxx) return std::string("#include <") + c + ">\n";
    return m_everything && is_system_header(name) ? "#include <tarsia/std.h>\n" : "";
  }

  /// Headers that define int64_t as long long under NVRTC. On the host it is a long, and the kernel's
  /// parameter must be the same.
  static bool is_patched(std::string_view name) {
    return name == "cuda/std/cstdint" || name == "cuda/std/__cuda/cstdint_prelude.h" ||
           name == "cuda_pipeline_helpers.h" || name == "cuda_awbarrier_helpers.h" ||
           is_thrusts_complex(name);
  }

  static bool is_thrusts_complex(std::string_view name) {
    return name == "thrust/complex.h" || name == "thrust/detail/complex/stream.h";
  }

  /// Work-around: Thrust's complex numbers have functions of the host under NVRTC.
  /// Trigger: PyTorch's complex numbers, which convert from and to Thrust's. Symptom: "explicitly marked as a
  /// __host__ function", and streams that NVRTC does not know. So they are left out.
  /// Removal: Thrust leaves them out under NVRTC.
  static void leave_out_streams(std::string& text) {
    auto leave_out = [&](const std::string& first, std::string_view last) {
      for (size_t at = 0; (at = text.find(first, at)) != text.npos;) {
        const size_t end = text.find(last, at);
        if (end == text.npos) return;
        for (size_t i = at; i < end + last.size(); ++i)
          if (text[i] != '\n') text[i] = ' ';
      }
    };
    leave_out("_CCCL_HOST operator std::complex", "}");
    leave_out("template <typename T, typename CharT, typename Traits>", ";");
    for (std::string_view kind : {"class", "typename"})
      leave_out("template <typename ValueType, " + std::string(kind) + " charT, class traits>", "\n}");
    if (const size_t once = text.find("#pragma once"); once != text.npos)
      text.insert(once + 12, "\n#include <tarsia/complex.h>");
  }

  /// Makes such a header include what it includes under other compilers: <cstdint> or <stdint.h>, which are
  /// ours.
  ///
  /// Work-around: CUDA's headers define int64_t as long long under NVRTC.
  /// Trigger: a source includes libcu++, pipelines or asynchronous barriers, and has an int64_t in a kernel's
  /// parameters or in a template's arguments. Symptom: the kernel's mangled name is not the host's.
  /// Removal: these headers leave int64_t to <cstdint> under NVRTC too.
  std::string patched(const std::string& name) {
    const std::string path = find_in_dirs(m_dirs, name);
    std::string text = read_file(path, 1 << 20);
    if (is_thrusts_complex(name)) leave_out_streams(text);
    for (std::string_view condition : {"!_CCCL_COMPILER(NVRTC)", "_CCCL_HOSTED()"})
      if (const size_t at = text.find(condition); name.starts_with("cuda/") && at != text.npos) {
        text.replace(at, condition.size(), "1");
        break;
      }
    constexpr std::string_view k_runtime = "defined(__CUDACC_RTC__)";
    if (const size_t type = text.find("typedef unsigned long long uint64_t");
        type != text.npos && !name.starts_with("cuda/"))
      if (const size_t at = text.rfind(k_runtime, type); at != text.npos)
        text.replace(at, k_runtime.size(), "0");
    m_walk->add(path);
    return text;
  }

  std::string prelude() {
    std::string text = device_prelude(m_names, m_everything);
    if (m_versions && !find_in_dirs(m_dirs, "cuda_runtime.h").empty()) text += "#include <cuda_runtime.h>\n";
    // They come last, as lines: under an option, NVRTC's own header and libcu++ would take it for g++ or
    // nvcc. What libcu++ asks about the compiler it asks before them, in the header of its version.
    const std::string macros = platform_macros(m_names);
    constexpr std::string_view k_version = "cuda/std/version";
    if (!macros.empty() && !m_without_cccl && !find_in_dirs(m_dirs, std::string(k_version)).empty())
      ((text += "#include <") += k_version) += ">\n";
    text += macros;
    for (const std::string& flag : m_request.cflags)
      if (!macros.empty() && flag.starts_with("-U")) text += "#undef " + flag.substr(2) + "\n";
    return text;
  }

  /// Texts of ours include each other.
  void close_over_embedded() {
    std::vector<std::string> work;
    for (auto& [name, text] : m_texts) work.push_back(name);
    while (!work.empty()) {
      const std::string name = std::move(work.back());
      work.pop_back();
      if (m_user.contains(name)) continue;
      for (const IncludeLine& line : scan_includes(m_texts[name])) {
        if (m_texts.contains(line.name)) continue;
        if (is_virtual(line.name)) {
          resolve_virtual(line.name);
          work.push_back(line.name);
        } else if (std::string path = find_in_dirs(m_dirs, line.name); !path.empty()) {
          m_walk->add(path);
          for (const std::string& found : m_walk->virtual_names())
            if (!m_texts.contains(found)) {
              resolve_virtual(found);
              work.push_back(found);
            }
        }
      }
    }
  }

  /// An include of a header that is not among the user's texts.
  void resolve(const std::string& file, const IncludeLine& line) {
    if (is_virtual(line.name)) return resolve_virtual(line.name);
    note_climb(line.name);
    const std::string path = find_in_dirs(m_dirs, line.name);
    if (path.empty() || !is_inside(m_dirs, path)) {
      // The host's compiler found it or has complained. It does not matter to device code.
      put(line.name, "");
      if (!path.empty())
        refuse(file, line.line, "'" + line.name + "' lies outside of the include directories");
      return;
    }
    if (!is_inside(m_request.cuda.include_dirs, path)) m_foreign = m_everything = true;
    m_walk->add(path);
  }

  /// The text with includes of the user's headers by their full names. NVRTC finds them by these.
  std::string rewritten(const SourceFile& file, const SourceNames& names) {
    std::map<size_t, const IncludeLine*> to_replace;
    for (const IncludeLine& line : names.includes)
      if (users_header(file.name, line))
        to_replace[line.begin] = &line;
      else
        resolve(file.name, line);
    for (const IncludeLine& line : names.asked)
      if (users_header(file.name, line))
        to_replace[line.begin] = &line;
      else
        resolve_asked(file.name, line);
    std::string text = file.text;
    for (auto at = to_replace.rbegin(); at != to_replace.rend(); ++at) {
      const IncludeLine& line = *at->second;
      const std::string full = normal_path(users_header(file.name, line)->name);
      if (full != line.name) text.replace(line.begin, line.end - line.begin, "\"" + full + "\"");
    }
    return with_pragmas_of_macros(std::move(text));
  }

  /// A header that NVRTC searches for and does not read. A later search must find the same file.
  void resolve_asked(const std::string& file, const IncludeLine& line) {
    if (is_virtual(line.name)) return resolve_virtual(line.name);
    note_climb(line.name);
    const std::string path = find_in_dirs(m_dirs, line.name);
    if (path.empty() && !line.name.starts_with('/')) {
      for (const std::string& dir : m_dirs)
        m_plan.dependencies.push_back({.path = normal_path(dir + "/" + line.name), .absent = true});
    } else if (!path.empty() && !is_inside(m_dirs, path)) {
      refuse(file, line.line, "'" + line.name + "' lies outside of the include directories");
    } else if (const auto header = disk_header(path)) {
      m_plan.dependencies.push_back(header->dependency);
    }
  }

  void note_climb(const std::string& name) {
    for (const std::string& dir : m_dirs) m_climbs |= climbs_out(m_dirs, dir, name);
  }

  void refuse(const std::string& file, int line, std::string message) {
    m_plan.refused.push_back({.file = file, .line = line, .message = std::move(message)});
  }

  /// Headers whose names come from macros. Simple macros are resolved; others could mean any file.
  void computed_includes(const std::string& file, const SourceNames& names) {
    if (names.embed.line) refuse(file, names.embed.line, "#embed is not supported in device code");
    for (const ComputedInclude& include : names.computed_includes) {
      const std::vector<std::string> headers = headers_of(include);
      for (const std::string& header : headers) {
        const IncludeLine line{.name = header, .line = include.line};
        if (const SourceFile* user = users_header(file, line)) {
          const std::string full = normal_path(user->name);
          if (full != header) put(header, "#include \"" + full + "\"\n");
        } else {
          resolve(file, line);
        }
      }
      if (headers.empty())
        refuse(file, include.line,
               "the name of this header is made by macros that are not looked into; write it out");
    }
  }

  const SourceFile* users_header(const std::string& from, const IncludeLine& line) {
    const std::string folder = folder_of(from);
    for (const std::string& base : {line.angled ? std::string() : folder, std::string()}) {
      auto found = m_user.find(normal_path(base.empty() ? line.name : base + "/" + line.name));
      if (found != m_user.end()) return found->second;
    }
    for (const std::string& dir : m_request.include_dirs) {
      const std::string path = normal_path(dir + "/" + line.name);
      for (const std::string& name : {path, name_below(m_request.include_dirs, path)})
        if (auto found = m_user.find(name); found != m_user.end()) return found->second;
    }
    return nullptr;
  }

  void options() {
    std::vector<std::string>& options = m_plan.options;
    std::string std = m_request.std;
    if (std.starts_with("gnu++")) std.replace(0, 3, "c");
    options = {"-std=" + std,
               "-default-device",
               "-no-cache",
               "-frandom-seed=tarsia",  // else names in anonymous namespaces hold the process id
               "-pch-messages=false",
               "-include=" + std::string(k_device_prelude),
               "-diag-suppress=177,47"};
    if (m_minimal && !m_foreign) options.push_back("-minimal");
    if (m_request.debug) options.push_back("-G");
    add_line_option(m_request, options);
    if (m_request.fast_math) options.push_back("-use_fast_math");
    if (m_request.maxrregcount > 0)
      options.push_back("-maxrregcount=" + std::to_string(m_request.maxrregcount));
    for (const char* name : {"__int128", "__int128_t", "__uint128_t", "__SIZEOF_INT128__"})
      if (mentions(name)) {
        options.push_back("-device-int128");
        break;
      }
    // Work-around: libcu++ unrolls deeper under NVRTC than under nvcc.
    // Trigger: a header of libcu++. Symptom: each costs a second and 200 MB more (docs/device-code.md).
    // Removal: libcu++ has nvcc's value, this one, under NVRTC too.
    if (m_uses_cccl || m_uses_cuda_headers) options.push_back("-D_CCCL_META_UNROLL_LIMIT=10");
    if (m_uses_cccl || (!m_light && m_uses_cuda_headers)) options.push_back("-DTARSIA_WITH_CCCL");
    if (m_without_cccl) options.push_back("-D_CG_LIMIT_INCLUDED_DEPENDENCIES");
    for (const auto& [name, value] : m_request.defines)
      options.push_back("-D" + name + (value ? "=" + *value : ""));
    for (const std::string& flag : m_request.cflags)
      if (flag.starts_with("-U")) options.push_back(flag);
    if (m_request.dev && !m_request.debug) options.push_back("--Ofast-compile=max");
    for (const std::string& dir : m_dirs) options.push_back("-I" + dir);
  }

  Digest key() const {
    Hasher hasher("tarsia device part");
    hasher.field(k_planner_version).field(m_request.cuda.nvrtc_identity).field(m_request.main.name);
    hasher.field(m_request.source_dir);
    hasher.field(m_plan.text).field(m_plan.headers.size());
    for (const SourceFile& header : m_plan.headers) hasher.field(header.name).field(header.text);
    auto list = [&](const std::vector<std::string>& strings) {
      hasher.field(strings.size());
      for (const std::string& string : strings) hasher.field(string);
    };
    std::vector<std::string> options = m_plan.options;  // of directories only what was found there counts
    std::erase_if(options, [](const std::string& option) { return option.starts_with("-I"); });
    list(options);
    // Lines name files by their paths, and so do assertions and __FILE__ in headers that NVRTC reads itself.
    const std::vector<std::string> none;
    list(keeps_lines(m_request) ? m_request.cuda.include_dirs : none);
    list(m_foreign || keeps_lines(m_request) ? m_request.include_dirs : none);
    hasher.field(m_plan.dependencies.size());
    for (const Dependency& dependency : m_plan.dependencies) hasher.field(dependency.content);
    list(m_request.archs);
    hasher.field(m_request.ptx);
    list(m_request.expressions);
    list(m_request.managed);
    return hasher.finish();
  }

  const DeviceRequest& m_request;
  const bool m_light;
  bool m_uses_cccl = false, m_uses_cuda_headers = false;
  bool m_without_cccl = false;           // libcu++ is kept out of CUDA's other headers
  bool m_without_curand_tables = false;  // those of the XORWOW generator, which no name in the texts asks for
  bool m_minimal = false;
  bool m_versions = false;    // what CUDA's headers define is asked for
  bool m_everything = false;  // all of std, not only what is mentioned
  bool m_foreign = false;     // a header of the user's is read from disk, as it stands
  bool m_climbs = false;      // an include of a text leads past the folder that it is searched in
  std::vector<std::string> m_dirs;
  std::map<std::string, const SourceFile*> m_user;
  std::vector<const SourceFile*> m_files;  // the main text and the user's headers that it leads to
  std::vector<SourceNames> m_names;        // of each
  std::map<std::string, std::string> m_texts;
  IncludeWalk* m_walk = nullptr;
  DevicePlan m_plan;
};

}  // namespace

DevicePlan plan_device(const DeviceRequest& request, PlanKind kind) {
  return Planner(request, kind == PlanKind::light).run();
}

}  // namespace tarsia::jit
