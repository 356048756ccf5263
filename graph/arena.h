// The memory of runs: an arena for each run that is under way.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/fork.h"
#include "graph/memory_plan.h"

namespace tarsia::graph {

/// Memory on the CPU or on a GPU.
class Block {
 public:
  /// On a GPU, ordered on the stream; with `is_apart`, there for all streams when this returns, also if the
  /// stream is captured. Throws OutOfMemory, CudaError.
  Block(ArenaSize size, void* stream, bool is_apart);
  Block(Block&& o) noexcept : m_size(o.m_size), m_data(std::exchange(o.m_data, nullptr)) {}
  Block& operator=(Block&&) = delete;
  ~Block();
  char* data() const { return static_cast<char*>(m_data); }
  const ArenaSize& size() const { return m_size; }

 private:
  ArenaSize m_size;
  void* m_data = nullptr;
};

/// A block for each device. On a GPU, work on a stream may still use it after it was given back: enter() lets
/// another stream wait for that work.
class ArenaMemory {
 public:
  /// Of runs on this device, and for a GPU on this stream of it at first. With `is_captured`, the memory
  /// outlives the CUDA graph that the stream captures.
  ArenaMemory(std::span<const ArenaSize> sizes, tarsia_device device, void* stream, bool is_captured);
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;

  /// The block of a device; null if it has none.
  char* on(tarsia_device device) const;
  /// Whether these fit into it.
  bool holds(std::span<const ArenaSize> sizes) const;
  std::uint64_t bytes() const;
  tarsia_device device() const { return m_device; }
  /// These sizes, or its own where they are larger.
  std::vector<ArenaSize> largest(std::span<const ArenaSize> sizes) const;
  /// Before a run on the stream, and after it.
  void enter(void* stream);
  void leave(void* stream);
  void* stream() const { return m_stream; }
  /// Unlike its address, that of no other.
  std::uint64_t serial() const { return m_serial; }

 private:
  std::uint64_t m_serial;
  std::vector<Block> m_blocks;
  tarsia_device m_device;
  void* m_stream;
  CuEvent m_event = nullptr;
};

/// Memory that runs of several plans take in turns. Thread-safe. Holds as many arenas as there were runs at
/// once on a device, each as large as the largest plan that needed it.
class ArenaPool {
 public:
  /// For a run on this device.
  std::unique_ptr<ArenaMemory> take(std::span<const ArenaSize> sizes, tarsia_device device, void* stream);
  void give(std::unique_ptr<ArenaMemory> memory);
  /// Of the arenas that are not in use.
  std::uint64_t bytes();

 private:
  ForkSafeMutex m_mutex;
  std::vector<std::unique_ptr<ArenaMemory>> m_free;
};

/// Lets `stream` wait for an event, and records one, which is made at first.
void wait_for(void* stream, CuEvent event);
void record(CuEvent& event, void* stream);

}  // namespace tarsia::graph
