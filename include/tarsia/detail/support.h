// TARSIA_DETAIL_SUPPORT: before functions, inline ones, that are part of every module which uses them.
//
// Ahead of time they are plain inline functions. An inline source does not compile them: the compiler links
// their code from an object that was made when Tarsia was built (jit/worker/link/support/op_support.cpp),
// which takes a module with an op from 130 to 50 ms. So none may be a template, or change what it does by a
// macro of the user's.
#pragma once

// Clang remarks that gnu_inline means something else in old compilers: not here.
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
