// Adds implementations to ops of implementations.cc.
#include <tarsia/op.h>

#ifndef MARK
#define MARK 5000
#endif

__attribute__((unused)) static void added(tarsia::Context& c) {
  c.output(0).data<float>()[0] = MARK + float(c.attribute<int>("power"));
}
__attribute__((unused)) static void added_backward(tarsia::Context& c) {
  c.in_grad(0).data<float>()[0] = MARK;
}
#if MARK == 5000
TARSIA_IMPLEMENTATION(test_choose)
    .forward("cpu", added)
    .named("added")
    .priority(10)
    .forward_inplace(0, 0)
    .workspace([](const tarsia::BindInfo&) { return 7; })
    .backward("cpu", added_backward)
    .named("added")
    .priority(10);
#elif MARK == 6000  // takes the place of that
TARSIA_IMPLEMENTATION(test_choose).forward("cpu", added).named("added").priority(10);
#elif MARK == 7000
TARSIA_IMPLEMENTATION(test_not_there).forward("cpu", added);
#elif MARK == 8000
TARSIA_IMPLEMENTATION(test_choose).forward("cpu", added).priority(2);
#elif MARK == 9000
TARSIA_IMPLEMENTATION(test_choose).forward("cpu", added).input("x");
#elif MARK == 10000  // the op of another signature
TARSIA_OP(test_choose).forward("cpu", added).attribute("power", 2);
#endif
