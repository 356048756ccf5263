// The search for uses of CUDA that NVRTC cannot compile.
#include "jit/worker/device/device_features.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "jit/worker/device/nvrtc_source.h"

namespace tarsia::jit {
namespace {

/// Headers of Thrust that NVRTC takes: they only define types.
bool is_plain_thrust(std::string_view name) {
  static constexpr std::array k_names = {"thrust/pair.h", "thrust/tuple.h", "thrust/functional.h",
                                         "thrust/version.h"};
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

constexpr char k_other_ways[] = ", or let Clang compile the device code: device_compiler='auto' does";

std::string refusal_of_thrust(const std::string& name) {
  std::string text =
      "<" + name + ">: NVRTC cannot compile Thrust, whose algorithms launch kernels of their own; ";
  if (name == "thrust/complex.h")
    text += "std::complex of <complex> works in kernels";
  else if (name.starts_with("thrust/random"))
    text += "the generators of <curand_kernel.h> work in kernels";
  else
    text +=
        "write a kernel, in which CUB's block and warp primitives (<cub/block/block_reduce.cuh> and its "
        "like) work";
  return text + k_other_ways;
}

/// The first place at which an identifier is a whole word of a text. The scan has established that such a
/// place outside of comments exists.
TextPlace place_of(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (at > 0 && detail::is_identifier_part(text[at - 1])) continue;
    if (at + word.size() < text.size() && detail::is_identifier_part(text[at + word.size()])) continue;
    const size_t line_begin = text.rfind('\n', at) + 1;
    return {1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n')),
            1 + static_cast<int>(at - line_begin)};
  }
  return {};
}

}  // namespace

std::vector<Diagnostic> refused_features(const std::vector<SourceFile>& texts) {
  std::vector<Diagnostic> refused;
  for (const SourceFile& file : texts) {
    const SourceNames names = scan_source(file.text);
    auto refuse = [&](TextPlace place, std::string message) {
      refused.push_back(
          {.file = file.name, .line = place.line, .column = place.column, .message = std::move(message)});
    };
    for (const IncludeLine& line : names.includes) {
      const size_t line_begin = file.text.rfind('\n', line.begin) + 1;
      const TextPlace place{line.line, static_cast<int>(line.begin - line_begin) + 1};
      if (line.name.starts_with("thrust/") && !is_plain_thrust(line.name))
        refuse(place, refusal_of_thrust(line.name));
      if (line.name.starts_with("cub/device/"))
        refuse(place, "<" + line.name +
                          ">: CUB's device-wide algorithms launch kernels of their own, which NVRTC cannot "
                          "compile; CUB's "
                          "block and warp primitives (<cub/block/block_reduce.cuh> and its like) work inside "
                          "of a kernel" +
                          k_other_ways);
    }
    if (names.identifiers.contains("cub"))
      for (std::string_view name : names.identifiers)
        if (name.starts_with("Device") && name.size() > 6 &&
            file.text.find("cub::" + std::string(name)) != std::string::npos) {
          refuse(place_of(file.text, name),
                 "cub::" + std::string(name) +
                     " launches kernels of its own, which NVRTC cannot compile; CUB's block and warp "
                     "primitives work inside of a kernel" +
                     k_other_ways);
          break;
        }
    if (names.device_lambda.line)
      refuse(names.device_lambda,
             std::string("NVRTC cannot compile lambdas marked __device__ in host code; use a struct whose "
                         "operator() is marked __device__ instead") +
                 k_other_ways);
  }
  return refused;
}

bool has_device_lambda(const SourceFile& text) {
  return scan_source(text.text).device_lambda.line != 0;
}

}  // namespace tarsia::jit
