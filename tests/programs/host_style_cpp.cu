// Modern C++ on the host: lambdas, RAII, smart pointers, chrono, algorithms, streams; kernels in anonymous namespaces.
// expect: sum 4950
// expect: sorted 1 2 3 5 8
// expect: buffer 3 6 9
// expect: launched from a lambda 11
// expect: Vector(1, 2)
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std;

namespace {
constexpr int kBlock = 128;

__global__ void triple(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = max(x[i] * 3, 0.0f);
}
__global__ void addOne(int* x) { x[threadIdx.x] += 1; }

struct Vector {
  float x = 0, y = 0;
  __host__ __device__ Vector operator+(const Vector& o) const { return {x + o.x, y + o.y}; }
  friend ostream& operator<<(ostream& out, const Vector& v) { return out << "Vector(" << v.x << ", " << v.y << ")"; }
  string str() const {
    ostringstream out;
    out << *this;
    return out.str();
  }
};
__global__ void addVectors(const Vector* a, Vector* b) { *b = *a + *b; }

class CudaError : public runtime_error {
 public:
  explicit CudaError(cudaError_t code) : runtime_error(cudaGetErrorString(code)), code_(code) {}
  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};
inline void check(cudaError_t code) {
  if (code != cudaSuccess) throw CudaError{code};
}

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); }
  explicit DeviceBuffer(const vector<T>& host) : DeviceBuffer(host.size()) { upload(host); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& o) noexcept : p_(exchange(o.p_, nullptr)), n_(o.n_) {}
  ~DeviceBuffer() { cudaFree(p_); }
  void upload(const vector<T>& host) {
    check(cudaMemcpy(p_, host.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  vector<T> download() const {
    vector<T> host(n_);
    check(cudaMemcpy(host.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  T* data() { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
};

struct Free {
  void operator()(void* p) const { cudaFree(p); }
};
}  // namespace

int main() try {
  vector<int> v(100);
  iota(v.begin(), v.end(), 0);
  cout << "sum " << accumulate(v.begin(), v.end(), 0) << endl;
  map<string, vector<int>> groups{{"a", {5, 3, 8}}, {"b", {2, 1}}};
  vector<int> all;
  for (const auto& [name, members] : groups) all.insert(all.end(), members.begin(), members.end());
  sort(all.begin(), all.end(), [](int a, int b) { return a < b; });
  cout << "sorted";
  for_each(all.begin(), all.end(), [](int x) { cout << ' ' << x; });
  cout << '\n';

  DeviceBuffer<float> buffer(vector<float>{1, 2, 3});
  const auto start = chrono::high_resolution_clock::now();
  triple<<<(buffer.size() + kBlock - 1) / kBlock, kBlock>>>(buffer.data(), static_cast<int>(buffer.size()));
  check(cudaDeviceSynchronize());
  const chrono::duration<double, milli> took = chrono::high_resolution_clock::now() - start;
  if (took.count() < 0) return 2;
  auto back = buffer.download();
  cout << "buffer " << back[0] << " " << back[1] << " " << back[2] << "\n";

  int* raw = nullptr;
  check(cudaMalloc(&raw, sizeof(int)));
  unique_ptr<int, Free> owned(raw);
  int value = 10;
  function<void(int)> launch = [&](int times) {
    check(cudaMemcpy(owned.get(), &value, sizeof(int), cudaMemcpyHostToDevice));
    while (times--) addOne<<<1, 1>>>(owned.get());
    check(cudaMemcpy(&value, owned.get(), sizeof(int), cudaMemcpyDeviceToHost));
  };
  launch(1);
  cout << "launched from a lambda " << value << endl;
  Vector a{1, 2};
  DeviceBuffer<Vector> da(vector<Vector>{a}), db(vector<Vector>{Vector{}});
  addVectors<<<1, 1>>>(da.data(), db.data());
  cout << db.download()[0].str() << endl;
} catch (const CudaError& e) {
  cerr << "CUDA: " << e.what() << " (" << e.code() << ")\n";
  return 1;
}
