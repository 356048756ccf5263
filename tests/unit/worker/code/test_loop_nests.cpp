// Which functions of loops within loops stay out of line.
#include "jit/worker/code/loop_nests.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace tarsia::jit {
namespace {

// A nest of two loops, or one loop, over n.
std::string function(const std::string& head, bool nested) {
  const std::string inner = nested
                                ? "inner:\n  %j = phi i32 [0, %outer], [%j1, %inner]\n  %j1 = add i32 %j, 1\n"
                                  "  %c = icmp ult i32 %j1, %n\n  br i1 %c, label %inner, label %next\n"
                                : "inner:\n  br label %next\n";
  return "define " + head +
         " {\nentry:\n  br label %outer\nouter:\n  %i = phi i32 [0, %entry], [%i1, %next]\n  br label "
         "%inner\n" +
         inner +
         "next:\n  %i1 = add i32 %i, 1\n  %d = icmp ult i32 %i1, %n\n  br i1 %d, label %outer, label "
         "%end\nend:\n  ret void\n}\n";
}

bool stays_apart(const std::string& head, bool nested, const std::string& calls) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      function(head, nested) + "define void @caller(i32 %n) {\n" + calls + "  ret void\n}\n", error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  if (!module) return false;
  keep_loop_nests_apart(*module);
  EXPECT_FALSE(module->getFunction("caller")->hasFnAttribute(llvm::Attribute::NoInline));
  return module->getFunction("f")->hasFnAttribute(llvm::Attribute::NoInline);
}

constexpr char k_call[] = "  call void @f(i32 %n)\n";

TEST(LoopNests, of_exported_functions_are_not_copied_into_callers) {
  EXPECT_TRUE(stays_apart("void @f(i32 %n)", true, k_call));
  EXPECT_FALSE(stays_apart("void @f(i32 %n)", false, k_call));
}

TEST(LoopNests, of_internal_functions_are_inlined_where_that_makes_no_copy) {
  EXPECT_FALSE(stays_apart("internal void @f(i32 %n)", true, k_call));
  EXPECT_TRUE(stays_apart("internal void @f(i32 %n)", true, std::string(k_call) + k_call));
}

TEST(LoopNests, are_inlined_where_a_constant_may_unroll_them) {
  EXPECT_FALSE(stays_apart("void @f(i32 %n)", true, "  call void @f(i32 3)\n"));
  EXPECT_FALSE(stays_apart("void @f(i32 %n)", true, std::string(k_call) + "  call void @f(i32 3)\n"));
}

TEST(LoopNests, are_inlined_into_loops) {
  EXPECT_FALSE(stays_apart("void @f(i32 %n)", true,
                           "  br label %again\nagain:\n" + std::string(k_call) +
                               "  %e = icmp ult i32 %n, 5\n  br i1 %e, label %again, label %out\nout:\n"));
}

TEST(LoopNests, of_templates_and_inline_functions_are_left_to_llvm) {
  EXPECT_FALSE(stays_apart("linkonce_odr void @f(i32 %n)", true, std::string(k_call) + k_call));
  EXPECT_FALSE(stays_apart("void @f(i32 %n) inlinehint", true, k_call));
  EXPECT_FALSE(stays_apart("void @f(i32 %n) alwaysinline", true, k_call));
}

}  // namespace
}  // namespace tarsia::jit
