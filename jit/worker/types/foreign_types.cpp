// One row a class: a further framework is rows here and an adapter (include/tarsia/detail/adapter_*.h).
#include "jit/worker/types/foreign_types.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

namespace tarsia::jit {
namespace {

using enum ForeignRole;

#define TORCH "tarsia/detail/adapter_torch.h", "at::Tensor", "<ATen/core/Tensor.h>"
#define TVM_FFI "tarsia/detail/adapter_tvm_ffi.h", "tvm::ffi::Tensor", "<tvm/ffi/container/tensor.h>"
constexpr ForeignType k_types[] = {
    {"at::Tensor", handle, TORCH, ""},
    {"c10::Scalar", value, TORCH, ""},
    {"c10::ArrayRef", list_view, TORCH, "a std::vector"},
    {"c10::OptionalArrayRef", list_view, TORCH, "a std::vector"},
    {"tvm::ffi::Tensor", handle, TVM_FFI, ""},
    {"tvm::ffi::TensorView", view, TVM_FFI, "a tvm::ffi::Tensor"},
    {"tvm::ffi::String", value, TVM_FFI, ""},
    {"tvm::ffi::Optional", optional, TVM_FFI, ""},
    {"tvm::ffi::Array", list, TVM_FFI, ""},
};
// Generated text has the structs, and sources that name them have included a header of theirs.
#define TH "tarsia/th/adapter.h", "", "<TH/TH.h>", ""
constexpr ForeignType k_th_tensors[] = {
    {"THByteTensor", pointee, TH},     {"THCharTensor", pointee, TH},
    {"THShortTensor", pointee, TH},    {"THIntTensor", pointee, TH},
    {"THLongTensor", pointee, TH},     {"THFloatTensor", pointee, TH},
    {"THDoubleTensor", pointee, TH},   {"THCudaByteTensor", pointee, TH},
    {"THCudaCharTensor", pointee, TH}, {"THCudaShortTensor", pointee, TH},
    {"THCudaIntTensor", pointee, TH},  {"THCudaLongTensor", pointee, TH},
    {"THCudaTensor", pointee, TH},     {"THCudaDoubleTensor", pointee, TH},
    {"THCudaHalfTensor", pointee, TH},
};
#undef TH
#undef TORCH
#undef TVM_FFI

}  // namespace

const ForeignType* foreign_type(std::string_view name) {
  const auto* found =
      std::ranges::find(k_types, name, [](const ForeignType& type) { return std::string_view(type.name); });
  return found == std::end(k_types) ? nullptr : found;
}

const ForeignType* th_tensor(std::string_view name) {
  const auto* found = std::ranges::find(k_th_tensors, name,
                                        [](const ForeignType& type) { return std::string_view(type.name); });
  return found == std::end(k_th_tensors) ? nullptr : found;
}

bool has_home(const ForeignType& type, clang::ASTContext& context) {
  const clang::DeclContext* scope = context.getTranslationUnitDecl();
  std::string_view rest = type.home;
  for (std::size_t end; (end = rest.find("::")) != rest.npos; rest.remove_prefix(end + 2)) {
    const clang::DeclContext* inner = nullptr;
    for (const clang::NamedDecl* found : scope->lookup(&context.Idents.get(rest.substr(0, end))))
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(found)) inner = space;
    if (!inner) return false;
    scope = inner->getPrimaryContext();
  }
  for (const clang::NamedDecl* found : scope->lookup(&context.Idents.get(rest)))
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(found); record && record->hasDefinition())
      return true;
  return false;
}

void add_adapters(std::string_view type, std::set<std::string>& adapters) {
  for (const ForeignType& foreign : k_types)
    if (type.find(foreign.name) != type.npos) adapters.insert(foreign.adapter);
  for (const ForeignType& tensor : k_th_tensors)
    if (type.find(tensor.name) != type.npos) adapters.insert(tensor.adapter);
}

}  // namespace tarsia::jit
