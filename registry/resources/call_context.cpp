// Contexts of calls: the thread's slot, scratch memory, results, streams.
#include "registry/resources/call_context.h"

#include <dlfcn.h>
#include <tarsia/detail/argument_words.h>
#include <tarsia/detail/support.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "registry/crash/thread_record.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

// One object, of a few bytes. The loader gives it a place beside the thread's own data (initial-exec), where
// it is found without a call; it keeps some room there for libraries that are opened later.
struct Slot {
  tarsia_call_context* context = nullptr;
  bool is_watched = false;
  ScratchSource* scratch = nullptr;  ///< null: memory of the call
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Slot t_slot;

[[gnu::noinline]] void watch(Slot& slot) noexcept {
  slot.is_watched = true;
  watch_thread(&slot.context);
}

tarsia_call_context** watched_slot() noexcept {
  Slot* slot = &t_slot;
  if (!slot->is_watched) [[unlikely]]
    watch(*slot);
  return &slot->context;
}

std::map<std::int32_t, void*>& thread_streams() {
  thread_local std::map<std::int32_t, void*> streams;
  return streams;
}

constexpr size_t k_first_block = 16 * 1024, k_kept_bytes = 4 * 1024 * 1024;

/// The memory that one call allocated. Its thread keeps it for the next call, so calls with scratch soon
/// allocate nothing.
class Resources {
 public:
  void* take(size_t bytes, size_t alignment) {
    if (!m_blocks.empty()) {
      Block& last = m_blocks.back();
      const size_t at = (m_used + alignment - 1) / alignment * alignment;
      if (at <= last.size && bytes <= last.size - at) {
        m_used = at + bytes;
        return last.memory.get() + at;
      }
    }
    // Blocks double up to the size that is kept, so many small requests need few blocks. A larger request
    // gets its own size.
    const size_t doubled =
        m_blocks.empty() ? k_first_block : std::min(m_blocks.back().size * 2, k_kept_bytes);
    const size_t size = std::max(doubled, (bytes + k_alignment - 1) / k_alignment * k_alignment);
    void* memory = std::aligned_alloc(k_alignment, size);
    if (!memory) throw OutOfMemory("the CPU has no room for scratch of " + std::to_string(bytes) + " bytes");
    std::unique_ptr<char, Free> owned(static_cast<char*>(memory));
    m_blocks.push_back({std::move(owned), size});
    m_used = bytes;
    return memory;
  }
  void* take_device(size_t bytes, int device, void* stream) {
    m_device.reserve(m_device.size() + 1);
    void* memory = allocate_device(bytes, device, stream);
    m_device.push_back({memory, device, stream});
    return memory;
  }
  std::vector<Loan>& loans() { return m_loans; }
  void reset() noexcept {
    for (const Loan& loan : m_loans)
      if (loan.give_back) loan.give_back(loan.what);
    m_loans.clear();
    for (const Device& d : m_device) free_device(d.memory, d.device, d.stream);
    m_device.clear();
    // Keeps the largest block that is small enough.
    std::erase_if(m_blocks, [](const Block& block) { return block.size > k_kept_bytes; });
    if (m_blocks.size() > 1) {
      std::iter_swap(m_blocks.begin(), std::ranges::max_element(m_blocks, {}, &Block::size));
      m_blocks.resize(1);
    }
    m_used = 0;
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  static constexpr size_t k_alignment = 256;
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
  std::vector<Loan> m_loans;
  size_t m_used = 0;
};

std::unique_ptr<Resources>& spare() {
  thread_local std::unique_ptr<Resources> resources;
  return resources;
}

Resources& resources() {
  tarsia_call_context* context = t_slot.context;
  if (!context)
    throw Error("scratch, results and random states live in a call, and no call is under way on this thread");
  if (!context->resources) context->resources = (spare() ? spare().release() : new Resources());
  return *static_cast<Resources*>(context->resources);
}

}  // namespace

tarsia_call_context** call_slot() noexcept {
  return watched_slot();
}

bool is_call_interrupted() noexcept {
  constexpr std::int64_t k_ask_every_ns = 20'000'000;
  thread_local std::int64_t t_asked = 0;
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const std::int64_t now = time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  if (now - t_asked < k_ask_every_ns) return false;
  t_asked = now;
  for (const tarsia_call_context* c = t_slot.context; c; c = c->outer)
    if (c->size >= sizeof *c && c->interrupted) {
      const bool is_interrupted = c->interrupted(c->user) != 0;
      if (is_interrupted) t_asked = 0;  // the next one who asks hears the same
      return is_interrupted;
    }
  return false;
}

bool runs_in_parallel() noexcept {
  for (const char* name : {"libomp.so.5", "libomp.so", "libgomp.so.1", "libiomp5.so"}) {
    void* library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    const auto in_parallel = reinterpret_cast<int (*)()>(::dlsym(library, "omp_in_parallel"));
    const bool answer = in_parallel && in_parallel() != 0;
    ::dlclose(library);
    if (answer) return true;
  }
  return false;
}

// Each field by itself: to fill the whole with zeros, the compiler takes `rep stos`, which is slow for so
// few.
inline void CallFrame::enter(tarsia_device device, const tarsia_op* op,
                             const tarsia_op_context* call) noexcept {
  m_context.size = sizeof(m_context);
  m_context.framework = 0;
  m_context.device = device;
  m_context.user = nullptr;
  m_context.empty = nullptr;
  m_context.current_stream = nullptr;
  m_context.resources = nullptr;
  m_context.interrupted = nullptr;
  m_context.function = nullptr;
  m_context.args = nullptr;
  m_context.n_args = 0;
  m_context.tensor_at = nullptr;
  m_context.op = op;
  m_context.op_call = call;
  m_context.interrupt_ns = 0;
  m_context.share = nullptr;
  m_context.resize = nullptr;
  tarsia_enter_call(m_slot, &m_context);
}

CallFrame::CallFrame(tarsia_device device) noexcept : m_slot(watched_slot()) {
  enter(device, nullptr, nullptr);
}

CallFrame::CallFrame(tarsia_device device, void* stream) noexcept : CallFrame(device) {
  give(stream);
}

CallFrame::CallFrame(tarsia_device device, const tarsia_op& op, const tarsia_op_context& call) noexcept
    : m_slot(watched_slot()) {
  enter(device, &op, &call);
}

CallFrame::CallFrame(tarsia_device device, void* stream, const tarsia_op& op,
                     const tarsia_op_context& call) noexcept
    : CallFrame(device, op, call) {
  give(stream);
}

void CallFrame::give(void* stream) noexcept {
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
  return t_slot.context ? t_slot.context->device : tarsia_device{TARSIA_CPU, 0};
}

void* current_stream(std::int32_t device) {
  if (device < 0) {
    const tarsia_device d = call_device();
    device = d.type == TARSIA_GPU ? d.id : cuda_current_device();
    if (device < 0) device = 0;
  }
  for (tarsia_call_context* c = t_slot.context; c; c = c->outer)
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

tarsia_storage* share_argument(const tarsia_tensor* argument) {
  const tarsia_call_context* context = t_slot.context;
  if (!context || !TARSIA_DETAIL_GIVES(*context, share))
    throw ArgumentError::type_error(
        "the function may keep a tensor that it takes, and only Python can pass it such a tensor; let it "
        "take "
        "a view, such as tarsia::Tensor, pointers or tvm::ffi::TensorView");
  return context->share(context->user, argument);
}

std::int32_t resize_argument(const tarsia_tensor* argument, const std::int64_t* shape, std::int32_t ndim) {
  const tarsia_call_context* context = t_slot.context;
  if (!context || !TARSIA_DETAIL_GIVES(*context, resize))
    throw ArgumentError::value_error(
        "the function gives a tensor that it takes the shape " + arguments::tuple_text(shape, ndim) +
        ", and only Python can pass it one that can be resized; pass one of that shape");
  return context->resize(context->user, argument, shape, ndim);
}

ScratchScope::ScratchScope(ScratchSource* source) noexcept : m_before(t_slot.scratch) {
  t_slot.scratch = source;
}

ScratchScope::~ScratchScope() {
  t_slot.scratch = m_before;
}

void* call_scratch(std::uint64_t bytes, tarsia_device device) {
  refuse_impossible_size("scratch", bytes);
  if (ScratchSource* const source = t_slot.scratch) return source->take(bytes, device);
  if (is_gpu(device)) return resources().take_device(bytes ? bytes : 1, device.id, current_stream(device.id));
  return resources().take(bytes ? bytes : 1, k_scratch_alignment);
}

void* call_memory(std::uint64_t bytes) {
  refuse_impossible_size("a result", bytes);
  return resources().take(bytes ? bytes : 1, 16);
}

Loan& new_loan() {
  return resources().loans().emplace_back();
}

const Loan* find_loan(bool (*fits)(const Loan& loan, bool is_innermost, const void* wanted),
                      const void* wanted) noexcept {
  for (tarsia_call_context* c = t_slot.context; c; c = c->outer)
    if (c->resources)
      for (const Loan& loan : static_cast<Resources*>(c->resources)->loans())
        if (fits(loan, c == t_slot.context, wanted)) return &loan;
  return nullptr;
}

void free_resources(tarsia_call_context& context) noexcept {
  std::unique_ptr<Resources> resources(static_cast<Resources*>(context.resources));
  context.resources = nullptr;
  if (!resources) return;
  resources->reset();
  if (!spare()) spare() = std::move(resources);
}

}  // namespace tarsia::registry
