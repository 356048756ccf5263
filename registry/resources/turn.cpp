// Waits for a turn, and detects a wait that would never end.
//
// One table records who waits for whom. A thread about to wait follows it: from the turn to the thread that
// has it, and on to the turn that this thread waits for. If that leads back to the start, nobody would ever
// go on. The thread whose wait closes the circle detects it.
#include "registry/resources/turn.h"

#include <map>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/fork.h"

namespace tarsia::registry {

namespace {

std::atomic<std::uint64_t> s_last_number{0};

}  // namespace

std::uint64_t Turn::thread_number() noexcept {
  thread_local const std::uint64_t t_number = ++s_last_number;
  return t_number;
}

/// The threads that wait.
class Waits final : public ForkAware {
 public:
  /// Never destroyed: threads may wait while the process exits.
  static Waits& instance() {
    static std::atomic<Waits*> s_waits{nullptr};
    return made_once(s_waits, [] { return Waits(); });
  }
  virtual ~Waits() { forget_forks(); }

  std::mutex mutex;                              ///< guards what follows
  std::map<std::uint64_t, const Turn*> turn_of;  ///< what each waiting thread waits for

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
    const std::uint32_t given = m_given.load();
    waits.turn_of[self] = this;
    lock.unlock();
    m_given.wait(given);
    lock.lock();
    waits.turn_of.erase(self);
  }
}

void Turn::wake() noexcept {
  {
    // A waiter reads under this mutex that the turn is taken, and then m_given.
    const std::lock_guard lock(Waits::instance().mutex);
    ++m_given;
  }
  m_given.notify_one();
}

}  // namespace tarsia::registry
