// Describes plans as JSON, and draws them as SVG.
#include "graph/plan_report.h"

#include <tarsia/detail/names.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tarsia::graph {

namespace {

using nlohmann::json;

const char* kind_text(StepKind kind) {
  static constexpr const char* k_kinds[] = {"forward", "backward", "sum", "copy"};
  return k_kinds[static_cast<int>(kind)];
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* k_units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  int unit = 0;
  while (size >= 1024 && unit < 4) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit && size < 100 ? "%.1f %s" : "%.0f %s", size, k_units[unit]);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// The slots of each buffer, in the order in which they use it.
std::vector<std::vector<SlotId>> slots_of(const Program& program, const MemoryPlan& plan) {
  std::vector<std::vector<SlotId>> slots(plan.buffers.size());
  for (const Step& step : program.steps)
    for (SlotId slot : step.outputs)
      if (slot != k_none && plan.buffer_of[slot] != k_none) slots[plan.buffer_of[slot]].push_back(slot);
  return slots;
}

/// One stack of rectangles.
struct Panel {
  std::string title;
  std::uint64_t bytes = 0;
  struct Box {
    BufferId buffer;
    std::uint64_t offset;
  };
  std::vector<Box> boxes;
};

}  // namespace

std::string plan_json(const Program& program, const MemoryPlan& plan) {
  json out;
  out["bytes"] = plan.bytes;
  out["lower_bound"] = plan.lower_bound;
  out["workspace"] = plan.workspace;
  out["milliseconds"] = plan.milliseconds;
  out["device"] = detail::device_name(program.device);
  out["arenas"] = json::array();
  for (const ArenaSize& arena : plan.arenas)
    out["arenas"].push_back({{"device", detail::device_name(arena.device)}, {"bytes", arena.bytes}});
  const auto names = [&](const std::vector<SlotId>& slots) {
    json list = json::array();
    for (SlotId slot : slots) list.push_back(slot == k_none ? json() : json(program.slots[slot].name));
    return list;
  };
  out["steps"] = json::array();
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const BufferId workspace = plan.workspace_of[s];
    json requests = json::array();
    for (std::uint8_t request : plan.requests[s]) requests.push_back(detail::k_request_names[request & 3]);
    out["steps"].push_back({{"name", step.name},
                            {"kind", kind_text(step.kind)},
                            {"device", detail::device_name(step.device)},
                            {"inputs", names(step.inputs)},
                            {"outputs", names(step.outputs)},
                            {"requests", requests},
                            {"workspace", workspace == k_none ? 0 : plan.buffers[workspace].bytes}});
  }
  out["values"] = json::array();
  for (SlotId id = 0; id < program.slots.size(); ++id) {
    const Slot& slot = program.slots[id];
    json value;
    value["name"] = slot.name;
    value["type"] = registry::describe(slot.meta);
    value["device"] = detail::device_name(slot.device);
    value["bytes"] = slot.bytes;
    const BufferId buffer = plan.buffer_of[id];
    if (buffer == k_none) {
      value["where"] = slot.source == Source::caller ? "input"
                       : slot.source == Source::held ? "held"
                                                     : "sparse";
    } else {
      const Buffer& b = plan.buffers[buffer];
      value["buffer"] = buffer;
      value["first"] = b.first;
      value["last"] = b.last;
      if (b.output != k_none)
        value["where"] = "output " + std::to_string(b.output);
      else if (b.within != k_none)
        value["where"] = "within output " + std::to_string(b.within);
      else
        value["where"] = "arena " + std::to_string(b.arena);
      if (b.output == k_none) value["offset"] = b.offset;
    }
    out["values"].push_back(std::move(value));
  }
  out["shared"] = json::array();
  for (const auto& [from, to] : plan.shared)
    out["shared"].push_back({program.slots[from].name, program.slots[to].name});
  out["implementations"] = json::object();
  for (const NodeText& one : program.implementations) out["implementations"][one.node] = one.text;
  out["measured"] = json::object();
  for (const Step& step : program.steps)
    for (const tarsia_measured_time& time :
         step.bound ? step.bound->measured_times(step.pass()) : std::span<const tarsia_measured_time>())
      out["measured"][step.name][time.name] = time.seconds < 0 ? json() : json(time.seconds);
  out["conversions"] = out["storage_conversions"] = json::array();
  for (const NodeText& one : program.conversions) {
    out["conversions"].push_back(one.node + ": " + one.text);
    if (one.is_of_storage) out["storage_conversions"].push_back(one.node + ": " + one.text);
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string plan_svg(const Program& program, const MemoryPlan& plan) {
  constexpr double k_left = 90, k_width = 820, k_height = 260, k_gap = 60, k_top = 50;
  std::vector<Panel> panels;
  for (std::size_t a = 0; a < plan.arenas.size(); ++a)
    panels.push_back(
        {"arena on " + detail::device_name(plan.arenas[a].device) + ", " + bytes_text(plan.arenas[a].bytes),
         plan.arenas[a].bytes,
         {}});
  Panel outputs{"outputs", 0, {}};
  std::vector<std::uint64_t> at(program.outputs.size(), 0);
  for (BufferId id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& b = plan.buffers[id];
    if (b.output == k_none) continue;
    at[b.output] = outputs.bytes;
    outputs.boxes.push_back({id, outputs.bytes});
    outputs.bytes += b.bytes;
  }
  for (BufferId id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& b = plan.buffers[id];
    if (b.arena != k_none) panels[b.arena].boxes.push_back({id, b.offset});
    if (b.within != k_none) outputs.boxes.push_back({id, at[b.within] + b.offset});
  }
  outputs.title += ", " + bytes_text(outputs.bytes);
  if (!outputs.boxes.empty()) panels.push_back(std::move(outputs));

  const std::vector<std::vector<SlotId>> slots = slots_of(program, plan);
  const auto n_steps = static_cast<double>(std::max<std::size_t>(program.steps.size(), 1));
  const double height = k_top + static_cast<double>(panels.size()) * (k_height + k_gap);
  std::string svg;
  char line[512];
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(line, sizeof line, format, values...);
    svg += line;
  };
  add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n",
      k_left + k_width + 20, height, k_left + k_width + 20, height);
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += "<text x=\"10\" y=\"24\" font-size=\"15\">" + bytes_text(plan.bytes) + " planned, at least " +
         bytes_text(plan.lower_bound) + " are live at once; " + std::to_string(program.steps.size()) +
         " steps from left to right</text>\n";
  double top = k_top;
  for (const Panel& panel : panels) {
    svg += "<text x=\"10\" y=\"" + std::to_string(static_cast<int>(top) + 4) + "\">" + escaped(panel.title) +
           "</text>\n";
    const double bottom = top + 14 + k_height;
    add("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#f6f6f6\" stroke=\"#999\"/>\n",
        k_left, top + 14, k_width, k_height);
    for (const Panel::Box& box : panel.boxes) {
      const Buffer& b = plan.buffers[box.buffer];
      const double scale = panel.bytes ? k_height / static_cast<double>(panel.bytes) : 0;
      const double x = k_left + k_width * b.first / n_steps;
      const double last = std::min<double>(b.last + 1.0, n_steps);
      const double width = std::max(k_width * (last - b.first) / n_steps, 0.5);
      const double tall = std::max(static_cast<double>(b.bytes) * scale, 0.5);
      const double y = bottom - (static_cast<double>(box.offset) * scale) - tall;
      std::string names;
      if (slots[box.buffer].empty()) names = "workspace of " + program.steps[b.first].name;
      for (SlotId slot : slots[box.buffer]) names += (names.empty() ? "" : " → ") + program.slots[slot].name;
      // Neighbours differ: the golden angle walks around the circle of colours.
      const int hue = static_cast<int>(box.buffer * 137.508) % 360;
      add("<g><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%d,60%%,%d%%)\" "
          "stroke=\"#555\" "
          "stroke-width=\"0.5\"/>",
          x, y, width, tall, hue, b.output != k_none ? 70 : 82);
      svg += "<title>" + escaped(names) + ": " + bytes_text(b.bytes) + ", steps " + std::to_string(b.first) +
             " to " + std::to_string(std::min<std::size_t>(b.last, program.steps.size())) + "</title>";
      if (tall >= 14 && width >= 7.0 * static_cast<double>(std::min<std::size_t>(names.size(), 60)))
        svg += "<text x=\"" + std::to_string(x + 4) + "\" y=\"" + std::to_string(y + tall / 2 + 4) + "\">" +
               escaped(names) + "</text>";
      svg += "</g>\n";
    }
    top += k_height + k_gap;
  }
  return svg + "</svg>\n";
}

}  // namespace tarsia::graph
