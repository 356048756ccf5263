// Where sources of mshadow's time find cuda::Reduce1D, which expr_kernels.h has.
#pragma once

#include <mshadow/tensor.h>
