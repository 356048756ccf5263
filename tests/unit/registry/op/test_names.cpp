// Names of dtypes, devices, storage types and passes.
#include <gtest/gtest.h>
#include <tarsia/detail/names.h>
#include <tarsia/tensor.h>

#include <cstring>
#include <string>

namespace tarsia::detail {
namespace {

TEST(Names, a_dtype_has_one_name_that_gives_it_back) {
  for (const NamedDtype& known : dtype_names()) {
    const tarsia_dtype dtype{known.code, known.bits, 1};
    EXPECT_EQ(dtype_name(dtype), known.name);
    EXPECT_TRUE(dtype_named(known.name) == dtype) << known.name;
    char text[16];
    EXPECT_EQ(std::string(name_of(dtype, text)), std::string(known.name).substr(0, 15));
  }
  EXPECT_EQ(dtype_named("float31").lanes, 0);
  EXPECT_EQ(dtype_named("float3").lanes, 0);
  EXPECT_EQ(dtype_named("").lanes, 0);
}

TEST(Names, a_dtype_without_a_name_is_told_by_its_numbers) {
  EXPECT_EQ(dtype_name({99, 8, 1}), "dtype(99, 8)");
  EXPECT_EQ(dtype_name({TARSIA_FLOAT, 32, 4}), "float32x4");
  char text[16];
  EXPECT_STREQ(name_of({TARSIA_INT, 4, 1}, text), "int4");
  EXPECT_STREQ(name_of({TARSIA_FLOAT, 32, 4}, text), "float32x4");
  EXPECT_STREQ(name_of({10, 8, 1}, text), "float8_e4m3fn");
  EXPECT_STREQ(name_of({10, 8, 4}, text), "float8_e4m3fnx4");
  EXPECT_LT(std::strlen(name_of({9, 8, 4}, text)), sizeof text);
}

TEST(Names, devices_are_read_as_they_are_written_and_as_pytorch_writes_them) {
  for (const tarsia_device device :
       {tarsia_device{TARSIA_CPU, 0}, tarsia_device{TARSIA_GPU, 0}, tarsia_device{TARSIA_GPU, 1234}})
    EXPECT_TRUE(device_named(device_name(device)) == device) << device_name(device);
  EXPECT_EQ(device_name({TARSIA_GPU_MANAGED, 1}), "gpu:1");
  EXPECT_TRUE(device_named("gpu") == (tarsia_device{TARSIA_GPU, 0}));
  EXPECT_TRUE(device_named("cuda") == (tarsia_device{TARSIA_GPU, 0}));
  EXPECT_TRUE(device_named("cuda:2") == (tarsia_device{TARSIA_GPU, 2}));
  for (const char* text : {"", "tpu", "gpu:", "gpu:-1", "gpu:1x", "gpu: 1", "gpu:2147483648", "cpu:0"})
    EXPECT_FALSE(device_named(text)) << text;
}

TEST(Names, storage_types_and_passes) {
  EXPECT_EQ(storage_named("csr"), TARSIA_CSR);
  EXPECT_EQ(storage_named("CSR"), TARSIA_ANY_STORAGE);
  EXPECT_STREQ(k_storage_names[TARSIA_ROW_SPARSE], "row_sparse");
  EXPECT_STREQ(k_request_names[TARSIA_REQUEST_ADD], "add");
  EXPECT_STREQ(pass_name(TARSIA_FORWARD), "forward");
  EXPECT_STREQ(pass_name(TARSIA_BACKWARD), "backward");
}

}  // namespace
}  // namespace tarsia::detail
