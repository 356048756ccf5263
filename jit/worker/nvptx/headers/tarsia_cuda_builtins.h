// Functions that CUDA's headers call and that nvcc's compiler has built in (PTX ISA, names and meanings).
//
// Work-around: Clang lacks functions that CUDA's headers expect of the compiler.
// Trigger: __dp4a, __isGridConstant and others in device code, with the headers of CUDA 13. Symptom: they
// call functions that are declared there and defined nowhere. Removal: Clang's wrapper of the headers defines
// them.
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
