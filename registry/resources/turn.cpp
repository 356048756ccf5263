// Waits for a turn, and detects a wait that would never end.
//
// One table records who waits for whom. A thread about to wait follows it: from the turn to the thread that
// has it, and on to the turn that this thread waits for. If that leads back to the start, nobody would ever
// go on. The thread whose wait closes the circle detects it.
#include "registry/resources/turn.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

namespace tarsia::registry {

namespace {

std::atomic<std::uint64_t> s_last_number{0};

}  // namespace

std::uint64_t Turn::thread_number() noexcept {
  thread_local const std::uint64_t t_number = ++s_last_number;
  return t_number;
}

/// The threads that wait.
class Waits : public ForkAware {
 public:
  /// Never destroyed: threads may wait while the process exits.
  static Waits& instance() {
    static std::atomic<Waits*> s_waits{nullptr};
    return made_once(s_waits, [] { return Waits(); });
  }
  virtual ~Waits() { forget_forks(); }

  std::mutex mutex;                        ///< guards what follows
  std::map<std::uint64_t, Turn*> turn_of;  ///< what each waiting thread waits for

  bool leads_back_to(std::uint64_t self, std::uint64_t owner) const {
    for (size_t i = 0; i <= turn_of.size(); ++i) {
      const auto known = turn_of.find(owner);
      if (known == turn_of.end()) return false;
      owner = known->second->m_owner.load();
      if (owner == self) return true;
    }
    return false;
  }
  /// Whether this thread belongs to a process that forked ours.
  bool is_lost(std::uint64_t owner) const { return owner <= m_last_of_parent && owner != m_forked_by; }

 private:
  Waits() { watch_forks(); }
  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override {
    // A condition variable that the parent's threads waited on counts waiters that are gone.
    for (const auto& [thread, turn] : turn_of) std::construct_at(&turn->m_given);
    turn_of.clear();
    m_forked_by = Turn::thread_number();
    m_last_of_parent = s_last_number.load();
    mutex.unlock();
  }

  std::uint64_t m_last_of_parent = 0, m_forked_by = 0;
};

// Forks are watched from here on: a child of a fork before the first wait must know which turns it lost.
Turn::Turn() {
  Waits::instance();
}

void Turn::wait(std::uint64_t self, const char* op) {
  Waits& waits = Waits::instance();
  const struct Counted {
    std::atomic<std::uint32_t>& count;
    explicit Counted(std::atomic<std::uint32_t>& c) : count(c) { ++count; }
    ~Counted() { --count; }
  } counted(m_waiting);
  std::unique_lock lock(waits.mutex);
  for (;;) {
    std::uint64_t owner = 0;
    if (m_owner.compare_exchange_strong(owner, self)) return;
    if (waits.is_lost(owner))
      throw Error(
          "op '" + std::string(op) +
          "': another thread was using its state when this process was forked, so the state may be half "
          "changed: bind the op again");
    if (waits.leads_back_to(self, owner))
      throw Error(
          "op '" + std::string(op) +
          "': another thread uses its state and waits for one that this thread uses, so neither would "
          "go on: let the ops with state that call each other do so in one order, or bind them for "
          "each thread");
    waits.turn_of[self] = this;
    m_given.wait_for(lock, k_ask_every);
    lock.unlock();
    const bool given_up = is_call_interrupted();
    lock.lock();
    waits.turn_of.erase(self);
    if (!given_up) continue;
    m_given.notify_one();  // the turn may have been given back to this thread at that moment
    lock.unlock();
    if (last_error().code == TARSIA_INTERRUPTED) throw_last_error();
    throw Interrupted("the call was interrupted");
  }
}

void Turn::wake() noexcept {
  {
    // A waiter reads under this mutex that the turn is taken, and then waits.
    const std::lock_guard lock(Waits::instance().mutex);
  }
  m_given.notify_one();
}

}  // namespace tarsia::registry
