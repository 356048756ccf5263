// Ops of tensors of one shape, compiled: graphs run their independent branches at the same time.
#include <tarsia/op.h>

static float* made(tarsia::Context& c, uint32_t i = 0) {
  return c.output(i).data<float>();
}
static const float* given(tarsia::Context& c, uint32_t i = 0) {
  return c.input(i).data<const float>();
}

static void twice(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) made(c)[i] = given(c)[i] + given(c)[i];
}
static void next(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) made(c)[i] = given(c)[i] * 0.5f + 1;
}
static void minus(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) made(c)[i] = given(c)[i] - 0.25f * given(c, 1)[i];
}
static void both(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) {
    const float x = given(c)[i];
    made(c)[i] = x - 1;
    made(c, 1)[i] = x * 0.75f;
  }
}
static void same(tarsia::BindInfo& info) {
  for (int i = 0; i < info.n_outputs(); ++i) {
    info.output(i).set_shape(info.input(0).shape());
    info.output(i).set_dtype(info.input(0).dtype());
  }
}

TARSIA_OP(m_twice).input("a").output("y").infer(same).inplace(0, 0).forward("cpu", twice);
TARSIA_OP(m_next).input("a").output("y").infer(same).forward("cpu", next);
TARSIA_OP(m_minus).input("a").input("b").output("y").infer(same).inplace(0, 0).inplace(1, 0).forward("cpu", minus);
TARSIA_OP(m_both).input("a").output("y").output("z").infer(same).inplace(0, 1).forward("cpu", both);
