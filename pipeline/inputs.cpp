// Inputs as bytes.
#include "pipeline/inputs.h"

#include <algorithm>

#include "base/little_endian.h"

namespace tarsia::pipeline {
namespace {

constexpr std::uint32_t k_inputs_version = 1;
constexpr std::uint32_t k_not_kept = 1, k_cuda = 2;
constexpr std::string_view k_file = "file ";

}  // namespace

std::string Inputs::serialise() const {
  std::string bytes;
  LittleWriter out(bytes);
  out.number(k_inputs_version).number((kept ? 0 : k_not_kept) | (cuda ? k_cuda : 0));
  out.number(static_cast<std::uint64_t>(made)).text(library);
  out.number(static_cast<std::uint32_t>(archs.size()));
  for (const std::string& arch : archs) out.text(arch);
  out.number(static_cast<std::uint32_t>(inputs.size()));
  for (const Input& input : inputs) out.text(input.name).text(input.shown).raw(input.digest);
  return bytes;
}

std::optional<Inputs> Inputs::parse(std::string_view bytes) {
  LittleReader in(bytes);
  Inputs found;
  if (in.number<std::uint32_t>() != k_inputs_version) return std::nullopt;
  const auto flags = in.number<std::uint32_t>();
  found.kept = (flags & k_not_kept) == 0;
  found.cuda = (flags & k_cuda) != 0;
  found.made = static_cast<std::int64_t>(in.number<std::uint64_t>());
  found.library = in.text();
  const auto n_archs = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < n_archs && in.good(); ++i) found.archs.push_back(in.text());
  const auto n = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < n && in.good(); ++i) {
    Input input;
    input.name = in.text();
    input.shown = in.text();
    input.digest = in.raw<sizeof(Digest)>();
    found.inputs.push_back(std::move(input));
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return found;
}

bool Inputs::is_of_this_version(std::string_view bytes) {
  LittleReader in(bytes);
  return in.number<std::uint32_t>() == k_inputs_version && in.good();
}

const Input* Inputs::find(std::string_view name) const {
  const auto found = std::ranges::find(inputs, name, &Input::name);
  return found == inputs.end() ? nullptr : &*found;
}

std::string Inputs::title() const {
  if (!library.empty()) return library;
  for (const Input& input : inputs)
    if (input.name.starts_with(k_file)) return input.name.substr(k_file.size());
  return {};
}

}  // namespace tarsia::pipeline
