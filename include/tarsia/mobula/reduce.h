// Reductions by all threads of a kernel.
//
// Each thread folds its part of the input into a slot of its own. Then slots are joined in pairs, pairs of
// pairs, and so on: log2 of the number of threads. Between these steps stands a barrier. The order of the
// elements holds, so the function needs to be associative, and need not commute.
#pragma once

#include <tarsia/mobula/loops.h>

namespace mobula {
namespace tarsia_detail {

/// Calls join(t, other) on thread t for each pair of slots that are `first`, 2 first, 4 first … apart.
template <typename Join>
MOBULA_DEVICE inline void join_slots(int first, const Join& join) {
  const int threads = get_num_threads(), t = get_thread_num();
  for (int apart = first; apart < threads; apart *= 2) {
    if (t % (2 * apart) == 0 && t + apart < threads) join(t, t + apart);
    barrier();
  }
}

}  // namespace tarsia_detail

/// Reduces n elements to out[0], on all threads; when it returns, each thread may read it. func(a, x) folds x
/// into a; `init` is its neutral element. `out` has a slot for each thread: get_num_threads(), which is at
/// most the kernel's first argument.
template <typename T>
MOBULA_DEVICE inline void Reduce(const int n, const T* data, T* out, void (*func)(T&, const T&),
                                 typename tarsia_detail::Same<T>::type init) {
  const int t = get_thread_num();
  int start, end;
  get_parfor_range(n < 0 ? 0 : n, get_num_threads(), t, &start, &end);
  T result = init;
  for (int i = start; i < end; ++i) func(result, data[i]);
  out[t] = result;
  tarsia_detail::barrier();
  tarsia_detail::join_slots(1, [&](int a, int b) { func(out[a], out[b]); });
}

/// The same with a residual, what the result lost by rounding. fold(a, x, residual) folds x into a;
/// merge(a, a_residual, b, b_residual) joins two results. A residual of T(0) is none.
template <typename T>
MOBULA_DEVICE inline void Reduce(const int n, const T* data, T* out, void (*fold)(T&, const T&, T&),
                                 void (*merge)(T&, T&, const T&, const T&),
                                 typename tarsia_detail::Same<T>::type init) {
  const int threads = get_num_threads(), t = get_thread_num();
  int start, end;
  get_parfor_range(n < 0 ? 0 : n, threads, t, &start, &end);
  T result = init, residual = T(0);
  for (int i = start; i < end; ++i) fold(result, data[i], residual);
  out[t] = result;
  tarsia_detail::barrier();
  // From here on, two neighbouring slots hold a result and its residual.
  const bool is_odd = t % 2 != 0, leads = !is_odd && t + 1 < threads;
  const T other = leads ? out[t + 1] : T(0);
  tarsia_detail::barrier();
  if (is_odd) out[t] = residual;
  tarsia_detail::barrier();
  if (leads) {
    const T other_residual = out[t + 1];
    merge(result, residual, other, other_residual);
    out[t] = result;
    out[t + 1] = residual;
  }
  tarsia_detail::barrier();
  tarsia_detail::join_slots(2, [&](int a, int b) {
    const T none = T(0);  // the last thread of an odd number has no neighbour to keep its residual
    merge(out[a], out[a + 1], out[b], b + 1 < threads ? out[b + 1] : none);
  });
}

template <typename T>
MOBULA_DEVICE inline void max_func(T& a, const T& x) {
  if (x > a) a = x;
}

template <typename T>
MOBULA_DEVICE inline void add_func(T& a, const T& x) {
  a += x;
}

/// Adds as Kahan does: the residual is what `a` has too much.
template <typename T>
MOBULA_DEVICE inline void add_residual_reduce_func(T& a, const T& x, T& residual) {
  const T more = x - residual, sum = a + more;
  residual = (sum - a) - more;
  a = sum;
}

/// Joins two such sums. The error of a + b is exact, after Knuth's TwoSum.
template <typename T>
MOBULA_DEVICE inline void add_residual_merge_func(T& a, T& a_residual, const T& b, const T& b_residual) {
  const T sum = a + b, taken = sum - a;
  const T error = ((b - taken) + (a - (sum - taken))) - a_residual - b_residual;
  a = sum + error;
  a_residual = (a - sum) - error;
}

}  // namespace mobula
