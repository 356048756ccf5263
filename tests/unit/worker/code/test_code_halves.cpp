// Modules cut in two, and that the two make the one again when they are linked.
#include "jit/worker/code/code_halves.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

/// A function of so many instructions that the halves weigh enough, then `calls`.
std::string heavy(const std::string& head, const std::string& calls = "") {
  std::string text = "define " + head + " {\n  %x0 = load volatile i32, ptr @volatile\n";
  for (int i = 1; i < 200; ++i)
    text += "  %x" + std::to_string(i) + " = add i32 %x" + std::to_string(i - 1) + ", 1\n";
  return text + "  store volatile i32 %x199, ptr @volatile\n" + calls + "  ret void\n}\n";
}

class CodeHalvesTest : public testing::Test {
 protected:
  bool cut(const std::string& text) {
    llvm::SMDiagnostic error;
    m_module = llvm::parseAssemblyString("@volatile = external global i32\n" + text, error, m_context);
    EXPECT_TRUE(m_module) << error.getMessage().str();
    if (!m_module) return false;
    m_first.reset();
    m_second.reset();
    CodeHalves halves = halve(*m_module, 7);
    if (!halves.first) return false;
    m_first = std::move(halves.first);
    auto second = llvm::parseBitcodeFile(llvm::MemoryBufferRef(halves.second, "second"), m_context);
    EXPECT_TRUE(bool(second));
    m_second = std::move(*second);
    std::string problems;
    llvm::raw_string_ostream out(problems);
    EXPECT_FALSE(llvm::verifyModule(*m_first, &out)) << problems;
    EXPECT_FALSE(llvm::verifyModule(*m_second, &out)) << problems;
    return true;
  }
  bool in_first(const std::string& name) const { return defines(*m_first, name); }
  bool in_second(const std::string& name) const { return defines(*m_second, name); }
  bool together(const std::string& a, const std::string& b) const {
    return (in_first(a) && in_first(b)) || (in_second(a) && in_second(b));
  }

  llvm::LLVMContext m_context;
  std::unique_ptr<llvm::Module> m_module, m_first, m_second;

 private:
  static bool defines(const llvm::Module& module, const std::string& name) {
    const llvm::GlobalValue* value = module.getNamedValue(name);
    return value && !value->isDeclaration();
  }
};

TEST_F(CodeHalvesTest, of_functions_that_do_not_call_each_other_have_one_each) {
  ASSERT_TRUE(cut(heavy("void @a()") + heavy("void @b()")));
  EXPECT_NE(in_first("a"), in_second("a"));
  EXPECT_NE(in_first("b"), in_second("b"));
  EXPECT_FALSE(together("a", "b"));
}

TEST_F(CodeHalvesTest, keep_callers_with_what_they_call) {
  EXPECT_FALSE(cut(heavy("void @a()") + heavy("void @b()", "  call void @a()\n")));
  ASSERT_TRUE(cut(heavy("void @a()") + heavy("void @b()", "  call void @a()\n") + heavy("void @c()")));
  EXPECT_TRUE(together("a", "b"));
  EXPECT_FALSE(together("a", "c"));
  // Where a call stays a call anyway, it may cross.
  EXPECT_TRUE(cut(heavy("void @a() noinline") + heavy("void @b()", "  call void @a()\n")));
}

TEST_F(CodeHalvesTest, give_what_is_local_a_hidden_symbol_where_the_other_half_names_it) {
  ASSERT_TRUE(
      cut(heavy("internal void @a()") + heavy("void @b()", "  store volatile ptr @a, ptr @volatile\n")));
  const std::string name = "a.of7";
  EXPECT_FALSE(together(name, "b"));
  const llvm::GlobalValue* defined = (in_first(name) ? *m_first : *m_second).getNamedValue(name);
  ASSERT_TRUE(defined);
  EXPECT_TRUE(defined->hasHiddenVisibility());
  EXPECT_TRUE(defined->hasExternalLinkage());
}

/// Two heavy functions whose lines are described, in a compile unit of this kind.
std::string with_lines(const std::string& kind) {
  return heavy("void @a() !dbg !4") + heavy("void @b() !dbg !5") +
         "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
         "!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, isOptimized: true, "
         "emissionKind: " +
         kind +
         ")\n"
         "!1 = !DIFile(filename: \"a.cc\", directory: \".\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
         "!3 = !DISubroutineType(types: !{})\n"
         "!4 = distinct !DISubprogram(name: \"a\", file: !1, line: 3, type: !3, unit: !0, "
         "spFlags: DISPFlagDefinition)\n"
         "!5 = distinct !DISubprogram(name: \"b\", file: !1, line: 7, type: !3, unit: !0, "
         "spFlags: DISPFlagDefinition)\n";
}

TEST_F(CodeHalvesTest, have_a_line_table_each) {
  ASSERT_TRUE(cut(with_lines("LineTablesOnly")));
  EXPECT_FALSE(together("a", "b"));
  for (const llvm::Module* half : {m_first.get(), m_second.get()}) {
    EXPECT_EQ(llvm::range_size(half->debug_compile_units()), 1);
    for (const llvm::Function& function : *half)
      EXPECT_EQ(function.getSubprogram() != nullptr, !function.isDeclaration()) << function.getName().str();
  }
  EXPECT_FALSE(cut(with_lines("FullDebug"))) << "each half would describe all variables";
}

TEST_F(CodeHalvesTest, share_no_variable) {
  const std::string use = "  store i32 1, ptr @v\n";
  EXPECT_FALSE(cut("@v = internal global i32 0\n" + heavy("void @a()", use) + heavy("void @b()", use)));
  EXPECT_FALSE(cut("@v = global i32 0\n" + heavy("void @a()", use) + heavy("void @b()", use)));
}

TEST_F(CodeHalvesTest, both_have_what_the_linker_keeps_one_of) {
  const std::string use = "  call void @f()\n  store volatile ptr @text, ptr @volatile\n";
  ASSERT_TRUE(
      cut("$f = comdat any\n@text = private unnamed_addr constant [2 x i8] c\"a\\00\"\n"
          "define linkonce_odr void @f() comdat {\n  ret void\n}\n" +
          heavy("void @a()", use) + heavy("void @b()", use)));
  EXPECT_TRUE(in_first("f") && in_second("f"));
  EXPECT_TRUE(in_first("text") && in_second("text"));
}

TEST_F(CodeHalvesTest, do_not_both_have_what_is_only_named) {
  ASSERT_TRUE(cut("$f = comdat any\n@t = linkonce_odr constant ptr @f\n" +
                  heavy("linkonce_odr void @f() comdat", "") +
                  heavy("void @a()", "  store volatile ptr @t, ptr @volatile\n") + heavy("void @b()")));
  EXPECT_NE(in_first("f"), in_second("f"));
  EXPECT_TRUE((in_first("f") ? *m_first : *m_second).getFunction("f")->hasWeakODRLinkage());
}

TEST_F(CodeHalvesTest, take_or_leave_a_comdat_group_as_a_whole) {
  const std::string use = "  store volatile ptr @v, ptr @volatile\n";
  ASSERT_TRUE(
      cut("$v = comdat any\n@v = linkonce_odr global i32 0, comdat\n"
          "@guard = linkonce_odr global i64 0, comdat($v)\n" +
          heavy("void @a()", use) + heavy("void @b()", use)));
  for (const llvm::Module* half : {m_first.get(), m_second.get()})
    EXPECT_FALSE(half->getNamedValue("guard")->isDeclaration());
}

TEST_F(CodeHalvesTest, start_up_is_in_one_of_them_used_or_not) {
  ASSERT_TRUE(
      cut("$v = comdat any\n@v = linkonce_odr global i32 0, comdat\n"
          "@guard = linkonce_odr global i64 0, comdat($v)\n"
          "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
          "[{ i32, ptr, ptr } { i32 65535, ptr @start, ptr @v }]\n"
          "define internal void @start() comdat($v) {\n  store i64 1, ptr @guard\n  ret void\n}\n" +
          heavy("void @a()") + heavy("void @b()")));
  EXPECT_NE(in_first("start"), in_second("start"));
  EXPECT_TRUE(together("start", "guard"));
  EXPECT_TRUE((in_first("start") ? *m_first : *m_second).getNamedGlobal("llvm.global_ctors"));
}

TEST_F(CodeHalvesTest, keep_what_is_used_unseen) {
  ASSERT_TRUE(
      cut("$f = comdat any\n@llvm.used = appending global [2 x ptr] [ptr @f, ptr @b], section "
          "\"llvm.metadata\"\ndefine linkonce_odr void @f() comdat {\n  ret void\n}\n" +
          heavy("void @a()", "  call void @f()\n") + heavy("void @b()")));
  EXPECT_NE(in_first("f"), in_second("f"));
  EXPECT_TRUE(m_first->getNamedGlobal("llvm.used"));
  EXPECT_TRUE(m_second->getNamedGlobal("llvm.used"));
}

TEST_F(CodeHalvesTest, tables_stay_in_order) {
  std::string entries, functions;
  for (const char* name : {"a", "b", "c", "d"}) {
    entries += std::string("@entry_") + name + " = internal constant ptr @" + name + ", section \"table\"\n";
    functions +=
        heavy("linkonce_odr void @" + std::string(name) + "()") +
        heavy("void @user_of_" + std::string(name) + "()", "  call void @" + std::string(name) + "()\n");
  }
  ASSERT_TRUE(cut(entries +
                  "@llvm.used = appending global [4 x ptr] [ptr @entry_a, ptr @entry_b, ptr @entry_c, ptr "
                  "@entry_d], section \"llvm.metadata\"\n" +
                  functions));
  for (const char* name : {"entry_b", "entry_c", "entry_d"}) EXPECT_TRUE(together("entry_a", name));
}

TEST_F(CodeHalvesTest, start_up_stays_in_order) {
  const std::string list =
      "@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @a, "
      "ptr null }, { i32, ptr, ptr } { i32 65535, ptr @b, ptr null }]\n";
  EXPECT_FALSE(cut(list + heavy("internal void @a()") + heavy("internal void @b()")));
  ASSERT_TRUE(cut(list + heavy("internal void @a()") + heavy("internal void @b()") + heavy("void @c()")));
  EXPECT_TRUE(together("a", "b"));
  EXPECT_EQ(in_first("a"), bool(m_first->getNamedGlobal("llvm.global_ctors")));
  EXPECT_EQ(in_second("a"), bool(m_second->getNamedGlobal("llvm.global_ctors")));
}

TEST_F(CodeHalvesTest, aliases_are_where_the_aliased_is) {
  ASSERT_TRUE(cut("@other = alias void (), ptr @a\n" + heavy("void @a()") + heavy("void @b()") +
                  heavy("void @c()", "  call void @other()\n")));
  EXPECT_TRUE(together("a", "other"));
  EXPECT_TRUE(together("c", "other"));
}

TEST_F(CodeHalvesTest, are_not_made_of_assembly_or_of_little) {
  EXPECT_FALSE(cut("module asm \"nop\"\n" + heavy("void @a()") + heavy("void @b()")));
  EXPECT_FALSE(cut("define void @a() {\n  ret void\n}\n" + heavy("void @b()")));
}

TEST_F(CodeHalvesTest, are_the_same_each_time) {
  std::string first[2], second[2];
  for (int i : {0, 1}) {
    ASSERT_TRUE(cut(heavy("internal void @a()") + heavy("void @c()") +
                    heavy("void @b()", "  store volatile ptr @a, ptr @volatile\n")));
    llvm::raw_string_ostream(first[i]) << *m_first;
    llvm::raw_string_ostream(second[i]) << *m_second;
  }
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(second[0], second[1]);
}

// Exceptions, statics and virtual functions on both sides of the cut.
constexpr char k_program[] = R"(
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
static int started = 0;
struct Starts { Starts() { ++started; } };
static Starts first_start;
inline Starts inline_start;
template <class T> struct Holder { static inline Starts start; };
template struct Holder<int>;
inline int next() { static int n = 0; return ++n; }
thread_local int per_thread = 5;
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square : Shape {
  explicit Square(double a) : side(a) {}
  double area() const override { if (side < 0) throw std::invalid_argument("side"); return side * side; }
  double side;
};
static double sum(const std::vector<std::unique_ptr<Shape>>& shapes) {
  double all = 0;
  for (const auto& shape : shapes) all += shape->area();
  return all;
}
namespace { int hidden(int x) { std::map<int, std::string> m; for (int i = 0; i < x; ++i) m[i] = std::to_string(i); return int(m.size()); } }
using Chosen = int (*)(int);
extern const Chosen chosen;
const Chosen chosen = hidden;
double areas(double a, double b) {
  std::vector<std::unique_ptr<Shape>> shapes;
  shapes.push_back(std::make_unique<Square>(a));
  shapes.push_back(std::make_unique<Square>(b));
  next();
  return sum(shapes);
}
std::string what(double a) {
  try { areas(a, a); } catch (const std::exception& e) { next(); return e.what(); }
  return "nothing";
}
int words(const std::string& text) {
  std::map<std::string, int> count;
  std::string word;
  for (char c : text + " ") if (c == ' ') { if (!word.empty()) ++count[word]; word.clear(); } else word += c;
  next();
  return int(count.size());
}
int calls() { return next(); }
int starts() { return started; }
int through(int x) { return chosen(x) + ++per_thread; }
extern "C" int check() {
  if (areas(2, 3) != 13 || what(-1) != "side" || what(1) != "nothing" || words("a b a") != 2) return 1;
  if (calls() != 6 || starts() != 3 || through(4) != 10) return 2;
  return 0;
}
)";

class HalvesTest : public CompileTest {};

TEST_F(HalvesTest, make_one_module) {
  const CompileRequest asked = request("a.cc", k_program);
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  const Opened opened(result.module);
  const tarsia_function* check = opened.function("check");
  ASSERT_TRUE(check);
  tarsia_value answer{};
  ASSERT_EQ(check->call(nullptr, 0, &answer), 0);
  EXPECT_EQ(answer.i, 0);
  EXPECT_EQ(compile(asked).module, result.module);
}

TEST_F(HalvesTest, errors_of_inline_assembly_are_errors_of_the_source) {
  for (const char* text : {"int f(int x) { asm volatile(\"bogus %0\" :: \"r\"(x)); return x; }",
                           "int f(int x) {\n asm volatile(\"mov %0, %99\" :: \"r\"(x)); return x; }"}) {
    const CompileResult result = compile(request("a.cc", text));
    EXPECT_FALSE(result.ok);
    ASSERT_FALSE(result.diagnostics.empty());
    EXPECT_EQ(result.diagnostics[0].file, "a.cc");
    EXPECT_GT(result.diagnostics[0].line, 0);
  }
  const CompileResult result =
      compile(request("a.cc", "int f(int x) {\n  asm volatile(\"bogus %0\" :: \"r\"(x));\n  return x;\n}\n"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].line, 2);
  EXPECT_EQ(result.diagnostics[0].message, "invalid instruction mnemonic 'bogus' in 'bogus %edi'");
}

}  // namespace
}  // namespace tarsia::jit
