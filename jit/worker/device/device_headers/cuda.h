// The driver's types that kernels may have as parameters; its functions are the host's.
#pragma once
#include <stdint.h>
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct alignas(128) CUtensorMap_st {
  uint64_t opaque[16];
} CUtensorMap;
