// A list of records that only grows; those of threads that ended are used again.
#include "registry/crash/thread_record.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/fork.h"
#include "registry/crash/crash_handler.h"

namespace tarsia::registry {
namespace {

std::atomic<ThreadRecord*> g_records{nullptr};

/// A forked child has one thread; the records of the others are free.
class Records final : public ForkAware {
 public:
  Records() { watch_forks(); }

 private:
  void before_fork() override {}
  void after_fork_in_parent() override {}
  void after_fork_in_child() override {
    for (ThreadRecord* r = g_records; r; r = r->next)
      if (r->thread != ::pthread_self()) r->thread = pthread_t{};
  }
};
Records& g_forks = *new Records;  // never destroyed: threads end after static objects

constexpr std::size_t k_stack_bytes = 128 * 1024;

/// A stack for handlers of signals, so that they can run when the thread's own is used up.
void add_alternate_stack(ThreadRecord& record) {
  stack_t present;
  if (::sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
  void* memory = ::mmap(nullptr, k_stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t own{memory, 0, k_stack_bytes};
  if (::sigaltstack(&own, nullptr) == 0)
    record.alternate_stack = memory;
  else
    ::munmap(memory, k_stack_bytes);
}

void remove_alternate_stack(ThreadRecord& record) {
  if (!record.alternate_stack) return;
  stack_t present;
  if (::sigaltstack(nullptr, &present) == 0 && present.ss_sp == record.alternate_stack) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(record.alternate_stack, k_stack_bytes);
  }
  record.alternate_stack = nullptr;
}

/// 0 for the first thread: the C library would read all mappings to tell, and that stack grows anyway.
std::uintptr_t lowest_of_stack() {
  if (::gettid() == ::getpid()) return 0;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  void* low = nullptr;
  std::size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &low, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<std::uintptr_t>(low) : 0;
}

std::uint64_t inode_of(int file) {
  struct stat status;
  return ::fstat(file, &status) == 0 ? status.st_ino : 0;
}

thread_local constinit bool t_has_ended = false;

/// Gives a thread's record back at its end.
struct Owner {
  ThreadRecord* record = nullptr;
  ~Owner() {
    t_has_ended = true;
    if (!record) return;
    remove_alternate_stack(*record);
    record->loading = nullptr;
    record->step = nullptr;
    record->thread = pthread_t{};
  }
};

ThreadRecord* take_record() {
  for (ThreadRecord* r = g_records; r; r = r->next) {
    pthread_t free{};
    if (r->thread.compare_exchange_strong(free, ::pthread_self())) return r;
  }
  auto* made = new (std::nothrow) ThreadRecord;
  if (!made) return nullptr;
  made->thread = ::pthread_self();
  made->next = g_records;
  while (!g_records.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

}  // namespace

ThreadRecord* watch_thread(tarsia_call_context** slot) noexcept {
  if (t_has_ended) return nullptr;
  thread_local Owner t_owner;
  if (t_owner.record) return t_owner.record;
  ThreadRecord* record = take_record();
  if (!record) return nullptr;
  record->slot = slot;
  record->stack_low = lowest_of_stack();
  if (crashes_are_reported()) add_alternate_stack(*record);
  return t_owner.record = record;
}

ThreadRecord* find_thread_record() noexcept {
  const pthread_t self = ::pthread_self();
  for (ThreadRecord* r = g_records; r; r = r->next)
    if (r->thread == self) return r;
  return nullptr;
}

LoadingScope::LoadingScope(tarsia_call_context** slot, std::string_view name, std::string_view bytes,
                           std::span<const TextOrigin> origins, int file) noexcept
    : m_record(watch_thread(slot)), m_loading{name, bytes, origins, inode_of(file), nullptr} {
  enter();
}

LoadingScope::LoadingScope(tarsia_call_context** slot, std::string_view name) noexcept
    : m_record(watch_thread(slot)), m_loading{name, {}, {}, 0, nullptr, true} {
  enter();
}

void LoadingScope::enter() noexcept {
  if (!m_record) return;
  m_loading.outer = m_record->loading;
  m_record->loading = &m_loading;
}

LoadingScope::~LoadingScope() {
  if (m_record) m_record->loading = m_loading.outer;
}

OpStepScope::OpStepScope(tarsia_call_context** slot, const tarsia_op& op, const char* name,
                         const tarsia_bind_info* info) noexcept
    : m_record(watch_thread(slot)), m_step{&op, name, info, *slot, nullptr, nullptr} {
  if (!m_record) return;
  m_step.loading = m_record->loading;
  m_step.outer = m_record->step;
  m_record->step = &m_step;
}

OpStepScope::~OpStepScope() {
  if (m_record) m_record->step = m_step.outer;
}

}  // namespace tarsia::registry
