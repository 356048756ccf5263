// Allocates arenas, and hands them on in the order of streams.
#include "graph/arena.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::graph {

using registry::is_gpu;

namespace {

std::atomic<std::uint64_t> s_last_serial{0};

/// Memory of a GPU that is there for every stream. For work that a stream captures: allocated on that stream,
/// it would be a part of the CUDA graph, and gone after its first run. For another GPU than the stream's: a
/// pool allocates on its GPU's streams.
void* allocate_apart(std::uint64_t bytes, int device) {
  const CudaDeviceScope scope(device);
  const CudaRelaxedCapture relaxed;
  const CudaDriver& driver = cuda_driver();
  CuStream stream = nullptr;
  check_cuda(driver.cuStreamCreate(&stream, k_stream_non_blocking), "cuStreamCreate");
  void* data = nullptr;
  const std::int32_t code = registry::guarded([&] {
    data = registry::allocate_device(bytes, device, stream);
    check_cuda(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  });
  driver.cuStreamDestroy(stream);
  if (code) registry::throw_last_error();
  return data;
}

}  // namespace

Block::Block(ArenaSize size, void* stream, bool is_apart) : m_size(size) {
  if (!size.bytes) return;
  if (is_gpu(size.device)) {
    m_data = is_apart ? allocate_apart(size.bytes, size.device.id)
                      : registry::allocate_device(size.bytes, size.device.id, stream);
  } else if (!(m_data = std::aligned_alloc(k_cpu_alignment, (size.bytes + k_cpu_alignment - 1) /
                                                                k_cpu_alignment * k_cpu_alignment))) {
    throw OutOfMemory("the CPU has no room for the " + std::to_string(size.bytes) + " bytes of a graph");
  }
}

Block::~Block() {
  if (!m_data) return;
  if (is_gpu(m_size.device))
    registry::free_device_anywhere(m_data, m_size.device.id);
  else
    std::free(m_data);
}

ArenaMemory::ArenaMemory(std::span<const ArenaSize> sizes, tarsia_device device, void* stream,
                         bool is_captured)
    : m_serial(++s_last_serial), m_device(device), m_stream(stream) {
  const auto is_other = [&](const ArenaSize& size) {
    return is_gpu(size.device) && (!is_gpu(device) || size.device.id != device.id);
  };
  for (const ArenaSize& size : sizes) m_blocks.emplace_back(size, stream, is_captured || is_other(size));
}

ArenaMemory::~ArenaMemory() {
  if (m_event) cuda_driver().cuEventDestroy(m_event);
}

char* ArenaMemory::on(tarsia_device device) const {
  for (const Block& block : m_blocks)
    if (is_same(block.size().device, device)) return block.data();
  return nullptr;
}

bool ArenaMemory::holds(std::span<const ArenaSize> sizes) const {
  return std::ranges::all_of(sizes, [&](const ArenaSize& wanted) {
    return !wanted.bytes || std::ranges::any_of(m_blocks, [&](const Block& block) {
      return is_same(block.size().device, wanted.device) && block.size().bytes >= wanted.bytes;
    });
  });
}

std::uint64_t ArenaMemory::bytes() const {
  std::uint64_t sum = 0;
  for (const Block& block : m_blocks) sum += block.size().bytes;
  return sum;
}

std::vector<ArenaSize> ArenaMemory::largest(std::span<const ArenaSize> sizes) const {
  std::vector<ArenaSize> all(sizes.begin(), sizes.end());
  for (const Block& block : m_blocks) {
    const auto same = std::ranges::find_if(
        all, [&](const ArenaSize& one) { return is_same(one.device, block.size().device); });
    if (same == all.end())
      all.push_back(block.size());
    else
      same->bytes = std::max(same->bytes, block.size().bytes);
  }
  return all;
}

void ArenaMemory::enter(void* stream) {
  if (stream != m_stream && m_event) wait_for(stream, m_event);
}

void ArenaMemory::leave(void* stream) {
  m_stream = stream;
  record(m_event, stream);
}

std::unique_ptr<ArenaMemory> ArenaPool::take(std::span<const ArenaSize> sizes, tarsia_device device,
                                             void* stream) {
  std::vector<ArenaSize> needed(sizes.begin(), sizes.end());
  {
    std::unique_ptr<ArenaMemory> outgrown;  // ends behind the lock
    const std::lock_guard lock(m_mutex);
    // The one that this stream used last, else the smallest. If none is large enough, a larger one takes the
    // place of the largest.
    auto best = m_free.end(), largest = m_free.end();
    for (auto it = m_free.begin(); it != m_free.end(); ++it) {
      if (!is_same((*it)->device(), device)) continue;
      if (largest == m_free.end() || (*it)->bytes() > (*largest)->bytes()) largest = it;
      if (!(*it)->holds(sizes)) continue;
      const bool is_own = (*it)->stream() == stream;
      if (best == m_free.end() || is_own > ((*best)->stream() == stream) ||
          (is_own == ((*best)->stream() == stream) && (*it)->bytes() < (*best)->bytes()))
        best = it;
    }
    if (best != m_free.end()) {
      std::unique_ptr<ArenaMemory> memory = std::move(*best);
      m_free.erase(best);
      return memory;
    }
    if (largest != m_free.end()) {
      outgrown = std::move(*largest);
      m_free.erase(largest);
      needed = outgrown->largest(sizes);
    }
  }
  return std::make_unique<ArenaMemory>(needed, device, stream, false);
}

void ArenaPool::give(std::unique_ptr<ArenaMemory> memory) {
  const std::lock_guard lock(m_mutex);
  m_free.push_back(std::move(memory));
}

std::uint64_t ArenaPool::bytes() {
  const std::lock_guard lock(m_mutex);
  std::uint64_t sum = 0;
  for (const auto& one : m_free) sum += one->bytes();
  return sum;
}

void wait_for(void* stream, CuEvent event) {
  check_cuda(cuda_driver().cuStreamWaitEvent(static_cast<CuStream>(stream), event, 0), "cuStreamWaitEvent");
}

void record(CuEvent& event, void* stream) {
  if (!event) check_cuda(cuda_driver().cuEventCreate(&event, k_event_disable_timing), "cuEventCreate");
  check_cuda(cuda_driver().cuEventRecord(event, static_cast<CuStream>(stream)), "cuEventRecord");
}

}  // namespace tarsia::graph
