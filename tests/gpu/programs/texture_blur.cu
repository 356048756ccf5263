// A blur that reads through a texture object, and a second pass that writes a surface.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#define WIDTH 96
#define HEIGHT 64

static inline int divide_up(int a, int b) { return (a + b - 1) / b; }

__global__ void blur(float *out, cudaTextureObject_t image, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= WIDTH || y >= HEIGHT) return;
  float sum = 0;
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx) sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
  out[y * WIDTH + x] = sum / ((2 * radius + 1) * (2 * radius + 1));
}

__global__ void flip(cudaSurfaceObject_t surface, const float *in) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < WIDTH && y < HEIGHT) surf2Dwrite(in[y * WIDTH + x], surface, (WIDTH - 1 - x) * (int)sizeof(float), y);
}

struct Image {
  cudaArray_t array = nullptr;
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  explicit Image(const float *pixels) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(array, 0, 0, pixels, WIDTH * sizeof(float), WIDTH * sizeof(float), HEIGHT, cudaMemcpyHostToDevice);
    cudaResourceDesc resource;
    memset(&resource, 0, sizeof(resource));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description;
    memset(&description, 0, sizeof(description));
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModePoint;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = 0;
    cudaCreateTextureObject(&texture, &resource, &description, NULL);
    cudaCreateSurfaceObject(&surface, &resource);
  }
  ~Image() {
    cudaDestroyTextureObject(texture);
    cudaDestroySurfaceObject(surface);
    cudaFreeArray(array);
  }
};

static void report(const std::string &name, const float *pixels) {
  double sum = 0, weighted = 0;
  for (int i = 0; i < WIDTH * HEIGHT; ++i) sum += pixels[i], weighted += pixels[i] * (i % WIDTH);
  printf("%-8s %.4f %.4f | %.5f %.5f %.5f\n", name.c_str(), sum, weighted, pixels[0], pixels[WIDTH / 2], pixels[WIDTH * HEIGHT - 1]);
}

int main() {
  static float pixels[WIDTH * HEIGHT];
  for (int i = 0; i < WIDTH * HEIGHT; ++i) pixels[i] = (float)((i * 31 + i / WIDTH * 17) % 256) / 255.0f;
  report("input", pixels);
  Image image(pixels);
  float *out;
  cudaMalloc(&out, sizeof(pixels));
  dim3 block(16, 16), grid(divide_up(WIDTH, 16), divide_up(HEIGHT, 16));
  for (int radius = 1; radius <= 3; ++radius) {
    blur<<<grid, block>>>(out, image.texture, radius);
    cudaMemcpy(pixels, out, sizeof(pixels), cudaMemcpyDeviceToHost);
    report("radius " + std::to_string(radius), pixels);
  }
  flip<<<grid, block>>>(image.surface, out);
  cudaMemcpy2DFromArray(pixels, WIDTH * sizeof(float), image.array, 0, 0, WIDTH * sizeof(float), HEIGHT, cudaMemcpyDeviceToHost);
  report("flipped", pixels);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  cudaFree(out);
}
