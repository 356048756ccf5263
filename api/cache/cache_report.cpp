// Writes reports of the cache.
#include "api/cache/cache_report.h"

namespace tarsia::api {
namespace {

using Json = nlohmann::json;

Json to_json(const std::vector<cache::Damage>& damaged) {
  Json list = Json::array();
  for (const cache::Damage& one : damaged)
    list.push_back({{"path", one.path}, {"why", one.why}, {"removed", one.removed}});
  return list;
}

const char* state_of(const Dependency& file) {
  FileStamp ignored;
  if (check(file, ignored) == DependencyState::changed) return file.absent ? "appeared" : "changed";
  return file.absent ? "absent, as it was" : "the same";
}

void add_inputs(Json& json, const pipeline::Inputs& inputs) {
  json["library"] = inputs.title();
  json["compiled"] = inputs.made;
  json["language"] = inputs.cuda ? "CUDA" : "C++";
  json["archs"] = inputs.archs;
}

}  // namespace

Json to_json(const cache::Counts& counts) {
  Json json;
  cache::for_each_count(counts, [&](const char* group, const char* name, std::uint64_t number) {
    (*group ? json[group] : json)[name] = number;
  });
  const Durations times = cache::compile_times(counts);
  Json ranges = Json::array();
  for (std::size_t i = 0; i < k_duration_ranges; ++i)
    ranges.push_back(
        {i < k_duration_limits.size() ? Json(k_duration_limits[i].seconds) : Json(), times.counts[i]});
  json["compile_seconds"] = {{"sum", times.seconds}, {"ranges", std::move(ranges)}};
  return json;
}

Json to_json(const cache::Verified& verified) {
  return {{"whole", verified.whole},
          {"damaged", to_json(verified.damaged)},
          {"unread", to_json(verified.unread)}};
}

Json to_json(const pipeline::StoredEntry& entry, bool whole) {
  Json json = {{"key", hex(entry.module_key)},
               {"path", entry.path},
               {"bytes", entry.bytes},
               {"used", entry.used},
               {"request", entry.request ? Json(hex(*entry.request)) : Json()}};
  if (entry.inputs) add_inputs(json, *entry.inputs);
  if (!whole) {
    json["files"] = entry.files.size();
    return json;
  }
  json["inputs"] = Json::array();
  if (entry.inputs)
    for (const pipeline::Input& input : entry.inputs->inputs)
      json["inputs"].push_back({{"name", input.name}, {"shown", input.shown}, {"digest", hex(input.digest)}});
  json["files"] = Json::array();
  for (const Dependency& file : entry.files)
    json["files"].push_back({{"path", file.path},
                             {"content", file.absent ? Json() : Json(hex(file.content))},
                             {"state", state_of(file)}});
  return json;
}

Json to_json(const pipeline::Explanation& explanation) {
  Json json = {{"request", hex(explanation.request_key)},
               {"hit", explanation.hit},
               {"reason", explanation.reason},
               {"files", explanation.n_files},
               {"nearest", nullptr},
               {"differences", Json::array()},
               {"roots", Json::object()}};
  if (explanation.nearest) {
    Json nearest = {{"key", hex(explanation.nearest->module_key)}};
    if (explanation.nearest->inputs) add_inputs(nearest, *explanation.nearest->inputs);
    json["nearest"] = std::move(nearest);
  }
  for (const pipeline::Difference& one : explanation.differences)
    json["differences"].push_back({{"input", one.input}, {"how", one.how}});
  for (const auto& [name, path] : explanation.roots) json["roots"]['<' + name + '>'] = path;
  return json;
}

}  // namespace tarsia::api
