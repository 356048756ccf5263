// expect: kernel chosen, kernel summed
#include <optional>
#include <span>
__device__ std::optional<int> half_of(int n) {
  if (n % 2) return std::nullopt;
  return n / 2;
}
__global__ void chosen(std::optional<float> scale, int *x) {
  const std::nullopt_t none = std::nullopt;
  std::optional<int> half = half_of(*x);
  *x = half.value_or(7) * (scale ? int(*scale) : 1) + (half == none) + std::make_optional(3).value();
}
__global__ void summed(std::span<const int> in, int *out) {
  int sum = 0;
  for (int one : in) sum += one;
  *out = sum + int(in.size());
}
