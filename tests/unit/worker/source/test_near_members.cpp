// What is meant by the misspelt name of a member.
#include "jit/worker/source/names/near_members.h"

#include <gmock/gmock.h>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;
using testing::Not;

class NearMembers : public CompileTest {
 protected:
  std::string message(const std::string& text, const char* name = "a.cc") {
    const CompileResult result = compile(request(name, text));
    EXPECT_FALSE(result.ok);
    return result.diagnostics.empty() ? "" : result.diagnostics.front().message;
  }
};

TEST_F(NearMembers, of_the_class_and_its_bases_are_told) {
  const std::string classes =
      "struct Base { int width; };\nstruct Derived : Base { void forward(); template <class T> T total(); "
      "};\n";
  EXPECT_EQ(message(classes + "void f(Derived& d) { d.forwrd(); }\n"),
            "no member named 'forwrd' in 'Derived'; did you mean 'forward'?");
  EXPECT_THAT(message(classes + "int f(Derived* d) { return d->widht; }\n"),
              HasSubstr("did you mean 'width'?"));
  EXPECT_THAT(message(classes + "int f(Derived& d) { return d.totl<int>(); }\n"),
              HasSubstr("did you mean 'total'?"));
  EXPECT_THAT(message("#include <vector>\nvoid f(std::vector<int>& v) { v.puhs_back(1); }\n"),
              HasSubstr("did you mean 'push_back'?"));
  EXPECT_THAT(message("struct P { int length; };\nint f(struct P* p) { return p->lenght; }\n", "a.c"),
              HasSubstr("did you mean 'length'?"));
}

TEST_F(NearMembers, are_public_and_near) {
  EXPECT_THAT(message("class C { int width; };\nint f(C& c) { return c.widht; }\n"),
              Not(HasSubstr("did you mean")));
  EXPECT_THAT(message("struct C { int width; };\nint f(C& c) { return c.height; }\n"),
              Not(HasSubstr("did you mean")));
  EXPECT_THAT(message("struct C { int a; };\nint f(C& c) { return c.b; }\n"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(message("struct C { int _width; };\nint f(C& c) { return c.width_; }\n"),
              Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace tarsia::jit
