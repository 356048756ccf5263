// A precompiled header in memory, on top of another or of nothing.
#include "jit/worker/prelude/prelude_layer.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/little_endian.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"

namespace tarsia::jit {
namespace {
constexpr std::uint64_t k_largest_header = std::uint64_t{64} << 20;
}

std::string prelude_path(int depth) {
  return "/tarsia/prelude" + std::to_string(depth) + ".pch";
}

std::string prelude_text_path(int depth) {
  return "/tarsia/prelude" + std::to_string(depth) + ".h";
}

void PreludeLayer::add_to(SourceFileSystem& files) const {
  if (base) base->add_to(files);
  files.add_text(prelude_path(depth), {pch.data(), pch.size()});
  // Clang looks the text up where an instantiation in it is named (<optional> has some).
  files.add_text(prelude_text_path(depth), text);
  files.inherit(dependencies);
}

bool PreludeLayer::met(const std::string& name) const {
  return std::binary_search(names.begin(), names.end(), name) || (base && base->met(name));
}

std::vector<std::string> PreludeLayer::settled() const {
  std::vector<std::string> all = base ? base->settled() : std::vector<std::string>();
  all.insert(all.end(), used.begin(), used.end());
  return all;
}

bool PreludeLayer::fits(const Defines& defines) const {
  return std::ranges::none_of(defines, [&](const auto& define) {
    const std::string name = define.first.substr(0, define.first.find('('));
    return !std::ranges::binary_search(used, name) && mentions(words, name);
  });
}

void PreludeLayer::set(DefineUse use) {
  used = std::move(use.used);
  auto owner = std::make_shared<const std::string>(std::move(use.words));
  words = *owner;
  words_owner = std::move(owner);
}

bool PreludeLayer::is_hidden_by(const std::vector<SourceFile>& own) const {
  return std::any_of(own.begin(), own.end(), [&](const SourceFile& file) { return met(file.name); });
}

bool PreludeLayer::is_hidden_by(const std::vector<std::string>& include_dirs,
                                std::vector<Dependency>& absent) const {
  for (const std::string& dir : include_dirs) {
    for (const std::string& name : names) {
      std::string path = dir + "/" + name;
      struct stat st{};
      if (::stat(path.c_str(), &st) == 0) return true;
      absent.push_back({.path = std::move(path), .absent = true});
    }
  }
  return base && base->is_hidden_by(include_dirs, absent);
}

KeptLayer::KeptLayer(PreludeLayer layer, std::string pch) : m_layer(std::move(layer)) {
  auto owner = std::make_shared<const std::string>(std::move(pch));
  m_layer.pch = *owner;
  m_layer.checksum = llvm::xxh3_64bits(llvm::StringRef(*owner));
  m_layer.owner = owner;
}

namespace {
std::shared_ptr<const PreludeLayer> without_dependencies(PreludeLayer layer) {
  layer.dependencies.clear();
  if (layer.base) layer.base = without_dependencies(*layer.base);
  return std::make_shared<const PreludeLayer>(std::move(layer));
}
}  // namespace

std::shared_ptr<KeptLayer> KeptLayer::adopt(const PreludeLayer& layer,
                                            const std::vector<std::string>& cuda_dirs) {
  std::shared_ptr<KeptLayer> kept(new KeptLayer);
  kept->m_layer = layer;
  kept->m_layer.dependencies.clear();
  if (layer.base) kept->m_layer.base = without_dependencies(*layer.base);  // they are among the layer's own
  std::vector<Dependency>& own = kept->m_layer.dependencies;
  for (const Dependency& dependency : layer.dependencies) {
    bool found = false;
    for (const std::string& dir : cuda_dirs) {
      const std::string path = dir + dependency.path.substr(sizeof k_cuda_dir - 1);
      struct stat st{};
      if (::stat(path.c_str(), &st) != 0) {
        own.push_back({.path = path, .absent = true});
        continue;
      }
      std::string bytes;
      FileStamp stamp;
      if (dependency.absent || read_stamped(path, k_largest_header, bytes, stamp) != 0 ||
          hash_bytes(bytes) != dependency.content)
        return nullptr;
      own.push_back({path, dependency.content, false, stamp});
      found = true;
      break;
    }
    if (!found && !dependency.absent) return nullptr;
  }
  return kept;
}

bool KeptLayer::still_holds() {
  return !renew_stamps(m_layer.dependencies);
}

// The size of a msgpack, the msgpack [names, [[path, content, absent, [device, inode, size, mtime,
// ctime]]…], [[file, line, column, severity, message]…], macros, used, checksum, checksum of the base], the
// size of the headers' items, these, the size of the words, these, the precompiled header, and a NUL.
std::string KeptLayer::serialize(std::string_view headers) const {
  nlohmann::json files = nlohmann::json::array();
  for (const Dependency& d : m_layer.dependencies) {
    const FileStamp& s = d.stamp;
    files.push_back({d.path, d.content, d.absent, {s.device, s.inode, s.size, s.mtime_ns, s.ctime_ns}});
  }
  nlohmann::json warnings = nlohmann::json::array();
  for (const Diagnostic& one : m_layer.warnings)
    warnings.push_back({one.file, one.line, one.column, int(one.severity), one.message});
  const std::vector<uint8_t> head = nlohmann::json::to_msgpack(
      nlohmann::json::array({m_layer.names, files, warnings, m_layer.macros, m_layer.used, m_layer.checksum,
                             m_layer.base ? m_layer.base->checksum : 0}));
  std::string bytes;
  bytes.reserve(3 * sizeof(std::uint64_t) + head.size() + headers.size() + m_layer.words.size() +
                m_layer.pch.size() + 1);
  LittleWriter(bytes).number(std::uint64_t{head.size()});
  bytes.append(head.begin(), head.end());
  LittleWriter(bytes).number(std::uint64_t{headers.size()});
  bytes.append(headers);
  LittleWriter(bytes).number(std::uint64_t{m_layer.words.size()});
  bytes.append(m_layer.words);
  bytes.append(m_layer.pch);
  return bytes.append(1, '\0');
}

std::vector<std::string> KeptLayer::used_of(std::string_view bytes) {
  const auto size = LittleReader(bytes).number<std::uint64_t>();
  if (bytes.size() < sizeof size || size > bytes.size() - sizeof size) return {};
  const std::string_view head = bytes.substr(sizeof size, size);
  try {
    return nlohmann::json::from_msgpack(head.begin(), head.end()).at(4).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

std::shared_ptr<KeptLayer> KeptLayer::parse(std::string bytes, PreludeLayer like) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return parse(PartBytes{*owner, owner}, std::move(like));
}

std::shared_ptr<KeptLayer> KeptLayer::parse(PartBytes part, PreludeLayer like) {
  std::string_view bytes = part.bytes;
  if (bytes.empty() || bytes.back() != '\0') return nullptr;
  bytes.remove_suffix(1);
  bool whole = true;
  const auto take = [&]() -> std::string_view {
    const auto size = LittleReader(bytes).number<std::uint64_t>();
    whole &= bytes.size() >= sizeof size && size <= bytes.size() - sizeof size;
    if (!whole) return {};
    const std::string_view taken = bytes.substr(sizeof size, size);
    bytes.remove_prefix(sizeof size + size);
    return taken;
  };
  const std::string_view head_bytes = take(), headers = take(), words = take();
  if (!whole) return nullptr;
  std::shared_ptr<KeptLayer> kept(new KeptLayer);
  kept->m_layer = std::move(like);
  try {
    const nlohmann::json head = nlohmann::json::from_msgpack(head_bytes.begin(), head_bytes.end());
    kept->m_layer.names = head.at(0).get<std::vector<std::string>>();
    for (const nlohmann::json& entry : head.at(1)) {
      const nlohmann::json& s = entry.at(3);
      kept->m_layer.dependencies.push_back({.path = entry.at(0),
                                            .content = entry.at(1).get<Digest>(),
                                            .absent = entry.at(2),
                                            .stamp = {.device = s.at(0),
                                                      .inode = s.at(1),
                                                      .size = s.at(2),
                                                      .mtime_ns = s.at(3),
                                                      .ctime_ns = s.at(4)}});
    }
    for (const nlohmann::json& one : head.at(2))
      kept->m_layer.warnings.push_back(
          {one.at(0), one.at(1), one.at(2), Severity(one.at(3).get<int>()), one.at(4)});
    kept->m_layer.macros = head.at(3).get<std::vector<std::string>>();
    kept->m_layer.used = head.at(4).get<std::vector<std::string>>();
    kept->m_layer.checksum = head.at(5).get<std::uint64_t>();
    // Processes that make the layers at the same time make different bytes, and each keeps its own. A layer
    // has numbers of the one below, so that must be the very one that it was made on.
    if (head.at(6).get<std::uint64_t>() != (kept->m_layer.base ? kept->m_layer.base->checksum : 0))
      return nullptr;
  } catch (const nlohmann::json::exception&) {
    return nullptr;
  }
  if (!headers.empty()) {
    auto parsed = HeaderItems::parse(headers, part.owner);
    if (!parsed) return nullptr;
    kept->m_layer.headers = std::make_shared<const HeaderItems>(std::move(*parsed));
  }
  kept->m_layer.words = words;
  kept->m_layer.words_owner = part.owner;
  kept->m_layer.pch = bytes;
  kept->m_layer.owner = std::move(part.owner);
  return kept;
}

}  // namespace tarsia::jit
