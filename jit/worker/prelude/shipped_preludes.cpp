// The preludes that lie beside the worker.
//
// A prelude must hold nothing that the source did not include, and sources include any of a hundred
// headers. So the pack holds a forest of layers. Each is precompiled on top of the one below and adds only
// its difference, which costs a third to a half of separate preludes. A source gets the largest path from a
// root whose headers it all includes. The rest of its includes is made on top of that, by the same
// mechanism, and kept in the cache.
//
// Layers are used as they lie in the file. zstd shrinks them to 43 %, but each worker would have to unpack
// them in 5 to 10 ms. Wheels and bundles compress them on their way.
#include "jit/worker/prelude/shipped_preludes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

namespace tarsia::jit {
namespace {

constexpr char k_magic[8] = {'T', 'A', 'R', 'S', 'I', 'A', 'P', 'L'};
constexpr uint32_t k_version = 2;
constexpr size_t k_alignment = 16;

struct PreludesHeader {
  char magic[8];
  uint32_t version;
  uint32_t index_size;
  uint64_t index_checksum;
};
static_assert(sizeof(PreludesHeader) == 24);

uint64_t checksum(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::StringRef(bytes.data(), bytes.size()));
}

size_t aligned(size_t size) {
  return (size + k_alignment - 1) / k_alignment * k_alignment;
}

// Offsets of layers count from here.
size_t blobs_at(const PreludesHeader& header) {
  return aligned(sizeof header + header.index_size);
}

}  // namespace

struct ShippedPreludes::Entry {
  int base = -1;
  Digest settings{};
  std::vector<std::string> needed;  // includes that bring in all of this layer and of those below
  std::string text;
  std::vector<std::string> names;
  std::vector<Dependency> dependencies;
  uint64_t offset = 0, size = 0, words_size = 0, sum = 0;  // the words lie behind the layer and its NUL
  enum { unknown, whole, damaged } state = unknown;
  ShippedLayer shipped;
};

// CUDA's layers come last.
const std::vector<ShippedPreludes::Plan>& ShippedPreludes::plans() {
  constexpr Language cxx = Language::cxx, cuda = Language::cuda;
  static const std::vector<Plan> all = {
      {cxx, "c++20", -1, {"<tarsia/op.h>"}},                                 // 0
      {cxx, "c++20", 0, {"<cmath>"}},                                        // 1
      {cxx, "c++20", 0, {"<vector>"}},                                       // 2
      {cxx, "c++20", -1, {"<cmath>"}},                                       // 3
      {cxx, "c++20", 3, {"<algorithm>"}},                                    // 4
      {cxx, "c++20", -1, {"<vector>"}},                                      // 5
      {cxx, "c++20", 5, {"<cmath>"}},                                        // 6
      {cxx, "c++20", 5, {"<string>"}},                                       // 7
      {cxx, "c++20", 7, {"<stdexcept>"}},                                    // 8
      {cxx, "c++20", 8, {"<iostream>"}},                                     // 9
      {cxx, "c++20", 9, {"<algorithm>", "<cmath>"}},                         // 10
      {cxx, "c++20", 9, {"<map>"}},                                          // 11
      {cxx, "c++20", -1, {"<string>"}},                                      // 12
      {cxx, "c++20", 12, {"<stdexcept>"}},                                   // 13
      {cxx, "c++20", 13, {"<iostream>"}},                                    // 14
      {cxx, "c++17", -1, {"<tarsia/op.h>"}},                                 // 15
      {cxx, "c++20", -1, {"<tarsia/mxnet/json.h>", "<tarsia/mxnet/op.h>"}},  // 16, of the next two
      {cxx, "c++20", 16, {"<lib_api.h>"}},                                   // 17
      {cxx, "c++20", 16, {"<mxnet/lib_api.h>"}},                             // 18
      {cxx, "c++20", 0, {"<tarsia/repl.h>"}},                                // 19, of cells
      {cxx, "c++20", 19, {"<vector>"}},                                      // 20
      {cxx, "c++20", 20, {"<string>"}},                                      // 21
      {cxx, "c++20", 21, {"<iostream>"}},                                    // 22
      {cxx, "c++20", 22, {"<algorithm>", "<cmath>"}},                        // 23
      {cuda, "c++20", -1, {}},                                               // 24
      {cuda, "c++20", 24, {"<tarsia/op.h>"}},                                // 25
      {cuda, "c++20", 24, {"<vector>"}},                                     // 26
      {cuda, "c++20", 24, {"<iostream>"}},                                   // 27
      {cuda, "c++20", 27, {"<vector>"}},                                     // 28
      {cuda, "c++20", 28, {"<chrono>"}},                                     // 29
      {cuda, "c++20", 29, {"<algorithm>"}},                                  // 30
      {cuda, "c++20", 28, {"<algorithm>"}},                                  // 31
      {cuda, "c++20", 27, {"<chrono>"}},                                     // 32
      {cuda, "c++20", 24, {"<chrono>"}},                                     // 33
      {cuda, "c++20", 24, {"<cooperative_groups.h>"}},                       // 34
      {cuda, "c++20", 24, {"<cuda_fp16.h>"}},                                // 35
      {cuda, "c++20", 30, {"<random>"}},                                     // 36
      {cuda, "c++20", 25, {"<tarsia/repl.h>"}},                              // 37, of cells
      {cuda, "c++20", 37, {"<vector>"}},                                     // 38
      {cuda, "c++20", 38, {"<iostream>"}},                                   // 39
      {cuda, "c++20", 37, {"<iostream>"}},                                   // 40
  };
  return all;
}

ShippedPreludes::ShippedPreludes(std::string path) : m_path(std::move(path)) {}

ShippedPreludes::~ShippedPreludes() = default;

void ShippedPreludes::open() {
  if (m_path.empty()) return;
  const std::string path = std::move(m_path);
  m_path.clear();
  try {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    m_pack = Mapping(file.get());
    read_index();
  } catch (const std::exception&) {
    m_entries.clear();  // preludes are made here, as if none had been shipped
  }
}

void ShippedPreludes::read_index() {
  const std::string_view bytes = m_pack.bytes();
  PreludesHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, k_magic, sizeof k_magic) != 0 || header.version != k_version) return;
  const std::string_view index = bytes.substr(sizeof header, header.index_size);
  if (checksum(index) != header.index_checksum) return;
  for (const nlohmann::json& entry : nlohmann::json::from_msgpack(index)) {
    Entry e;
    e.base = entry.at("base");
    e.settings = entry.at("settings").get<Digest>();
    e.needed = entry.at("needed").get<std::vector<std::string>>();
    e.text = entry.at("text");
    e.names = entry.at("names").get<std::vector<std::string>>();
    for (const nlohmann::json& file : entry.at("files"))
      e.dependencies.push_back({file.at(0), file.at(1).get<Digest>(), file.at(2)});
    e.offset = entry.at("offset");
    e.size = entry.at("size");
    e.words_size = entry.at("words");
    e.sum = entry.at("checksum");
    e.offset += blobs_at(header);
    if (e.base >= int(m_entries.size())) throw LoadError("a prelude stands before the one it builds on");
    m_entries.push_back(std::move(e));
  }
}

// A layer's bytes are checked when they are first asked for, not when a worker starts.
bool ShippedPreludes::check(Entry& entry) {
  if (entry.state != Entry::unknown) return entry.state == Entry::whole;
  entry.state = Entry::damaged;
  Entry* base = entry.base < 0 ? nullptr : &m_entries[entry.base];
  if (base && !check(*base)) return false;
  const std::string_view bytes = m_pack.bytes();
  if (entry.offset >= bytes.size() || entry.size >= bytes.size() - entry.offset ||
      entry.words_size >= bytes.size() - entry.offset - entry.size)
    return false;
  auto layer = std::make_shared<PreludeLayer>();
  layer->pch = bytes.substr(entry.offset, entry.size);
  layer->words = bytes.substr(entry.offset + entry.size + 1, entry.words_size);
  if (checksum(bytes.substr(entry.offset, entry.size + 1 + entry.words_size)) != entry.sum ||
      bytes[entry.offset + entry.size] != '\0')
    return false;
  layer->checksum = entry.sum;
  if (base) layer->base = base->shipped.layer;
  layer->depth = base ? base->shipped.layer->depth + 1 : 0;
  layer->text = entry.text;
  layer->names = entry.names;
  layer->dependencies = entry.dependencies;
  entry.shipped.identity = Hasher("tarsia shipped prelude")
                               .field(base ? base->shipped.identity : Digest{})
                               .field(entry.settings)
                               .field(entry.text)
                               .field(entry.sum)
                               .field(entry.size)
                               .finish();
  entry.shipped.layer = std::move(layer);
  entry.state = Entry::whole;
  return true;
}

const ShippedLayer* ShippedPreludes::find(const Digest& settings, const std::vector<std::string>& includes,
                                          const Defines& defines) {
  open();
  const ShippedLayer* best = nullptr;
  for (Entry& entry : m_entries) {
    if (entry.settings != settings) continue;
    // Both lists are sorted.
    if (!std::includes(includes.begin(), includes.end(), entry.needed.begin(), entry.needed.end())) continue;
    if (!check(entry)) continue;
    if (best && entry.shipped.layer->size() <= best->layer->size()) continue;
    const PreludeLayer* layer = entry.shipped.layer.get();
    while (layer && layer->fits(defines)) layer = layer->base.get();
    if (!layer) best = &entry.shipped;
  }
  return best;
}

void ShippedPreludes::write(const std::string& path, bool with_cuda, const Make& make) {
  std::vector<std::shared_ptr<const PreludeLayer>> layers;
  std::vector<std::vector<std::string>> needed;
  nlohmann::json index = nlohmann::json::array();
  std::string blobs;
  for (const Plan& plan : plans()) {
    if (plan.language == Language::cuda && !with_cuda) break;
    Digest settings{};
    auto base = plan.base < 0 ? nullptr : layers[plan.base];
    auto layer = std::make_shared<const PreludeLayer>(make(plan, base, settings));
    nlohmann::json files = nlohmann::json::array();
    for (const Dependency& file : layer->dependencies)
      files.push_back(nlohmann::json::array({file.path, file.content, file.absent}));
    // The source need not ask for the headers of the layers below if this layer's headers include them
    // anyway.
    std::vector<std::string> needs = plan.includes;
    if (base) {
      for (const std::string& below : needed[plan.base]) {
        const std::string name = below.substr(1, below.size() - 2);
        if (!std::binary_search(layer->names.begin(), layer->names.end(), name)) needs.push_back(below);
      }
    }
    std::sort(needs.begin(), needs.end());
    index.push_back({{"base", plan.base},
                     {"settings", settings},
                     {"needed", needs},
                     {"text", layer->text},
                     {"names", layer->names},
                     {"files", files},
                     {"offset", blobs.size()},
                     {"size", layer->pch.size()},
                     {"words", layer->words.size()}});
    const std::size_t begin = blobs.size();
    blobs.append(layer->pch).append(1, '\0').append(layer->words);
    index.back()["checksum"] = checksum(std::string_view(blobs).substr(begin));
    blobs.resize(aligned(blobs.size() + 1));
    layers.push_back(layer);
    needed.push_back(std::move(needs));
  }

  const std::vector<uint8_t> packed = nlohmann::json::to_msgpack(index);
  const std::string_view packed_view(reinterpret_cast<const char*>(packed.data()), packed.size());
  PreludesHeader header{};
  std::memcpy(header.magic, k_magic, sizeof k_magic);
  header.version = k_version;
  header.index_size = uint32_t(packed.size());
  header.index_checksum = checksum(packed_view);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += packed_view;
  file.resize(blobs_at(header));
  write_file(path, file + blobs);
}

}  // namespace tarsia::jit
