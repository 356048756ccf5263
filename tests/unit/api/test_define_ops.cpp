// Ops that a program itself implements, through the C interface.
#include <gmock/gmock.h>
#include <tarsia/c_api.h>

#include <string>

namespace {

using testing::HasSubstr;

/// y = factor * x, in two implementations, of which one is for vectors of two elements.
struct Program {
  tarsia_port input{"x", "", 0}, output{"y", "", 0};
  tarsia_implementation implementations[2]{};
  tarsia_op op{};
  float factors[2]{2, 3};
  int32_t answer_for_others = 0;
  int released = 0;

  static int32_t run(void* user, const tarsia_op_context* context) {
    const auto* x = static_cast<const float*>(context->inputs[0]->data);
    auto* y = static_cast<float*>(context->outputs[0]->data);
    for (int64_t i = 0; i < context->inputs[0]->shape[0]; ++i) y[i] = *static_cast<float*>(user) * x[i];
    return 0;
  }
  static int32_t applies(void* user, const tarsia_bind_info* info) {
    if (info->inputs[0].shape[0] == 2) return 1;
    const int32_t answer = static_cast<Program*>(user)->answer_for_others;
    if (answer < 0) tarsia_get_host()->set_error(TARSIA_OP_VALUE_ERROR, "who knows");
    return answer;
  }

  Program() {
    for (int i : {0, 1}) {
      implementations[i].size = sizeof(tarsia_implementation);
      implementations[i].device_type = TARSIA_CPU;
      implementations[i].requests = 1u << TARSIA_REQUEST_WRITE;
      implementations[i].name = "";
      implementations[i].run = run;
      implementations[i].run_user = &factors[i];
    }
    implementations[1].priority = 1;
    implementations[1].applies = applies;
    implementations[1].applies_user = this;
    op.size = sizeof op;
    op.name = "program_times";
    op.description = op.location = "";
    op.n_inputs = op.n_outputs = 1;
    op.inputs = &input;
    op.outputs = &output;
    op.n_implementations = 2;
    op.implementations = implementations;
  }
};

class DefineOps : public testing::Test {
 protected:
  void SetUp() override {
    const tarsia_op* described = &program.op;
    ASSERT_EQ(tarsia_define_ops(
                  "program", &described, 1, [](void* p) { ++static_cast<Program*>(p)->released; }, &program,
                  &library),
              0);
    ASSERT_EQ(tarsia_op_find("program_times", &op), 0);
  }
  void TearDown() override {
    tarsia_op_release(op);
    tarsia_library_unload(library);
    tarsia_library_release(library);
    EXPECT_EQ(program.released, 1);
  }

  /// The code of binding to a vector of n elements.
  int32_t bind(int64_t n, tarsia_bound_op** bound) {
    tarsia_meta meta{};
    meta.present = 1;
    meta.ndim = 1;
    meta.shape[0] = n;
    meta.dtype = {TARSIA_FLOAT, 32, 1};
    tarsia_op_request request{};
    request.size = sizeof request;
    request.n_inputs = 1;
    request.inputs = &meta;
    request.device = {TARSIA_CPU, 0};
    return tarsia_op_bind(op, &request, bound);
  }

  /// The last element of what 1, 1, … becomes.
  float call(int64_t n) {
    tarsia_bound_op* bound = nullptr;
    if (bind(n, &bound)) return -1;
    float x[3]{1, 1, 1}, y[3]{};
    tarsia_tensor in{}, out{};
    in.data = x;
    out.data = y;
    for (tarsia_tensor* t : {&in, &out}) {
      t->device = {TARSIA_CPU, 0};
      t->ndim = 1;
      t->dtype = {TARSIA_FLOAT, 32, 1};
      t->shape = &n;
    }
    const tarsia_tensor *inputs[]{&in}, *outputs[]{&out};
    tarsia_op_call request{};
    request.size = sizeof request;
    request.n_inputs = request.n_outputs = 1;
    request.inputs = inputs;
    request.outputs = outputs;
    const int32_t code = tarsia_bound_call(bound, &request);
    tarsia_bound_release(bound);
    return code ? -1 : y[n - 1];
  }

  Program program;
  tarsia_library* library = nullptr;
  tarsia_op_handle* op = nullptr;
};

TEST_F(DefineOps, the_implementation_is_the_one_whose_predicate_says_so) {
  EXPECT_EQ(call(2), 3);
  EXPECT_EQ(call(3), 2);
  program.answer_for_others = 1;
  EXPECT_EQ(call(3), 3);
}

TEST_F(DefineOps, a_predicate_that_fails_is_an_error_of_the_op) {
  program.answer_for_others = -1;
  tarsia_bound_op* bound = nullptr;
  EXPECT_EQ(bind(3, &bound), TARSIA_OP_VALUE_ERROR);
  EXPECT_EQ(bound, nullptr);
  EXPECT_THAT(tarsia_last_error()->message, HasSubstr("op 'program_times', when: who knows"));
  EXPECT_EQ(call(2), 3);
}

}  // namespace
