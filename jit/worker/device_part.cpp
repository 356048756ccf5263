// What of a device slice can be seen in its code, and the code as bytes.
#include "jit/worker/device_part.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "jit/rough_text.h"
#include "jit/worker/device/device_plan.h"

namespace tarsia::jit {

// Words are taken from comments, too: more are found than there are, never fewer.
ShownLines::ShownLines(const CompileRequest& request, const DeviceSlice& slice)
    : m_all(keeps_lines(request.options)) {
  // A macro tells the line of whoever uses it.
  for (const SourceFile& file : slice.files) {
    llvm::StringRef text = file.text;
    m_all |= text.contains("source_location") || text.contains("__builtin_LINE");
    for (size_t at = 0; (at = text.find("define", at)) != text.npos;) {
      const size_t end = end_of_line(text, at);
      add_macro(text.slice(at + 6, end));
      at = end;
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& [name, words] : m_macros)
      if (!m_tellers.contains(name) &&
          std::ranges::any_of(words, [&](const auto& one) { return tells(one); }))
        more = m_tellers.insert(name).second;
  }
}

bool ShownLines::of(llvm::StringRef text) const {
  bool shown = m_all;
  for_each_word(text, [&](llvm::StringRef word) { shown |= tells(word); });
  return shown;
}

void ShownLines::add_macro(llvm::StringRef definition) {
  std::string name;
  for_each_word(definition, [&](llvm::StringRef word) {
    if (name.empty())
      name = word.str();
    else
      m_macros[name].insert(word.str());
  });
}

bool ShownLines::tells(llvm::StringRef word) const {
  return (word.contains_insensitive("assert") && word != "static_assert") || word == "__LINE__" ||
         m_tellers.contains(word.str());
}

bool names_folder(const DeviceResult& result, const DeviceRequest& request) {
  const auto has_one = [](const std::string& text, const std::vector<std::string>& dirs) {
    return std::ranges::any_of(
        dirs, [&](const std::string& dir) { return !dir.empty() && text.find(dir) != std::string::npos; });
  };
  return std::ranges::any_of(
             result.images,
             [&](const FatbinEntry& image) { return has_one(image.bytes, request.cuda.include_dirs); }) ||
         std::ranges::any_of(result.diagnostics, [&](const Diagnostic& one) {
           return std::ranges::any_of(std::array{&one.file, &one.message}, [&](const std::string* text) {
             return has_one(*text, request.cuda.include_dirs) || has_one(*text, request.include_dirs);
           });
         });
}

std::string condensed(llvm::StringRef text, bool lines) {
  std::string result;
  text = text.rtrim(" \t\r\n");
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    const llvm::StringRef content = lines ? line.rtrim(" \t\r") : line.trim(" \t\r");
    if (lines || !content.empty()) (result += content) += '\n';
  }
  return result;
}

std::string to_bytes(const DeviceResult& result) {
  nlohmann::json images = nlohmann::json::array(), dependencies = nlohmann::json::array();
  for (const FatbinEntry& image : result.images)
    images.push_back({image.arch, nlohmann::json::binary({image.bytes.begin(), image.bytes.end()})});
  for (const Dependency& d : result.dependencies)
    dependencies.push_back({d.path, nlohmann::json::binary({d.content.begin(), d.content.end()}), d.absent});
  nlohmann::json diagnostics = nlohmann::json::array();
  for (const Diagnostic& d : result.diagnostics)
    diagnostics.push_back({d.file, d.line, d.column, int(d.severity), d.message});
  auto packed =
      nlohmann::json::to_msgpack({images, result.lowered, result.managed, dependencies, diagnostics});
  return {packed.begin(), packed.end()};
}

std::optional<DeviceResult> from_bytes(const std::string& bytes) {
  try {
    nlohmann::json all = nlohmann::json::from_msgpack(bytes);
    DeviceResult result;
    for (const auto& image : all.at(0)) {
      const auto& content = image.at(1).get_binary();
      result.images.push_back({image.at(0), std::string(content.begin(), content.end())});
    }
    result.lowered = all.at(1).get<std::vector<std::string>>();
    result.managed = all.at(2).get<std::vector<std::string>>();
    for (const auto& entry : all.at(3)) {
      Dependency dependency;
      dependency.path = entry.at(0);
      const auto& content = entry.at(1).get_binary();
      if (content.size() != dependency.content.size()) return std::nullopt;
      std::copy(content.begin(), content.end(), dependency.content.begin());
      dependency.absent = entry.at(2);
      result.dependencies.push_back(std::move(dependency));
    }
    for (const auto& one : all.at(4))
      result.diagnostics.push_back(
          {one.at(0), one.at(1), one.at(2), Severity(one.at(3).get<int>()), one.at(4)});
    result.ok = true;
    return result;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tarsia::jit
