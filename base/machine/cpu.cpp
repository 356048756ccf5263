// Asks the CPU, by the compiler's built-in functions, which also ask what the operating system saves.
#include "base/machine/cpu.h"

#include <algorithm>
#include <atomic>

#include "base/fork.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tarsia {

#if defined(__x86_64__)

namespace {

struct Feature {
  std::string_view name;  ///< LLVM's
  bool present;
};

// The names that g++ and Clang take; a built-in function takes literals alone.
#define TARSIA_FEATURE(name, gcc_name) {name, __builtin_cpu_supports(gcc_name) != 0}

const std::vector<Feature>& features() {
  static std::atomic<const std::vector<Feature>*> s_features{nullptr};
  return made_once(s_features, [] {
    __builtin_cpu_init();
    return std::vector<Feature>{
        TARSIA_FEATURE("popcnt", "popcnt"),
        TARSIA_FEATURE("sse3", "sse3"),
        TARSIA_FEATURE("ssse3", "ssse3"),
        TARSIA_FEATURE("sse4.1", "sse4.1"),
        TARSIA_FEATURE("sse4.2", "sse4.2"),
        TARSIA_FEATURE("sse4a", "sse4a"),
        TARSIA_FEATURE("avx", "avx"),
        TARSIA_FEATURE("avx2", "avx2"),
        TARSIA_FEATURE("fma", "fma"),
        TARSIA_FEATURE("fma4", "fma4"),
        TARSIA_FEATURE("xop", "xop"),
        TARSIA_FEATURE("bmi", "bmi"),
        TARSIA_FEATURE("bmi2", "bmi2"),
        TARSIA_FEATURE("aes", "aes"),
        TARSIA_FEATURE("pclmul", "pclmul"),
        TARSIA_FEATURE("gfni", "gfni"),
        TARSIA_FEATURE("vpclmulqdq", "vpclmulqdq"),
        TARSIA_FEATURE("avx512f", "avx512f"),
        TARSIA_FEATURE("avx512vl", "avx512vl"),
        TARSIA_FEATURE("avx512bw", "avx512bw"),
        TARSIA_FEATURE("avx512dq", "avx512dq"),
        TARSIA_FEATURE("avx512cd", "avx512cd"),
        TARSIA_FEATURE("avx512vbmi", "avx512vbmi"),
        TARSIA_FEATURE("avx512ifma", "avx512ifma"),
        TARSIA_FEATURE("avx512vbmi2", "avx512vbmi2"),
        TARSIA_FEATURE("avx512vnni", "avx512vnni"),
        TARSIA_FEATURE("avx512bitalg", "avx512bitalg"),
        TARSIA_FEATURE("avx512vpopcntdq", "avx512vpopcntdq"),
        TARSIA_FEATURE("avx512bf16", "avx512bf16"),
        TARSIA_FEATURE("avx512vp2intersect", "avx512vp2intersect"),
    };
  });
}

#undef TARSIA_FEATURE

}  // namespace

std::string_view cpu_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  if (__builtin_cpu_supports("x86-64-v2")) return "x86-64-v2";
  return "x86-64";
}

std::string cpu_identity() {
  // Vendor; family and model; and each word of features. The stepping changes no code, and the word with the
  // number of this core is left out.
  std::string text;
  const auto add = [&text](unsigned leaf, unsigned subleaf, bool with_ebx) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(leaf, subleaf, &a, &b, &c, &d)) return;
    if (leaf == 1) a &= ~0xFu;
    for (const unsigned word : {a, with_ebx ? b : 0u, c, d}) text += std::to_string(word) + '.';
  };
  add(0, 0, true);
  add(1, 0, false);
  add(7, 0, true);
  add(7, 1, true);
  add(0xd, 1, false);
  add(0x80000001, 0, false);
  return text;
}

std::vector<std::string> missing_cpu_features(const std::vector<std::string>& wanted) {
  std::vector<std::string> missing;
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(features(), name, &Feature::name);
    if (found != features().end() && !found->present) missing.push_back(name);
  }
  return missing;
}

#else

std::string_view cpu_level() {
  return "";
}

std::string cpu_identity() {
  return "";
}

std::vector<std::string> missing_cpu_features(const std::vector<std::string>&) {
  return {};
}

#endif

}  // namespace tarsia
