// Precompiled preludes.
//
// A prelude is equivalent to the text it replaces because it is that text: the source's own leading includes,
// in their order, under the same options. Nothing else is ever forced into a source, save the headers that
// nvcc itself puts before CUDA. The key names what was asked for; whether the headers are still those that
// were read is checked file by file, by inode and times, and by content where these differ.
#include "jit/worker/prelude.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "clang/Basic/Version.h"
#include "jit/build_id.h"
#include "jit/worker/host_compiler.h"

namespace tarsia::jit {
namespace {

// Headers that take Clang less time to read than a prelude takes to load.
bool is_cheap(const std::string& header) {
  static const std::set<std::string> cheap = {
      "assert.h", "ctype.h",  "errno.h", "float.h",  "inttypes.h", "limits.h", "stdbool.h",
      "stddef.h", "stdint.h", "stdio.h", "string.h", "time.h",     "unistd.h", "cassert",
      "cctype",   "cerrno",   "cfloat",  "climits",  "cstdarg",    "cstddef",  "cstdint",
      "cstdio",   "cstring",  "ctime",   "stdarg.h", "sys/time.h", "signal.h", "initializer_list",
      "version",  "stdlib.h", "math.h",  "cstdlib"};
  return cheap.count(header) > 0;
}

// Quoted includes that can only mean the system's.
bool is_known_quoted(const std::string& name) {
  for (const char* prefix :
       {"cuda", "curand", "cooperative_groups", "tarsia/", "mma.h", "device_", "vector_types.h",
        "driver_types.h", "math_constants.h", "builtin_types.h", "texture_"})
    if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

using Vouch = std::array<int64_t, 5>;  // device, inode, size, modification and change time

std::optional<Vouch> vouch_for(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return Vouch{int64_t(st.st_dev), int64_t(st.st_ino), int64_t(st.st_size),
               int64_t(st.st_mtim.tv_sec) * 1000000000 + st.st_mtim.tv_nsec,
               int64_t(st.st_ctim.tv_sec) * 1000000000 + st.st_ctim.tv_nsec};
}

}  // namespace

struct Preludes::Kept {
  Prelude prelude;
  std::vector<std::optional<Vouch>> vouches;  // of prelude.dependencies

  void vouch() {
    for (const Dependency& dependency : prelude.dependencies) vouches.push_back(vouch_for(dependency.path));
  }
  bool still_holds() const {
    for (size_t i = 0; i < prelude.dependencies.size(); ++i) {
      const Dependency& dependency = prelude.dependencies[i];
      auto now = vouch_for(dependency.path);
      if (dependency.absent) {
        if (now) return false;
      } else if (!now) {
        return false;
      } else if (now != vouches[i]) {
        try {
          if (hash_bytes(read_file(dependency.path)) != dependency.content) return false;
        } catch (const std::exception&) {
          return false;
        }
      }
    }
    return true;
  }

  std::string serialize() const {
    nlohmann::json head = nlohmann::json::array();
    for (size_t i = 0; i < prelude.dependencies.size(); ++i) {
      const Dependency& d = prelude.dependencies[i];
      nlohmann::json entry = {d.path, hex(d.content), d.absent};
      entry.push_back(vouches[i] ? nlohmann::json(*vouches[i]) : nlohmann::json(nullptr));
      head.push_back(std::move(entry));
    }
    std::vector<uint8_t> packed = nlohmann::json::to_msgpack(head);
    uint64_t size = packed.size();
    std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(packed.begin(), packed.end());
    return bytes + prelude.pch;
  }
  static std::shared_ptr<Kept> parse(const std::string& bytes) {
    uint64_t size = 0;
    if (bytes.size() < sizeof size) return nullptr;
    std::memcpy(&size, bytes.data(), sizeof size);
    if (size > bytes.size() - sizeof size) return nullptr;
    auto kept = std::make_shared<Kept>();
    try {
      const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data()) + sizeof size;
      for (const nlohmann::json& entry : nlohmann::json::from_msgpack(begin, begin + size)) {
        Dependency dependency;
        dependency.path = entry.at(0);
        std::string digits = entry.at(1);
        if (digits.size() != 2 * dependency.content.size()) return nullptr;
        for (size_t i = 0; i < dependency.content.size(); ++i)
          dependency.content[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
        dependency.absent = entry.at(2);
        kept->prelude.dependencies.push_back(std::move(dependency));
        kept->vouches.push_back(entry.at(3).is_null() ? std::optional<Vouch>() : entry.at(3).get<Vouch>());
      }
    } catch (const std::exception&) {
      return nullptr;
    }
    kept->prelude.pch = bytes.substr(sizeof size + size);
    return kept;
  }
};

std::string leading_includes(const SourceFile& file, const CompileRequest& request) {
  llvm::StringRef text = file.text;
  std::string result;
  while (true) {
    text = text.ltrim(" \t\r\n\f\v");
    if (text.consume_front("//")) {
      text = text.drop_front(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (text.starts_with("/*")) {
      size_t end = text.find("*/", 2);
      if (end == llvm::StringRef::npos) return result;
      text = text.drop_front(end + 2);
      continue;
    }
    if (!text.consume_front("#")) return result;
    text = text.ltrim(" \t");
    if (!text.consume_front("include")) return result;
    text = text.ltrim(" \t");
    bool angled = text.consume_front("<");
    if (!angled && !text.consume_front("\"")) return result;
    size_t end = text.find_first_of(angled ? ">\n" : "\"\n");
    if (end == llvm::StringRef::npos || text[end] == '\n') return result;
    std::string name = text.substr(0, end).str();
    text = text.drop_front(end + 1);
    // What follows on the line must be nothing, or the start of a comment.
    llvm::StringRef rest = text.substr(0, text.find('\n')).ltrim(" \t\r");
    if (!rest.empty() && !rest.starts_with("//") && !rest.starts_with("/*")) return result;
    if (!angled && !is_known_quoted(name)) return result;
    for (const auto* group : {&request.files, &request.headers})
      for (const SourceFile& own : *group)
        if (own.name == name) return result;
    std::error_code ec;
    for (const std::string& dir : request.options.include_dirs)
      if (std::filesystem::exists(dir + "/" + name, ec)) return result;
    result += (angled ? "#include <" + name + ">\n" : "#include \"" + name + "\"\n");
  }
}

std::shared_ptr<const Prelude> Preludes::find_or_make(
    const CompileRequest& request, const SourceFile& file, Language language, PartStore& parts,
    const std::function<llvm::IntrusiveRefCntPtr<SourceFileSystem>()>& make_files) {
  if (language == Language::c) return nullptr;
  std::string text = leading_includes(file, request);
  if (language == Language::cxx) {
    bool pays = false;
    llvm::StringRef rest = text;
    while (!rest.empty()) {
      auto [line, more] = rest.split('\n');
      pays |= !is_cheap(line.drop_front(line.find_first_of("<\"") + 1).drop_back().str());
      rest = more;
    }
    if (!pays) return nullptr;
  }

  Hasher hasher("tarsia prelude");
  hasher.field(build_id()).field(m_pack->identity()).field(text);
  // The arguments hold all options and folders; the input's name is the prelude's own.
  for (const std::string& argument : clang_arguments(request, language, "", "")) hasher.field(argument);
  Digest key = hasher.finish();

  if (auto known = m_kept.find(key); known != m_kept.end()) {
    if (known->second->still_holds()) return {known->second, &known->second->prelude};
    m_kept.erase(known);
  } else if (auto bytes = parts.find(PartKind::prelude, key)) {
    auto kept = Kept::parse(*bytes);
    if (kept && kept->still_holds()) {
      m_kept[key] = kept;
      return {kept, &kept->prelude};
    }
  }

  auto files = make_files();
  auto kept = std::make_shared<Kept>();
  if (compile_prelude(request, language, files, text, kept->prelude.pch)) return nullptr;
  kept->prelude.dependencies = files->dependencies();
  kept->vouch();
  parts.keep(PartKind::prelude, key, kept->serialize());
  m_kept[key] = kept;
  return {kept, &kept->prelude};
}

}  // namespace tarsia::jit
