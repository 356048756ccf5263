// Finds the headers of a request's folders that a prelude may hold, and the layers that pay off.
#include "jit/worker/prelude/further_includes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/dependency.h"
#include "jit/include_lines.h"
#include "jit/standard_headers.h"
#include "jit/worker/isolation/files_beyond.h"
#include "jit/worker/prelude/header_names.h"
#include "jit/worker/prelude/leading_directives.h"
#include "jit/worker/prelude/leading_text.h"
#include "jit/worker/prelude/light_headers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {
namespace {

constexpr int k_light_levels = 4;  // levels of small headers that are looked into

// Whether one of the items defines or undefines the macro.
bool names_macro(const std::vector<PreludeItem>& items, llvm::StringRef macro) {
  return std::ranges::any_of(items, [&](const PreludeItem& item) {
    llvm::StringRef text = item.text;
    if (!text.consume_front("#")) return false;
    text = text.ltrim().drop_while(llvm::isAlpha).ltrim();  // behind "define" or "undef"
    return text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }) == macro;
  });
}

// Adds a header that the text includes from `start` to `end`, behind the includes with which it begins if it
// is small. They say nothing more when the header includes them again.
void add_header(const CompileRequest& request, std::string include, std::size_t start, std::size_t end,
                int nesting, std::vector<PreludeItem>& items) {
  const std::string_view name = name_of(include);
  PreludeItem header{include, folder_with(request, name), start, end};
  const auto text = may_be_light(include) && nesting > 0 ? light_text(request, name) : std::nullopt;
  LeadingDirectives at(text ? llvm::StringRef(*text) : llvm::StringRef());
  llvm::StringRef guard;
  header.is_light =
      at.next() && at.consume_guard(request.options, &guard) && (guard.empty() || !names_macro(items, guard));
  while (header.is_light && at.next()) {
    std::string inner = at.consume_include();
    const std::string_view inner_name = name_of(inner);
    if (inner.empty() || own_file(request, inner_name) || may_lie_beside(request, inner)) break;
    const std::string folder = folder_with(request, inner_name);
    // In quotes it is looked for beside the header first, which has to be where the text would find it.
    if (inner[0] == '"' && (folder.empty() ? !is_known_quoted(inner_name) : folder != header.folder)) break;
    if (!folder.empty() && (inner_name.starts_with(".") || inner_name.starts_with("/"))) break;
    if (!is_repeatable(request, inner_name)) break;
    add_header(request, std::move(inner), start, start, nesting - 1, items);
  }
  items.push_back(std::move(header));
}

// Adds the directives of a text from an offset on, while they can belong to a prelude.
void add_items(llvm::StringRef text, std::size_t from, const CompileRequest& request,
               std::vector<PreludeItem>& items) {
  LeadingDirectives at(text.drop_front(from));
  size_t needed = 0;
  while (at.next()) {
    const size_t start = from + at.offset();
    if (std::string macro = at.consume_macro(); !macro.empty()) {
      items.push_back({std::move(macro), "", start, from + at.offset()});
      continue;
    }
    std::string include = at.consume_include();
    if (include.empty()) break;
    // Where the source lies are the texts of the request alone. Its own folder is among the request's.
    const std::string_view name = name_of(include);
    const bool is_elsewhere = folder_with(request, name).empty();
    if (include[0] == '"' && is_elsewhere && !is_known_quoted(name)) break;
    // A text of the request, or one that is found from where the source lies.
    if (own_file(request, name) || may_lie_beside(request, include)) break;
    if (!is_elsewhere && (name.starts_with(".") || name.starts_with("/"))) break;
    add_header(request, std::move(include), start, from + at.offset(), k_light_levels, items);
    needed = items.size();
  }
  items.resize(needed);  // macros behind the last include are the source's own
}

/// Weighs headers of the request's folders, with those that they include.
class Weight {
 public:
  Weight(const std::function<bool(const std::string&)>& has, const CompileRequest& request)
      : m_has(has), m_request(request) {}

  /// How many bytes Clang would read for the header, behind those that were asked about before; no less than
  /// k_heavy_text of one that is known to take its time.
  std::size_t of(std::string_view name) {
    m_bytes = 0;
    add(name, 0);
    return m_bytes;
  }

 private:
  void add(std::string_view name, int depth) {
    if (m_bytes >= k_heavy_text || depth > 50 || !m_seen.emplace(name).second || own_file(m_request, name))
      return;
    const std::string folder = folder_with(m_request, name);
    if (folder.empty()) {
      if (!is_cheap(name) && !is_known_c(name) && !m_has(std::string(name))) m_bytes = k_heavy_text;
      return;
    }
    std::string text;
    FileStamp stamp;
    if (read_stamped(folder + "/" + std::string(name), k_heavy_text, text, stamp) != 0) {
      m_bytes = k_heavy_text;  // it is larger, or the compile will say what is wrong with it
      return;
    }
    m_bytes += text.size();
    any_include(text, [&](std::string_view inner, bool is_angled) {
      while (!is_angled && inner.starts_with("./")) inner.remove_prefix(2);
      const std::string near = beside(name, inner);
      if (const std::string dir = is_angled ? std::string() : folder_with(m_request, near); !dir.empty()) {
        FilesBeyond::note(dir + "/" + near, folder + "/" + std::string(name));
        add(near, depth + 1);
      } else {
        add(inner, depth + 1);
      }
      return m_bytes >= k_heavy_text;
    });
  }

  const std::function<bool(const std::string&)>& m_has;
  const CompileRequest& m_request;
  std::set<std::string, std::less<>> m_seen;
  std::size_t m_bytes = 0;
};

}  // namespace

std::vector<PreludeItem> further_includes(const SourceFile& file, const CompileRequest& request) {
  LeadingIncludes before = leading_includes(file, request);
  if (before.end == std::string::npos) return {};
  std::vector<PreludeItem> items = std::move(before.macros);
  add_items(file.text, before.end, request, items);
  return items;
}

std::vector<LayerText> layers_of(const std::vector<PreludeItem>& further,
                                 const std::function<bool(const std::string&)>& has,
                                 const CompileRequest& request) {
  std::vector<LayerText> layers;
  LayerText layer;
  std::string folder;
  std::size_t bytes = 0;  // of the layer
  Weight weight(has, request);
  const auto close = [&] {
    if (bytes < k_heavy_text) return;  // what follows may make it worth it
    layers.push_back(std::exchange(layer, {}));
    bytes = 0;
  };
  for (const PreludeItem& item : further) {
    const bool is_include = item.text[0] != '#';
    if (item.is_light) close();
    if (is_include && !item.folder.empty()) {
      if (!folder.empty() && item.folder != folder) close();
      folder = item.folder;
    }
    layer.text += (is_include ? "#include " + item.text : item.text) + "\n";
    layer.end = item.end;
    if (is_include) bytes += weight.of(name_of(item.text));
  }
  close();
  return layers;
}

LeadingPart leading_part(const SourceFile& file, const CompileRequest& request) {
  const LeadingPart all{end_of_leading_includes(file.text), {}};
  std::vector<PreludeItem> items;
  add_items(file.text, 0, request, items);
  // A conditional among the includes may hold others.
  if (items.empty() || file.text.find('\n', items.back().end) + 1 < all.end) return all;
  // Large libraries include most of the standard's headers.
  bool has_heavy = false;
  const std::function<bool(const std::string&)> has = [&](const std::string& name) {
    return is_of_cuda_runtime(name) || (has_heavy && is_standard_header(name));
  };
  Weight weight(has, request);
  std::size_t left = 0;  // bytes of the items from a small header on
  std::vector<std::size_t> bytes;
  for (const PreludeItem& item : items) {
    bytes.push_back(item.text[0] == '#' ? 0 : weight.of(name_of(item.text)));
    has_heavy |= bytes.back() >= k_heavy_text && !is_free(name_of(item.text));
    left += bytes.back();
  }
  for (std::size_t cut = 0; cut < items.size(); left -= bytes[cut++]) {
    if (!items[cut].is_light || left >= k_heavy_text) continue;
    LeadingPart part{items[cut].begin, {}};
    for (std::size_t i = 0; i < cut; ++i)
      if (items[i].begin == part.end)
        part.begun += "#if __has_include(" + items[i].text + ")\n#include " + items[i].text + "\n#endif\n";
    return part.empty() ? all : part;
  }
  return all;
}

}  // namespace tarsia::jit
