// Marks of the functions below: callable in device code, and constexpr as far as the language version allows.
#pragma once
#define TARSIA_STD_FN __host__ __device__ inline
#define TARSIA_STD_MEMBER __host__ __device__
#if __cplusplus >= 201402L
#define TARSIA_STD_CONSTEXPR constexpr
#else
#define TARSIA_STD_CONSTEXPR
#endif
namespace std {
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
}  // namespace std
