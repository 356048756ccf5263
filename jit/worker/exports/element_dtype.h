// Which dtype the elements of a C++ type have.
#pragma once

#include <tarsia/abi.h>

#include <optional>

namespace clang {
class ASTContext;
class QualType;
}  // namespace clang

namespace tarsia::jit {

/// The dtype of numbers, bool, the half types and CUDA's vectors ("float4": float32 with 4 lanes);
/// TARSIA_ANY_DTYPE for void. None if no tensor has such elements.
std::optional<tarsia_dtype> element_dtype(clang::QualType type, const clang::ASTContext& context);

/// The same. Also takes enumerations by their underlying type, and classes named complex of float or
/// double.
std::optional<tarsia_dtype> device_dtype(clang::QualType type, const clang::ASTContext& context);

}  // namespace tarsia::jit
