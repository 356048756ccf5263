// The C symbols of libraries built against MXNet's own header: tests/python/mxnet/built.cc.
#include "registry/mxnet/mxnet_api.h"

#include <dlfcn.h>

#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry::mxnet {
namespace {

using testing::HasSubstr;

class Handle {
 public:
  explicit Handle(const std::string& name)
      : m_path(module_path(name)), m_handle(dlopen(m_path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(m_handle, nullptr) << dlerror();
  }
  ~Handle() { dlclose(m_handle); }
  Handle(const Handle&) = delete;
  void* get() const { return m_handle; }
  const std::string& path() const { return m_path; }

 private:
  std::string m_path;
  void* m_handle;
};

class MxnetApi : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Versions, MxnetApi, testing::Values(7, 10, 11));

TEST_P(MxnetApi, ops_are_read) {
  const Handle library("mxnet_built" + std::to_string(GetParam()));
  const Api api(library.get(), library.path());
  EXPECT_EQ(api.version(), GetParam());
  ASSERT_EQ(api.n_ops(), 4);
  const Registration scale = api.get_op(0), sum = api.get_op(1);
  EXPECT_STREQ(scale.name, "built_scale");
  EXPECT_EQ(scale.n_forward, 1);
  EXPECT_STREQ(scale.forward_contexts[0], "cpu");
  EXPECT_EQ(scale.n_backward, 1);
  EXPECT_EQ(scale.infer_storage, nullptr);
  EXPECT_EQ(sum.n_forward, 0);
  EXPECT_EQ(sum.n_create, 1);
}

TEST_P(MxnetApi, messages_are_given_once) {
  const Handle library("mxnet_built" + std::to_string(GetParam()));
  const Api api(library.get(), library.path());
  EXPECT_EQ(api.take_messages(), "");
  EXPECT_EQ(api.initialize(10000), 0);
  EXPECT_EQ(api.initialize(10000), 0);
  EXPECT_EQ(api.take_messages(), GetParam() == 7 ? "" : "too old; too old");
  EXPECT_EQ(api.take_messages(), "");
}

TEST_P(MxnetApi, what_is_ignored_is_named) {
  const Handle library("mxnet_built" + std::to_string(GetParam()));
  EXPECT_EQ(Api(library.get(), library.path()).ignored(),
            std::string("partitioner 'built_partitioner'") + (GetParam() == 7 ? "" : ", pass 'built_pass'"));
}

TEST_P(MxnetApi, states_are_made_and_destroyed_as_the_version_can) {
  const Handle library("mxnet_built" + std::to_string(GetParam()));
  const Api api(library.get(), library.path());
  auto* alive = reinterpret_cast<int (*)()>(dlsym(library.get(), "built_states_alive"));
  const char *keys[] = {"start"}, *values[] = {"5"};
  unsigned extent = 3, *shapes[] = {&extent};
  int ndims[] = {1}, types[] = {0};
  void* state = nullptr;
  const LeaksAllowed leaks(GetParam() != 11);
  ASSERT_EQ(
      api.create_state(api.get_op(1).create[0], keys, values, 1, "cpu", 0, shapes, ndims, 1, types, &state),
      1);
  EXPECT_EQ(alive(), 1);
  api.destroy_state(state);
  EXPECT_EQ(alive(), GetParam() == 11 ? 0 : 1);
}

TEST(MxnetApiErrors, other_versions_and_missing_symbols_are_refused) {
  auto error = [](const std::string& name) {
    const Handle library(name);
    return error_of([&] { Api(library.get(), library.path()); });
  };
  EXPECT_THAT(error("mxnet_built9"), HasSubstr("is built for version 9 of MXNet's extension API"));
  EXPECT_THAT(error("mxnet_bad8"), HasSubstr("lacks its function _opCallInferSType"));
  EXPECT_THAT(error("plain"), HasSubstr("lacks its function initialize"));
}

}  // namespace
}  // namespace tarsia::registry::mxnet
