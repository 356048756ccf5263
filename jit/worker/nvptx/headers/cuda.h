// <cuda.h> for Clang's wrapper of CUDA's headers alone.
//
// Work-around: Clang's wrapper includes <cuda.h>, which nvcc does not.
// Trigger: a header that asks whether CUDA_VERSION is defined, as Eigen does, before the source includes
// <cuda.h>. Symptom: the device's half goes another way than nvcc's, and names of the driver's API are there
// unasked. The wrapper needs the version's number and one type: CUDA 13 is the one that is supported.
// Removal: Clang's wrapper does without <cuda.h>.
#ifdef TARSIA_CLANG_WRAPPER
#include <stdint.h>
#define CUDA_VERSION 13000
typedef uint32_t cuuint32_t;
#else
#include_next <cuda.h>
#endif
