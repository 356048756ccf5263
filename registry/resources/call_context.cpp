// Contexts of calls: the thread's slot, scratch memory, results, streams.
#include "registry/resources/call_context.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

thread_local tarsia_call_context* t_context = nullptr;

std::map<std::int32_t, void*>& thread_streams() {
  thread_local std::map<std::int32_t, void*> streams;
  return streams;
}

constexpr size_t k_first_block = 16 * 1024, k_kept_bytes = 4 * 1024 * 1024;

/// What one call allocated. Kept by its thread for the next call, so that calls with scratch settle at no
/// allocation.
class Resources {
 public:
  void* take(size_t bytes, size_t alignment) {
    if (!m_blocks.empty()) {
      Block& last = m_blocks.back();
      const size_t at = (m_used + alignment - 1) / alignment * alignment;
      if (at + bytes <= last.size) {
        m_used = at + bytes;
        return last.memory.get() + at;
      }
    }
    size_t size = m_blocks.empty() ? k_first_block : m_blocks.back().size * 2;
    while (size < bytes) size *= 2;
    void* memory = std::aligned_alloc(256, size);
    if (!memory) throw std::bad_alloc();
    m_blocks.push_back({std::unique_ptr<char, Free>(static_cast<char*>(memory)), size});
    m_used = bytes;
    return memory;
  }
  void* take_device(size_t bytes, int device, void* stream) {
    m_device.reserve(m_device.size() + 1);
    void* memory = allocate_device(bytes, device, stream);
    m_device.push_back({memory, device, stream});
    return memory;
  }
  void reset() noexcept {
    for (const Device& d : m_device) free_device(d.memory, d.device, d.stream);
    m_device.clear();
    if (m_blocks.size() > 1) {  // keep the largest alone
      Block last = std::move(m_blocks.back());
      m_blocks.clear();
      if (last.size <= k_kept_bytes) m_blocks.push_back(std::move(last));
    } else if (!m_blocks.empty() && m_blocks[0].size > k_kept_bytes) {
      m_blocks.clear();
    }
    m_used = 0;
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  struct Block {
    std::unique_ptr<char, Free> memory;
    size_t size;
  };
  struct Device {
    void* memory;
    int device;
    void* stream;
  };
  std::vector<Block> m_blocks;
  std::vector<Device> m_device;
  size_t m_used = 0;
};

std::unique_ptr<Resources>& spare() {
  thread_local std::unique_ptr<Resources> resources;
  return resources;
}

Resources& resources() {
  tarsia_call_context* context = t_context;
  if (!context) throw Error("scratch and results live in a call, and no call is under way on this thread");
  if (!context->resources) context->resources = (spare() ? spare().release() : new Resources());
  return *static_cast<Resources*>(context->resources);
}

}  // namespace

tarsia_call_context** call_slot() noexcept {
  return &t_context;
}

CallFrame::CallFrame(tarsia_device device) noexcept : m_slot(&t_context) {
  m_context.size = sizeof(m_context);
  m_context.device = device;
  tarsia_enter_call(m_slot, &m_context);
}

CallFrame::CallFrame(tarsia_device device, void* stream) noexcept : CallFrame(device) {
  m_stream = stream;
  m_context.user = this;
  m_context.current_stream = &stream_of;
}

CallFrame::~CallFrame() {
  *m_slot = m_context.outer;
  if (m_context.resources) free_resources(m_context);
}

void* CallFrame::stream_of(void* self, std::int32_t device) {
  auto* frame = static_cast<CallFrame*>(self);
  if (device == frame->m_context.device.id) return frame->m_stream;
  for (tarsia_call_context* c = frame->m_context.outer; c; c = c->outer)
    if (c->current_stream) return c->current_stream(c->user, device);
  return thread_stream(device);
}

tarsia_device call_device() noexcept {
  return t_context ? t_context->device : tarsia_device{TARSIA_CPU, 0};
}

void* current_stream(std::int32_t device) {
  if (device < 0) {
    const tarsia_device d = call_device();
    device = d.type == TARSIA_GPU ? d.id : cuda_current_device();
    if (device < 0) device = 0;
  }
  for (tarsia_call_context* c = t_context; c; c = c->outer)
    if (c->current_stream) return c->current_stream(c->user, device);
  return thread_stream(device);
}

void set_thread_stream(std::int32_t device, void* stream) {
  thread_streams()[device] = stream;
}

void* thread_stream(std::int32_t device) noexcept {
  auto& streams = thread_streams();
  auto it = streams.find(device);
  return it == streams.end() ? nullptr : it->second;
}

void* call_scratch(std::uint64_t bytes, tarsia_device device) {
  if (is_gpu(device)) return resources().take_device(bytes ? bytes : 1, device.id, current_stream(device.id));
  return resources().take(bytes ? bytes : 1, 256);
}

void* call_memory(std::uint64_t bytes) {
  return resources().take(bytes ? bytes : 1, 16);
}

void free_resources(tarsia_call_context& context) noexcept {
  std::unique_ptr<Resources> resources(static_cast<Resources*>(context.resources));
  context.resources = nullptr;
  if (!resources) return;
  resources->reset();
  if (!spare()) spare() = std::move(resources);
}

}  // namespace tarsia::registry
