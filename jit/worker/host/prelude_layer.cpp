// A precompiled header in memory, on top of another or of nothing.
#include "jit/worker/host/prelude_layer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace tarsia::jit {

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

KeptLayer::Vouch KeptLayer::vouch_for(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return {{int64_t(st.st_dev), int64_t(st.st_ino), int64_t(st.st_size),
           int64_t(st.st_mtim.tv_sec) * 1000000000 + st.st_mtim.tv_nsec,
           int64_t(st.st_ctim.tv_sec) * 1000000000 + st.st_ctim.tv_nsec}};
}

KeptLayer::KeptLayer(PreludeLayer layer, std::string pch) : m_layer(std::move(layer)) {
  auto owner = std::make_shared<const std::string>(std::move(pch));
  m_layer.pch = *owner;
  m_layer.owner = owner;
  for (const Dependency& dependency : m_layer.dependencies) m_vouches.push_back(vouch_for(dependency.path));
}

namespace {
std::shared_ptr<const PreludeLayer> without_dependencies(PreludeLayer layer) {
  layer.dependencies.clear();
  if (layer.base) layer.base = without_dependencies(*layer.base);
  return std::make_shared<const PreludeLayer>(std::move(layer));
}
}  // namespace

std::shared_ptr<const KeptLayer> KeptLayer::adopt(const PreludeLayer& layer,
                                                  const std::vector<std::string>& cuda_dirs) {
  std::shared_ptr<KeptLayer> kept(new KeptLayer);
  kept->m_layer = layer;
  kept->m_layer.dependencies.clear();
  if (layer.base) kept->m_layer.base = without_dependencies(*layer.base);  // they are among the layer's own
  auto add = [&](Dependency dependency, const Vouch& vouch) {
    kept->m_layer.dependencies.push_back(std::move(dependency));
    kept->m_vouches.push_back(vouch);
  };
  for (const Dependency& dependency : layer.dependencies) {
    bool found = false;
    for (const std::string& dir : cuda_dirs) {
      const std::string path = dir + dependency.path.substr(sizeof k_cuda_dir - 1);
      const Vouch vouch = vouch_for(path);
      if (!vouch) {
        add({.path = path, .absent = true}, vouch);
        continue;
      }
      try {
        if (dependency.absent || hash_bytes(read_file(path)) != dependency.content) return nullptr;
      } catch (const std::exception&) {
        return nullptr;
      }
      add({path, dependency.content, false}, vouch);
      found = true;
      break;
    }
    if (!found && !dependency.absent) return nullptr;
  }
  return kept;
}

bool KeptLayer::still_holds() const {
  for (size_t i = 0; i < m_vouches.size(); ++i) {
    const Dependency& dependency = m_layer.dependencies[i];
    Vouch now = vouch_for(dependency.path);
    if (dependency.absent) {
      if (now) return false;
    } else if (!now) {
      return false;
    } else if (now != m_vouches[i]) {
      try {
        if (hash_bytes(read_file(dependency.path)) != dependency.content) return false;
      } catch (const std::exception&) {
        return false;
      }
    }
  }
  return true;
}

// The size of a msgpack [names, [[path, content, absent, stamp or null]…]], that, and the precompiled header.
std::string KeptLayer::serialize() const {
  nlohmann::json files = nlohmann::json::array();
  for (size_t i = 0; i < m_vouches.size(); ++i) {
    const Dependency& d = m_layer.dependencies[i];
    nlohmann::json entry = {d.path, d.content, d.absent};
    entry.push_back(m_vouches[i] ? nlohmann::json(*m_vouches[i]) : nlohmann::json(nullptr));
    files.push_back(std::move(entry));
  }
  const std::vector<uint8_t> head = nlohmann::json::to_msgpack(nlohmann::json::array({m_layer.names, files}));
  const uint64_t size = head.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes.append(head.begin(), head.end());
  return bytes.append(m_layer.pch);
}

std::shared_ptr<const KeptLayer> KeptLayer::parse(std::string bytes, PreludeLayer like) {
  uint64_t size = 0;
  if (bytes.size() < sizeof size) return nullptr;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size > bytes.size() - sizeof size) return nullptr;
  std::shared_ptr<KeptLayer> kept(new KeptLayer);
  kept->m_layer = std::move(like);
  try {
    const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data()) + sizeof size;
    const nlohmann::json head = nlohmann::json::from_msgpack(begin, begin + size);
    kept->m_layer.names = head.at(0).get<std::vector<std::string>>();
    for (const nlohmann::json& entry : head.at(1)) {
      kept->m_layer.dependencies.push_back(
          {.path = entry.at(0), .content = entry.at(1).get<Digest>(), .absent = entry.at(2)});
      kept->m_vouches.emplace_back();
      if (!entry.at(3).is_null()) kept->m_vouches.back() = entry.at(3).get<std::array<int64_t, 5>>();
    }
  } catch (const nlohmann::json::exception&) {
    return nullptr;
  }
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  kept->m_layer.pch = std::string_view(*owner).substr(sizeof size + size);
  kept->m_layer.owner = owner;
  return kept;
}

}  // namespace tarsia::jit
