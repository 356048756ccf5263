// Ops that do not hold together: which one is chosen by a macro of the build.
#include <tarsia/op.h>

TARSIA_OP(test_good_beside_bad).forward("cpu", [](tarsia::Context&) {});
#if BAD == 1
TARSIA_OP(test_bad).forward("cpu", [](tarsia::Context&) {}).forward("cpu", [](tarsia::Context&) {});
#elif BAD == 2
TARSIA_OP(test_bad).input("x");
#elif BAD == 3
TARSIA_OP(test_bad).forward("tpu", [](tarsia::Context&) {});
#elif BAD == 4
TARSIA_OP(test_bad).attribute("n", 20).at_most(10).forward("cpu", [](tarsia::Context&) {});
#elif BAD == 5
TARSIA_OP(test_bad).forward("cpu", [](tarsia::Context&) {});
TARSIA_OP(test_bad).forward("cpu", [](tarsia::Context&) {});
#elif BAD == 6
TARSIA_OP(test_bad).range(0, 1).attribute("n", 2).forward("cpu", [](tarsia::Context&) {});
#elif BAD == 7
TARSIA_OP(test_bad).input("x").input("x").forward("cpu", [](tarsia::Context&) {});
#elif BAD == 8
TARSIA_OP(bad "op").forward("cpu", [](tarsia::Context&) {});
#endif
