// The names of texts that Tarsia itself adds to a source.
#pragma once

namespace tarsia::jit {

/// The functions of THC that run kernels. Nothing of it is shown to callers.
inline constexpr char k_th_routines[] = "tarsia_th_routines.cu";

}  // namespace tarsia::jit
