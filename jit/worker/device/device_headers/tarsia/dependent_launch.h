// Programmatic dependent launch, of CUDA's device runtime.
//
// Work-around: NVRTC does not declare CUDA's functions for dependent launches.
// Trigger: a kernel calls cudaGridDependencySynchronize(). Symptom: an error. Removal: NVRTC declares them.
#pragma once
#if __CUDA_ARCH__ >= 900
inline __device__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;");
}
inline __device__ void cudaGridDependencySynchronize() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
inline __device__ void cudaTriggerProgrammaticLaunchCompletion() {}
inline __device__ void cudaGridDependencySynchronize() {}
#endif
