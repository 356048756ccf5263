/* The functions of shift.c that the module has. */
int shift_cuda(THCudaTensor* x, float by, THCudaTensor* y);
int add_cuda(THCudaTensor* a, THCudaTensor* b, THCudaTensor* out);
long largest_cuda(THCudaLongTensor* x, THLongTensor* host);
