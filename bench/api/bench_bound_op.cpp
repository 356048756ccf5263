// Measures a call of a bound op from C++. An op that does next to nothing is called through Tarsia, and the
// same function directly through a pointer. Both take turns in one run; the best round of each counts.
//
//     build/release/bench_bound_op [rounds]
#include <tarsia/tarsia.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr char k_source[] = R"(
#include <tarsia/op.h>
void first(const float* x, float* y) { y[0] = x[0]; }
long long address_of_first() { return (long long)&first; }
static void forward(tarsia::Context& c) { first(c.input(0).data<const float>(), c.output(0).data<float>()); }
TARSIA_OP(bench_first).input("x").output("y").forward("cpu", forward);
)";

constexpr int k_calls = 200'000;

template <class Call>
double nanoseconds(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < k_calls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / k_calls;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
  try {
    const tarsia::Library library = tarsia::load_inline(k_source);
    void (*volatile first)(const float*, float*) = nullptr;
    const tarsia::Function address = library["address_of_first"];
    first = reinterpret_cast<void (*)(const float*, float*)>(address.call<int64_t>());

    const std::vector<tarsia::Tensor> x = {tarsia::tensor<float>({1, 2})},
                                      y = {tarsia::tensor<float>({0, 0})};
    const float* from = x[0].data<const float>();
    float* to = y[0].data<float>();
    const tarsia::BoundOp op = tarsia::Op("bench_first").bind(x);
    double through_tarsia = 1e9, unchecked = 1e9, direct = 1e9;
    const tarsia_tensor *in = x[0].get(), *out = y[0].get();
    tarsia_op_call call{};
    call.size = sizeof(call);
    call.n_inputs = call.n_outputs = 1;
    call.inputs = &in;
    call.outputs = &out;
    for (int round = 0; round < rounds; ++round) {
      direct = std::min(direct, nanoseconds([&] { first(from, to); }));
      through_tarsia = std::min(through_tarsia, nanoseconds([&] { op.run(x, y); }));
      unchecked = std::min(unchecked, nanoseconds([&] { tarsia_bound_call(op.get(), &call); }));
    }
    std::printf("A call that does next to nothing, best of %d rounds of %d, in ns\n", rounds, k_calls);
    std::printf("  function pointer                        %6.1f\n", direct);
    std::printf("  bound op, BoundOp::run                  %6.1f   %+.1f, %.1f times\n", through_tarsia,
                through_tarsia - direct, through_tarsia / direct);
    std::printf("  bound op, tarsia_bound_call             %6.1f   %+.1f, %.1f times\n", unchecked,
                unchecked - direct, unchecked / direct);
  } catch (const tarsia::Error& e) {
    std::fprintf(stderr, "bench_bound_op: %s\n", e.what());
    return 1;
  }
}
