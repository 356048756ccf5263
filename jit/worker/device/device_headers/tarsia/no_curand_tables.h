// In place of <curand_precalc.h>: the XORWOW generator's tables, 50,000 numbers that NVRTC reads in 0.1 s,
// are declared as what no code has. A kernel that needs them does not link, and is compiled with them.
#pragma once
#define PRECALC_NUM_MATRICES (32)
#define PRECALC_MATRIX_SIZE (800)
#define PRECALC_BLOCK_SIZE (2)
#define PRECALC_BLOCK_MASK ((1 << PRECALC_BLOCK_SIZE) - 1)
#define XORWOW_SEQUENCE_SPACING (67)
typedef unsigned int tarsia_curand_tables[PRECALC_NUM_MATRICES][PRECALC_MATRIX_SIZE];
__device__ tarsia_curand_tables& tarsia_no_curand_tables(int which);
#define precalc_xorwow_matrix (tarsia_no_curand_tables(0))
#define precalc_xorwow_offset_matrix (tarsia_no_curand_tables(1))
