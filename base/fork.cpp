// One pthread_atfork handler for all objects.
#include "base/fork.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <new>
#include <vector>

namespace tarsia {
namespace {

/// The threads that are in the dynamic loader, for which fork() waits.
///
/// Work-around: glibc forks while another thread is in the loader.
/// Trigger: one thread opens, closes or searches libraries while another forks, and the child does so too.
/// Symptom: the child crashes in the loader or waits there for ever.
/// Removal: fork() takes the loader's locks, as it takes those of malloc.
struct Loading {
  std::mutex mutex;  ///< guards what follows
  std::condition_variable changed;
  int threads = 0;
  int forks = 0;  ///< forks that wait or are under way: no other thread enters meanwhile
};
Loading& g_loading = *new Loading;  // never destroyed: libraries are closed while the process exits
thread_local int t_in_loader = 0;

/// Work-around: ThreadSanitizer does not see the dynamic linker's lock.
/// Trigger: one thread unmaps a library, and another maps one to the same addresses. Symptom: it reports a
/// data race between the initialisers of the one and the destructors of the other.
/// Removal: ThreadSanitizer forgets what was at an address when it is unmapped.
#ifdef __SANITIZE_THREAD__
std::recursive_mutex& g_linker = *new std::recursive_mutex;
void enter_linker() {
  g_linker.lock();
}
void leave_linker() {
  g_linker.unlock();
}
/// In a forked child, whose parent's threads may have held it.
void renew_linker() {
  new (&g_linker) std::recursive_mutex();
  if (t_in_loader > 0) enter_linker();
}
#else
void enter_linker() {}
void leave_linker() {}
void renew_linker() {}
#endif

/// Runs first, while the forking thread holds nothing of ours. Leaves the mutex locked.
void wait_for_loader() {
  std::unique_lock lock(g_loading.mutex);
  ++g_loading.forks;
  g_loading.changed.wait_for(lock, std::chrono::seconds(1),
                             [] { return g_loading.threads == (t_in_loader > 0 ? 1 : 0); });
  lock.release();
}

void let_loader_go_on() {
  --g_loading.forks;
  g_loading.mutex.unlock();
  g_loading.changed.notify_all();
}

void renew_loading() {
  new (&g_loading.changed) std::condition_variable();  // another thread may have been waiting
  g_loading.forks = 0;
  g_loading.threads = t_in_loader > 0 ? 1 : 0;
  g_loading.mutex.unlock();
  renew_linker();
}

}  // namespace

InLoader::InLoader() noexcept {
  if (t_in_loader++ > 0) return;
  {
    std::unique_lock lock(g_loading.mutex);
    g_loading.changed.wait(lock, [] { return g_loading.forks == 0; });
    ++g_loading.threads;
  }
  enter_linker();
}

InLoader::~InLoader() {
  if (--t_in_loader > 0) return;
  leave_linker();
  {
    const std::lock_guard lock(g_loading.mutex);
    --g_loading.threads;
  }
  g_loading.changed.notify_all();
}

struct ForkRegistry {
  std::mutex mutex;
  std::vector<ForkAware*> objects;

  // Never destroyed: statics in other files are watched until their own end.
  static ForkRegistry& instance() {
    static ForkRegistry* s_registry = [] {
      ::pthread_atfork(&before, &in_parent, &in_child);
      return new ForkRegistry;
    }();
    return *s_registry;
  }
  static void before() {
    ForkRegistry& registry = instance();
    wait_for_loader();
    registry.mutex.lock();
    for (ForkAware* object : registry.objects) object->before_fork();
  }
  static void in_parent() {
    ForkRegistry& registry = instance();
    for (ForkAware* object : registry.objects) object->after_fork_in_parent();
    registry.mutex.unlock();
    let_loader_go_on();
  }
  static void in_child() {
    ForkRegistry& registry = instance();
    for (ForkAware* object : registry.objects) object->after_fork_in_child();
    registry.mutex.unlock();
    renew_loading();
  }
};

void ForkAware::watch_forks() {
  ForkRegistry& registry = ForkRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.objects.push_back(this);
}

void ForkAware::forget_forks() {
  ForkRegistry& registry = ForkRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.objects, this);
}

}  // namespace tarsia
