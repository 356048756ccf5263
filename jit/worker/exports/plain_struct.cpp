// Which structs functions take and give by their bytes.
#include "jit/worker/exports/plain_struct.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/exports/element_dtype.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/types/foreign_types.h"

namespace tarsia::jit {

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

}  // namespace tarsia::jit
