// Which dtype the elements of a C++ type have.
#include "jit/worker/exports/element_dtype.h"

#include <string>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "jit/worker/exports/exports.h"

namespace tarsia::jit {

using clang::QualType;

std::optional<tarsia_dtype> element_dtype(QualType type, const clang::ASTContext& context) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (type->isVoidType()) return tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1};
  if (const auto* record = type->getAsCXXRecordDecl()) {
    const std::string name = qualified_name(*record);
    if (name == "__half") return tarsia_dtype{TARSIA_FLOAT, 16, 1};
    if (name == "__nv_bfloat16") return tarsia_dtype{TARSIA_BFLOAT, 16, 1};
    if (const auto vector = cuda_vector(*record)) {
      const auto& [base, lanes] = *vector;
      const int code = base == "float" || base == "double" ? TARSIA_FLOAT
                       : base[0] == 'u'                    ? TARSIA_UINT
                                                           : TARSIA_INT;
      return tarsia_dtype{uint8_t(code), uint8_t(int(context.getTypeSize(type)) / lanes), uint16_t(lanes)};
    }
    return std::nullopt;
  }
  if (!type->isBuiltinType() || type->isIncompleteType()) return std::nullopt;
  const auto bits = context.getTypeSize(type);
  const auto as = [&](int code) { return tarsia_dtype{uint8_t(code), uint8_t(bits), 1}; };
  if (bits > 64) return std::nullopt;
  if (type->isBooleanType()) return as(TARSIA_BOOL);
  if (type->isUnsignedIntegerType()) return as(TARSIA_UINT);
  if (type->isSignedIntegerType()) return as(TARSIA_INT);
  if (type->isFloat32Type() || type->isDoubleType() || type->isHalfType() || type->isFloat16Type())
    return as(TARSIA_FLOAT);
  return std::nullopt;
}

std::optional<tarsia_dtype> device_dtype(QualType type, const clang::ASTContext& context) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (const auto* enumeration = type->getAs<clang::EnumType>()) {
    const QualType underlying = enumeration->getDecl()->getIntegerType();
    return underlying.isNull() ? std::nullopt : element_dtype(underlying, context);
  }
  if (const auto* special =
          llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
      special && special->getName() == "complex" && special->getTemplateArgs().size() == 1 &&
      special->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type) {
    const auto part = element_dtype(special->getTemplateArgs()[0].getAsType(), context);
    if (part && part->code == TARSIA_FLOAT && part->lanes == 1)
      return tarsia_dtype{TARSIA_COMPLEX, uint8_t(2 * part->bits), 1};
  }
  return element_dtype(type, context);
}

}  // namespace tarsia::jit
