// The dtypes that the registry itself names.
#pragma once

#include <tarsia/abi.h>

namespace tarsia::registry {

inline constexpr tarsia_dtype k_float32{TARSIA_FLOAT, 32, 1}, k_float64{TARSIA_FLOAT, 64, 1},
    k_float16{TARSIA_FLOAT, 16, 1}, k_bfloat16{TARSIA_BFLOAT, 16, 1}, k_int32{TARSIA_INT, 32, 1},
    k_int64{TARSIA_INT, 64, 1}, k_uint8{TARSIA_UINT, 8, 1};

}  // namespace tarsia::registry
