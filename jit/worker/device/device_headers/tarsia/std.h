// The whole of std as far as device code has it.
#pragma once
#include <tarsia/algorithm.h>
#include <tarsia/array.h>
#include <tarsia/cmath.h>
#include <tarsia/complex.h>
#include <tarsia/cstdint.h>
#include <tarsia/cstring.h>
#include <tarsia/functional.h>
#include <tarsia/iterator.h>
#include <tarsia/limits.h>
#include <tarsia/more_type_traits.h>
#include <tarsia/tuple.h>
