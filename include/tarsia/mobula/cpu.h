// Kernels on the CPU: a team of OpenMP's threads, which the kernel runs on as a whole.
//
// OpenMP's own barrier waits for ever if a thread of the team has left: by an exception, which must not leave
// a parallel region, or by a return. So the team has a barrier of its own. Who leaves is counted out; after
// an exception all others leave at their next barrier. On a GPU nobody may return before a barrier that
// others come to: there it waits for all threads of the launch.
#pragma once

#include <tarsia/mobula/logging.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include <math.h>  // with <cmath>'s overloads in the global namespace: exp of a float is a float

#if defined(_OPENMP)
#include <omp.h>
#elif USING_OPENMP
// Tarsia compiles anew with OpenMP when it meets this warning (jit/worker/source/diagnostics.cpp), unless
// OpenMP is to be off.
#if HOST_NUM_THREADS != 1
#warning "kernels of mobula_op.h run on one thread: compile with openmp=True, or set HOST_NUM_THREADS to 1"
#endif
#endif

namespace mobula {

using std::abs;
using std::max;
using std::min;

#pragma GCC visibility push(hidden)
namespace tarsia_detail {

/// Unwinds a thread whose team has failed.
struct Abandoned {};

class Team {
 public:
  explicit Team(int size) : m_counts(std::uint64_t(size) << 32), m_size(size) {}

  int size() const { return m_size; }

  void wait() {
    if (m_size == 1) return;
    const unsigned generation = m_generation.load(std::memory_order_acquire);
    const std::uint64_t counts = m_counts.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (arrived(counts) == expected(counts)) {
      release(arrived(counts));
    } else {
      for (int turns = 0; m_generation.load(std::memory_order_acquire) == generation; ++turns) {
        if (m_failed.load(std::memory_order_acquire)) throw Abandoned();
        if (turns < 2000)
          pause();
        else
          std::this_thread::yield();
      }
    }
    if (m_failed.load(std::memory_order_acquire)) throw Abandoned();
  }

  /// A thread ends, well or not.
  void leave() {
    const std::uint64_t one = std::uint64_t(1) << 32;
    const std::uint64_t counts = m_counts.fetch_sub(one, std::memory_order_acq_rel) - one;
    if (expected(counts) != 0 && arrived(counts) == expected(counts)) release(arrived(counts));
  }

  /// Keeps the first exception of a thread, and lets the others go.
  void fail(std::exception_ptr error) {
    if (!m_is_error.exchange(true)) m_error = error;
    m_failed.store(true, std::memory_order_release);
  }

  /// Throws what a thread threw. All have left.
  void rethrow() {
    if (m_error) std::rethrow_exception(m_error);
  }

 private:
  static std::uint32_t arrived(std::uint64_t counts) { return std::uint32_t(counts); }
  static std::uint32_t expected(std::uint64_t counts) { return std::uint32_t(counts >> 32); }
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  void release(std::uint32_t n) {
    m_counts.fetch_sub(n, std::memory_order_acq_rel);
    m_generation.fetch_add(1, std::memory_order_acq_rel);
  }

  std::atomic<std::uint64_t> m_counts;  // those that are expected at the barrier, and those that have arrived
  std::atomic<unsigned> m_generation{0};
  std::atomic<bool> m_failed{false}, m_is_error{false};
  std::exception_ptr m_error;
  int m_size;
};

/// Where a thread stands. Outside of kernels a thread is a team of its own.
struct Place {
  Team* team = nullptr;
  int index = 0;
  int size = 1;
};
inline thread_local Place t_place;

inline void barrier() {
  if (t_place.team) t_place.team->wait();
}

/// The part of a loop that this thread takes.
template <typename I, typename F>
__attribute__((always_inline)) inline void share(long long n, F& f) {
  I start, end;
  get_parfor_range<I>(static_cast<std::size_t>(n), t_place.size, t_place.index, &start, &end);
  for (I i = start; i < end; ++i) f(i);
}

inline int most_threads() {
#if defined(_OPENMP)
  return HOST_NUM_THREADS > 0 ? int(HOST_NUM_THREADS) : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Makes the calling thread a member of a team.
class Membership {
 public:
  Membership(Team& team, int index) : m_before(t_place) { t_place = Place{&team, index, team.size()}; }
  ~Membership() {
    t_place.team->leave();
    t_place = m_before;
  }

 private:
  Place m_before;
};

/// Runs body() on n threads at most, as one team, and throws what one of them threw.
template <typename Body>
void run_team(int n, const Body& body) {
  const auto run = [&](Team& team, int index) {
    Membership member(team, index);
    try {
      body();
    } catch (const Abandoned&) {
    } catch (...) {
      team.fail(std::current_exception());
    }
  };
#if defined(_OPENMP)
  if (n > 1) {
    alignas(Team) unsigned char place[sizeof(Team)];
    Team* team = nullptr;
#pragma omp parallel num_threads(n)
    {
#pragma omp single
      team = new (place) Team(omp_get_num_threads());  // which may be less than n
      run(*team, omp_get_thread_num());
    }
    struct End {
      Team* team;
      ~End() { team->~Team(); }
    } end{team};
    team->rethrow();
    return;
  }
#endif
  (void)n;
  Team team(1);
  run(team, 0);
  team.rethrow();
}

template <typename F>
class KernelRunner;

/// Runs a kernel: KernelRunner(kernel)(n, arguments…).
template <typename N, typename... P>
class KernelRunner<void (*)(N, P...)> {
 public:
  explicit KernelRunner(void (*kernel)(N, P...)) : m_kernel(kernel) {}

  void operator()(N n, P... arguments) const {
    if (!(n > N(0))) return;
    const int most = most_threads();
    const auto kernel = m_kernel;
    run_team(static_cast<long long>(n) < most ? static_cast<int>(n) : most, [&] { kernel(n, arguments...); });
  }

 private:
  void (*m_kernel)(N, P...);
};

}  // namespace tarsia_detail
#pragma GCC visibility pop

/// The number of threads of the running kernel: at most its first argument.
inline int get_num_threads() {
  return tarsia_detail::t_place.size;
}

/// The number of this thread in the running kernel, from 0.
inline int get_thread_num() {
  return tarsia_detail::t_place.index;
}

/// Adds to a number that other threads add to, and returns what it was before.
template <typename T>
inline T atomic_add(const typename tarsia_detail::Same<T>::type value, T* address) {
  T before, after;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  after = T(before + value);
  while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    after = T(before + value);
  return before;
}

template <typename T>
T* new_array(std::size_t size) {
  return new T[size];
}
template <typename T>
void del_array(T* p) {
  delete[] p;
}

/// Copies, with a size in bytes.
template <typename T>
T* MemcpyHostToDev(T* dst, const T* src, std::size_t size) {
  return dst == src ? dst : static_cast<T*>(std::memcpy(dst, src, size));
}
template <typename T>
T* MemcpyDevToHost(T* dst, const T* src, std::size_t size) {
  return MemcpyHostToDev(dst, src, size);
}
template <typename T>
T* MemcpyDevToDev(T* dst, const T* src, std::size_t size) {
  return MemcpyHostToDev(dst, src, size);
}

inline void set_device(int) {
  tarsia_detail::Message("FATAL", true, __FILE__, __LINE__)
      << "set_device: this source was compiled for the CPU";
}

}  // namespace mobula

#define KERNEL_RUN_STREAM(a, strm) KERNEL_RUN(a)
