// Defines one of the ops of ops.cc with another signature.
#include <tarsia/op.h>

TARSIA_OP(test_version)
    .input("x")
    .output("y")
    .output("more")
    .hidden()
    .attribute("k", 3)
    .forward("cpu", [](tarsia::Context&) {});
