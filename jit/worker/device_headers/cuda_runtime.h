// What CUDA's own headers declare for device code is built into NVRTC.
#pragma once
#include <tarsia/cuda_version.h>
