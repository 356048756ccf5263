// Names that the kernels use for things of their own and the host for others, which device code cannot have.
// expect: sum 10 width 4 many 1
// expect: host 8 3
#include <time.h>
#include <stdio.h>

#include <map>
#include <string>

const size_t width = sizeof(struct tm) / sizeof(struct tm) * 4;
constexpr int total(const char* text) { return text ? int(std::char_traits<char>::length(text)) : 0; }
struct entries {
  std::map<int, std::string> all;
};
typedef std::map<int, entries> table;

__global__ void kernel(const int* table, int* out, int entries) {
  int total = 0;
  int width = 0;
  for (int i = 0; i < entries; ++i) total += table[i], ++width;
  out[0] = total;
  out[1] = width;
}

int main() {
  int h[4] = {1, 2, 3, 4}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  kernel<<<1, 1>>>(d, d, 4);
  cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost);
  table many;
  many[1].all[2] = "two";
  printf("sum %d width %d many %zu\n", h[0], h[1], many.size());
  printf("host %zu %d\n", 2 * width, total("abc"));
  return 0;
}
