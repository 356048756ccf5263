// What Tarsia's own headers write: macros that mark functions, and that ask for fields of structs.
//
// TARSIA_DETAIL_SUPPORT marks inline functions whose code an inline source does not compile.
// In libraries built ahead of time they are plain inline functions. For an inline source, the compiler links
// their code from an object that was made when Tarsia was built (jit/worker/link/support/op_support.cpp).
// This takes a module with an op from 130 to 50 ms. So such a function may not be a template, and no macro of
// the user may change what it does.
#pragma once

// Clang warns that gnu_inline means something else to old compilers, which do not compile this.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-inline-cpp-without-extern"
#endif
#if defined(TARSIA_SUPPORT_OBJECT)
#define TARSIA_DETAIL_SUPPORT __attribute__((used, noinline)) inline
#elif defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#define TARSIA_DETAIL_SUPPORT __attribute__((gnu_inline, noinline)) inline
#else
#define TARSIA_DETAIL_SUPPORT inline
#endif

/// Whether a struct of the C interface has a field: its maker, who may know an older one, says its `size`.
#define TARSIA_DETAIL_HAS_FIELD(object_, field_) \
  ((object_).size >= __builtin_offsetof(__typeof__(object_), field_) + sizeof((object_).field_))
/// Whether it has the field, and something in it.
#define TARSIA_DETAIL_GIVES(object_, field_) (TARSIA_DETAIL_HAS_FIELD(object_, field_) && (object_).field_)
