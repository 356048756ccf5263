// A C++ program that compiles an op source while it runs. In the checkout, after scripts/demo:
//   package=$(.venv/bin/python -c 'import tarsia; print(tarsia.__path__[0])')
//   flags="-I$package/include -L$package -ltarsia -Wl,-rpath,$package"
//   g++ -std=c++20 examples/embed.cpp $flags -o embed && ./embed
#include <tarsia/tarsia.h>

#include <cstdio>

constexpr char k_source[] = R"(
#include <tarsia/op.h>

#include <cmath>

// 1. A plain function is exported as it stands: pointers are tensors, checked for dtype and place.
float norm(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// 2. An op has inference, attributes, and an implementation for each device.
void scale(tarsia::Context& c) {
  const float factor = c.attribute<float>("factor");
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  for (int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = factor * x.data<float>()[i];
}
TARSIA_OP(scale).input("x").output("y").attribute("factor", 2.0f).range(0, 100).forward("cpu", scale);
)";

int main() {
  try {
    const tarsia::Library library = tarsia::load_inline(k_source, {.name = "embedded"});
    std::printf("%s (%s):", library.name().c_str(), library.origin().c_str());
    for (const tarsia_function* function : library.functions()) std::printf(" %s", function->signature);
    std::printf("\n");

    const tarsia::Tensor x = tarsia::tensor<float>({3, 4});
    std::printf("norm(3, 4) = %g\n", library["norm"].call<double>(x, 2));

    const tarsia::BoundOp op = tarsia::Op("scale").bind({x}, {{"factor", 10.0}});
    const std::vector<float> y = tarsia::to_vector<float>(op({x})[0]);
    std::printf("scale(3, 4) = %g, %g\n", y[0], y[1]);

    tarsia::load_inline("int broken( { }");
  } catch (const tarsia::CompileError& e) {
    const tarsia::Diagnostic& d = e.diagnostics().at(0);
    std::printf("as it should: line %d, column %d: %s\n", d.line, d.column, d.message.c_str());
    return 0;
  } catch (const tarsia::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 1;
}
