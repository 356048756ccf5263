// Errors that pass a C boundary.
#include "registry/resources/last_error.h"

#include <stdexcept>
#include <typeinfo>
#include <vector>

#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

/// Throws `error`, catches it as C code does, throws it again, and compares.
template <class E>
void expect_to_come_back(const E& error) {
  EXPECT_EQ(guarded([&] { throw error; }), static_cast<std::int32_t>(error.code()));
  try {
    throw_last_error();
  } catch (const Error& e) {
    EXPECT_EQ(typeid(e), typeid(E));
    EXPECT_EQ(e.code(), error.code());
    EXPECT_STREQ(e.what(), error.what());
    EXPECT_EQ(e.stage(), error.stage());
    EXPECT_EQ(e.log(), error.log());
  }
}

TEST(LastError, every_class_comes_back_as_itself) {
  expect_to_come_back(Error("plain", {Stage::split, "log"}));
  expect_to_come_back(
      CompileError("headline", Stage::device, {{"a.cu", 3, 1, Severity::warning, "odd"}}, "raw"));
  expect_to_come_back(InvalidSource({"a.cu", 1, 2, Severity::error, "a NUL byte"}));
  expect_to_come_back(CompilerCrashed("crashed", "last words"));
  expect_to_come_back(CompileTimeout("too long"));
  expect_to_come_back(ResourceLimit("too much"));
  expect_to_come_back(LoadError("no library"));
  expect_to_come_back(ArgumentError::type_error("wrong kind"));
  expect_to_come_back(ArgumentError::value_error("wrong value"));
  expect_to_come_back(CudaError("no GPU"));
  expect_to_come_back(NotFound("no op"));
  expect_to_come_back(Unsupported("not here"));
  expect_to_come_back(OpError("thrown"));
  expect_to_come_back(OutOfMemory("no room"));
  expect_to_come_back(Interrupted("given up"));
}

TEST(LastError, diagnostics_come_back) {
  guarded([] { throw CompileError("headline", Stage::host, {{"a.cu", 3, 1, Severity::warning, "odd"}}); });
  try {
    throw_last_error();
  } catch (const CompileError& e) {
    ASSERT_EQ(e.diagnostics().size(), 1u);
    EXPECT_EQ(e.diagnostics()[0].file, "a.cu");
    EXPECT_EQ(e.diagnostics()[0].line, 3);
    EXPECT_STREQ(e.what(), "headline\na.cu:3:1: warning: odd");
  }
}

TEST(LastError, exceptions_of_authors_come_back_as_op_errors_of_their_kind) {
  auto code_of = [](auto exception) {
    try {
      throw exception;
    } catch (...) {
      capture_author_exception();
    }
    try {
      throw_last_error();
    } catch (const OpError& e) {
      EXPECT_STREQ(e.what(), "told");
      EXPECT_EQ(e.stage(), Stage::call);
      return e.code();
    }
  };
  EXPECT_EQ(code_of(std::runtime_error("told")), ErrorCode::op);
  EXPECT_EQ(code_of(std::invalid_argument("told")), ErrorCode::op_value);
  EXPECT_EQ(code_of(std::out_of_range("told")), ErrorCode::op_index);
  try {
    throw std::bad_alloc();
  } catch (...) {
    capture_author_exception();
  }
  EXPECT_THROW(throw_last_error(), OutOfMemory);
}

TEST(LastError, names_are_those_of_the_classes) {
  EXPECT_EQ(error_name(ErrorCode::op_index), "OpError");
  EXPECT_EQ(error_name(ErrorCode::out_of_memory), "OutOfMemory");
  EXPECT_EQ(error_name(static_cast<ErrorCode>(99)), "Error");
}

}  // namespace
}  // namespace tarsia::registry
