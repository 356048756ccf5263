// A link against excerpts gives the module that a link against the whole libraries gives.
#include "jit/worker/link/library_excerpt.h"

#include <link.h>

#include "base/error.h"
#include "jit/worker/host/host_compiler.h"
#include "jit/worker/link/linker.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

class LibraryExcerpt : public CompileTest {
 protected:
  std::vector<LinkInput> objects_of(const std::string& text) {
    request_ = request("a.cc", text);
    return host_objects(request_);
  }
  CompileRequest request_;
};

constexpr char k_uses_much[] = R"(
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
double f(double x, int n) {
  std::map<std::string, double> known;
  thread_local int calls = 0;
  std::thread([&] { known["x"] = std::sin(x) + std::pow(x, n) + calls++; }).join();
  if (n < 0) throw std::invalid_argument("n");
  std::printf("%g %s\n", known["x"], std::getenv("HOME"));
  std::cout << known.size() << stderr << std::endl;
  return known["x"];
}
)";

TEST_F(LibraryExcerpt, gives_the_same_module) {
  std::vector<LinkInput> objects = objects_of(k_uses_much);
  LinkResult excerpts = link(request_, objects, {});
  ASSERT_TRUE(excerpts.ok) << excerpts.diagnostics.at(0).message;
  LinkResult whole = link(request_, objects, {.whole_libraries = true});
  ASSERT_TRUE(whole.ok) << whole.diagnostics.at(0).message;
  EXPECT_EQ(excerpts.module, whole.module);
}

TEST_F(LibraryExcerpt, gives_the_same_module_for_a_program) {
  std::vector<LinkInput> objects =
      objects_of("#include <cstdlib>\nint main(int argc, char**) { if (argc > 1) abort(); return 0; }");
  LinkResult excerpts = link(request_, objects, {.has_main = true});
  ASSERT_TRUE(excerpts.ok) << excerpts.diagnostics.at(0).message;
  LinkResult whole = link(request_, objects, {.has_main = true, .whole_libraries = true});
  ASSERT_TRUE(whole.ok) << whole.diagnostics.at(0).message;
  EXPECT_EQ(excerpts.module, whole.module);
}

TEST_F(LibraryExcerpt, undefined_symbols_are_still_errors) {
  LinkResult linked = link(request_, objects_of("int nowhere(int); int f() { return nowhere(1); }"), {});
  EXPECT_FALSE(linked.ok);
  ASSERT_FALSE(linked.diagnostics.empty());
  EXPECT_NE(linked.diagnostics[0].message.find("nowhere(int)"), std::string::npos);
}

TEST_F(LibraryExcerpt, names_what_an_object_leaves_undefined) {
  const std::vector<LinkInput> objects = objects_of("int nowhere(int); int f() { return nowhere(1); }");
  const auto names = undefined_symbols(objects.at(0).bytes);
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->contains("_Z7nowherei"));
  EXPECT_FALSE(names->contains("_Z1fv"));
  EXPECT_FALSE(undefined_symbols("not an object"));
}

TEST_F(LibraryExcerpt, of_what_a_library_does_not_have_is_nothing) {
  void* libm = ::dlopen("libm.so.6", RTLD_LAZY);
  struct link_map* map = nullptr;
  ASSERT_EQ(::dlinfo(libm, RTLD_DI_LINKMAP, &map), 0);
  const LibrarySymbols symbols(map->l_name);
  EXPECT_EQ(symbols.excerpt({"nowhere"}), "");
  const std::string excerpt = symbols.excerpt({"nowhere", "sin"});
  EXPECT_NE(excerpt.find("libm.so.6"), std::string::npos);
  EXPECT_EQ(excerpt.find("nowhere"), std::string::npos);
  EXPECT_THROW(LibrarySymbols("/proc/self/cmdline"), Error);
}

}  // namespace
}  // namespace tarsia::jit
