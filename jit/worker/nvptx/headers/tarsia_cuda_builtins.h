// Functions that CUDA's headers call and that nvcc's compiler has built in (PTX ISA, names and meanings).
//
// Work-around: Clang lacks functions that CUDA's headers expect of the compiler.
// Trigger: __dp4a, __isGridConstant, __nv_atomic_load_n and others in device code, with the headers of
// CUDA 13. Symptom: they call functions that are declared there and defined nowhere. Removal: Clang's wrapper
// of the headers defines them.
#pragma once
#pragma GCC system_header
extern "C" {
#define TARSIA_DOT(NAME, TYPE, INSTRUCTION)                                 \
  __device__ inline TYPE NAME(TYPE a, TYPE b, TYPE c) {                     \
    TYPE d;                                                                 \
    asm(INSTRUCTION " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
    return d;                                                               \
  }
TARSIA_DOT(__nv_idp4a_s_s_impl, int, "dp4a.s32.s32")
TARSIA_DOT(__nv_idp4a_u_u_impl, unsigned int, "dp4a.u32.u32")
TARSIA_DOT(__nv_idp2a_lo_s_s_impl, int, "dp2a.lo.s32.s32")
TARSIA_DOT(__nv_idp2a_lo_u_u_impl, unsigned int, "dp2a.lo.u32.u32")
TARSIA_DOT(__nv_idp2a_hi_s_s_impl, int, "dp2a.hi.s32.s32")
TARSIA_DOT(__nv_idp2a_hi_u_u_impl, unsigned int, "dp2a.hi.u32.u32")
#undef TARSIA_DOT
__device__ inline unsigned __nv_activemask_impl() {
  return __nvvm_activemask();
}
__device__ inline unsigned short __nv_bswap16_impl(unsigned short x) {
  return __builtin_bswap16(x);
}
__device__ inline unsigned int __nv_bswap32_impl(unsigned int x) {
  return __builtin_bswap32(x);
}
__device__ inline unsigned long long __nv_bswap64_impl(unsigned long long x) {
  return __builtin_bswap64(x);
}
__device__ inline unsigned __nv_isGlobal_impl(const void* p) {
  return __nvvm_isspacep_global(p);
}
__device__ inline unsigned __nv_isShared_impl(const void* p) {
  return __nvvm_isspacep_shared(p);
}
__device__ inline unsigned __nv_isConstant_impl(const void* p) {
  return __nvvm_isspacep_const(p);
}
__device__ inline unsigned __nv_isLocal_impl(const void* p) {
  return __nvvm_isspacep_local(p);
}
__device__ inline unsigned __nv_isGridConstant_impl(const void* p) {
  unsigned is;
  asm("{ .reg .pred q; isspacep.param q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(is) : "l"(p));
  return is;
}
__device__ inline size_t __nv_cvta_generic_to_param_impl(const void* p) {
  size_t address;
  asm("cvta.to.param.u64 %0, %1;" : "=l"(address) : "l"(p));
  return address;
}
__device__ inline void* __nv_cvta_param_to_generic_impl(size_t address) {
  void* p;
  asm("cvta.param.u64 %0, %1;" : "=l"(p) : "l"(address));
  return p;
}
}
// Atomic functions with an order and a scope (CUDA C++ Programming Guide, "Atomic Functions"), which CUTLASS
// calls. The scope's default is the system.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#ifdef __MEMORY_SCOPE_CLUSTR
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_CLUSTR
#else
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_DEVICE  // wider
#endif
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM
#define TARSIA_ATOMIC \
  template <class T_> \
  __device__ __attribute__((always_inline)) inline
TARSIA_ATOMIC T_ __nv_atomic_load_n(T_* at, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __scoped_atomic_load_n(at, order, scope);
}
TARSIA_ATOMIC void __nv_atomic_load(T_* at, T_* result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __scoped_atomic_load(at, result, order, scope);
}
TARSIA_ATOMIC void __nv_atomic_store_n(T_* at, T_ value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __scoped_atomic_store_n(at, value, order, scope);
}
TARSIA_ATOMIC void __nv_atomic_store(T_* at, T_* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __scoped_atomic_store(at, value, order, scope);
}
TARSIA_ATOMIC bool __nv_atomic_compare_exchange_n(T_* at, T_* expected, T_ desired, bool weak, int success,
                                                  int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __scoped_atomic_compare_exchange_n(at, expected, desired, weak, success, failure, scope);
}
TARSIA_ATOMIC bool __nv_atomic_compare_exchange(T_* at, T_* expected, T_* desired, bool weak, int success,
                                                int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __scoped_atomic_compare_exchange(at, expected, desired, weak, success, failure, scope);
}
// LLVM gives the other instructions neither an order nor a scope: they are relaxed, and atomic for one
// device.
#define TARSIA_FETCH(NAME, RELAXED, VALUE)                                                                 \
  TARSIA_ATOMIC T_ __nv_atomic_##NAME(T_* at, T_ value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) { \
    if (order == __ATOMIC_RELAXED && scope != __NV_THREAD_SCOPE_SYSTEM)                                    \
      return RELAXED(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                                  \
    T_ old, wanted;                                                                                        \
    __scoped_atomic_load(at, &old, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);                               \
    do wanted = VALUE;                                                                                     \
    while (!__scoped_atomic_compare_exchange(at, &old, &wanted, true, order, __ATOMIC_RELAXED, scope));    \
    return old;                                                                                            \
  }
TARSIA_FETCH(exchange_n, __scoped_atomic_exchange_n, value)
TARSIA_FETCH(fetch_add, __scoped_atomic_fetch_add, T_(old + value))
TARSIA_FETCH(fetch_sub, __scoped_atomic_fetch_sub, T_(old - value))
TARSIA_FETCH(fetch_and, __scoped_atomic_fetch_and, T_(old& value))
TARSIA_FETCH(fetch_or, __scoped_atomic_fetch_or, T_(old | value))
TARSIA_FETCH(fetch_xor, __scoped_atomic_fetch_xor, T_(old ^ value))
TARSIA_FETCH(fetch_min, __scoped_atomic_fetch_min, (value < old ? value : old))
TARSIA_FETCH(fetch_max, __scoped_atomic_fetch_max, (old < value ? value : old))
TARSIA_ATOMIC void __nv_atomic_exchange(T_* at, T_* value, T_* result, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_exchange_n(at, *value, order, scope);
}
__device__ __attribute__((always_inline)) inline void __nv_atomic_thread_fence(
    int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __scoped_atomic_thread_fence(order, scope);
}
#undef TARSIA_FETCH
#undef TARSIA_ATOMIC
