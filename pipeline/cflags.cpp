// Reads options in gcc's spelling and in nvcc's, as build scripts have them.
//
// A spelling that mirrors an option of the table sets this option: a compile has one key, however it was
// asked for. Of spellings that exclude each other the last one counts, as in gcc. One that says something
// else than an option that is given is an error; an option that has its default does not count as given.
#include "pipeline/cflags.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cuda/profiler.h"
#include "base/error.h"

namespace tarsia::pipeline {
namespace {

using Options = jit::CompileOptions;
using Texts = std::vector<std::string>;

[[noreturn]] void refuse_flag(const std::string& message) {
  throw ArgumentError::value_error(message);
}

/// Flags with nothing behind them that the compiler gets as they are.
constexpr std::string_view k_kept[] = {"-ffp-contract=off",
                                       "-ffp-contract=on",
                                       "-ffp-contract=fast",
                                       "-fmath-errno",
                                       "-fno-signed-zeros",
                                       "-ffinite-math-only",
                                       "-freciprocal-math",
                                       "-fassociative-math",
                                       "-funroll-loops",
                                       "-fno-unroll-loops",
                                       "-fno-strict-aliasing",
                                       "-fwrapv",
                                       "-fno-omit-frame-pointer",
                                       "-fopenmp-simd",
                                       "-fno-openmp",
                                       "-emit-llvm",
                                       "-pedantic",
                                       "-w"};

/// Flags that say what is so anyway.
constexpr std::string_view k_idle[] = {"-fPIC",
                                       "-fpic",
                                       "-shared",
                                       "-pthread",
                                       "-pipe",
                                       "-fno-fast-math",
                                       "-fno-math-errno",
                                       "-fno-wrapv",
                                       "-fstrict-aliasing",
                                       "-fomit-frame-pointer",
                                       "-fsigned-zeros",
                                       "-fno-trapping-math",
                                       "-fno-plt",
                                       "-fvisibility=hidden",
                                       "-fexceptions",
                                       "-fno-exceptions",
                                       "-frtti",
                                       "-fno-rtti",
                                       "-g0",
                                       "-m64"};

/// Flags that set an option.
constexpr std::string_view k_setting[] = {
    "-O0",      "-O1",        "-O2", "-O3",   "-O",  "-Ofast", "-Os",    "-Oz",
    "-Og",      "-g",         "-g2", "-ggdb", "-g3", "-g1",    "-ggdb3", "-gline-tables-only",
    "-fopenmp", "-ffast-math"};

/// What each flag for instructions needs of x86-64: the psABI's level that has them.
constexpr std::pair<std::string_view, int> k_instructions[] = {
    {"-msse", 1},      {"-msse2", 1},     {"-mfpmath=sse", 1}, {"-mmmx", 1},     {"-msse3", 2},
    {"-mssse3", 2},    {"-msse4", 2},     {"-msse4.1", 2},     {"-msse4.2", 2},  {"-mpopcnt", 2},
    {"-mcx16", 2},     {"-mavx", 3},      {"-mavx2", 3},       {"-mfma", 3},     {"-mf16c", 3},
    {"-mbmi", 3},      {"-mbmi2", 3},     {"-mlzcnt", 3},      {"-mmovbe", 3},   {"-mavx512f", 4},
    {"-mavx512bw", 4}, {"-mavx512cd", 4}, {"-mavx512dq", 4},   {"-mavx512vl", 4}};

/// Flags in front of a value.
constexpr std::string_view k_with_value[] = {
    "-std=", "-march=", "-fsanitize=", "-ftemplate-depth=", "-fbracket-depth=", "-D", "-U", "-I",
    "-L",    "-l",      "-W"};

/// What nvcc's own options are here. nvcc takes one or two dashes before each, and a value behind "=" or in
/// the next word (CUDA Compiler Driver NVCC, "NVCC Command Options").
enum class Nvcc {
  idle,
  fast_math,
  lines,
  debug,
  lambdas,
  idle_value,  // this one and those below have a value
  registers,
  arch,
  code,
  host,
  ptxas,
  exact
};
struct NvccFlag {
  std::string_view name;
  Nvcc kind;
  std::string_view value = {}, why = {};  ///< of `exact`: the only value, and what a user may do instead
};
constexpr std::string_view k_all_fast = "fast_math=True sets all that is fast";
constexpr std::string_view k_one_file = "put the device code that belongs together into one file";
constexpr NvccFlag k_nvcc[] = {{"expt-relaxed-constexpr", Nvcc::idle},
                               {"extended-lambda", Nvcc::lambdas},
                               {"expt-extended-lambda", Nvcc::lambdas},
                               {"use_fast_math", Nvcc::fast_math},
                               {"lineinfo", Nvcc::lines},
                               {"generate-line-info", Nvcc::lines},
                               {"G", Nvcc::debug},
                               {"device-debug", Nvcc::debug},
                               {"maxrregcount", Nvcc::registers},
                               {"arch", Nvcc::arch},
                               {"gpu-architecture", Nvcc::arch},
                               {"gencode", Nvcc::code},
                               {"generate-code", Nvcc::code},
                               {"Xcompiler", Nvcc::host},
                               {"compiler-options", Nvcc::host},
                               {"Xptxas", Nvcc::ptxas},
                               {"ptxas-options", Nvcc::ptxas},
                               {"Xcudafe", Nvcc::idle_value},
                               {"diag-suppress", Nvcc::idle_value},
                               {"diag_suppress", Nvcc::idle_value},
                               {"Xfatbin", Nvcc::idle_value},
                               {"compress-mode", Nvcc::idle_value},
                               {"threads", Nvcc::idle_value},
                               {"cudart", Nvcc::idle_value},
                               {"ftz", Nvcc::exact, "false", k_all_fast},
                               {"prec-div", Nvcc::exact, "true", k_all_fast},
                               {"prec-sqrt", Nvcc::exact, "true", k_all_fast},
                               {"fmad", Nvcc::exact, "true", k_all_fast},
                               {"rdc", Nvcc::exact, "false", k_one_file},
                               {"relocatable-device-code", Nvcc::exact, "false", k_one_file},
                               {"default-stream", Nvcc::exact, "legacy", "launch on a stream that is given"}};

[[noreturn]] void refuse_unknown(const std::string& flag) {
  std::string shown = flag.substr(0, 80);
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c == 127; }, '?');
  std::string text = "cflags: '" + shown + "' is none of the options that are known here";
  if (flag.starts_with("-m"))
    refuse_flag(text +
                "; say which CPU it is for with '-march=', as in '-march=x86-64-v3' or '-march=native'");
  if (flag.starts_with("-include")) refuse_flag(text + "; write the #include at the beginning of the source");
  const std::string name = flag.substr(0, flag.find('='));
  detail::NearestWord nearest(flag);
  for (std::string_view known : k_kept) nearest.compare(known);
  for (std::string_view known : k_idle) nearest.compare(known);
  for (std::string_view known : k_setting) nearest.compare(known);
  for (const NvccFlag& known : k_nvcc) nearest.compare("--" + std::string(known.name), name);
  for (std::string_view known : k_with_value)
    if (known.ends_with('=')) nearest.compare(known, name + (name.size() < flag.size() ? "=" : ""));
  text += nearest.found().empty() ? ";" : "; did you mean '" + nearest.found() + "'?";
  refuse_flag(text + " docs/options.md lists them");
}

template <class List>
bool holds(const List& list, std::string_view flag) {
  return std::ranges::find(list, flag) != std::end(list);
}

/// What may stand behind -fsanitize=.
Texts sanitizer_words() {
  Texts words;
  const Options defaults;
  jit::for_each_option(defaults, [&](const OptionRow& row, const auto&) {
    if (row.name == "debug") for_each_value(row, [&](std::string_view word) { words.emplace_back(word); });
  });
  return words;
}

/// The same as a list for people.
std::string sanitizers() {
  const Texts words = sanitizer_words();
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + ("'-fsanitize=" + words[i] + "'");
  return text;
}

/// One reading of options.cflags.
class Reader {
 public:
  explicit Reader(Options& options) : m_options(options) {}

  void run() {
    const Texts flags = std::exchange(m_options.cflags, {});
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const std::string& flag = flags[i];
      // "-I", "dir", as in a command line that was split at its blanks.
      if (flag.size() == 2 && (holds(std::array{"-D", "-U", "-I", "-L", "-l"}, flag))) {
        if (i + 1 == flags.size()) refuse_flag("cflags: '" + flag + "' lacks what stands behind it");
        take(flag + flags[++i]);
      } else if (flag == "-isystem" || flag == "-idirafter") {
        if (i + 1 == flags.size()) refuse_flag("cflags: '" + flag + "' lacks what stands behind it");
        take("-I" + flags[++i]);
      } else if (const NvccFlag* known = nvcc_flag(flag)) {
        const std::size_t equals = flag.find('=');
        const bool in_next = known->kind >= Nvcc::idle_value && equals == flag.npos;
        if (in_next && i + 1 == flags.size())
          refuse_flag("cflags: '" + flag + "' lacks what stands behind it");
        const std::string value = in_next ? flags[++i] : equals == flag.npos ? "" : flag.substr(equals + 1);
        take_nvcc(in_next ? flag + " " + value : flag, *known, value);
      } else {
        take(flag);
      }
    }
    set("opt", m_options.opt, m_opt);
    set("std", m_options.std, m_std);
    // A CPU says more than the instructions of a flag.
    if (m_level > 1 && m_march.flag.empty() && m_options.march.empty())
      m_options.march = "x86-64-v" + std::to_string(m_level);
    set("march", m_options.march, m_march);
    for (const std::string& name : m_undefined)
      for (const auto& [defined, value] : m_options.defines)
        if (defined == name) refuse_flag("cflags: '-U" + name + "' contradicts the definition of " + name);
  }

 private:
  /// An option and the flag that sets it.
  template <class T>
  struct Given {
    T value{};
    std::string flag;
  };

  template <class T>
  void set(std::string_view name, T& option, const Given<T>& given) {
    if (given.flag.empty()) return;
    if (is_given(option) && option != given.value)
      refuse_flag("cflags: '" + given.flag + "' contradicts the option " + std::string(name) +
                  ": give one of them");
    option = given.value;
  }
  static bool is_given(int opt) { return opt != Options().opt; }
  static bool is_given(const std::string& word) { return !word.empty() && word != Options().std; }

  /// The row of an option of nvcc's; null if it is none.
  static const NvccFlag* nvcc_flag(std::string_view flag) {
    if (!flag.starts_with('-')) return nullptr;
    std::string_view name = flag.substr(flag.starts_with("--") ? 2 : 1);
    name = name.substr(0, name.find('='));
    const auto known = std::ranges::find(k_nvcc, name, &NvccFlag::name);
    return known == std::end(k_nvcc) ? nullptr : known;
  }

  static Texts divided(const std::string& text, char at) {
    Texts parts(1);
    int depth = 0;  // code=[sm_80,sm_90]
    for (const char c : text) {
      depth += (c == '[') - (c == ']');
      if (c == at && depth == 0)
        parts.emplace_back();
      else
        parts.back() += c;
    }
    return parts;
  }

  void take_arch(const std::string& flag, const std::string& arch) {
    if (arch == "native") return;  // the architectures of this machine's GPUs, as ever
    if (arch.starts_with("compute_"))
      m_options.ptx = true;
    else if (!arch.starts_with("sm_"))
      refuse_flag("cflags: '" + flag + "' names no architecture, such as sm_90");
    else if (!holds(m_options.archs, arch))
      m_options.archs.push_back(arch);
  }

  void take_nvcc(const std::string& flag, const NvccFlag& known, const std::string& value) {
    switch (known.kind) {
      case Nvcc::fast_math:
        m_options.fast_math = true;
        break;
      case Nvcc::lines:
        m_options.lineinfo = true;
        break;
      case Nvcc::debug:
        if (!m_options.debug) m_options.debug = true;
        break;
      case Nvcc::lambdas:
        keep(jit::k_extended_lambda);
        break;
      case Nvcc::registers: {
        int count = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
        if (error != std::errc() || end != value.data() + value.size())
          refuse_flag("cflags: '" + flag + "' names no number of registers");
        if (m_options.maxrregcount != 0 && m_options.maxrregcount != count)
          refuse_flag("cflags: '" + flag + "' contradicts the option maxrregcount: give one of them");
        m_options.maxrregcount = count;
        break;
      }
      case Nvcc::arch:
        take_arch(flag, value.starts_with("compute_") ? "sm_" + value.substr(8) : value);
        break;
      case Nvcc::code:
        for (const std::string& part : divided(value, ','))
          if (part.starts_with("code=")) {
            std::string codes = part.substr(5);
            if (codes.starts_with('[') && codes.ends_with(']')) codes = codes.substr(1, codes.size() - 2);
            for (const std::string& one : divided(codes, ',')) take_arch(flag, one);
          } else if (!part.starts_with("arch=")) {
            refuse_flag("cflags: '" + flag + "' is not of the form arch=compute_90,code=sm_90");
          }
        break;
      case Nvcc::host:
        for (const std::string& one : divided(value, ',')) take(one);
        break;
      case Nvcc::ptxas:
        for (const std::string& one : divided(value, ','))
          if (!holds(std::array{"-v", "--verbose", "-O3", "--warn-on-spills", "-warn-spills",
                                "--warn-on-local-memory-usage"},
                     one))
            refuse_flag(
                "cflags: '" + flag +
                "': options of ptxas cannot be passed on; those that only report (-v) may stand here");
        break;
      case Nvcc::exact:
        if (value != known.value)
          refuse_flag("cflags: '" + flag + "': it may only be " + std::string(known.value) + " here; " +
                      std::string(known.why));
        break;
      case Nvcc::idle:
      case Nvcc::idle_value:
        break;
    }
  }

  /// Clang's notes name these flags.
  void take_depth(const std::string& flag, std::string_view begin) {
    constexpr int k_most = 1 << 16;
    const std::string_view number = std::string_view(flag).substr(begin.size());
    int depth = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), depth);
    if (error != std::errc() || end != number.data() + number.size() || depth < 1 || depth > k_most)
      refuse_flag("cflags: '" + flag + "' takes a number from 1 to " + std::to_string(k_most));
    keep(flag);
  }

  void take(const std::string& flag) {
    const auto value = [&](std::string_view begin) { return flag.substr(begin.size()); };
    const auto is = [&](std::string_view begin) {
      return flag.size() > begin.size() && flag.starts_with(begin);
    };
    if (holds(k_idle, flag)) return;
    if (holds(k_kept, flag)) return keep(flag);
    if (flag == "-O" || flag == "-Og") return void(m_opt = {1, flag});
    if (flag == "-Os" || flag == "-Oz") return void(m_opt = {2, flag});
    if (is("-mtune=") || flag == "-fdiagnostics-color" || is("-fdiagnostics-color=") ||
        flag == "-fno-diagnostics-color" || is("-fmax-errors="))
      return;
    for (const std::string_view depth : jit::k_depths)
      if (is(depth)) return take_depth(flag, depth);
    for (const auto& [name, level] : k_instructions)
      if (name == flag) return void(m_level = std::max(m_level, level));
    if (is("-isystem")) return void(m_options.include_dirs.push_back(value("-isystem")));
    if (flag == "-Ofast") {
      m_options.fast_math = true;
      return void(m_opt = {3, flag});
    }
    if (flag.size() == 3 && is("-O") && flag[2] >= '0' && flag[2] <= '3')
      return void(m_opt = {flag[2] - '0', flag});
    if (flag == "-ffast-math") return void(m_options.fast_math = true);
    if (flag == "-fopenmp") return void(m_options.openmp = true);
    if (holds(std::array{"-g", "-g2", "-g3", "-ggdb", "-ggdb2", "-ggdb3", "-gdwarf-4", "-gdwarf-5"}, flag)) {
      if (!m_options.debug) m_options.debug = true;
      return;
    }
    if (is("-fsanitize=")) return sanitize(flag, value("-fsanitize="));
    if (flag == "-g1" || flag == "-gline-tables-only") return void(m_options.lineinfo = true);
    if (is("-std=")) return take_std(flag, value("-std="));
    if (is("--std=")) return take_std(flag, value("--std="));
    if (is("-march=")) return void(m_march = {value("-march="), flag});
    if (is("-D")) return define(flag, value("-D"));
    if (is("-U")) return undefine(flag, value("-U"));
    if (is("-I")) return void(m_options.include_dirs.push_back(value("-I")));
    if (is("-L")) return void(m_options.library_dirs.push_back(value("-L")));
    if (is("-l")) return void(m_options.libraries.push_back(value("-l")));
    if (is("-W")) return warn(flag);
    refuse_unknown(flag);
  }

  /// Of flags that exclude each other, the last one stays.
  void keep(const std::string& flag) {
    static constexpr std::array<std::string_view, 2> k_groups[] = {{"-ffp-contract=", "-ffp-contract="},
                                                                   {"-funroll-loops", "-fno-unroll-loops"},
                                                                   {"-fopenmp-simd", "-fno-openmp"},
                                                                   {jit::k_depths[0], jit::k_depths[0]},
                                                                   {jit::k_depths[1], jit::k_depths[1]}};
    for (const auto& [one, other] : k_groups)
      if (flag.starts_with(one) || flag.starts_with(other))
        std::erase_if(m_options.cflags, [&](const std::string& earlier) {
          return earlier.starts_with(one) || earlier.starts_with(other);
        });
    if (flag == "-fno-openmp" && m_options.openmp)
      refuse_flag("cflags: '-fno-openmp' contradicts the option openmp");
    if (!holds(m_options.cflags, flag)) m_options.cflags.push_back(flag);
  }

  void sanitize(const std::string& flag, std::string word) {
    if (word.find(',') != word.npos)
      refuse_flag("cflags: '" + flag + "' asks for several sanitizers, and a compile has one: give " +
                  sanitizers());
    if (!holds(sanitizer_words(), word))
      refuse_flag("cflags: '" + flag + "' is unknown: it may be " + sanitizers());
    if (!m_sanitizer.empty() && m_sanitizer != flag)
      refuse_flag("cflags: '" + m_sanitizer + "' and '" + flag +
                  "' ask for two sanitizers, and a compile has one: give one of them");
    if (m_options.debug && m_options.debug != Mode(true) && m_options.debug != Mode(word))
      refuse_flag("cflags: '" + flag + "' contradicts the option debug: give one of them");
    m_options.debug = std::move(word);
    m_sanitizer = flag;
  }

  void take_std(const std::string& flag, std::string standard) {
    // Sources are compiled in GNU's dialect of each standard.
    if (standard.starts_with("gnu++")) standard = "c++" + standard.substr(5);
    // The names that standards have before they are published.
    static constexpr std::pair<std::string_view, std::string_view> k_drafts[] = {
        {"c++0x", "c++11"}, {"c++1y", "c++14"}, {"c++1z", "c++17"}, {"c++2a", "c++20"}, {"c++2b", "c++23"}};
    for (const auto& [draft, published] : k_drafts)
      if (standard == draft) standard = published;
    m_std = {std::move(standard), flag};
  }

  void define(const std::string& flag, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    // As gcc, -DX defines X as 1: so does a define without a value.
    std::optional<std::string> value;
    if (equals != std::string::npos) value = text.substr(equals + 1);
    for (const auto& [known, earlier] : m_options.defines)
      if (known == name) {
        if (earlier != value)
          refuse_flag("cflags: '" + flag + "' contradicts an earlier definition of " + name);
        return;
      }
    std::erase(m_undefined, name);
    m_options.defines.emplace_back(name, std::move(value));
  }

  void undefine(const std::string& flag, const std::string& name) {
    const bool good = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!good) refuse_flag("cflags: '" + flag + "' names no macro");
    m_undefined.push_back(name);
    if (!holds(m_options.cflags, flag)) m_options.cflags.push_back(flag);
  }

  /// The compiler says whether it knows the name.
  void warn(const std::string& flag) {
    const bool good = std::ranges::all_of(flag, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
             c == '=' || c == '+' || c == '_';
    });
    if (!good || flag.find(',') != flag.npos) refuse_unknown(flag);
    m_options.cflags.push_back(flag);
  }

  Options& m_options;
  Given<int> m_opt;
  Given<std::string> m_std, m_march;
  std::string m_sanitizer;  ///< the flag
  Texts m_undefined;
  int m_level = 1;  ///< of x86-64 that flags for instructions need
};

}  // namespace

void take_cflags(Options& options) {
  if (!options.cflags.empty()) Reader(options).run();
}

void take_environment(Options& options) {
  const char* const lineinfo = std::getenv("TARSIA_LINEINFO");
  if (lineinfo && *lineinfo) {
    if (std::string_view(lineinfo) != "1" && std::string_view(lineinfo) != "0")
      refuse_flag("the environment's TARSIA_LINEINFO is '" + std::string(lineinfo) +
                  "': it may be '1' or '0'");
    options.lineinfo |= *lineinfo == '1';
  } else {
    options.lineinfo |= has_profiler();  // which shows the lines of kernels that have some
  }
  const bool leveled = options.opt != Options().opt;
  if (options.dev && leveled)
    refuse_flag("dev and opt=" + std::to_string(options.opt) + " contradict each other: give one of them");
  const char* const wanted = std::getenv("TARSIA_OPT");
  if (!wanted || !*wanted) return;
  if (std::string_view(wanted) != "fast")
    refuse_flag("the environment's TARSIA_OPT is '" + std::string(wanted) + "': it may be 'fast'");
  if (!leveled) options.dev = true;
}

}  // namespace tarsia::pipeline
