// Which structs functions take and give by their bytes.
#include "jit/worker/exports/plain_struct.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/exports/element_dtype.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/types/foreign_types.h"

namespace tarsia::jit {
namespace {

constexpr std::size_t k_most_fields = 256;

/// Adds what lies at an offset. False if that cannot be said.
bool add_fields(clang::QualType type, std::int64_t offset, std::int64_t count,
                const clang::ASTContext& context, std::vector<StructField>& fields) {
  while (const clang::ConstantArrayType* array = context.getAsConstantArrayType(type)) {
    count *= static_cast<std::int64_t>(array->getZExtSize());
    type = array->getElementType();
  }
  type = type.getCanonicalType().getUnqualifiedType();
  if (fields.size() >= k_most_fields) return false;
  if (type->isPointerType()) type = context.getUIntPtrType();
  if (const auto dtype = device_dtype(type, context); dtype && dtype->bits) {
    const bool is_complex = dtype->code == TARSIA_COMPLEX;
    const std::int64_t lanes = std::int64_t{dtype->lanes} * (is_complex ? 2 : 1);
    fields.push_back({static_cast<std::uint16_t>(offset),
                      static_cast<std::uint8_t>(is_complex ? TARSIA_FLOAT : dtype->code),
                      static_cast<std::uint8_t>(is_complex ? dtype->bits / 2 : dtype->bits),
                      static_cast<std::uint16_t>(count * lanes)});
    return context.getTypeSize(type) == std::uint64_t{dtype->bits} * dtype->lanes;
  }
  const clang::RecordDecl* record = type->getAsRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  if (!record || record->isUnion()) return false;
  const clang::ASTRecordLayout& layout = context.getASTRecordLayout(record);
  for (std::int64_t i = 0; i < count; ++i, offset += layout.getSize().getQuantity()) {
    if (const auto* in_cpp = llvm::dyn_cast<clang::CXXRecordDecl>(record))
      for (const clang::CXXBaseSpecifier& base : in_cpp->bases())
        if (!base.getType()->getAsCXXRecordDecl()->isEmpty()) return false;
    for (const clang::FieldDecl* field : record->fields()) {
      const std::uint64_t bit = layout.getFieldOffset(field->getFieldIndex());
      if (field->isBitField() ||
          !add_fields(field->getType(), offset + static_cast<std::int64_t>(bit / 8), 1, context, fields))
        return false;
    }
  }
  return true;
}

}  // namespace

std::optional<PlainStruct> plain_struct(clang::QualType type, const clang::ASTContext& context) {
  // Frames of calls align their memory to 16 bytes.
  constexpr std::int64_t k_most_bytes = 65535, k_most_alignment = 16;
  type = type.getCanonicalType().getUnqualifiedType();
  const clang::RecordDecl* record = type->getAsRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  if (!record || record->isInvalidDecl() || record->isDependentType() || !record->hasNameForLinkage() ||
      record->hasFlexibleArrayMember() || record->field_empty() || record->isLambda())
    return std::nullopt;
  if (const auto* in_cpp = llvm::dyn_cast<clang::CXXRecordDecl>(record)) {
    if (!in_cpp->isAggregate() || !in_cpp->isStandardLayout() || !in_cpp->isTriviallyCopyable() ||
        !in_cpp->isExternallyVisible() || in_cpp->isLocalClass() || foreign_type(qualified_name(*in_cpp)) ||
        element_dtype(type, context))
      return std::nullopt;
  }
  // A function or a variable of the same name hides it from the text that calls the function.
  for (const clang::NamedDecl* other : record->getDeclContext()->lookup(record->getDeclName()))
    if (!llvm::isa<clang::TypeDecl>(other)) return std::nullopt;
  // A FILE or a tm is no struct that a caller has the bytes of.
  if (context.getSourceManager().isInSystemHeader(record->getLocation())) return std::nullopt;
  const std::int64_t bytes = context.getTypeSizeInChars(type).getQuantity();
  const std::int64_t alignment = context.getTypeAlignInChars(type).getQuantity();
  if (bytes <= 0 || bytes > k_most_bytes || alignment > k_most_alignment) return std::nullopt;
  return PlainStruct{static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(alignment)};
}

std::optional<std::vector<StructField>> fields_of(clang::QualType type, const clang::ASTContext& context) {
  std::vector<StructField> fields;
  if (!add_fields(type, 0, 1, context, fields)) return std::nullopt;
  return fields;
}

}  // namespace tarsia::jit
