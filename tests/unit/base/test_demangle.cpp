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

TEST(Demangle, what_is_no_symbol_stays) {
  EXPECT_EQ(readable_symbol("_Z"), "_Z");
  EXPECT_EQ(readable_symbol("_Znothing"), "_Znothing");
}

}  // namespace
}  // namespace tarsia
