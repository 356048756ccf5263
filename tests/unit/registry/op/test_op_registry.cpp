// Registering, replacing and unloading ops.
#include "registry/op/op_registry.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include "registry/resources/reaper.h"
#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(OpRegistry, a_library_with_the_same_names_replaces_its_ops_at_once) {
  Ref<Library> first = load("ops");
  EXPECT_EQ(map("test_version", {0})[0], 1);
  auto bound = bind("test_version", {meta({1})});
  const std::uint64_t generation = OpRegistry::instance().generation();
  Ref<Library> second = load("ops_again");
  EXPECT_GT(OpRegistry::instance().generation(), generation);
  EXPECT_EQ(map("test_version", {0})[0], 2);
  // What was bound before goes on with the old code, and both libraries keep their own globals.
  Array<float> x({0}), y({0});
  run(*bound, {&x.tensor}, {&y.tensor});
  EXPECT_EQ(y.data[0], 1);
  EXPECT_EQ(Call(*first, "current_version", {}).result.i, 1);
  EXPECT_EQ(Call(*second, "current_version", {}).result.i, 2);
  // Taking the first out leaves what the second owns.
  OpRegistry::instance().remove(*first);
  EXPECT_EQ(map("test_version", {0})[0], 2);
  EXPECT_THAT(OpRegistry::instance().names(), Not(Contains("test_relu")));
  OpRegistry::instance().remove(*second);
}

TEST(OpRegistry, a_library_is_warned_of_when_it_replaces_an_op_of_another_signature) {
  Ref<Library> first = load("ops");
  EXPECT_THAT(first->warnings(), testing::IsEmpty());
  Ref<Library> again = load("ops_again");  // one op, of the same signature
  EXPECT_THAT(again->warnings(), testing::IsEmpty());
  Ref<Library> other = load("ops_other");
  ASSERT_EQ(other->warnings().size(), 1u);
  const std::string text = other->warnings()[0].message;
  EXPECT_THAT(text, HasSubstr("op 'test_version' replaces that of library"));
  EXPECT_THAT(text, HasSubstr("test_version(x) -> y at "));
  EXPECT_THAT(text, HasSubstr("now test_version(x, *, k: int32 = …) -> y, more (hidden) at "));
  for (const Ref<Library>& library : {first, again, other}) OpRegistry::instance().remove(*library);
}

TEST(OpRegistry, a_library_unloads_when_nothing_holds_it) {
  unsetenv("TARSIA_TEST_OPS_UNLOADED");
  Ref<Library> library = load("ops");
  auto bound = bind("test_version", {meta({1})});
  Ref<OpEntry> entry = OpRegistry::instance().find("test_relu");
  OpRegistry::instance().remove(*library);
  library = {};
  EXPECT_EQ(std::getenv("TARSIA_TEST_OPS_UNLOADED"), nullptr);
  bound = {};
  EXPECT_EQ(std::getenv("TARSIA_TEST_OPS_UNLOADED"), nullptr);
  entry = {};
  EXPECT_STREQ(std::getenv("TARSIA_TEST_OPS_UNLOADED"), "1");
}

TEST(OpRegistry, the_registry_holds_the_owner_of_an_op) {
  unsetenv("TARSIA_TEST_OPS_UNLOADED");
  load("ops");
  EXPECT_EQ(std::getenv("TARSIA_TEST_OPS_UNLOADED"), nullptr);
  EXPECT_EQ(map("test_relu", {3})[0], 3);
  const Library* library = &OpRegistry::instance().find("test_relu")->library();
  OpRegistry::instance().remove(*library);
  EXPECT_STREQ(std::getenv("TARSIA_TEST_OPS_UNLOADED"), "1");
}

TEST(OpRegistry, a_library_with_unique_symbols_stays_mapped_while_its_ops_go) {
  Ref<Library> library = load("unique");
  EXPECT_GE(map("test_unique", {0})[0], 5);
  OpRegistry::instance().remove(*library);
  library = {};
  EXPECT_THAT(OpRegistry::instance().names(), Not(Contains("test_unique")));
  library = load("unique");
  EXPECT_GE(map("test_unique", {0})[0], 5);
  OpRegistry::instance().remove(*library);
}

TEST(OpRegistry, unknown_names_suggest_the_nearest) {
  Ref<Library> library = load("ops");
  ErrorCode code{};
  EXPECT_THAT(error_of([] { OpRegistry::instance().find("test_rleu"); }, &code),
              HasSubstr("there is no op 'test_rleu'; there is 'test_relu'"));
  EXPECT_EQ(code, ErrorCode::not_found);
  OpRegistry::instance().remove(*library);
  EXPECT_THAT(error_of([] { OpRegistry::instance().find("test_relu"); }),
              HasSubstr("load a library that registers it"));
}

TEST(OpRegistry, an_op_that_is_not_registered_is_asked_of_the_provider) {
  OpRegistry& registry = OpRegistry::instance();
  static std::vector<std::string> s_asked;
  s_asked.clear();
  registry.provide_by(+[](std::string_view name) {
    s_asked.emplace_back(name);
    if (name == "test_relu") load("ops").detach();
    return name == "test_relu" || name == "test_promised";
  });
  EXPECT_THAT(error_of([&] { registry.find_registered("test_relu"); }), HasSubstr("no op 'test_relu'"));
  EXPECT_THAT(s_asked, testing::IsEmpty());
  const Library* library = &registry.find("test_relu")->library();
  EXPECT_EQ(&registry.find("test_relu")->library(), library);
  EXPECT_THAT(s_asked, testing::ElementsAre("test_relu"));  // once: then it was there
  EXPECT_THAT(error_of([&] { registry.find("test_unknown"); }), HasSubstr("no op 'test_unknown'"));
  EXPECT_THAT(error_of([&] { registry.find("test_promised"); }), HasSubstr("no op 'test_promised'"));
  registry.provide_by(nullptr);
  EXPECT_THAT(error_of([&] { registry.find("test_promised"); }), HasSubstr("no op 'test_promised'"));
  EXPECT_EQ(s_asked.size(), 3u);
  registry.remove(*library);
}

TEST(OpRegistry, what_the_provider_adds_replaces_nothing) {
  OpRegistry& registry = OpRegistry::instance();
  Ref<Library> own = load("ops");
  registry.provide_by(+[](std::string_view) {
    EXPECT_THAT(load("ops_other")->warnings(), testing::IsEmpty());
    return true;
  });
  EXPECT_THAT(error_of([&] { registry.find("test_absent"); }), HasSubstr("no op 'test_absent'"));
  registry.provide_by(nullptr);
  EXPECT_EQ(&registry.find("test_version")->library(), own.get());
  registry.remove(*own);
}

struct Bad {
  const char* module;
  const char* text;
};
class BadOps : public testing::TestWithParam<Bad> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BadOps,
                         testing::Values(Bad{"bad_ops1",
                                             "has two forward implementations for cpu that always apply"},
                                         Bad{"bad_ops2", "has no forward"}, Bad{"bad_ops3", "unknown device"},
                                         Bad{"bad_ops4", "attribute 'n' has to be at most 10, not 20"},
                                         Bad{"bad_ops5", "is registered twice"},
                                         Bad{"bad_ops6", "has .range(…) before any .attribute(…)"},
                                         Bad{"bad_ops7", "declares input 'x' twice"}),
                         [](const auto& info) { return std::string(info.param.module); });

TEST_P(BadOps, are_refused_at_load_and_leave_nothing_behind) {
  ErrorCode code{};
  const std::string error = error_of([] { load(GetParam().module); }, &code);
  EXPECT_EQ(code, ErrorCode::load);
  EXPECT_THAT(error, HasSubstr("op 'test_bad'"));
  EXPECT_THAT(error, HasSubstr(GetParam().text));
  EXPECT_THAT(error, HasSubstr("bad_ops.cc:"));
  EXPECT_THAT(OpRegistry::instance().names(), Not(Contains("test_good_beside_bad")));
}

TEST(OpRegistry, a_name_with_quotes_is_refused) {
  EXPECT_THAT(error_of([] { load("bad_ops8"); }), HasSubstr("has a name that nobody can call it by"));
}

TEST(OpRegistry, replacing_and_calling_from_several_threads) {
  std::vector<Ref<Library>> libraries{load("ops"), load("ops_again")};
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        const float version = map("test_version", {0})[0];
        EXPECT_TRUE(version == 1 || version == 2);
        ++calls;
      }
    });
  for (int i = 0; i < 100; ++i)
    OpRegistry::instance().add(libraries[static_cast<size_t>(i % 2)], [](const std::string&) {});
  for (int i = 0; i < 5; ++i) load(i % 2 ? "ops_again" : "ops");
  while (calls < 50) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (auto names = OpRegistry::instance().names(); !names.empty(); names = OpRegistry::instance().names())
    OpRegistry::instance().remove(OpRegistry::instance().find(names[0])->library());
}

}  // namespace
}  // namespace tarsia::registry
