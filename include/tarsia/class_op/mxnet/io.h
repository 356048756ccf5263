// Sources include this beside what they use: MXNet's readers of data are not part of its operators.
#pragma once

#include <mxnet/base.h>
