// Reads messages of NVRTC and ptxas about limits, which name symbols and no lines:
//
//     Entry function 'SYMBOL' uses too much shared data (0x10000 bytes, 0xc000 max)
//     Entry function 'SYMBOL' uses too much parameter space (0x9c48 bytes, 0x7ffc max).
//     Formal parameter space overflowed (40008 bytes required, max 32764 bytes allowed) in function SYMBOL
//     File uses too much global constant data (0x13880 bytes, 0x10000 max)
#include "jit/worker/device_limits.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>

#include "base/demangle.h"

namespace tarsia::jit {
namespace {

/// How many bytes there are, and how many there may be.
struct Excess {
  unsigned long long bytes = 0, limit = 0;
};

/// The two numbers behind these words; none if the message lacks the words.
std::optional<Excess> excess_of(const std::string& message, std::string_view words) {
  size_t at = message.find(words);
  if (at == message.npos) return std::nullopt;
  at += words.size();
  Excess excess;
  for (unsigned long long* number : {&excess.bytes, &excess.limit}) {
    at = message.find_first_of("0123456789", at);
    if (at == message.npos) return std::nullopt;
    char* end = nullptr;
    *number = std::strtoull(message.c_str() + at, &end, 0);
    at = end - message.c_str();
  }
  return excess;
}

std::string numbers(const Excess& excess, const std::string& what) {
  return std::to_string(excess.bytes) + " bytes of " + what + ", " + k_limit_words +
         std::to_string(excess.limit) + ": ";
}

/// The symbol that a message names: in quotation marks, or behind "in function ".
std::string symbol_in(const std::string& message) {
  if (const size_t open = message.find('\''); open != message.npos) {
    const size_t close = message.rfind('\'');
    if (close > open) return message.substr(open + 1, close - open - 1);
  }
  constexpr std::string_view k_words = "in function ";
  const size_t at = message.find(k_words);
  if (at == message.npos) return {};
  const std::string rest = message.substr(at + k_words.size());
  return rest.substr(0, rest.find_first_of(" \n"));
}

/// "kernel 'name'", with its place if the source has it.
std::string place_at_kernel(const DeviceSlice& slice, Diagnostic& diagnostic) {
  const std::string symbol = symbol_in(diagnostic.message), name = readable_symbol(symbol);
  const auto is_meant = [&](const KernelUse& one) {
    return one.mangled == symbol || readable_symbol(one.mangled) == name;
  };
  const auto kernel = std::ranges::find_if(slice.kernels, is_meant);
  if (kernel == slice.kernels.end()) return "kernel '" + name + "'";
  if (!kernel->location.empty()) set_place(diagnostic, kernel->location);
  return "kernel '" + kernel->listed_name + "'";
}

void explain_constants(const DeviceSlice& slice, const Excess& excess, Diagnostic& diagnostic) {
  std::vector<const DeviceVariable*> constants;
  for (const DeviceVariable& variable : slice.variables)
    if (variable.constant) constants.push_back(&variable);
  std::ranges::stable_sort(constants, std::greater(), &DeviceVariable::bytes);
  std::string list;
  constexpr size_t k_most = 4;
  for (size_t i = 0; i < std::min(k_most, constants.size()); ++i)
    list += (i ? ", '" : " ('") + constants[i]->listed_name + "' has " + std::to_string(constants[i]->bytes);
  if (constants.size() > k_most) list += ", …";
  if (!list.empty()) {
    list += ')';
    set_place(diagnostic, constants.front()->location);
  }
  diagnostic.message = numbers(excess, "__constant__ variables" + list) +
                       "write __device__ const in place of __constant__, or pass the kernel a pointer to an "
                       "array in the GPU's memory";
}

}  // namespace

void set_place(Diagnostic& diagnostic, const std::string& place) {
  const size_t colon = place.rfind(':');
  diagnostic.file = place.substr(0, colon);
  diagnostic.line = colon == std::string::npos ? 0 : std::atoi(place.c_str() + colon + 1);
}

void explain_limits(const DeviceSlice& slice, std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity < Severity::error) continue;
    if (const auto constants = excess_of(diagnostic.message, "uses too much global constant data ")) {
      explain_constants(slice, *constants, diagnostic);
    } else if (const auto shared = excess_of(diagnostic.message, "uses too much shared data ")) {
      const std::string kernel = place_at_kernel(slice, diagnostic);
      diagnostic.message =
          kernel + " has " + numbers(*shared, "__shared__ variables") +
          "more is there as dynamic shared memory, \"extern __shared__ float tile[];\", whose size is the "
          "launch's third argument; before a <<<>>> of more than " +
          std::to_string(shared->limit) +
          " bytes call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
    } else {
      auto parameters = excess_of(diagnostic.message, "uses too much parameter space ");
      if (!parameters) parameters = excess_of(diagnostic.message, "Formal parameter space overflowed ");
      if (!parameters) continue;
      const std::string kernel = place_at_kernel(slice, diagnostic);
      diagnostic.message = kernel + " has " + numbers(*parameters, "parameters") +
                           "pass the largest by a pointer to the GPU's memory, or take it from a "
                           "__constant__ or __device__ variable";
    }
  }
}

}  // namespace tarsia::jit
