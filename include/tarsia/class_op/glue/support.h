// TARSIA_DETAIL_GLUE marks functions of these headers whose code inline sources do not compile. The compiler
// links it from an object that was made when Tarsia was built
// (jit/worker/link/support/class_op_support.cpp): the glue is as long as most class operators. That object
// knows the strings that libstdc++ has by default; sources with the old ones compile all.
#pragma once

#include <string>

#include <tarsia/detail/support.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && _GLIBCXX_USE_CXX11_ABI
#define TARSIA_DETAIL_GLUE TARSIA_DETAIL_SUPPORT
#if defined(TARSIA_SUPPORT_OBJECT)
#define TARSIA_DETAIL_GLUE_TEMPLATE template
#else
#define TARSIA_DETAIL_GLUE_TEMPLATE extern template
#define TARSIA_DETAIL_GLUE_IS_LINKED
#endif
#else
#define TARSIA_DETAIL_GLUE inline
#endif
