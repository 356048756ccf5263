// Matrix products by the name of mshadow's own header.
#pragma once

#include <mshadow/tensor.h>
