// Sources include this beside what they use: MXNet's registration of simple operators is not a class's.
#pragma once

#include <mxnet/operator.h>
