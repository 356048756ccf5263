// The measured choice: what decides, what is kept, and what is told.
#include "registry/measure/measure.h"

#include "registry/measure/machine.h"
#include "registry/measure/measured_times.h"
#include "registry/op/choice.h"
#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Gives one answer to whatever is asked, and remembers what it was given to keep.
struct Answers final : TimesStore {
  std::optional<std::string> find(const Digest& key) override {
    asked.push_back(key);
    return answer;
  }
  void keep(const Digest&, const std::string& text) override { kept.push_back(text); }
  std::optional<std::string> answer;
  std::vector<Digest> asked;
  std::vector<std::string> kept;
};

/// Each test binds test_conv for a length of its own, so that no other's answer is in memory. From 4 on,
/// "buffered" and "cpu #1" apply, and "buffered" has the higher priority.
class Measure : public testing::Test {
 protected:
  static void SetUpTestSuite() { s_library = load("implementations"); }
  static void TearDownTestSuite() {
    OpRegistry::instance().remove(*s_library);
    s_library = {};
  }
  void SetUp() override { keep_times_in(&answers); }
  void TearDown() override { keep_times_in(nullptr); }

  Ref<BoundOp> bound(std::int64_t n, tarsia_choice choice = TARSIA_CHOICE_MEASURE) {
    Request request({meta({n}), meta({3})});
    request.request.choice = choice;
    return registry::bind(OpRegistry::instance().find("test_conv"), request.request);
  }
  static std::string explained(std::int64_t n) {
    Request request({meta({n}), meta({3})});
    request.request.choice = TARSIA_CHOICE_MEASURE;
    return explain_bind(OpRegistry::instance().find("test_conv"), request.request);
  }
  Answers answers;
  static inline Ref<Library> s_library;
};

TEST_F(Measure, every_implementation_that_applies_is_timed_once) {
  const Ref<BoundOp> first = bound(40);
  ASSERT_THAT(first->measured(TARSIA_FORWARD).times, SizeIs(2));
  for (const MeasuredTime& time : first->measured(TARSIA_FORWARD).times)
    EXPECT_GT(time.seconds, 0) << time.name;
  EXPECT_THAT(first->measured(TARSIA_BACKWARD).times, SizeIs(2));
  EXPECT_THAT(answers.kept, SizeIs(2));  // forward, backward
  const Ref<BoundOp> second = bound(40);
  EXPECT_THAT(answers.kept, SizeIs(2));
  EXPECT_EQ(second->measured(TARSIA_FORWARD).times[0].seconds,
            first->measured(TARSIA_FORWARD).times[0].seconds);
  bound(41);
  EXPECT_THAT(answers.kept, SizeIs(4));  // another shape
}

TEST_F(Measure, an_answer_that_was_kept_decides_and_nothing_is_timed) {
  answers.answer = R"([["cpu #1", 1e-6, ""], ["buffered", 1e-3, ""]])";
  EXPECT_EQ(bound(50)->implementation_name(TARSIA_FORWARD), "cpu #1");
  EXPECT_EQ(bound(50)->implementation_name(TARSIA_BACKWARD), "cpu #1");
  EXPECT_THAT(bound(50)->inplace(TARSIA_BACKWARD), IsEmpty());  // pairs follow it
  EXPECT_THAT(answers.kept, IsEmpty());
  EXPECT_THAT(explained(50),
              HasSubstr("forward: 'cpu #1', measured: 1 us\n  not 'buffered': measured: it takes 1 "
                        "ms, and the fastest 1 us\n"));
}

TEST_F(Measure, the_usual_one_stays_unless_another_is_clearly_faster) {
  answers.answer = R"([["cpu #1", 0.98e-6, ""], ["buffered", 1e-6, ""]])";
  EXPECT_EQ(bound(51)->implementation_name(TARSIA_FORWARD), "buffered");
  EXPECT_THAT(
      explained(51),
      HasSubstr("not 'cpu #1': measured: it takes 980 ns, too little less than the usual one's 1 us"));
}

TEST_F(Measure, one_that_failed_is_not_taken) {
  answers.answer = R"([["cpu #1", null, "no luck"], ["buffered", 1e-6, ""]])";
  EXPECT_EQ(bound(52)->implementation_name(TARSIA_FORWARD), "buffered");
  EXPECT_THAT(explained(52), HasSubstr("not 'cpu #1': it failed when it was measured: no luck"));
}

TEST_F(Measure, an_answer_about_something_else_is_none) {
  std::int64_t n = 60;
  for (const char* text :
       {"", "{}", "[]", "[1, 2]", R"([["cpu #1", 1e-6, ""], ["other", 1e-3, ""]])",
        R"([["cpu #1", "x", ""], ["buffered", 1, ""]])", R"([["cpu #1", -1, ""], ["buffered", 1, ""]])"}) {
    answers.kept.clear();
    answers.answer = text;
    EXPECT_THAT(bound(n++)->measured(TARSIA_FORWARD).times, SizeIs(2)) << text;
    EXPECT_THAT(answers.kept, SizeIs(2)) << text;
  }
}

TEST_F(Measure, by_priority_nothing_is_asked_or_timed) {
  EXPECT_EQ(bound(70, TARSIA_CHOICE_PRIORITY)->implementation_name(TARSIA_FORWARD), "buffered");
  EXPECT_EQ(bound(70, TARSIA_CHOICE_OF_PROCESS)->implementation_name(TARSIA_FORWARD), "buffered");
  EXPECT_THAT(answers.asked, IsEmpty());
  EXPECT_THAT(bound(70, TARSIA_CHOICE_PRIORITY)->measured(TARSIA_FORWARD).times, IsEmpty());
}

TEST_F(Measure, a_scope_decides_for_requests_that_say_nothing) {
  {
    const ChoiceScope scope(TARSIA_CHOICE_MEASURE);
    EXPECT_THAT(bound(71, TARSIA_CHOICE_OF_PROCESS)->measured(TARSIA_FORWARD).times, SizeIs(2));
    EXPECT_THAT(bound(72, TARSIA_CHOICE_PRIORITY)->measured(TARSIA_FORWARD).times, IsEmpty());
  }
  EXPECT_THAT(bound(71, TARSIA_CHOICE_OF_PROCESS)->measured(TARSIA_FORWARD).times, IsEmpty());
}

TEST_F(Measure, what_has_no_choice_is_not_measured) {
  EXPECT_THAT(bound(3)->measured(TARSIA_FORWARD).times, IsEmpty());  // "buffered" takes 4 and more
  EXPECT_EQ(bound(3)->measured(TARSIA_FORWARD).reason, "");
}

TEST_F(Measure, a_request_of_an_older_program_has_no_choice) {
  Request request({meta({80}), meta({3})});
  request.request.choice = 7;
  EXPECT_THROW(registry::bind(OpRegistry::instance().find("test_conv"), request.request), ArgumentError);
  request.request.size = offsetof(tarsia_op_request, choice);
  const Ref<BoundOp> bound = registry::bind(OpRegistry::instance().find("test_conv"), request.request);
  EXPECT_EQ(bound->implementation_name(TARSIA_FORWARD), "buffered");
}

TEST(Machine, its_identity_names_the_cpu_and_stays) {
  const std::string text = machine_identity({TARSIA_CPU, 0});
  EXPECT_EQ(text, machine_identity({TARSIA_CPU, 0}));
  EXPECT_THAT(text, HasSubstr("x86-64"));
  EXPECT_THAT(text, HasSubstr("cores "));
}

}  // namespace
}  // namespace tarsia::registry
