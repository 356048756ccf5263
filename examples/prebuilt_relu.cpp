// Both doors: relu.cu compiled by Tarsia while the program runs, and by nvcc ahead of time, behave alike.
// In the checkout, after scripts/demo:
//   package=$(.venv/bin/python -c 'import tarsia; print(tarsia.__path__[0])')
//   nvcc -std=c++17 -shared -Xcompiler -fPIC -I$package/include examples/relu.cu -o relu.so
//   flags="-I$package/include -L$package -ltarsia -Wl,-rpath,$package"
//   g++ -std=c++20 examples/prebuilt_relu.cpp $flags -o prebuilt_relu
//   ./prebuilt_relu examples/relu.cu ./relu.so
#include <tarsia/tarsia.h>

#include <cstdio>
#include <fstream>
#include <iterator>

static std::vector<float> run(const tarsia::Library& library) {
  std::printf("%-9s", library.origin().c_str());
  for (const char* op : library.ops()) std::printf(" op %s", op);
  // The library that was loaded last owns the name.
  const tarsia::Tensor x = tarsia::tensor<float>({-2, -1, 0, 1, 2});
  const tarsia::BoundOp relu = tarsia::Op("relu").bind({x}, {{"slope", 0.5}});
  const std::vector<tarsia::Tensor> y = relu({x});
  const std::vector<float> values = tarsia::to_vector<float>(y[0]);
  const std::vector<float> gradient = tarsia::to_vector<float>(relu.backward({x}, {x}, y)[0]);
  for (float v : values) std::printf(" %g", v);
  std::printf(" |");
  for (float v : gradient) std::printf(" %g", v);
  std::printf("\n");
  library.unload();
  return values;
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: prebuilt_relu relu.cu relu.so\n"), 2;
  try {
    std::ifstream file(argv[1]);
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const bool alike = run(tarsia::load_inline({{"relu.cu", source}})) == run(tarsia::load(argv[2]));
    std::printf("%s\n", alike ? "alike" : "different");
    return alike ? 0 : 1;
  } catch (const tarsia::Error& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
