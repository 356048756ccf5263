// Which structs functions take and give by their bytes.
#pragma once

#include <cstdint>
#include <optional>

namespace clang {
class ASTContext;
class QualType;
}  // namespace clang

namespace tarsia::jit {

struct PlainStruct {
  std::uint16_t bytes, alignment;
};

/// The layout of a struct or union of the user's that is nothing but its bytes: a named aggregate of standard
/// layout that is copied as bytes. None of another type, and of one that is only declared.
std::optional<PlainStruct> plain_struct(clang::QualType type, const clang::ASTContext& context);

}  // namespace tarsia::jit
