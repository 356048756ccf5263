// Tensors of Tarsia's own, copies, contexts of calls.
#include "registry/resources/memory.h"

#include <thread>

#include <tarsia/host.h>

#include "base/cuda/cuda_driver.h"

#include "registry/host_table.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr tarsia_device k_cpu{TARSIA_CPU, 0};

TEST(Memory, a_made_tensor_has_its_shape_and_one_reference) {
  const std::int64_t shape[] = {2, 3};
  tarsia_storage* storage = make_tensor(shape, 2, k_dtype_of<double>, k_cpu);
  EXPECT_EQ(storage->refs, 1);
  EXPECT_EQ(storage->tensor->shape[1], 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage->tensor->data) % 64, 0u);
  std::memset(storage->tensor->data, 1, 48);
  retain(storage);
  release(storage);
  release(storage);
  release(nullptr);
}

TEST(Memory, empty_and_zero_dimensional_tensors_can_be_made) {
  const std::int64_t shape[] = {0, 5};
  tarsia_storage* const empty = make_tensor(shape, 2, k_dtype_of<float>, k_cpu);
  EXPECT_EQ(empty->tensor->ndim, 2);
  EXPECT_EQ(empty->tensor->shape[0], 0);
  EXPECT_EQ(empty->tensor->shape[1], 5);
  release(empty);
  tarsia_storage* const scalar = make_tensor(nullptr, 0, k_dtype_of<float>, k_cpu);
  EXPECT_EQ(scalar->tensor->ndim, 0);
  *static_cast<float*>(scalar->tensor->data) = 2.5f;  // it has room for one element
  EXPECT_EQ(*static_cast<float*>(scalar->tensor->data), 2.5f);
  release(scalar);
}

TEST(Memory, shapes_that_cannot_be_are_refused) {
  const std::int64_t negative[] = {2, -3}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40},
                     hidden[] = {std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
  EXPECT_THAT(error_of([&] { make_tensor(negative, 2, k_dtype_of<float>, k_cpu); }),
              HasSubstr("cannot be negative: -3"));
  EXPECT_THAT(error_of([&] { make_tensor(huge, 2, k_dtype_of<float>, k_cpu); }),
              HasSubstr("does not fit into memory"));
  EXPECT_THAT(error_of([&] { make_tensor(hidden, 3, k_dtype_of<float>, k_cpu); }),
              HasSubstr("does not fit into memory"));
  EXPECT_THAT(error_of([&] { make_tensor(huge, 33, k_dtype_of<float>, k_cpu); }),
              HasSubstr("0 to 32 dimensions"));
}

TEST(Memory, contiguity_is_seen_through_strides_of_single_extents) {
  std::int64_t shape[] = {2, 1, 3}, dense[] = {3, 77, 1}, gap[] = {4, 1, 1}, empty[] = {0, 1, 3};
  tarsia_tensor t{};
  t.ndim = 3, t.shape = shape;
  EXPECT_TRUE(is_contiguous(t));
  t.strides = dense;
  EXPECT_TRUE(is_contiguous(t));
  t.strides = gap;
  EXPECT_FALSE(is_contiguous(t));
  t.shape = empty;
  EXPECT_TRUE(is_contiguous(t));
}

TEST(Memory, copies_need_one_dtype_and_size) {
  Array<float> a({1, 2, 3}), b({3}, {}), c({2}, {});
  Array<std::int32_t> d({3}, {});
  copy(b.tensor, a.tensor, nullptr);
  EXPECT_THAT(b.data, ElementsAre(1, 2, 3));
  EXPECT_THAT(error_of([&] { copy(c.tensor, a.tensor, nullptr); }), HasSubstr("one dtype and size"));
  EXPECT_THAT(error_of([&] { copy(d.tensor, a.tensor, nullptr); }), HasSubstr("one dtype and size"));
}

TEST(Memory, a_copy_refuses_memory_of_devices_that_tarsia_does_not_know) {
  Array<float> a({1, 2, 3}), b({3}, {});
  a.tensor.device = {10, 0};  // ROCm's
  EXPECT_THAT(error_of([&] { copy(b.tensor, a.tensor, nullptr); }), HasSubstr("device type 10"));
  EXPECT_THAT(error_of([&] { copy(a.tensor, b.tensor, nullptr); }), HasSubstr("device type 10"));
  a.tensor.device = {TARSIA_GPU_HOST, 0};
  copy(b.tensor, a.tensor, nullptr);
  EXPECT_THAT(b.data, ElementsAre(1, 2, 3));
}

TEST(Memory, a_gpu_without_driver_is_a_clear_error) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a GPU";
  const std::int64_t shape[] = {2};
  ErrorCode code{};
  EXPECT_THAT(error_of([&] { make_tensor(shape, 1, k_dtype_of<float>, {TARSIA_GPU, 0}); }, &code),
              HasSubstr("CUDA"));
  EXPECT_EQ(code, ErrorCode::cuda);
}

TEST(CallContext, frames_nest_and_restore) {
  EXPECT_EQ(*call_slot(), nullptr);
  {
    CallFrame outer(k_cpu);
    {
      CallFrame inner({TARSIA_GPU, 1}, reinterpret_cast<void*>(0x10));
      EXPECT_EQ(call_device().type, TARSIA_GPU);
      EXPECT_EQ(current_stream(1), reinterpret_cast<void*>(0x10));
      EXPECT_EQ(current_stream(-1), reinterpret_cast<void*>(0x10));
      EXPECT_EQ(current_stream(0), nullptr);
    }
    EXPECT_EQ(call_device().type, TARSIA_CPU);
  }
  EXPECT_EQ(*call_slot(), nullptr);
}

TEST(CallContext, streams_are_the_threads_own) {
  set_thread_stream(0, reinterpret_cast<void*>(0x20));
  EXPECT_EQ(current_stream(0), reinterpret_cast<void*>(0x20));
  std::thread([] { EXPECT_EQ(current_stream(0), nullptr); }).join();
  set_thread_stream(0, nullptr);
}

TEST(CallContext, scratch_outside_of_calls_is_an_error) {
  EXPECT_THAT(error_of([] { call_scratch(10, k_cpu); }), HasSubstr("no call is under way"));
}

TEST(CallContext, scratch_is_reused_by_the_next_call) {
  void* first;
  {
    CallFrame frame(k_cpu);
    first = call_scratch(1000, k_cpu);
  }
  CallFrame frame(k_cpu);
  EXPECT_EQ(call_scratch(1000, k_cpu), first);
}

TEST(CallContext, scratch_that_no_memory_holds_is_refused_and_leaves_the_rest_alone) {
  CallFrame frame(k_cpu);
  auto* first = static_cast<char*>(call_scratch(100, k_cpu));
  ErrorCode code{};
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 4000, std::uint64_t{1} << 63}) {
    EXPECT_THAT(error_of([&] { call_scratch(bytes, k_cpu); }, &code),
                HasSubstr("scratch of " + std::to_string(bytes) + " bytes"));
    EXPECT_EQ(code, ErrorCode::argument_value);
    EXPECT_THAT(error_of([&] { call_memory(bytes); }), HasSubstr("bytes"));
  }
  EXPECT_THAT(error_of([&] { call_scratch(std::uint64_t{1} << 61, k_cpu); }, &code),
              HasSubstr("no room for scratch of 2305843009213693952 bytes"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OUT_OF_MEMORY);
  auto* second = static_cast<char*>(call_scratch(100, k_cpu));
  EXPECT_GE(second, first + 100);
}

TEST(HostTable, memory_of_a_size_that_wraps_is_refused) {
  const tarsia_host* host = host_table();
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63}) {
    EXPECT_EQ(host->allocate(bytes, k_cpu, nullptr), nullptr);
    const char* text = nullptr;
    EXPECT_EQ(host->last_error(&text), TARSIA_ARGUMENT_VALUE);
    EXPECT_THAT(text, HasSubstr("memory of " + std::to_string(bytes) + " bytes"));
  }
}

TEST(HostTable, tensors_come_from_the_innermost_context_that_makes_them) {
  struct Maker {
    int made = 0;
    static tarsia_storage* empty(void* self, const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                                 tarsia_device device) {
      ++static_cast<Maker*>(self)->made;
      return make_tensor(shape, ndim, dtype, device);
    }
  } maker;
  CallFrame outer(k_cpu);
  outer.context().user = &maker;
  outer.context().empty = &Maker::empty;
  CallFrame inner(k_cpu);
  const std::int64_t shape[] = {2};
  release(host_table()->empty(shape, 1, k_dtype_of<float>, k_cpu));
  EXPECT_EQ(maker.made, 1);
  const std::int64_t bad[] = {-2};
  EXPECT_EQ(host_table()->empty(bad, 1, k_dtype_of<float>, k_cpu), nullptr);
  EXPECT_EQ(maker.made, 1);
  const char* text = nullptr;
  EXPECT_EQ(host_table()->last_error(&text), TARSIA_ARGUMENT_VALUE);
}

}  // namespace
}  // namespace tarsia::registry
