// Plans memory in two passes. The first makes buffers: a slot takes over the memory of an input where the
// chosen implementation has declared the pair, and nobody needs the input any more. The second gives each
// buffer a place.
//
// Placing buffers with lifetimes in as little memory as possible is NP-hard (dynamic storage allocation).
// Heuristics are tried, and the smallest result is taken. `place_in_time` walks through the steps with a list
// of free blocks and takes the best fit: n log n, and perfect where lifetimes nest, as in a forward and a
// backward pass. `place_by_weight` places one buffer after the other, the heaviest first, into the smallest
// gap that is free while it lives (by size: Pisarchyk and Lee, Efficient Memory Management for Deep Neural
// Net Inference, 2020): closer to the bound for branches of unequal sizes, but quadratic, so only graphs of
// some hundred buffers get it.
#include "graph/memory_plan.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "base/figures/elapsed.h"
#include "graph/graph_op.h"
#include "registry/resources/call_context.h"

namespace tarsia::graph {

namespace {

constexpr std::uint64_t k_most_overlaps = 2'000'000;  // of place_by_weight: some milliseconds

std::uint64_t aligned(std::uint64_t bytes, tarsia_device device) {
  const std::uint64_t to = registry::is_gpu(device) ? k_gpu_alignment : k_cpu_alignment;
  return (bytes + to - 1) / to * to;
}

/// The bytes that the graph of a step keeps, if its op is one.
std::uint64_t kept_within(const Step& step) {
  const Executable* const inner = step.bound ? executable_of(*step.bound) : nullptr;
  if (!inner) return 0;
  std::uint64_t bytes = inner->plan().inner;
  for (const ArenaSize& arena : inner->plan().arenas) bytes += arena.bytes;
  return bytes;
}

/// The same of all steps. Those of one op, which share their memory, take turns.
std::uint64_t kept_within(const Program& program) {
  std::map<const MemoryBuckets*, std::uint64_t> shared;
  std::uint64_t alone = 0;
  for (const Step& step : program.steps) {
    const std::uint64_t bytes = kept_within(step);
    if (!bytes) continue;
    if (const MemoryBuckets* const buckets = executable_of(*step.bound)->buckets())
      shared[buckets] = std::max(shared[buckets], bytes);
    else
      alone += bytes;
  }
  for (const auto& [buckets, bytes] : shared) alone += bytes;
  return alone;
}

std::int64_t elements_of(const tarsia_meta& meta) {
  std::int64_t n = 1;
  for (int i = 0; i < meta.ndim; ++i) n *= meta.shape[i];
  return n;
}

/// The first pass.
class Sharing {
 public:
  Sharing(const Program& program, MemoryPlan& plan)
      : m_program(program),
        m_plan(plan),
        m_last(program.slots.size(), 0),
        m_taken(program.slots.size(), false) {
    m_plan.buffer_of.assign(program.slots.size(), k_none);
    const auto end = static_cast<std::uint32_t>(program.steps.size());
    for (std::uint32_t step = 0; step < program.steps.size(); ++step) {
      for (SlotId slot : program.steps[step].inputs)
        if (slot != k_none) m_last[slot] = step;
      for (SlotId slot : program.steps[step].add_to)
        if (slot != k_none) m_last[slot] = step;
      for (SlotId slot : program.steps[step].outputs)
        if (slot != k_none) m_last[slot] = step;
    }
    for (SlotId slot : program.outputs) m_last[slot] = end;
  }

  void run() {
    for (std::uint32_t s = 0; s < m_program.steps.size(); ++s) {
      const Step& step = m_program.steps[s];
      std::vector<std::uint8_t>& requests = m_plan.requests.emplace_back();
      for (std::uint32_t o = 0; o < step.outputs.size(); ++o) {
        const SlotId slot = step.outputs[o];
        requests.push_back(slot == k_none ? TARSIA_REQUEST_NULL : TARSIA_REQUEST_WRITE);
        if (slot == k_none || m_program.slots[slot].source != Source::planned) continue;
        if (step.add_to[o] != k_none) {
          requests.back() = TARSIA_REQUEST_ADD;
          continue_in(m_plan.buffer_of[step.add_to[o]], slot);
          m_taken[step.add_to[o]] = true;
          continue;
        }
        if (const SlotId from = shareable(step, s, o); from != k_none) {
          requests.back() = TARSIA_REQUEST_INPLACE;
          m_plan.shared.emplace_back(from, slot);
          m_taken[from] = true;
          continue_in(m_plan.buffer_of[from], slot);
          continue;
        }
        Buffer buffer;
        buffer.bytes = m_program.slots[slot].bytes;
        buffer.device = m_program.slots[slot].device;
        buffer.first = s;
        m_plan.buffers.push_back(buffer);
        continue_in(static_cast<BufferId>(m_plan.buffers.size() - 1), slot);
      }
      m_plan.workspace_of.push_back(add_workspace(step, s));
    }
  }

 private:
  BufferId add_workspace(const Step& step, std::uint32_t s) {
    Buffer buffer;
    if (step.bound) buffer.bytes = scratch_of(step, m_plan.requests[s]);
    if (!buffer.bytes) return k_none;
    buffer.device = step.device;
    buffer.first = buffer.last = s;
    m_plan.workspace = std::max(m_plan.workspace, buffer.bytes);
    m_plan.buffers.push_back(buffer);
    return static_cast<BufferId>(m_plan.buffers.size() - 1);
  }

  /// What the implementation says, what is converted for it, and the copies that stand for requests which it
  /// does not honour.
  std::uint64_t scratch_of(const Step& step, const std::vector<std::uint8_t>& requests) const {
    std::uint64_t bytes = step.bound->workspace(step.pass());
    const auto add = [&](std::uint64_t more) {
      if (more) bytes = registry::scratch_piece(bytes) + more;
    };
    add(step.bound->converted_bytes(step.pass()));
    const bool adds = step.bound->implementation(step.pass())->requests & 1u << TARSIA_REQUEST_ADD;
    for (std::size_t o = 0; o < requests.size(); ++o)
      if (requests[o] == TARSIA_REQUEST_ADD && !adds) add(m_program.slots[step.outputs[o]].bytes);
    return bytes;
  }

  void continue_in(BufferId id, SlotId slot) {
    Buffer& buffer = m_plan.buffers[id];
    buffer.last = std::max(buffer.last, m_last[slot]);
    if (m_program.slots[slot].output != k_none) buffer.output = m_program.slots[slot].output;
    m_plan.buffer_of[slot] = id;
  }

  /// The input whose memory output o of the step may take over; k_none if there is none.
  SlotId shareable(const Step& step, std::uint32_t s, std::uint32_t o) const {
    if (!step.bound) return k_none;
    const Slot& output = m_program.slots[step.outputs[o]];
    const std::span<const tarsia_inplace> pairs = step.bound->inplace(step.pass());
    const auto is_pair = [&](std::uint32_t input) {
      return std::ranges::any_of(pairs,
                                 [&](const tarsia_inplace& p) { return p.input == input && p.output == o; });
    };
    for (const tarsia_inplace& pair : pairs) {
      if (pair.output != o || pair.input >= step.inputs.size() || step.inputs[pair.input] == k_none) continue;
      const SlotId from = step.inputs[pair.input];
      const Slot& input = m_program.slots[from];
      // It is the graph's own, and another slot of this step or of an earlier one has not taken it.
      if (input.source != Source::planned || m_taken[from] || !input.bytes) continue;
      // Nobody needs it any more, nor is it a result.
      if (m_last[from] != s || input.output != k_none) continue;
      if (input.bytes != output.bytes || !is_same(input.device, output.device)) continue;
      if (elements_of(input.meta) != elements_of(output.meta)) continue;
      if (input.layout != output.layout) continue;
      // Where the step takes it twice, both have to allow it.
      bool everywhere = true;
      for (std::uint32_t i = 0; i < step.inputs.size(); ++i)
        everywhere &= step.inputs[i] != from || is_pair(i);
      // Nor does the step add to it.
      for (SlotId to : step.add_to) everywhere &= to != from;
      if (everywhere) return from;
    }
    return k_none;
  }

  const Program& m_program;
  MemoryPlan& m_plan;
  std::vector<std::uint32_t> m_last;  ///< the last step that uses each slot
  std::vector<bool> m_taken;
};

/// The places of some buffers in one arena.
struct Placement {
  std::vector<std::uint64_t> offsets;  ///< in the order of the buffers
  std::uint64_t bytes = 0;
};

/// Walks through the steps with a list of free blocks.
Placement place_in_time(const std::vector<Buffer>& buffers, const std::vector<BufferId>& ids) {
  Placement placement;
  placement.offsets.resize(ids.size());
  std::map<std::uint64_t, std::uint64_t> free;                                 // offset → size
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size;                   // size, offset
  std::multimap<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> ends;  // last → offset, size
  const auto give = [&](std::uint64_t offset, std::uint64_t size) {
    auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + size) {
      by_size.erase({next->second, next->first});
      size += next->second;
      next = free.erase(next);
    }
    if (next != free.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        by_size.erase({before->second, before->first});
        offset = before->first;
        size += before->second;
        free.erase(before);
      }
    }
    free[offset] = size;
    by_size.insert({size, offset});
  };
  const auto take = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t of) {
    free.erase(offset);
    by_size.erase({of, offset});
    if (of > size) {
      free[offset + size] = of - size;
      by_size.insert({of - size, offset + size});
    }
  };
  std::vector<std::uint32_t> order(ids.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const Buffer &x = buffers[ids[a]], &y = buffers[ids[b]];
    return std::tuple(x.first, ~x.bytes, a) < std::tuple(y.first, ~y.bytes, b);
  });
  for (std::uint32_t i : order) {
    const Buffer& buffer = buffers[ids[i]];
    while (!ends.empty() && ends.begin()->first < buffer.first) {
      const auto [offset, size] = ends.begin()->second;
      ends.erase(ends.begin());
      give(offset, size);
    }
    const std::uint64_t size = aligned(buffer.bytes, buffer.device);
    std::uint64_t offset = placement.bytes;
    if (auto fit = by_size.lower_bound({size, 0}); fit != by_size.end()) {
      offset = fit->second;
      take(offset, size, fit->first);
    } else if (!free.empty() && free.rbegin()->first + free.rbegin()->second == placement.bytes) {
      // The last free block reaches the end: it grows.
      const auto [at, of] = *free.rbegin();
      offset = at;
      take(at, of, of);
      placement.bytes = at + size;
    } else {
      placement.bytes += size;
    }
    placement.offsets[i] = offset;
    if (size) ends.emplace(buffer.last, std::pair(offset, size));
  }
  return placement;
}

/// What goes first when buffers are placed one by one.
enum class Order { by_size, by_area, by_lifetime };
constexpr Order k_orders[] = {Order::by_size, Order::by_area, Order::by_lifetime};

double weight(const Buffer& b, Order order) {
  const double lifetime = b.last - b.first + 1.0, bytes = static_cast<double>(b.bytes);
  return order == Order::by_size ? bytes : order == Order::by_area ? bytes * lifetime : lifetime;
}

/// Buffers that have a place, by their offsets.
class Placed {
 public:
  explicit Placed(const std::vector<Buffer>& buffers) : m_buffers(&buffers) {}

  /// The smallest gap that fits, or the end, of what lives at the same time as the buffer.
  std::uint64_t find(const Buffer& buffer) const {
    const std::uint64_t size = aligned(buffer.bytes, buffer.device);
    std::uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (const auto& [start, other] : m_placed) {
      const Buffer& b = (*m_buffers)[other];
      if (b.last < buffer.first || b.first > buffer.last) continue;
      if (start > end && start - end >= size && start - end < best_gap) {
        best = end;
        best_gap = start - end;
      }
      end = std::max(end, start + aligned(b.bytes, b.device));
    }
    return best == UINT64_MAX ? end : best;
  }
  void add(std::uint64_t offset, BufferId id) {
    m_placed.insert(
        std::ranges::upper_bound(m_placed, offset, {}, &std::pair<std::uint64_t, BufferId>::first),
        {offset, id});
  }

 private:
  const std::vector<Buffer>* m_buffers;
  std::vector<std::pair<std::uint64_t, BufferId>> m_placed;
};

/// Places the heaviest first.
Placement place_by_weight(const std::vector<Buffer>& buffers, const std::vector<BufferId>& ids, Order by) {
  Placement placement;
  placement.offsets.resize(ids.size());
  std::vector<std::uint32_t> order(ids.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const Buffer &x = buffers[ids[a]], &y = buffers[ids[b]];
    return std::tuple(weight(y, by), y.bytes, x.first) < std::tuple(weight(x, by), x.bytes, y.first);
  });
  Placed placed(buffers);
  for (std::uint32_t i : order) {
    const Buffer& buffer = buffers[ids[i]];
    const std::uint64_t offset = placement.offsets[i] = placed.find(buffer);
    placement.bytes = std::max(placement.bytes, offset + aligned(buffer.bytes, buffer.device));
    placed.add(offset, ids[i]);
  }
  return placement;
}

/// The largest sum of the bytes that are live at one step.
std::uint64_t largest_sum(const std::vector<Buffer>& buffers, const std::vector<BufferId>& ids,
                          bool is_aligned) {
  std::map<std::uint32_t, std::int64_t> changes;
  for (BufferId id : ids) {
    const Buffer& b = buffers[id];
    const auto bytes = static_cast<std::int64_t>(is_aligned ? aligned(b.bytes, b.device) : b.bytes);
    changes[b.first] += bytes;
    changes[b.last + 1] -= bytes;
  }
  std::int64_t now = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

Placement place(const std::vector<Buffer>& buffers, const std::vector<BufferId>& ids) {
  Placement best = place_in_time(buffers, ids);
  const std::uint64_t bound = largest_sum(buffers, ids, true);
  for (Order order : k_orders) {
    if (best.bytes <= bound + bound / 200 ||
        ids.size() * static_cast<std::uint64_t>(ids.size()) > k_most_overlaps)
      break;
    if (Placement other = place_by_weight(buffers, ids, order); other.bytes < best.bytes)
      best = std::move(other);
  }
  return best;
}

/// Memory of an output before the output is made, where other buffers may lie. It is there from the beginning
/// of a call, since it is the caller's.
struct Room {
  BufferId output;
  Placed guests;
  std::map<std::uint32_t, std::uint32_t> busy;  ///< first → last of guests that have the room to themselves
};

/// The rooms of a plan, the smallest first.
std::vector<Room> rooms_of(const MemoryPlan& plan) {
  std::vector<Room> rooms;
  for (BufferId id = 0; id < plan.buffers.size(); ++id)
    if (plan.buffers[id].output != k_none) rooms.push_back({id, Placed(plan.buffers), {}});
  std::ranges::stable_sort(rooms, std::less(),
                           [&](const Room& room) { return plan.buffers[room.output].bytes; });
  return rooms;
}

/// Puts a buffer into the first room where it fits. `is_shared`: beside others that live at the same time.
bool enter_room(MemoryPlan& plan, std::vector<Room>& rooms, BufferId id, bool is_shared) {
  Buffer& guest = plan.buffers[id];
  for (Room& room : rooms) {
    const Buffer& output = plan.buffers[room.output];
    if (output.bytes < guest.bytes || output.first <= guest.last || !is_same(output.device, guest.device))
      continue;
    std::uint64_t offset = 0;
    if (is_shared) {
      offset = room.guests.find(guest);
      if (offset + guest.bytes > output.bytes) continue;
      room.guests.add(offset, id);
    } else {
      const auto next = room.busy.upper_bound(guest.last);
      if (next != room.busy.begin() && std::prev(next)->second >= guest.first) continue;
      room.busy.emplace(guest.first, guest.last);
    }
    guest.within = output.output;
    guest.offset = offset;
    return true;
  }
  return false;
}

std::vector<BufferId> guests_of(const MemoryPlan& plan) {
  std::vector<BufferId> guests;
  for (BufferId id = 0; id < plan.buffers.size(); ++id)
    if (plan.buffers[id].output == k_none && plan.buffers[id].bytes) guests.push_back(id);
  return guests;
}

/// Puts buffers into outputs, the heaviest first. Of equal ones, the last goes first if `from_end`: a chain
/// of equal buffers then fills every other step back to its beginning. Among many, each has its room to
/// itself: looking for gaps would take too long.
void use_outputs(MemoryPlan& plan, Order by, bool from_end) {
  std::vector<Room> rooms = rooms_of(plan);
  std::vector<BufferId> guests = guests_of(plan);
  std::ranges::stable_sort(guests, [&](BufferId a, BufferId b) {
    const Buffer &x = plan.buffers[a], &y = plan.buffers[b];
    if (const double a_weighs = weight(x, by), b_weighs = weight(y, by); a_weighs != b_weighs)
      return b_weighs < a_weighs;
    return from_end ? y.first < x.first : x.first < y.first;
  });
  const auto n = static_cast<std::uint64_t>(guests.size());
  if (rooms.size() * n > k_most_overlaps) return;
  for (BufferId id : guests) enter_room(plan, rooms, id, n * n <= k_most_overlaps);
}

/// Puts buffers into outputs until that no longer lowers the peak of the others: again and again the largest
/// that fits of those that live at the step where most bytes are live.
void use_outputs_at_peak(MemoryPlan& plan) {
  std::vector<Room> rooms = rooms_of(plan);
  const std::vector<BufferId> guests = guests_of(plan);
  std::uint32_t end = 0;
  for (BufferId id : guests) end = std::max(end, plan.buffers[id].last + 1);
  std::vector<std::uint64_t> live(end, 0);
  for (BufferId id : guests)
    for (std::uint32_t s = plan.buffers[id].first; s <= plan.buffers[id].last; ++s)
      live[s] += aligned(plan.buffers[id].bytes, plan.buffers[id].device);
  while (!live.empty()) {
    const auto peak = static_cast<std::uint32_t>(std::ranges::max_element(live) - live.begin());
    std::vector<BufferId> there;
    for (BufferId id : guests) {
      const Buffer& b = plan.buffers[id];
      if (b.within == k_none && b.first <= peak && peak <= b.last) there.push_back(id);
    }
    std::ranges::stable_sort(there, std::greater(), [&](BufferId id) { return plan.buffers[id].bytes; });
    const auto entered =
        std::ranges::find_if(there, [&](BufferId id) { return enter_room(plan, rooms, id, true); });
    if (entered == there.end()) return;
    const Buffer& b = plan.buffers[*entered];
    for (std::uint32_t s = b.first; s <= b.last; ++s) live[s] -= aligned(b.bytes, b.device);
  }
}

/// The second pass.
void place_all(MemoryPlan& plan) {
  plan.arenas.clear();
  plan.bytes = plan.inner;
  std::vector<std::vector<BufferId>> ids;
  for (BufferId id = 0; id < plan.buffers.size(); ++id) {
    Buffer& b = plan.buffers[id];
    if (b.output != k_none) plan.bytes += b.bytes;
    if (b.output != k_none || b.within != k_none) continue;
    const auto known =
        std::ranges::find_if(plan.arenas, [&](const ArenaSize& a) { return is_same(a.device, b.device); });
    b.arena = static_cast<std::uint32_t>(known - plan.arenas.begin());
    if (known == plan.arenas.end()) {
      plan.arenas.push_back({b.device, 0});
      ids.emplace_back();
    }
    ids[b.arena].push_back(id);
  }
  for (std::uint32_t a = 0; a < plan.arenas.size(); ++a) {
    const Placement placement = place(plan.buffers, ids[a]);
    plan.arenas[a].bytes = placement.bytes;
    plan.bytes += placement.bytes;
    for (std::size_t i = 0; i < ids[a].size(); ++i) plan.buffers[ids[a][i]].offset = placement.offsets[i];
  }
}

}  // namespace

MemoryPlan share_memory(const Program& program) {
  MemoryPlan plan;
  Sharing(program, plan).run();
  plan.inner = kept_within(program);
  std::vector<Buffer> live = plan.buffers;
  for (std::uint32_t s = 0; plan.inner && s < program.steps.size(); ++s) {
    Buffer& inner = live.emplace_back();
    inner.bytes = kept_within(program.steps[s]);
    inner.first = inner.last = s;
  }
  std::vector<BufferId> all(live.size());
  for (BufferId id = 0; id < all.size(); ++id) all[id] = id;
  plan.lower_bound = largest_sum(live, all, false);
  return plan;
}

void place_memory(MemoryPlan& plan, Headroom headroom) {
  const auto began = std::chrono::steady_clock::now();
  // 1. Place what lies in no output's memory.
  std::vector<std::uint64_t> exact;
  if (headroom == Headroom::quarter)
    for (Buffer& b : plan.buffers) {
      exact.push_back(b.bytes);
      if (b.output == k_none) b.bytes = b.room = aligned(b.bytes + b.bytes / 4, b.device);
    }
  place_all(plan);
  for (std::size_t i = 0; i < exact.size(); ++i) plan.buffers[i].bytes = exact[i];

  // 2. Place with room in the outputs' memory, and keep the smaller plan.
  const bool has_outputs =
      headroom == Headroom::none &&
      std::ranges::any_of(plan.buffers, [](const Buffer& b) { return b.output != k_none; });
  const MemoryPlan apart = plan;
  const bool is_large =
      plan.buffers.size() * static_cast<std::uint64_t>(plan.buffers.size()) > k_most_overlaps;
  const auto try_outputs = [&](const auto& use) {
    if (!has_outputs || plan.bytes <= plan.lower_bound + plan.lower_bound / 200) return;
    MemoryPlan other = apart;
    for (Buffer& b : other.buffers) b.arena = k_none;
    use(other);
    place_all(other);
    if (other.bytes < plan.bytes) plan = std::move(other);
  };
  for (std::size_t i = 0; i < (is_large ? 1 : 2 * std::size(k_orders)); ++i)
    try_outputs([&](MemoryPlan& other) { use_outputs(other, k_orders[i / 2], i % 2 == 0); });
  if (!is_large) try_outputs(use_outputs_at_peak);
  plan.milliseconds += milliseconds_since(began);
}

MemoryPlan plan_memory(const Program& program) {
  const auto began = std::chrono::steady_clock::now();
  MemoryPlan plan = share_memory(program);
  plan.milliseconds = milliseconds_since(began);
  place_memory(plan, Headroom::none);
  return plan;
}

}  // namespace tarsia::graph
