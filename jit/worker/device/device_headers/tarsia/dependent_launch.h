// Programmatic dependent launch, of CUDA's device runtime, which NVRTC does not declare.
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
