// Which of Tarsia's headers device code may include follows from the headers themselves.
#include "jit/worker/public_headers.h"

#include <algorithm>
#include <optional>
#include <set>

#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

constexpr std::string_view k_nvrtc = "__CUDACC_RTC__";

/// The line up to its end or comment, without white space.
std::string squeezed(std::string_view line) {
  std::string text;
  for (const char c : line.substr(0, line.find("//")))
    if (c != ' ' && c != '\t' && c != '\r') text += c;
  return text;
}

/// What NVRTC makes of a condition; nothing if that depends on more than on its being NVRTC.
std::optional<bool> answer_to(std::string_view directive) {
  const std::string name(k_nvrtc);
  if (directive == "#ifdef" + name || directive == "#ifdefined(" + name + ")") return true;
  if (directive == "#ifndef" + name || directive == "#if!defined(" + name + ")") return false;
  return std::nullopt;
}

/// The NAME of a line `#include <NAME>`; empty for any other.
std::string included(std::string_view line) {
  const std::string text = squeezed(line);
  constexpr std::string_view k_include = "#include<";
  if (!text.starts_with(k_include) || !text.ends_with('>')) return {};
  return text.substr(k_include.size(), text.size() - k_include.size() - 1);
}

template <typename Each>
void for_each_line(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    each(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

}  // namespace

std::string without_host_parts(std::string_view text) {
  struct Condition {
    std::optional<bool> answer;
    bool seen;  ///< whether NVRTC sees the branch that the lines stand in
  };
  std::vector<Condition> open;
  std::string result;
  result.reserve(text.size());
  for_each_line(text, [&](std::string_view line) {
    const std::string directive = squeezed(line);
    const bool decided = !open.empty() && open.back().answer.has_value();
    bool shown = std::all_of(open.begin(), open.end(), [](const Condition& one) { return one.seen; });
    if (directive.starts_with("#if")) {
      const std::optional<bool> answer = answer_to(directive);
      open.push_back({answer, answer.value_or(true)});
      shown &= !answer;
    } else if (decided && directive == "#else") {
      open.back().seen = !*open.back().answer;
      shown = false;
    } else if (!open.empty() && directive.starts_with("#endif")) {
      shown &= !decided;
      open.pop_back();
    }
    if (shown) result += line;
    result += '\n';
  });
  return result;
}

std::vector<SourceFile> public_device_headers(const SysrootPack& pack) {
  const std::string root = std::string(k_include_dir) + '/';
  std::vector<SourceFile> headers;
  std::set<std::string> taken;
  const auto take = [&](const std::string& name, std::string_view text) {
    if (taken.insert(name).second) headers.push_back({name, without_host_parts(text)});
  };
  for (size_t i = pack.lower_bound(root); i < pack.size() && pack.file(i).path.starts_with(root); ++i) {
    const SysrootPack::File file = pack.file(i);
    if (file.path.starts_with(root + "tarsia/mxnet/") || file.content.find(k_nvrtc) == file.content.npos)
      continue;
    take(std::string(file.path.substr(root.size())), file.content);
  }
  for (const std::string room : {"TH/", "THC/"})  // what these declare is the host's
    for (size_t i = pack.lower_bound(root + room);
         i < pack.size() && pack.file(i).path.starts_with(root + room); ++i)
      take(std::string(pack.file(i).path.substr(root.size())), pack.file(i).content);
  for (size_t i = 0; i < headers.size(); ++i)
    for_each_line(std::string(headers[i].text), [&](std::string_view line) {
      const std::string name = included(line);
      if (!name.starts_with("tarsia/")) return;
      if (const auto text = pack.find(root + name)) take(name, *text);
    });
  return headers;
}

}  // namespace tarsia::jit
