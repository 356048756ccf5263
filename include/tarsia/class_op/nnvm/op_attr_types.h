// The types of attributes of MXNet's graphs.
#pragma once

#include <nnvm/op.h>
