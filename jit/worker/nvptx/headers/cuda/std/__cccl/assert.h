// Stands before CCCL's header of this name, which says what its assertions do.
//
// Work-around: CCCL declares __assert_fail for both sides where Clang has one for each.
// Trigger: NDEBUG and a header of CCCL in device code that Clang compiles. Symptom: "__host__ __device__
// function '__assert_fail' cannot overload __device__ function". Removal: CCCL declares it for the host
// alone, or Clang's wrapper of CUDA's headers for both sides.
#ifdef NDEBUG
// As <assert.h> declares the host's, without NDEBUG.
extern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept
    __attribute__((__noreturn__));
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include_next <cuda/std/__cccl/assert.h>
#pragma pop_macro("NDEBUG")
#else
#include_next <cuda/std/__cccl/assert.h>
#endif
