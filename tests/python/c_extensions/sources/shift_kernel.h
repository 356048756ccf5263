/* How shift.c reaches the kernel. */
#ifndef SHIFT_KERNEL
#define SHIFT_KERNEL
#ifdef __cplusplus
extern "C" {
#endif
void shift_launch(const float* x, float by, float* y, long n, cudaStream_t stream);
#ifdef __cplusplus
}
#endif
#endif
