// Classes that live on both sides: operators, inheritance, new in unified memory, structs as kernel arguments, C++17.
#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

class Managed {
 public:
  void *operator new(size_t bytes) {
    void *p = nullptr;
    if (cudaMallocManaged(&p, bytes) != cudaSuccess) throw std::bad_alloc();
    return p;
  }
  void operator delete(void *p) {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
};

struct Vec3 {
  float x = 0, y = 0, z = 0;
  __host__ __device__ friend Vec3 operator+(const Vec3 &a, const Vec3 &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  __host__ __device__ friend Vec3 operator*(float s, const Vec3 &a) { return {s * a.x, s * a.y, s * a.z}; }
  __host__ __device__ float norm2() const { return x * x + y * y + z * z; }
};

template <typename T, int N>
class List : public Managed {
 public:
  __host__ __device__ T &operator[](int i) { return m_items[i]; }
  __host__ __device__ constexpr int size() const { return N; }

 private:
  T m_items[N];
};

struct Particle {
  Vec3 position, velocity;
  int hits = 0;
};

struct Box {
  Vec3 low, high;
  template <typename F>
  __host__ __device__ bool bounce(Particle &p, F on_hit) const {
    bool hit = false;
    if (p.position.x < low.x || p.position.x > high.x) p.velocity.x = -p.velocity.x, hit = true;
    if (p.position.y < low.y || p.position.y > high.y) p.velocity.y = -p.velocity.y, hit = true;
    if (p.position.z < low.z || p.position.z > high.z) p.velocity.z = -p.velocity.z, hit = true;
    if (hit) on_hit(p);
    return hit;
  }
};

template <typename T>
__host__ __device__ inline constexpr auto half_of(T x) {
  if constexpr (std::is_floating_point<T>::value) return x * T(0.5);
  else return x / 2;
}

constexpr int COUNT = 96;
using Particles = List<Particle, COUNT>;

__global__ void move(Particles *particles, Box box, float dt, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= particles->size()) return;
  Particle p = (*particles)[i];
  for (int step = 0; step < steps; ++step) {
    p.position = p.position + dt * p.velocity;
    box.bounce(p, [](Particle &q) { q.hits++; });
  }
  (*particles)[i] = p;
}

static std::optional<int> busiest(Particles &particles) {
  std::optional<int> best;
  for (int i = 0; i < particles.size(); ++i)
    if (particles[i].hits && (!best || particles[i].hits > particles[*best].hits)) best = i;
  return best;
}

int main() {
  std::unique_ptr<Particles> particles(new Particles);
  for (int i = 0; i < COUNT; ++i) {
    Particle &p = (*particles)[i];
    p = Particle{};
    p.velocity = {(i % 5 - 2) * 0.5f, (i % 7 - 3) * 0.25f, (i % 3 - 1) * 1.0f};
  }
  const Box box{{-1, -1, -1}, {1, 1, 1}};
  for (auto [dt, steps] : std::array<std::pair<float, int>, 2>{{{0.125f, 100}, {0.0625f, half_of(101)}}}) {
    move<<<3, 32>>>(particles.get(), box, dt, steps);
    if (cudaError_t e = cudaDeviceSynchronize()) {
      printf("%s\n", cudaGetErrorString(e));
      return 1;
    }
    float energy = 0;
    int hits = 0;
    for (int i = 0; i < COUNT; ++i) energy += half_of((*particles)[i].velocity.norm2()), hits += (*particles)[i].hits;
    std::string_view text = "energy";
    printf("%.*s %.6f, %d hits, most by %d\n", (int)text.size(), text.data(), energy, hits, busiest(*particles).value_or(-1));
  }
  const Vec3 last = (*particles)[COUNT - 2].position;
  printf("%.6f %.6f %.6f\n", last.x, last.y, last.z);
  return 0;
}
