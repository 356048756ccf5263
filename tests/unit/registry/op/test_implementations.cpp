// Ops of modules/implementations.cc: which implementation runs, and what it may share.
#include <cstdint>

#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Pairs pairs_of(const BoundOp& bound, tarsia_pass pass) {
  Pairs pairs;
  for (const tarsia_inplace& pair : bound.inplace(pass)) pairs.emplace_back(pair.input, pair.output);
  return pairs;
}

class Implementations : public testing::Test {
 protected:
  static void SetUpTestSuite() { s_library = load("implementations"); }
  static void TearDownTestSuite() {
    OpRegistry::instance().remove(*s_library);
    s_library = {};
  }
  static inline Ref<Library> s_library;
};

/// The convolution: the plain one for vectors of 3, the one that may share x with y and dx for vectors of 4.
class Convolution : public Implementations {
 protected:
  static Ref<BoundOp> bound(const Array<float>& x) { return bind("test_conv", {meta(x.shape), meta({3})}); }
  /// dx, in place of dy or x.
  void backward_into(Array<float>& dx, const Array<float>& dy, const Array<float>& x) {
    Array<float> y(x.shape, {});
    run(*bound(x), {&dy.tensor, &x.tensor, &w.tensor, &y.tensor}, {&dx.tensor, nullptr},
        {TARSIA_REQUEST_INPLACE, TARSIA_REQUEST_NULL}, TARSIA_BACKWARD);
  }
  Array<float> w{{1, 0, 0}};  // y[i] = x[i - 1]
};

TEST_F(Convolution, pairs_and_workspace_are_those_of_the_implementation) {
  const Ref<BoundOp> plain = bind("test_conv", {meta({3}), meta({3})});
  EXPECT_EQ(plain->implementation_name(TARSIA_FORWARD), "cpu #1");
  EXPECT_EQ(plain->implementation_name(TARSIA_BACKWARD), "cpu #1");
  EXPECT_THAT(plain->inplace(TARSIA_FORWARD), IsEmpty());
  EXPECT_THAT(plain->inplace(TARSIA_BACKWARD), IsEmpty());
  EXPECT_EQ(plain->workspace(TARSIA_FORWARD), 0u);
  const Ref<BoundOp> buffered = bind("test_conv", {meta({4}), meta({3})});
  EXPECT_EQ(buffered->implementation_name(TARSIA_FORWARD), "buffered");
  EXPECT_EQ(pairs_of(*buffered, TARSIA_FORWARD), (Pairs{{0, 0}}));
  EXPECT_EQ(pairs_of(*buffered, TARSIA_BACKWARD), (Pairs{{1, 0}, {0, 0}}));
  EXPECT_EQ(buffered->workspace(TARSIA_FORWARD), 16u);
  EXPECT_EQ(buffered->workspace(TARSIA_BACKWARD), 16u);
}

TEST_F(Convolution, one_without_a_pair_neither_sees_the_request_inplace_nor_shares) {
  Array<float> x({1, 2, 3});
  run(*bound(x), {&x.tensor, &w.tensor}, {&x.tensor}, {TARSIA_REQUEST_INPLACE});
  EXPECT_THAT(x.data, ElementsAre(1000 + 10, 1, 2));  // 10: it was asked to write
}

TEST_F(Convolution, an_output_that_overlaps_an_input_is_written_after_that_was_read) {
  Array<float> x({1, 2, 3});
  run(*bound(x), {&x.tensor, &w.tensor}, {&x.tensor});
  EXPECT_THAT(x.data, ElementsAre(1010, 1, 2));
  run(*bound(x), {&x.tensor, &w.tensor}, {&x.tensor}, {TARSIA_REQUEST_ADD});
  EXPECT_THAT(x.data, ElementsAre(1010 + 1010, 1 + 1010, 2 + 1));
  Array<float> memory({1, 2, 3, 4}), first({3}, {}), last({3}, {});  // of which two elements are both's
  first.tensor.data = memory.data.data();
  last.tensor.data = memory.data.data() + 1;
  run(*bound(first), {&first.tensor, &w.tensor}, {&last.tensor});
  EXPECT_THAT(memory.data, ElementsAre(1, 1010, 1, 2));
}

TEST_F(Convolution, one_with_a_pair_shares) {
  Array<float> x({1, 2, 3, 4}), y({4}, {});
  run(*bound(x), {&x.tensor, &w.tensor}, {&y.tensor}, {TARSIA_REQUEST_INPLACE});  // in place of nothing
  EXPECT_THAT(y.data, ElementsAre(2000 + 10, 1, 2, 3));
  run(*bound(x), {&x.tensor, &w.tensor}, {&x.tensor}, {TARSIA_REQUEST_INPLACE});
  EXPECT_THAT(x.data, ElementsAre(2000 + 100 + 20, 1, 2, 3));
}

TEST_F(Convolution, a_pair_with_one_input_is_none_with_another) {
  Array<float> x({1, 2, 3, 4});
  w.tensor.data = x.data.data() + 1;
  run(*bound(x), {&x.tensor, &w.tensor}, {&x.tensor});
  EXPECT_THAT(x.data, ElementsAre(2000 + 10 + 3 * 1 + 4 * 2, 2 * 1 + 3 * 2 + 4 * 3, 2 * 2 + 3 * 3 + 4 * 4,
                                  2 * 3 + 3 * 4));
}

TEST_F(Convolution, backward_shares_by_pairs_of_its_own) {
  Array<float> dy({1, 2, 3}), x({1, 2, 3});
  backward_into(x, dy, x);
  EXPECT_THAT(x.data, ElementsAre(2 + 1000 + 10, 3, 0));
  Array<float> dy4({1, 2, 3, 4}), x4({1, 2, 3, 4});
  backward_into(x4, dy4, x4);
  EXPECT_THAT(x4.data, ElementsAre(2 + 2000 + 100 + 10, 3, 4, 0));  // 10: it does not honour requests
  backward_into(dy4, dy4, x4);
  EXPECT_THAT(dy4.data, ElementsAre(2 + 2000 + 100 + 10, 3, 4, 0));
}

TEST_F(Implementations, the_ops_pairs_hold_beside_their_own) {
  const Ref<BoundOp> one = bind("test_pairs", {meta({1}), meta({1})}),
                     both = bind("test_pairs", {meta({2}), meta({2})});
  EXPECT_EQ(pairs_of(*one, TARSIA_FORWARD), (Pairs{{0, 0}}));
  EXPECT_EQ(pairs_of(*both, TARSIA_FORWARD), (Pairs{{0, 0}, {1, 0}}));
  EXPECT_EQ(one->implementation(TARSIA_BACKWARD), nullptr);
  EXPECT_EQ(one->implementation_name(TARSIA_BACKWARD), "");
  Array<float> a({1}), b({2});
  run(*one, {&a.tensor, &b.tensor}, {&a.tensor});
  EXPECT_EQ(a.data[0], 103);
  a.data[0] = 1;
  run(*one, {&a.tensor, &b.tensor}, {&b.tensor});
  EXPECT_EQ(b.data[0], 3);
  Array<float> c({1, 0}), d({2, 0});
  run(*both, {&c.tensor, &d.tensor}, {&d.tensor});
  EXPECT_EQ(d.data[0], 203);
}

TEST_F(Implementations, a_workspace_that_throws_is_an_error_of_binding) {
  EXPECT_THAT(error_of([] { bind("test_workspace_fails", {meta({1})}); }),
              HasSubstr("op 'test_workspace_fails', workspace: no plan ("));
}

TEST_F(Implementations, a_predicate_that_throws_is_an_error_of_binding) {
  EXPECT_THAT(error_of([] { bind("test_when_fails", {meta({1})}); }),
              HasSubstr("op 'test_when_fails', when: cannot say ("));
}

float chosen(const char* how, bool twice = false) {
  Array<float> x({3}), y({1}, {});
  const Ref<BoundOp> bound = bind("test_choose", {meta({1})}, {{"how", of(how)}, {"twice", of(twice)}});
  run(*bound, {&x.tensor}, {&y.tensor});
  return y.data[0];
}

TEST_F(Implementations, inference_chooses_whatever_predicates_and_priorities_say) {
  EXPECT_EQ(chosen(""), 1000 + 9 + 100);
  EXPECT_EQ(chosen("square"), 3000 + 9 + 100);
  EXPECT_EQ(bind("test_choose", {meta({1})}, {{"how", of("square")}})->implementation_name(TARSIA_FORWARD),
            "square");
}

TEST_F(Implementations, backward_is_that_of_the_chosen_name_or_else_the_usual_one) {
  const auto backward = [](const char* how) {
    Array<float> x({3}), dx({1}, {});
    run(*bind("test_choose", {meta({1})}, {{"how", of(how)}}), {&x.tensor, &x.tensor, &x.tensor},
        {&dx.tensor}, {}, TARSIA_BACKWARD);
    return dx.data[0];
  };
  EXPECT_EQ(backward("square"), 2);
  EXPECT_EQ(backward("loop"), 1);
}

TEST_F(Implementations, inference_amends_attributes_and_the_ops_struct) {
  EXPECT_EQ(chosen("loop"), 2000 + 27 * 2 + 100);
  EXPECT_EQ(chosen("", true), 1000 + 81 + 100);  // from a text
}

TEST_F(Implementations, what_inference_may_not_choose_or_set_is_a_clear_error) {
  EXPECT_THAT(
      error_of([] { chosen("wrong"); }),
      HasSubstr("op 'test_choose', inference: there is no forward of the name 'wrong' to choose; there are "
                "'cpu #1', 'loop', 'square' and 'gpu_only' ("));
  EXPECT_EQ(
      error_of([] { chosen("gpu_only"); }),
      "op 'test_choose', inference: chose the implementation 'gpu_only', and no forward for cpu has that "
      "name: there are 'cpu #1', 'loop' and 'square'");
  EXPECT_THAT(
      error_of([] { chosen("bad"); }),
      HasSubstr(
          "op 'test_choose', inference: set_attribute: attribute 'power' has to be at least 0, not -1 ("));
  EXPECT_THAT(
      error_of([] { chosen("unknown"); }),
      HasSubstr("op 'test_choose', inference: set_attribute: has no attribute 'powers'; it has 'power', "));
  Array<float> x({1}), y({1}, {});
  EXPECT_THAT(error_of([&] { run(*bind("test_choose_late", {meta({1})}), {&x.tensor}, {&y.tensor}); }),
              HasSubstr("only its inference, .infer(…), may choose or change attributes"));
}

TEST_F(Implementations, explain_says_why_each_other_was_not_taken) {
  const auto explained = [](const std::string& op, std::vector<tarsia_meta> inputs, const Attrs& attrs = {}) {
    const Request request(std::move(inputs), attrs);
    return explain(OpRegistry::instance().find(op)->op(), request.request);
  };
  EXPECT_EQ(explained("test_conv", {meta({3}), meta({3})}),
            "op 'test_conv' on the CPU, input 'x' float32 (3,), input 'w' float32 (3,)\n"
            "forward: 'cpu #1'\n"
            "  not 'buffered': its predicate says no\n"
            "backward: 'cpu #1'\n"
            "  not 'buffered': its predicate says no\n");
  EXPECT_EQ(explained("test_conv", {meta({4}), meta({3})}),
            "op 'test_conv' on the CPU, input 'x' float32 (4,), input 'w' float32 (3,)\n"
            "forward: 'buffered'\n"
            "  not 'cpu #1': its priority is 0, and there is one of 1\n"
            "backward: 'buffered'\n"
            "  not 'cpu #1': its priority is 0, and there is one of 1\n");
  EXPECT_EQ(explained("test_choose", {meta({1})}, {{"how", of("square")}}),
            "op 'test_choose' on the CPU, input 'x' float32 (1,)\n"
            "forward: 'square', which inference chose\n"
            "  not 'cpu #1': inference chose 'square'\n"
            "  not 'loop': inference chose 'square'\n"
            "  not 'gpu_only': it is for gpu\n"
            "backward: 'square', which inference chose\n"
            "  not 'cpu #1': inference chose 'square'\n");
  tarsia_meta csr = meta({2, 3});
  csr.storage = TARSIA_CSR;
  EXPECT_EQ(explained("test_double", {csr}),
            "op 'test_double' on the CPU, input 'x' float32 (2, 3) csr\n"
            "forward: 'dense', with its sparse tensors made dense\n"
            "  not 'sparse': its predicate says no\n"
            "  input 'x': csr -> dense\n"
            "  output 'y': dense -> csr\n"
            "backward: 'cpu #1', with its sparse tensors made dense\n"
            "  gradient of output 'y': csr -> dense\n"
            "  input 'x': csr -> dense\n"
            "  output 'y': csr -> dense\n"
            "  gradient of input 'x': dense -> csr\n");
}

/// Implementations that other libraries add.
class AddedImplementations : public Implementations {
 protected:
  static Ref<Library> load_mark(int mark) { return load("implementations_added" + std::to_string(mark)); }
  static void remove(const Ref<Library>& library) { OpRegistry::instance().remove(*library); }
};

TEST_F(AddedImplementations, they_run_and_go_with_their_library) {
  const Ref<BoundOp> before = bind("test_choose", {meta({1})});
  Ref<Library> library = load_mark(5000);
  const Ref<BoundOp> bound = bind("test_choose", {meta({1})});
  EXPECT_EQ(chosen(""), 5002);
  EXPECT_EQ(bound->implementation_name(TARSIA_FORWARD), "added");
  EXPECT_EQ(bound->implementation_name(TARSIA_BACKWARD), "added");
  EXPECT_EQ(pairs_of(*bound, TARSIA_FORWARD), (Pairs{{0, 0}}));
  EXPECT_EQ(bound->workspace(TARSIA_FORWARD), 7u);
  EXPECT_EQ(chosen("square"), 3109);
  EXPECT_EQ(before->implementation_name(TARSIA_FORWARD), "cpu #1");
  remove(library);
  library = {};
  EXPECT_EQ(chosen(""), 1109);
  Array<float> x({3}), y({1}, {});
  run(*bound, {&x.tensor}, {&y.tensor});  // keeps what it is bound to
  EXPECT_EQ(y.data[0], 5002);
}

TEST_F(AddedImplementations, a_later_one_takes_the_place_of_one_of_its_name) {
  const Ref<Library> first = load_mark(5000), second = load_mark(6000);
  EXPECT_EQ(chosen(""), 6002);
  EXPECT_EQ(bind("test_choose", {meta({1})})->implementation_name(TARSIA_BACKWARD),
            "added");  // the first one's
  remove(second);
  EXPECT_EQ(chosen(""), 5002);
  remove(first);
  EXPECT_EQ(chosen(""), 1109);
}

TEST_F(AddedImplementations, they_stay_when_the_op_is_registered_anew) {
  const Ref<Library> added = load_mark(5000);
  const Ref<Library> again = load("implementations");
  EXPECT_EQ(chosen(""), 5002);
  remove(again);
  EXPECT_THAT(error_of([] { chosen(""); }), HasSubstr("there is no op 'test_choose'"));
  s_library = load("implementations");
  EXPECT_EQ(chosen(""), 5002);
  remove(added);
  EXPECT_EQ(chosen(""), 1109);
}

TEST_F(AddedImplementations, an_op_of_another_signature_drops_them_with_a_warning) {
  const Ref<Library> added = load_mark(5000), other = load_mark(10000);
  ASSERT_EQ(other->warnings().size(), 2u);
  EXPECT_THAT(other->warnings()[0].message,
              HasSubstr("op 'test_choose' loses the implementation 'added' that library "));
  EXPECT_THAT(other->warnings()[0].message, HasSubstr(": the op had another signature: test_choose("));
  EXPECT_EQ(bind("test_choose", {meta({1})})->implementation_name(TARSIA_FORWARD), "cpu #1");
  remove(other);
  remove(added);
  s_library = load("implementations");
}

TEST_F(AddedImplementations, what_cannot_be_added_is_refused_at_load) {
  EXPECT_THAT(error_of([] { load_mark(7000); }),
              testing::AllOf(HasSubstr("TARSIA_IMPLEMENTATION of op 'test_not_there' at "),
                             HasSubstr("there is no op 'test_not_there'")));
  EXPECT_THAT(error_of([] { load_mark(8000); }),
              HasSubstr("has two forward implementations for cpu that always apply"));
  EXPECT_THAT(error_of([] { load_mark(9000); }),
              HasSubstr("has .input(…), which is for the op's own declaration"));
  EXPECT_EQ(chosen(""), 1109);
}

}  // namespace
}  // namespace tarsia::registry
