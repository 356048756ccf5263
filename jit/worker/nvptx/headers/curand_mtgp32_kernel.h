// Stands before cuRAND's header of this name, which Clang's wrapper of CUDA's headers includes.
//
// Work-around: Clang's wrapper of CUDA's headers wants cuRAND.
// Trigger: a compile of device code by Clang on a machine without cuRAND's headers. Symptom: the header is
// not found, though the source includes nothing of cuRAND. Removal: the wrapper includes it where it is
// there.
#ifndef TARSIA_CLANG_WRAPPER
#include_next <curand_mtgp32_kernel.h>
#endif
