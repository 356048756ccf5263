// The error family: codes, messages, what each class carries.
#include "base/error.h"

#include <gtest/gtest.h>

namespace tarsia {
namespace {

TEST(Error, compile_error_prints_its_diagnostics) {
  const CompileError error("relu.cu does not compile", Stage::device,
                           {{"relu.cu", 12, 3, Severity::error, "no such thing"},
                            {"", 0, 0, Severity::note, "placeless"},
                            {"relu.cu", 4, 0, Severity::warning, "line alone"}},
                           "raw");
  EXPECT_STREQ(error.what(),
               "relu.cu does not compile\nrelu.cu:12:3: error: no such thing\nnote: placeless\n"
               "relu.cu:4: warning: line alone");
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_EQ(error.stage(), Stage::device);
  EXPECT_EQ(error.log(), "raw");
  EXPECT_EQ(error.diagnostics().size(), 3u);
}

TEST(Error, invalid_source_is_a_compile_error_with_its_own_code) {
  try {
    throw InvalidSource({"a.cu", 1, 2, Severity::error, "NUL byte"});
  } catch (const CompileError& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_source);
    EXPECT_EQ(error.stage(), Stage::source);
    EXPECT_EQ(error.diagnostics().at(0).column, 2);
  }
}

TEST(Error, every_class_is_an_error_and_tells_its_code) {
  const auto code_of = [](auto&& raise) {
    try {
      raise();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code_of([] { throw Error("x"); }), ErrorCode::unknown);
  EXPECT_EQ(code_of([] { throw CompilerCrashed("x"); }), ErrorCode::compiler_crashed);
  EXPECT_EQ(code_of([] { throw CompileTimeout("x"); }), ErrorCode::compile_timeout);
  EXPECT_EQ(code_of([] { throw ResourceLimit("x"); }), ErrorCode::resource_limit);
  EXPECT_EQ(code_of([] { throw LoadError("x"); }), ErrorCode::load);
  EXPECT_EQ(code_of([] { throw CudaError("x"); }), ErrorCode::cuda);
  EXPECT_EQ(code_of([] { throw NotFound("x"); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([] { throw Unsupported("x"); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { throw OpError("x"); }), ErrorCode::op);
  EXPECT_EQ(code_of([] { throw ArgumentError::type_error("x"); }), ErrorCode::argument_type);
  EXPECT_EQ(code_of([] { throw ArgumentError::value_error("x"); }), ErrorCode::argument_value);
}

TEST(Error, names_follow_the_classes) {
  EXPECT_EQ(error_name(ErrorCode::compile), "CompileError");
  EXPECT_EQ(error_name(ErrorCode::argument_value), "ArgumentError");
}

}  // namespace
}  // namespace tarsia
