// Tensors that modules' code gives back, and arguments that functions keep. tests/python/tvm_ffi/ has the
// rest.
#include "registry/library/module_tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "registry/resources/call_context.h"

namespace tarsia::registry {
namespace {

TEST(ModuleTensor, what_gives_it_back_must_be_code_of_a_loaded_module) {
  const tarsia_tensor tensor{};
  EXPECT_THROW(adopt_tensor(&tensor, nullptr, [](void*) {}), Error);
}

TEST(ModuleTensor, without_a_caller_that_shares_its_tensors_no_argument_is_kept) {
  const tarsia_tensor tensor{};
  EXPECT_THROW(share_argument(&tensor), ArgumentError);
  CallFrame frame({TARSIA_CPU, 0});
  EXPECT_THROW(share_argument(&tensor), ArgumentError);
}

TEST(ModuleTensor, a_caller_that_shares_its_tensors_is_asked) {
  tarsia_tensor tensor{};
  tarsia_storage storage{&tensor, 1, 0, nullptr, nullptr};
  CallFrame frame({TARSIA_CPU, 0});
  frame.context().size = sizeof(tarsia_call_context);
  frame.context().user = &storage;
  frame.context().share = [](void* user, const tarsia_tensor*) { return static_cast<tarsia_storage*>(user); };
  EXPECT_EQ(share_argument(&tensor), &storage);
}

TEST(ModuleTensor, without_a_caller_that_resizes_its_tensors_no_argument_gets_another_shape) {
  const tarsia_tensor tensor{};
  const int64_t shape[] = {2, 3};
  EXPECT_THROW(resize_argument(&tensor, shape, 2), ArgumentError);
  CallFrame frame({TARSIA_CPU, 0});
  EXPECT_THROW(resize_argument(&tensor, shape, 2), ArgumentError);
}

TEST(ModuleTensor, a_caller_that_resizes_its_tensors_is_asked) {
  const tarsia_tensor tensor{};
  const int64_t shape[] = {2, 3};
  int64_t asked = 0;
  CallFrame frame({TARSIA_CPU, 0});
  frame.context().size = sizeof(tarsia_call_context);
  frame.context().user = &asked;
  frame.context().resize = [](void* user, const tarsia_tensor*, const int64_t* sizes, int32_t ndim) {
    *static_cast<int64_t*>(user) = sizes[0] * 10 + sizes[1];
    return ndim;
  };
  EXPECT_EQ(resize_argument(&tensor, shape, 2), 2);
  EXPECT_EQ(asked, 23);
}

}  // namespace
}  // namespace tarsia::registry
