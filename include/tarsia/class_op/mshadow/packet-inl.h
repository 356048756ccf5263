// Sources include this for mshadow's vectors of a CPU. The compiler makes them of expressions by itself.
#pragma once

#include <mshadow/tensor.h>
