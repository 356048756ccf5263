// What a slice could take from headers, by name.
#include "jit/worker/split/header_names.h"

#include <nlohmann/json.hpp>

namespace tarsia::jit {

// The msgpack [items, instances, macros, includes, words, paths, counter, skipped, [[place, found]…],
// [[place, name, path]…],
// [[place, value]…]].
std::string HeaderNames::serialize() const {
  nlohmann::json included = nlohmann::json::array();
  for (const auto& [at, one] : leading.included) included.push_back({at, one.name, one.path});
  const std::vector<uint8_t> bytes = nlohmann::json::to_msgpack(
      nlohmann::json::array({items, instances, macros, includes, words, paths, counter, leading.skipped,
                             leading.asked_headers, included, leading.conditions}));
  return {bytes.begin(), bytes.end()};
}

std::optional<HeaderNames> HeaderNames::parse(std::string_view bytes) {
  try {
    const nlohmann::json list = nlohmann::json::from_msgpack(bytes.begin(), bytes.end());
    HeaderNames names;
    list.at(0).get_to(names.items);
    list.at(1).get_to(names.instances);
    list.at(2).get_to(names.macros);
    list.at(3).get_to(names.includes);
    list.at(4).get_to(names.words);
    list.at(5).get_to(names.paths);
    list.at(6).get_to(names.counter);
    list.at(7).get_to(names.leading.skipped);
    list.at(8).get_to(names.leading.asked_headers);
    for (const nlohmann::json& one : list.at(9)) names.leading.included[one.at(0)] = {one.at(1), one.at(2)};
    list.at(10).get_to(names.leading.conditions);
    return names;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tarsia::jit
