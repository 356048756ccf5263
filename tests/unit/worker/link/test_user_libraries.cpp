// The user's libraries: what is taken, what is noted, and that no message quotes a file.
#include "jit/worker/link/user_libraries.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <link.h>

#include "base/machine/run_path.h"
#include "jit/worker/link/linker.h"
#include "llvm/Object/ArchiveWriter.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char k_secret[] = "plantedsecret:x:0:0";

class UserLibrariesTest : public CompileTest {
 protected:
  CompileRequest asked(const std::string& text, const std::string& library) {
    CompileRequest result = request("a.cc", text);
    result.options.libraries = {library};
    result.options.library_dirs = {dir.path()};
    return result;
  }
  static std::vector<std::string> paths(const std::vector<Dependency>& dependencies) {
    std::vector<std::string> all;
    for (const Dependency& one : dependencies) all.push_back(one.path);
    return all;
  }
  // A shared library that every machine has, and which this one has somewhere.
  std::string some_library() {
    struct link_map* map = nullptr;
    void* handle = ::dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
    EXPECT_EQ(::dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    return map->l_name;
  }
  // One object that defines two().
  std::string object() {
    const CompileRequest two = request("two.cc", "extern \"C\" int two() { return 2; }\n");
    return host_objects(two).at(0).bytes;
  }
  void write_archive(const std::string& path, bool thin) {
    auto member = llvm::NewArchiveMember::getFile(dir / "two.o", /*Deterministic=*/true);
    ASSERT_TRUE(bool(member));
    std::vector<llvm::NewArchiveMember> members;
    members.push_back(std::move(*member));
    ASSERT_FALSE(bool(llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab,
                                         llvm::object::Archive::K_GNU, /*Deterministic=*/true, thin)));
  }
  TemporaryDir dir;
};

constexpr char k_calls_two[] = "extern \"C\" int two();\nint f() { return two(); }\n";

TEST_F(UserLibrariesTest, what_is_no_library_is_refused_and_not_quoted) {
  const struct {
    std::string text;
  } cases[] = {{k_secret + "\n"s},
               {"GROUP ( "s + k_secret + " )\n"},
               {"INPUT ( -l"s + k_secret + " )\n"},
               {"INPUT ( /etc/"s + k_secret},
               {"INCLUDE "s + k_secret + "\n"},
               {k_secret + " = 1;\n"s},
               {"SECTIONS { "s + k_secret + " }\n"},
               {"/* "s + k_secret},
               {""}};
  for (const auto& [text] : cases) {
    write_file(dir / "libbad.so", text);
    for (const std::string& name : {"bad"s, dir / "libbad.so"}) {
      const CompileResult result = compile(asked("int f() { return 1; }\n", name));
      ASSERT_FALSE(result.ok) << text;
      EXPECT_EQ(result.stage, Stage::link);
      EXPECT_THAT(errors(result), HasSubstr(dir / "libbad.so")) << text;
      EXPECT_THAT(errors(result), Not(HasSubstr("plantedsecret"))) << text;
    }
  }
}

TEST_F(UserLibrariesTest, a_script_that_leads_to_itself_ends) {
  write_file(dir / "libloop.so", "INPUT ( libloop.so )\n");
  EXPECT_FALSE(compile(asked("int f() { return 1; }\n", "loop")).ok);
}

TEST_F(UserLibrariesTest, linker_scripts_lead_to_files_which_are_noted) {
  const std::string library = some_library();
  write_file(dir / "libreal.so.1", read_file(library));
  write_file(dir / "two.o", object());
  write_archive(dir / "libtwo_parts.a", /*thin=*/false);
  write_file(dir / "libone.so",
             "/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\n"
             "GROUP ( libtwo_parts.a \"libreal.so.1\" AS_NEEDED ( " +
                 library + " ) )\nINPUT(" + dir.path() + "/inner.so)\n");
  write_file(dir / "inner.so", "INPUT ( AS_NEEDED ( -lreal ) )");
  const CompileResult result =
      compile(asked("extern \"C\" int two();\nextern \"C\" double cos(double);\nint f() { volatile double x "
                    "= 0; return two() + "
                    "int(cos(x)); }\n",
                    "one"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(paths(result.dependencies),
              ElementsAre(dir / "libone.so", dir / "libtwo_parts.a", dir / "libreal.so.1", library,
                          dir / "inner.so", dir / "libreal.so"));
  tarsia_value out = {};
  Opened opened(result.module);
  ASSERT_EQ(opened.function("f")->call(nullptr, 0, &out), 0);
  EXPECT_EQ(out.i, 3);
}

// So machines that have the libraries elsewhere share the module.
TEST_F(UserLibrariesTest, a_module_does_not_say_where_its_libraries_lie) {
  write_file(dir / "libreal.so.1", read_file(some_library()));
  const std::string text =
      "extern \"C\" double cos(double);\nint f() { volatile double x = 0; return int(cos(x)); }\n";
  for (const std::string& library : {"real"s, dir / "libreal.so.1"}) {
    const CompileResult result = compile(asked(text, library));
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_THAT(result.module, Not(HasSubstr(dir.path())));
    EXPECT_THAT(result.module, HasSubstr(unknown_run_path()));
  }
  CompileRequest without = asked(text, "m");
  const CompileResult of_machine = compile(without);
  ASSERT_TRUE(of_machine.ok) << errors(of_machine);
  EXPECT_THAT(of_machine.module, Not(HasSubstr(unknown_run_path())));
}

// Where one of these appears, the module is of the past.
TEST_F(UserLibrariesTest, what_would_have_been_found_before_is_noted) {
  std::filesystem::create_directory(dir / "first");
  std::filesystem::create_directory(dir / "second");
  write_file(dir / "second/libreal.so.1", read_file(some_library()));
  CompileRequest both = asked("int f() { return 1; }\n", "real");
  both.options.library_dirs = {dir / "first", dir / "second"};
  const CompileResult result = compile(both);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(paths(result.dependencies),
              ElementsAre(dir / "first/libreal.so", dir / "first/libreal.so.1", dir / "second/libreal.so",
                          dir / "second/libreal.so.1"));
  for (const Dependency& one : result.dependencies)
    EXPECT_EQ(one.absent, one.path != dir / "second/libreal.so.1") << one.path;
}

// As ld has it: a folder's archive is taken where it has no shared library.
TEST_F(UserLibrariesTest, an_archive_is_found_by_its_name) {
  write_file(dir / "two.o", object());
  write_archive(dir / "libtwo.a", /*thin=*/false);
  const CompileResult result = compile(asked(k_calls_two, "two"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(paths(result.dependencies), ElementsAre(dir / "libtwo.so", dir / "libtwo.a"));
}

TEST_F(UserLibrariesTest, objects_of_thin_archives_are_noted) {
  write_file(dir / "two.o", object());
  write_archive(dir / "libtwo.a", /*thin=*/true);
  const CompileResult result = compile(asked(k_calls_two, dir / "libtwo.a"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(paths(result.dependencies), ElementsAre(dir / "libtwo.a", dir / "two.o"));
  std::filesystem::remove(dir / "two.o");
  EXPECT_FALSE(compile(asked(k_calls_two, dir / "libtwo.a")).ok);
}

TEST_F(UserLibrariesTest, sources_cannot_name_files_for_the_linker) {
  write_file(dir / "secret", k_secret + "\n"s);
  for (const std::string& text :
       {"#pragma comment(lib, \"" + (dir / "secret") + "\")\nint f() { return 1; }\n",
        "asm(\".section .deplibs,\\\"MS\\\",@llvm_dependent_libraries,1\\n.asciz \\\"" + (dir / "secret") +
            "\\\"\\n.text\");\nint f() { return 1; }\n"}) {
    const CompileResult result = compile(request("a.cc", text));
    EXPECT_TRUE(result.ok) << errors(result);
    EXPECT_THAT(errors(result), Not(HasSubstr("plantedsecret")));
  }
}

// LLD gives up on it in the middle.
TEST_F(UserLibrariesTest, a_linker_that_gave_up_says_why_and_is_not_used_again) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  write_file(dir / "libcut.a",
             "!<arch>\nfile.o/         0           0     0     644     9999999   `\nshort\n");
  CompileRequest cut = asked("int f() { return 1; }\n", dir / "libcut.a");
  EXPECT_EXIT(
      {
        Worker worker(test_pack(), TARSIA_TEST_PRELUDES);
        const CompileResult result = worker.compile(cut, parts);
        const bool named = !result.ok && errors(result).find("libcut.a") != std::string::npos;
        std::fprintf(stderr, "%s", errors(result).c_str());
        std::_Exit(named && !worker.usable() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace tarsia::jit
