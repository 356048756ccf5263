// Percent signs and commas of inline assembly.
#include "jit/worker/nvptx/inline_assembly.h"

#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

std::string of_names(std::string text) {
  adapt_assembly(text);
  return text;
}

std::string all(std::string text) {
  adapt_assembly_of_header(text);
  return text;
}

TEST(InlineAssembly, names_in_assembly_with_operands_get_a_second_one) {
  EXPECT_EQ(of_names("asm volatile(\"mov.u32 %0, %clusterid.x;\\n\" : \"=r\"(x));"),
            "asm volatile(\"mov.u32 %0, %%clusterid.x;\\n\" : \"=r\"(x));");
  EXPECT_EQ(of_names("__asm__(\"mov %laneid, %1;\"\n  MACRO(1) \"%p, %%q\" :: \"r\"(f(x, y)), \"r\"(0));"),
            "__asm__(\"mov %%laneid, %1;\"\n  MACRO(1) \"%%p, %%q\" :: \"r\"(f(x, y)), \"r\"(0));");
}

TEST(InlineAssembly, all_else_stays) {
  for (const char* text :
       {"asm(\"mov.u32 r, %laneid;\");", "asm(\"mov %b0, %c[n], %[n], %=, %{\" : [n] \"=r\"(x));",
        "printf(\"%d asm\", x);", "void asm_(); f(\"%laneid\" : 1);", "asm(\"%8\" : \"=r\"(x));",
        "// asm(\"%laneid\" : \"=r\"(x));\n", "const char* s = \"asm(%laneid :)\";", "asm(\"%laneid\" ;"})
    EXPECT_EQ(of_names(text), text);
}

TEST(InlineAssembly, in_headers_so_do_operands_that_are_not_there) {
  EXPECT_EQ(all("asm(\"[%0], [%1], %2, %10;\" : \"=r\"(x) : \"l\"(f(y)) : \"memory\");"),
            "asm(\"[%0], [%1], %%2, %%10;\" : \"=r\"(x) : \"l\"(f(y)) : \"memory\");");
  EXPECT_EQ(all("asm(\"%0 %1\" :: \"r\"(x));"), "asm(\"%0 %%1\" :: \"r\"(x));");
  for (const char* text : {"asm(\"%0 %1\" :: OPERANDS);", "asm(\"%0 %1\" : [a] \"=r\"(x), [b] \"=r\"(y));",
                           "asm(\"%0 %1\" :: \"r\"(x)\n#if 1\n, \"r\"(y)\n#endif\n);"})
    EXPECT_EQ(all(text), text);
}

TEST(InlineAssembly, commas_between_operands_may_be_left_out) {
  EXPECT_EQ(of_names("asm(\"st [%0], %1;\" :: \"r\"(f(x, 1) + 2)\n  \"r\"(y));"),
            "asm(\"st [%0], %1;\" :: \"r\"(f(x, 1) + 2),\n  \"r\"(y));");
  EXPECT_EQ(of_names("asm(\"%p %0\" : \"=r\"(x) \"=r\"(y) : \"r\"(z) /* c */ \"l\"(v) : \"memory\");"),
            "asm(\"%%p %0\" : \"=r\"(x), \"=r\"(y) : \"r\"(z), /* c */ \"l\"(v) : \"memory\");");
  EXPECT_EQ(all("asm(\"%0 %1 %2\" :: \"r\"(x) \"r\"(y));"), "asm(\"%0 %1 %%2\" :: \"r\"(x), \"r\"(y));");
  for (const char* text :
       {"asm(\"%0\" :: \"r\"(x), \"r\"(y));", "asm(\"%0\" : \"=r\"(x) : \"r\"(f(y) \"z\"));",
        "f((x) \"r\"); asm(\"\");", "asm((x) \"r\");"})
    EXPECT_EQ(of_names(text), text);
}

}  // namespace
}  // namespace tarsia::jit
