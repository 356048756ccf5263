// Names of symbols as people read them.
#include "base/demangle.h"

#include <gtest/gtest.h>

namespace tarsia {
namespace {

TEST(Demangle, names_of_cpp_are_read) {
  EXPECT_EQ(readable_symbol("_Z1fi"), "f(int)");
  EXPECT_EQ(readable_symbol("_ZN5space4busyEPf"), "space::busy(float*)");
}

TEST(Demangle, names_of_c_are_no_types) {
  for (const char* name : {"f", "i", "v", "memcpy", ""}) EXPECT_EQ(readable_symbol(name), name);
}

TEST(Demangle, what_compilers_append_is_left_out) {
  EXPECT_EQ(readable_symbol("_ZL3badRN6tarsia7ContextE.of0"), "bad(tarsia::Context&)");
  EXPECT_EQ(readable_symbol("_Z1fi.part.0.cold"), "f(int)");
  EXPECT_EQ(readable_symbol("_Z1fi.llvm.1234"), "f(int)");
  EXPECT_EQ(readable_symbol("bad.of12"), "bad");
  EXPECT_EQ(readable_symbol("bad.constprop.0"), "bad");
  for (const char* name : {"bad.off", "bad.0", "memcpy@@GLIBC_2.14", ".cold"})
    EXPECT_EQ(readable_symbol(name), name);
}

TEST(Demangle, what_is_no_symbol_stays) {
  EXPECT_EQ(readable_symbol("_Z"), "_Z");
  EXPECT_EQ(readable_symbol("_Znothing"), "_Znothing");
}

}  // namespace
}  // namespace tarsia
