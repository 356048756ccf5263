// Which structs functions take and give by their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

/// Numbers in a row within a struct.
struct StructField {
  std::uint16_t offset;  ///< in bytes
  std::uint8_t code, bits;
  std::uint16_t count;
};

/// The numbers of which a plain struct consists, in the order of their offsets: those of its members'
/// members, too; pointers are integers. None if it has unions or bit-fields, other members than numbers, or
/// more than 256 rows of them.
std::optional<std::vector<StructField>> fields_of(clang::QualType type, const clang::ASTContext& context);

}  // namespace tarsia::jit
