/* The functions of mix.c that the module has. */
int mix_forward(THFloatTensor* a, THFloatTensor* b, float weight, THFloatTensor* out);
int mix_backward(THFloatTensor* grad_out, float weight, THFloatTensor* grad_a, THFloatTensor* grad_b);
