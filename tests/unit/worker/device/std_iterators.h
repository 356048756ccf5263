// What test_device_std.cpp asks of both libraries: libstdc++ compiles this file with the test, and NVRTC
// reads its text.

struct Apart {
  int x;
};
#if __cplusplus >= 201703L
#define SINCE_17 constexpr
#else
#define SINCE_17 inline
#endif

SINCE_17 int distance(const Apart& a, const Apart& b) {
  return a.x - b.x;
}

SINCE_17 int walk() {
  int a[4] = {1, 2, 3, 4};
  const std::array<int, 3> b{{1, 2, 3}};
  int sum = 0;
  for (std::reverse_iterator<int*> at(a + 4), end(a); at != end; ++at) sum = sum * 10 + *at;
  for (auto at = std::reverse_iterator<const int*>(a + 3); at.base() > a; at++) sum = sum * 3 + at[0];
  std::reverse_iterator<int*> at(a + 2), end(a);
  sum += at[1] + *(at + 1) * 7 + int(end - at) + (at < end) * 100 + (at >= end) * 1000 + *(1 + at);
  const std::reverse_iterator<const int*> constant = at;
  sum += (constant == at) * 10000 + *constant.operator->();
  sum += *std::begin(b) + *(std::end(b) - 1) * 11 + *std::next(a) * 13 + *std::prev(a + 4) * 17;
  const int* third = a;
  std::advance(third, 2);
  sum += *third * 19 + int(std::distance(a, a + 3)) * 23;
  {
    using namespace std;
    sum += distance(Apart{40}, Apart{2});
  }
  return sum;
}
