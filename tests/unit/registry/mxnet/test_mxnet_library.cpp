// Libraries built against MXNet's own header, as the loader takes them.
#include "registry/mxnet/mxnet_library.h"

#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MxnetLibrary, its_ops_are_described) {
  const Ref<Library> library = load("mxnet_built11");
  std::vector<std::string> names;
  for (const tarsia_op* op : library->ops()) names.push_back(op->name);
  EXPECT_THAT(names, ElementsAre("built_scale", "built_sum", "built_csr", "built_noise"));
  const tarsia_op &scale = *library->ops()[0], &sum = *library->ops()[1], &csr = *library->ops()[2];
  EXPECT_EQ(scale.n_implementations, 2u);
  EXPECT_TRUE(scale.flags & TARSIA_OP_ANY_ATTRIBUTES);
  EXPECT_FALSE(scale.flags & TARSIA_OP_INFERS_STORAGE);
  EXPECT_EQ(scale.create_state, nullptr);
  EXPECT_NE(sum.create_state, nullptr);
  EXPECT_TRUE(csr.flags & TARSIA_OP_INFERS_STORAGE);
  ASSERT_EQ(library->warnings().size(), 1u);
  EXPECT_THAT(library->warnings()[0].message,
              HasSubstr("partitioner 'built_partitioner', pass 'built_pass'"));
  OpRegistry::instance().remove(*library);
}

TEST(MxnetLibrary, ops_of_a_source_come_from_its_table) {
  const Ref<Library> library = load("mxnet_sparse");
  std::vector<std::string> names;
  for (const tarsia_op* op : library->ops()) names.push_back(op->name);
  EXPECT_THAT(names, ElementsAre("mx_transpose_v", "mx_transpose_p"));
  EXPECT_THAT(library->ops()[0]->location, HasSubstr("sparse.cc:"));
  EXPECT_TRUE(library->ops()[0]->flags & TARSIA_OP_INFERS_STORAGE);
  OpRegistry::instance().remove(*library);
}

TEST(MxnetLibrary, a_module_of_an_older_header_describes_its_ops_itself) {
  const Ref<Library> library = load("older_extension");
  EXPECT_THAT(map("older_triple", {1, 2}), ElementsAre(3, 6));
  OpRegistry::instance().remove(*library);
}

struct Bad {
  int which;
  const char* error;
};
class BadMxnetOps : public testing::TestWithParam<Bad> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, BadMxnetOps,
    testing::Values(Bad{1, "op 'bad_op' has no forward or createOpState"},
                    Bad{2, "op 'bad_op' sets forward for \"cpu\" twice"},
                    Bad{3, "op 'bad_op' sets forward for the context \"tpu\": \"cpu\" and \"gpu\" are known"},
                    Bad{4, "op 'bad_op' has no inferShape"}, Bad{5, "op 'bad_op' has no createOpState"},
                    Bad{6, "op 'bad_op' has no parseAttrs"}, Bad{7, "op 'bad_op' has no inferType"}),
    [](const auto& info) { return std::to_string(info.param.which); });

TEST_P(BadMxnetOps, are_refused_at_load) {
  ErrorCode code{};
  EXPECT_THAT(error_of([] { load("mxnet_bad" + std::to_string(GetParam().which)); }, &code),
              HasSubstr(GetParam().error));
  EXPECT_EQ(static_cast<int>(code), TARSIA_LOAD_ERROR);
  EXPECT_THAT(OpRegistry::instance().names(), testing::Not(testing::Contains("bad_op")));
}

}  // namespace
}  // namespace tarsia::registry
