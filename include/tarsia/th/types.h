/* The tensors and storages of TH and THC: structs whose members code of that time reads. Valid C and C++.

   A tensor is a view of a storage: `size` and `stride` have nDimension numbers, in elements. Both are counted
   by references. An argument of the call under way lives until it returns; `tarsia_argument` is then what the
   caller gave. */
#ifndef TARSIA_TH_TYPES_H
#define TARSIA_TH_TYPES_H

#include <tarsia/detail/macros_push.h>

#include <stddef.h>

#define TH_STORAGE_REFCOUNTED 1
#define TH_STORAGE_RESIZABLE 2
#define TH_STORAGE_FREEMEM 4
#define TH_TENSOR_REFCOUNTED 1

#define TARSIA_TH_TYPE(storage_, tensor_, real_)                    \
  typedef struct storage_ {                                         \
    real_* data;                                                    \
    ptrdiff_t size;                                                 \
    int refcount;                                                   \
    char flag;                                                      \
    void* allocator;                                                \
    void* allocatorContext;                                         \
    struct storage_* view;                                          \
    int tarsia_device; /* the GPU's number; -1: the CPU's memory */ \
  } storage_;                                                       \
  typedef struct tensor_ {                                          \
    long* size;                                                     \
    long* stride;                                                   \
    int nDimension;                                                 \
    storage_* storage;                                              \
    ptrdiff_t storageOffset;                                        \
    int refcount;                                                   \
    char flag;                                                      \
    const void* tarsia_argument;                                    \
  } tensor_;

TARSIA_TH_TYPE(THByteStorage, THByteTensor, unsigned char)
TARSIA_TH_TYPE(THCharStorage, THCharTensor, char)
TARSIA_TH_TYPE(THShortStorage, THShortTensor, short)
TARSIA_TH_TYPE(THIntStorage, THIntTensor, int)
TARSIA_TH_TYPE(THLongStorage, THLongTensor, long)
TARSIA_TH_TYPE(THFloatStorage, THFloatTensor, float)
TARSIA_TH_TYPE(THDoubleStorage, THDoubleTensor, double)

struct __half;
TARSIA_TH_TYPE(THCudaByteStorage, THCudaByteTensor, unsigned char)
TARSIA_TH_TYPE(THCudaCharStorage, THCudaCharTensor, char)
TARSIA_TH_TYPE(THCudaShortStorage, THCudaShortTensor, short)
TARSIA_TH_TYPE(THCudaIntStorage, THCudaIntTensor, int)
TARSIA_TH_TYPE(THCudaLongStorage, THCudaLongTensor, long)
TARSIA_TH_TYPE(THCudaStorage, THCudaTensor, float)
TARSIA_TH_TYPE(THCudaDoubleStorage, THCudaDoubleTensor, double)
TARSIA_TH_TYPE(THCudaHalfStorage, THCudaHalfTensor, struct __half)

/* The state of CUDA, of which there is one: `state`. */
typedef struct THCState {
  int tarsia_reserved;
} THCState;

#include <tarsia/detail/macros_pop.h>

#endif
