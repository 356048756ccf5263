// Cells of sessions whose Clang has begun before they came.
#include "jit/worker/next_cell.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;

class NextCellTest : public CompileTest {
 protected:
  CompileRequest cell(int number, const std::string& text, const std::string& earlier = "",
                      const std::string& name = "session.cc") {
    const std::string own = "cell " + std::to_string(number);
    CompileRequest made = request(name, "#include <tarsia/op.h>\n#include <tarsia/repl.h>\n#include \"" +
                                            own + "-\"\n#include \"" + own + "\"\n");
    made.headers.push_back({own + "-", earlier});
    made.headers.push_back({own, text + "\n;\n"});
    made.options.functions.emplace();
    made.options.cell = own;
    return made;
  }

  /// As a worker that serves a session does.
  CompileResult run(const CompileRequest& asked) {
    CompileResult result = m_worker.compile(asked, parts);
    m_worker.idle();
    return result;
  }

  static bool had_begun(const CompileResult& result) {
    return std::ranges::none_of(result.timings, [](const auto& one) { return one.first == "begin"; });
  }

  /// It compiles to what it compiles to where nothing came before it.
  void expect_the_same(const CompileRequest& asked, bool begun = true) {
    const CompileResult here = run(asked);
    EXPECT_EQ(had_begun(here), begun);
    Worker other{test_pack(), TARSIA_TEST_PRELUDES};
    const CompileResult there = other.compile(asked, parts);
    EXPECT_EQ(here.ok, there.ok) << errors(here);
    EXPECT_EQ(errors(here), errors(there));
    EXPECT_EQ(here.module, there.module);
    ASSERT_EQ(here.dependencies.size(), there.dependencies.size());
    for (std::size_t i = 0; i < here.dependencies.size(); ++i)
      EXPECT_EQ(here.dependencies[i].path, there.dependencies[i].path);
  }

  Worker m_worker{test_pack(), TARSIA_TEST_PRELUDES};
};

TEST_F(NextCellTest, a_cell_is_what_it_is_alone) {
  EXPECT_FALSE(had_begun(run(cell(1, "int f(int a) { return a; }"))));
  expect_the_same(cell(2, "f(2)", "int f(int a);\n"));
  expect_the_same(cell(3, "struct S { double x; };\nS s{1.5};\ns.x", "int f(int a);\n"));
  expect_the_same(cell(4, "#include <vector>\nstd::vector<int> v{1, 2};\nv.size()"));
  expect_the_same(cell(5, "__builtin_popcount(7) + __builtin_memcmp(\"a\", \"b\", 1)"));
}

TEST_F(NextCellTest, an_error_leaves_nothing) {
  EXPECT_TRUE(run(cell(1, "int x = 1;")).ok);
  expect_the_same(cell(2, "int y = nothing;"));
  expect_the_same(cell(3, "int z = 2"));
  expect_the_same(cell(4, "int f() { return 1"));
  expect_the_same(cell(5, "#include \"no.h\""));
  expect_the_same(cell(6, "int z = 3;"));
}

TEST_F(NextCellTest, other_options_begin_anew) {
  EXPECT_TRUE(run(cell(1, "int x = 1;")).ok);
  CompileRequest other = cell(2, "__cplusplus");
  other.options.std = "c++17";
  expect_the_same(other, false);
  other = cell(3, "__cplusplus");
  other.options.std = "c++17";
  expect_the_same(other);
  other.options.defines.emplace_back("N", "3");
  other.headers.back().text = "N\n;\n";
  expect_the_same(other, false);
  expect_the_same(cell(4, "__cplusplus"), false);
  expect_the_same(cell(5, "#pragma omp parallel\n{ }"), false);
  expect_the_same(cell(6, "int y = 1;"));  // it has no pragma, as was expected of the one before
}

TEST_F(NextCellTest, another_source_may_come_between) {
  EXPECT_TRUE(run(cell(1, "int x = 1;")).ok);
  EXPECT_TRUE(run(request("a.cc", "#include <tarsia/op.h>\nint f(int a) { return a; }\n")).ok);
  EXPECT_TRUE(run(request("a.c", "int f(int a) { return a; }\n")).ok);
  expect_the_same(cell(2, "int y = 1;"));
}

TEST_F(NextCellTest, what_is_asked_for_while_a_cell_is_typed_changes_nothing) {
  EXPECT_TRUE(run(cell(1, "int number = 1;")).ok);
  CompileRequest asked = cell(2, "numb", "extern int number;\n");
  asked.complete_line = 1;
  asked.complete_column = 5;
  const CompileResult completed = run(asked);
  ASSERT_EQ(completed.completions.size(), 1u);
  EXPECT_EQ(completed.completions[0].text, "number");
  expect_the_same(cell(2, "number", "extern int number;\n"));
}

TEST_F(NextCellTest, files_are_read_as_they_are_when_the_cell_comes) {
  const TemporaryDir dir;
  const auto with_dir = [&](int number, const std::string& text) {
    CompileRequest made = cell(number, text);
    made.options.include_dirs = {dir / "inc"};
    return made;
  };
  // Clang forgets a folder that is not there when it begins.
  EXPECT_TRUE(run(with_dir(1, "int x = 1;")).ok);
  std::filesystem::create_directory(dir / "inc");
  write_file(dir / "inc/a.h", "#define A 1\n");
  expect_the_same(with_dir(2, "#include \"a.h\"\nA"), false);
  write_file(dir / "inc/a.h", "#define A 23\n");
  expect_the_same(with_dir(3, "#include \"a.h\"\nA"));
  write_file(dir / "inc/b.h", "#define B 4\n");
  expect_the_same(with_dir(4, "#include \"b.h\"\nB"));
  std::filesystem::remove(dir / "inc/b.h");
  const CompileResult gone = run(with_dir(5, "#include \"b.h\"\nB"));
  EXPECT_TRUE(had_begun(gone));
  EXPECT_THAT(errors(gone), HasSubstr("'b.h' file not found"));
}

TEST_F(NextCellTest, a_folder_that_is_not_there_keeps_no_cell_from_beginning) {
  const TemporaryDir dir;
  const auto with_dir = [&](int number, const std::string& text) {
    CompileRequest made = cell(number, text);
    made.options.include_dirs = {dir / "none"};
    return made;
  };
  EXPECT_TRUE(run(with_dir(1, "int x = 1;")).ok);
  expect_the_same(with_dir(2, "int y = 2;"));
}

TEST_F(NextCellTest, lines_of_another_kind_begin_anew) {
  EXPECT_TRUE(run(cell(1, "int x = 1;")).ok);
  CompileRequest other = cell(2, "int y = 2;");
  other.options.lineinfo = true;
  expect_the_same(other, false);
}

TEST_F(NextCellTest, cells_of_cuda_begin_before_they_come_too) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  const char* const kernel = "__global__ void k(int* x) { *x = 1; }";
  const CompileResult first = run(cell(1, kernel, "", "session.cu"));
  ASSERT_TRUE(first.ok) << errors(first);
  EXPECT_FALSE(had_begun(first));
  expect_the_same(cell(2, "k<<<1, 1>>>(nullptr)", std::string(kernel) + "\n", "session.cu"));
  expect_the_same(cell(3, "__global__ void j(float* x) { x[threadIdx.x] = nothing; }", "", "session.cu"));
  expect_the_same(cell(4, "__global__ void j(float* x) { x[threadIdx.x] = 2; }", "", "session.cu"));
}

}  // namespace
}  // namespace tarsia::jit
