// The part store of a pipeline: in the disk store, or in memory files.
#include "pipeline/part_store.h"

#include <fcntl.h>

namespace tarsia::pipeline {
namespace {

constexpr std::uint64_t k_max_memory = std::uint64_t{128} << 20;

cache::Kind kind_of(jit::PartKind kind) {
  switch (kind) {
    case jit::PartKind::prelude:
      return cache::Kind::prelude;
    case jit::PartKind::device:
      return cache::Kind::device;
    case jit::PartKind::host:
      return cache::Kind::host;
  }
  return cache::Kind::host;
}

}  // namespace

std::optional<jit::PartFile> DiskPartStore::find(jit::PartKind kind, const Digest& key) {
  cache::Hit hit;
  if (m_store.find(kind_of(kind), key, false, hit) == cache::Lookup::hit) {
    return jit::PartFile{std::move(hit.fd), 0, hit.entry.payload_size};
  }
  const std::lock_guard lock(m_mutex);
  for (const InMemory& part : m_memory) {
    if (part.kind != kind || part.key != key) continue;
    return jit::PartFile{UniqueFd(::fcntl(part.fd.get(), F_DUPFD_CLOEXEC, 3)), 0, part.size};
  }
  return std::nullopt;
}

void DiskPartStore::keep(jit::PartKind kind, const Digest& key, std::string_view bytes) {
  if (m_store.keep(kind_of(kind), key, bytes, {}) || bytes.size() > k_max_memory) return;
  InMemory part{kind, key, make_memfd("tarsia-part", bytes), bytes.size()};
  const std::lock_guard lock(m_mutex);
  m_memory_bytes += part.size;
  m_memory.push_front(std::move(part));
  while (m_memory_bytes > k_max_memory) {
    m_memory_bytes -= m_memory.back().size;
    m_memory.pop_back();
  }
}

}  // namespace tarsia::pipeline
