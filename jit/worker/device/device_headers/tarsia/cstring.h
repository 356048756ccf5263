// <cstring>: the functions of <string.h> in std.
#pragma once
#include <string.h>
#include <tarsia/config.h>

namespace std {
using ::memcmp;
using ::memmove;
using ::strcmp;
using ::strcpy;
using ::strlen;
using ::strncmp;
using ::strncpy;
}  // namespace std
