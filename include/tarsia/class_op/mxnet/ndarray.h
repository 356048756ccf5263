// Sources include this beside what they use: operators get tensors as TBlob.
#pragma once

#include <mxnet/base.h>

namespace mxnet {
class NDArray;
}  // namespace mxnet
