// The classes of frameworks that functions may take and return as they are.
#include "jit/worker/types/foreign_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ForeignTypes, a_class_is_found_by_its_qualified_name_alone) {
  const ForeignType* tensor = foreign_type("at::Tensor");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->role, ForeignRole::handle);
  EXPECT_STREQ(tensor->header, "<ATen/core/Tensor.h>");
  for (const char* other : {"Tensor", "at::Tensor2", "at::", "::at::Tensor", ""})
    EXPECT_EQ(foreign_type(other), nullptr) << other;
}

TEST(ForeignTypes, what_owns_nothing_says_what_to_return_instead) {
  for (const char* name : {"c10::ArrayRef", "c10::OptionalArrayRef", "tvm::ffi::TensorView"}) {
    const ForeignType* type = foreign_type(name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_STRNE(type->instead, "") << name;
  }
  EXPECT_STREQ(foreign_type("c10::Scalar")->instead, "");
}

TEST(ForeignTypes, a_functions_type_needs_one_adapter_of_each_framework) {
  std::set<std::string> adapters;
  add_adapters("int (float *, long)", adapters);
  EXPECT_THAT(adapters, IsEmpty());
  add_adapters("at::Tensor (const at::Tensor &, c10::Scalar)", adapters);
  EXPECT_THAT(adapters, ElementsAre("tarsia/detail/adapter_torch.h"));
  add_adapters("void (tvm::ffi::Array<tvm::ffi::Tensor>, at::Tensor)", adapters);
  EXPECT_THAT(adapters, ElementsAre("tarsia/detail/adapter_torch.h", "tarsia/detail/adapter_tvm_ffi.h"));
}

}  // namespace
}  // namespace tarsia::jit
