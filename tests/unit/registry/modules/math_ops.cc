// The ops that operators on values of graphs add.
#include <tarsia/math/ops.h>

TARSIA_MATH_OP(add);
TARSIA_MATH_OP(subtract);
TARSIA_MATH_OP(multiply);
TARSIA_MATH_OP(divide);
TARSIA_MATH_OP(less);
TARSIA_MATH_OP(less_equal);
TARSIA_MATH_OP(greater);
TARSIA_MATH_OP(greater_equal);
TARSIA_MATH_OP(negative);
TARSIA_MATH_OP(abs);
TARSIA_MATH_OP(fill);
