// GNU's second spellings of keywords, and the macros of g++ that tell of types, for device code.
//
// Work-around: NVRTC does not know GNU's spellings of keywords, nor the macros that g++ predefines.
// Trigger: `__asm__ __volatile__("...")`, `__const`, `__INT_MAX__`, `__UINT64_TYPE__` and their like, which
// nvcc takes in device code: its front end is told what g++ predefines. Symptom: "identifier is undefined".
// The values are g++'s for x86-64, as on the host. Removal: NVRTC knows them.
#pragma once

#define __asm asm
#define __asm__ asm
#define __volatile volatile
#define __volatile__ volatile
#define __const const
#define __const__ const
#define __signed signed
#define __signed__ signed
#define __alignof alignof
#define __alignof__ alignof
#define __extension__
#define __null 0
#define _Static_assert static_assert

#ifndef __INT_MAX__
#define __CHAR_BIT__ 8
#define __SCHAR_MAX__ 0x7f
#define __SHRT_MAX__ 0x7fff
#define __INT_MAX__ 0x7fffffff
#define __LONG_MAX__ 0x7fffffffffffffffL
#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL
#define __SIZEOF_SHORT__ 2
#define __SIZEOF_INT__ 4
#define __SIZEOF_LONG__ 8
#define __SIZEOF_LONG_LONG__ 8
#define __SIZEOF_POINTER__ 8
#define __SIZEOF_SIZE_T__ 8
#define __SIZEOF_PTRDIFF_T__ 8
#define __SIZEOF_FLOAT__ 4
#define __SIZEOF_DOUBLE__ 8
#define __SIZE_TYPE__ unsigned long
#define __SIZE_MAX__ 0xffffffffffffffffUL
#define __PTRDIFF_TYPE__ long
#define __PTRDIFF_MAX__ 0x7fffffffffffffffL
#define __INTPTR_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __INTMAX_TYPE__ long
#define __UINTMAX_TYPE__ unsigned long
#define __INT8_TYPE__ signed char
#define __INT16_TYPE__ short
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long
#define __UINT8_TYPE__ unsigned char
#define __UINT16_TYPE__ unsigned short
#define __UINT32_TYPE__ unsigned int
#define __UINT64_TYPE__ unsigned long
#define __INT8_MAX__ 0x7f
#define __INT16_MAX__ 0x7fff
#define __INT32_MAX__ 0x7fffffff
#define __INT64_MAX__ 0x7fffffffffffffffL
#define __UINT8_MAX__ 0xff
#define __UINT16_MAX__ 0xffff
#define __UINT32_MAX__ 0xffffffffU
#define __UINT64_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __FLT_MAX__
#define __FLT_MAX__ 3.40282346638528859811704183484516925e+38F
#define __FLT_MIN__ 1.17549435082228750796873653722224568e-38F
#define __FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
#define __FLT_DIG__ 6
#define __FLT_MANT_DIG__ 24
#define __DBL_MAX__ double(1.79769313486231570814527423731704357e+308L)
#define __DBL_MIN__ double(2.22507385850720138309023271733240406e-308L)
#define __DBL_EPSILON__ double(2.22044604925031308084726333618164062e-16L)
#define __DBL_DIG__ 15
#define __DBL_MANT_DIG__ 53
#endif
