// size_t, ptrdiff_t and NULL are NVRTC's own.
#pragma once
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef long double max_align_t;
