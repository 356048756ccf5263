// Measures the cost of a call of an op for MXNet's extension API beyond the op's own work. The op is loaded
// in two ways: from its source, compiled while the program runs, and from its library, which g++ built
// against the same header. The op is a matrix product with arguments by pointer; its own work is the same
// product called directly. All take turns in one run; the best round of each counts.
//
//     build/release/bench_mxnet_op INCLUDE [rounds]      INCLUDE: the folder of lib_api.h
#include <tarsia/tarsia.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <type_traits>

namespace {

constexpr char k_source[] = R"(
#include "lib_api.h"
void gemm(const float* a, const float* b, float* c, unsigned n, unsigned k, unsigned m) {
  for (unsigned i = 0; i < n; i++)
    for (unsigned j = 0; j < m; j++) {
      c[i * m + j] = 0;
      for (unsigned l = 0; l < k; l++) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }
}
long long address_of_gemm() { return (long long)&gemm; }
typedef const std::unordered_map<std::string, std::string>& A;
MXReturnValue forward(A, std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
  gemm(in->at(0).data<float>(), in->at(1).data<float>(), out->at(0).data<float>(), in->at(0).shape[0],
       in->at(0).shape[1], in->at(1).shape[1]);
  return MX_SUCCESS;
}
MXReturnValue parse(A, int* in, int* out) { return *in = 2, *out = 1, MX_SUCCESS; }
MXReturnValue types(A, std::vector<int>* in, std::vector<int>* out) { return out->at(0) = in->at(0), MX_SUCCESS; }
MXReturnValue shapes(A, std::vector<std::vector<unsigned int>>* in, std::vector<std::vector<unsigned int>>* out) {
  return out->at(0) = {in->at(0)[0], in->at(1)[1]}, MX_SUCCESS;
}
REGISTER_OP(bench_gemm).setForward(forward, "cpu").setParseAttrs(parse).setInferType(types).setInferShape(shapes);
MXReturnValue initialize(int) { return MX_SUCCESS; }
)";

constexpr int k_calls = 100'000;

template <class Call>
double nanoseconds(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < k_calls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / k_calls;
}

/// Returns the library that g++ builds from the source.
std::string build(const std::string& include) {
  const std::string base = "/tmp/bench_mxnet_op_" + std::to_string(getpid());
  std::ofstream(base + ".cc") << k_source;
  const std::string command =
      "g++ -O2 -std=c++17 -shared -fPIC '-I" + include + "' " + base + ".cc -o " + base + ".so";
  if (std::system(command.c_str()) != 0) std::exit(1);
  return base + ".so";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: bench_mxnet_op INCLUDE [rounds]\n"), 2;
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 20;
  try {
    const std::vector<tarsia::Tensor> in = {tarsia::tensor<float>({1, 2, 3, 4}, {2, 2}),
                                            tarsia::tensor<float>({5, 6, 7, 8}, {2, 2})},
                                      out = {tarsia::tensor<float>({0, 0, 0, 0}, {2, 2})};
    const tarsia::Library source = tarsia::load_inline(k_source);
    void (*volatile gemm)(const float*, const float*, float*, unsigned, unsigned, unsigned) = nullptr;
    const tarsia::Function address = source["address_of_gemm"];
    gemm = reinterpret_cast<std::remove_volatile_t<decltype(gemm)>>(address.call<int64_t>());
    const tarsia::BoundOp inline_op = tarsia::Op("bench_gemm").bind(in);
    const std::string path = build(argv[1]);
    const tarsia::Library library = tarsia::load(path);
    const tarsia::BoundOp built_op = tarsia::Op("bench_gemm").bind(in);
    double direct = 1e9, by_source = 1e9, by_library = 1e9;
    for (int round = 0; round < rounds; ++round) {
      direct = std::min(direct, nanoseconds([&] {
                          gemm(in[0].data<const float>(), in[1].data<const float>(), out[0].data<float>(), 2,
                               2, 2);
                        }));
      by_source = std::min(by_source, nanoseconds([&] { inline_op.run(in, out); }));
      by_library = std::min(by_library, nanoseconds([&] { built_op.run(in, out); }));
    }
    std::remove(path.c_str());
    std::remove((path.substr(0, path.size() - 2) + "cc").c_str());
    std::printf("A 2 by 2 product by an op for MXNet's API, best of %d rounds of %d calls, in ns\n", rounds,
                k_calls);
    std::printf("  the product alone                        %6.1f\n", direct);
    std::printf("  bound op of the source                   %6.1f   %+.1f\n", by_source, by_source - direct);
    std::printf("  bound op of the built library            %6.1f   %+.1f\n", by_library,
                by_library - direct);
  } catch (const tarsia::Error& e) {
    std::fprintf(stderr, "bench_mxnet_op: %s\n", e.what());
    return 1;
  }
}
