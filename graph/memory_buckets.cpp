// Finds a plan that fits among those that were made before. Working out places is the slow part of a plan,
// and an arena for each shape is what would fill the memory: both are shared.
#include "graph/memory_buckets.h"

#include <algorithm>
#include <mutex>

namespace tarsia::graph {

namespace {

constexpr std::size_t k_most_buckets = 64;
constexpr std::uint64_t k_most_waste = 2;   // times the bytes that are live at once
constexpr std::uint64_t k_small = 1 << 16;  // bytes that are no waste

/// Whether two buffers have the same part in their programs, whatever their sizes.
bool is_alike(const Buffer& a, const Buffer& b) {
  return a.first == b.first && a.last == b.last && a.output == b.output && is_same(a.device, b.device);
}

bool is_alike(const std::vector<Buffer>& a, const std::vector<Buffer>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](const Buffer& x, const Buffer& y) { return is_alike(x, y); });
}

/// Whether each buffer may lie where the other lies.
bool fit(const std::vector<Buffer>& wanted, const std::vector<Buffer>& places) {
  std::vector<std::uint64_t> outputs;  // bytes of each
  for (const Buffer& buffer : wanted) {
    if (buffer.output == k_none) continue;
    if (buffer.output >= outputs.size()) outputs.resize(buffer.output + 1);
    outputs[buffer.output] = buffer.bytes;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Buffer &want = wanted[i], &place = places[i];
    if (want.output != k_none) continue;
    if (want.bytes > place.bytes) return false;
    if (place.within != k_none && place.offset + want.bytes > outputs[place.within]) return false;
  }
  return true;
}

std::uint64_t outputs_of(const MemoryPlan& plan) {
  std::uint64_t sum = 0;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.output != k_none) sum += buffer.bytes;
  return sum;
}

std::uint64_t sum_of(const std::vector<ArenaSize>& arenas) {
  std::uint64_t sum = 0;
  for (const ArenaSize& size : arenas) sum += size.bytes;
  return sum;
}

}  // namespace

MemoryPlan MemoryBuckets::plan(const Program& program) {
  // 1. Share memory by the pairs of this program's implementations.
  MemoryPlan plan = share_memory(program);

  // 2. Take the places of a plan into which this one fits.
  if (take_places(plan)) return plan;

  // 3. Else work them out, with room if shapes have turned out to change.
  place_memory(plan, knows_structure(plan) ? Headroom::quarter : Headroom::none);
  Bucket bucket{plan.buffers, plan.arenas};
  for (std::size_t i = 0; i < bucket.buffers.size(); ++i)
    bucket.buffers[i].bytes = std::max(plan.buffers[i].bytes, plan.buffers[i].room);
  const std::lock_guard lock(m_mutex);
  ++m_n_planned;
  m_buckets.push_front(std::move(bucket));
  if (m_buckets.size() > k_most_buckets) m_buckets.pop_back();
  return plan;
}

std::uint64_t MemoryBuckets::n_planned() {
  const std::lock_guard lock(m_mutex);
  return m_n_planned;
}

bool MemoryBuckets::knows_structure(const MemoryPlan& plan) {
  const std::lock_guard lock(m_mutex);
  return std::ranges::any_of(m_buckets, [&](const Bucket& b) { return is_alike(b.buffers, plan.buffers); });
}

bool MemoryBuckets::take_places(MemoryPlan& plan) {
  const std::uint64_t outputs = outputs_of(plan), most = k_most_waste * plan.lower_bound + k_small;
  const std::lock_guard lock(m_mutex);
  auto best = m_buckets.end();
  for (auto it = m_buckets.begin(); it != m_buckets.end(); ++it)
    if (sum_of(it->arenas) + outputs <= most && is_alike(it->buffers, plan.buffers) &&
        fit(plan.buffers, it->buffers) &&
        (best == m_buckets.end() || sum_of(it->arenas) < sum_of(best->arenas)))
      best = it;
  if (best == m_buckets.end()) return false;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    Buffer& buffer = plan.buffers[i];
    const Buffer& place = best->buffers[i];
    buffer.within = place.within;
    buffer.arena = place.arena;
    buffer.offset = place.offset;
    buffer.room = place.bytes;
  }
  plan.arenas = best->arenas;
  plan.bytes = outputs + sum_of(best->arenas);
  m_buckets.splice(m_buckets.begin(), m_buckets, best);
  return true;
}

}  // namespace tarsia::graph
