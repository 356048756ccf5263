// Macros by names that Tarsia's own headers use for other things.
// expect: m
// expect: element 21
#include <stdio.h>
#include <string>
#include <vector>
#define size 16
#define n 4
#define T float
#define F 3
#define N 1024
#define A 2
#define value 5
#define type int
#define name "x"
#define data dd
#define index(i, j) ((i) * 4 + (j))
#define count 7
#define result 8
#define error(x) printf("%s\n", x)
#define stream 0
#define device 0
#define call(x) x
#define args 1
#define begin 1
#define end 2
#define first 3
#define second 4
#define function 9
#define context 3
#define real double
#define x threadIdx.x
#define i32 int
#define self 4
#define kind 2
#define text 3
#define get 4
#define set 5
#define step 6
#define Args 4
#define R 5
#define K 6
#define I 7
#define arg 3
#define out 4
#define in 5
#define unused
#define add 4
#define handle 7
#define host 3
#define loop 5
#define shape 6
#define dtype 7
#define table 4
#define description 5
__global__ void kernel(T *p) { p[index(0, x)] = value + size; }
int twice(int a) { return 2 * a; }
std::string hello(const std::string &s) { return s; }
std::vector<int> many(float *p, long m, std::vector<double> v) { return {1}; }
int main() { T *d; cudaMalloc(&d, 64); kernel<<<1, n>>>(d); error("m"); T h; cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); printf("element %g\n", h); return 0; }
