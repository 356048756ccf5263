// One pthread_atfork for all.
#include "base/fork.h"

#include <pthread.h>

#include <vector>

namespace tarsia {

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
    registry.mutex.lock();
    for (ForkAware* object : registry.objects) object->before_fork();
  }
  static void in_parent() {
    ForkRegistry& registry = instance();
    for (ForkAware* object : registry.objects) object->after_fork_in_parent();
    registry.mutex.unlock();
  }
  static void in_child() {
    ForkRegistry& registry = instance();
    for (ForkAware* object : registry.objects) object->after_fork_in_child();
    registry.mutex.unlock();
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
