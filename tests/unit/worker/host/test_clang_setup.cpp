// What a request's files are compiled as.
#include "jit/worker/host/clang_setup.h"

#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

TEST(ClangSetup, names_and_requests_say_languages) {
  for (const bool cuda : {false, true}) {
    EXPECT_EQ(language_of({"a.c", ""}, cuda), Language::c);
    for (const char* name : {"a.cc", "a.cpp", "a.cxx", "a.c++", "a.C", "a.CPP"})
      EXPECT_EQ(language_of({name, ""}, cuda), Language::cxx) << name;
    for (const char* name : {"a.cu", "a", "v1.2/kernel", "my.op"})
      EXPECT_EQ(language_of({name, ""}, cuda), cuda ? Language::cuda : Language::cxx) << name;
  }
}

}  // namespace
}  // namespace tarsia::jit
