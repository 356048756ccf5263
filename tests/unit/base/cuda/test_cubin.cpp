// Reading cubins: the names of variables, and what is no cubin.
#include "base/cuda/cubin.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tarsia {
namespace {

std::vector<CubinSymbol> variables(std::initializer_list<const char*> names) {
  std::vector<CubinSymbol> symbols;
  for (const char* name : names) symbols.push_back({CubinSymbol::Kind::variable, name, false, 4});
  return symbols;
}

TEST(Cubin, variables_are_found_by_their_qualified_names) {
  auto symbols =
      variables({"a", "_ZN2ns1cE", "_ZN34_INTERNAL_00000000_5_mg_cu__Z3funi2ns1dE", "_ZN2nsL1lE", "_ZL1s",
                 "_ZN34_INTERNAL_00000000_5_mg_cu__Z3funi2ns36_GLOBAL__N__00000000_5_mg_cu__Z3funi1eE"});
  EXPECT_EQ(find_variable(symbols, "a"), "a");
  EXPECT_EQ(find_variable(symbols, "ns::c"), "_ZN2ns1cE");
  EXPECT_EQ(find_variable(symbols, "::ns::c"), "_ZN2ns1cE");
  EXPECT_EQ(find_variable(symbols, "ns::d"), symbols[2].name);
  EXPECT_EQ(find_variable(symbols, "ns::l"), "_ZN2nsL1lE");
  EXPECT_EQ(find_variable(symbols, "s"), "_ZL1s");
  EXPECT_EQ(find_variable(symbols, "ns::(anonymous namespace)::e"), symbols[5].name);
  EXPECT_EQ(find_variable(symbols, "c"), "");
  EXPECT_EQ(find_variable(symbols, "ns"), "");
}

TEST(Cubin, broken_names_are_passed_over) {
  EXPECT_EQ(find_variable(variables({"_Z", "_ZN", "_ZN99aE", "_ZN99999999999999999999999aE", "_ZNx"}), "a"),
            "");
}

TEST(Cubin, what_is_no_cubin_has_no_symbols) {
  for (std::string bytes : {std::string(),
                            std::string("\x7f"
                                        "ELF"),
                            std::string(4096, '\0'), std::string("PTX")}) {
    EXPECT_FALSE(is_cubin(bytes));
    EXPECT_TRUE(cubin_symbols(bytes).empty());
    EXPECT_EQ(cubin_section(bytes, ".text"), "");
  }
}

}  // namespace
}  // namespace tarsia
