// Names that CUDA's own headers bring into every host compile on Linux.
#pragma once
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
typedef unsigned char u_char;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef uint8_t u_int8_t;
typedef uint16_t u_int16_t;
typedef uint32_t u_int32_t;
typedef uint64_t u_int64_t;
typedef long ssize_t;
typedef long long time_t;  // as libcu++ declares it
typedef long off_t;
