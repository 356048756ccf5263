// Preludes of headers in the request's folders: when they are taken, and what ends them.
#include <gmock/gmock.h>

#include <filesystem>

#include "jit/worker/prelude/further_includes.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FurtherPreludesTest : public CompileTest {
 protected:
  FurtherPreludesTest() {
    for (const char* folder : {"third", "own"}) std::filesystem::create_directory(dir.path() + "/" + folder);
    write("third/big.h", "#pragma once\n#include <map>\n#include \"inner.h\"\n");
    write("third/inner.h", "#pragma once\ninline int inner() { return 1; }\n");
  }

  void write(const std::string& name, const std::string& text) { write_file(path(name), text); }
  std::string path(const std::string& name) const { return dir.path() + "/" + name; }

  CompileRequest asked(const std::string& text) {
    CompileRequest result = request("a.cc", text);
    result.options.include_dirs = {path("third"), path("own")};
    return result;
  }
  // What a new worker does with what was kept so far.
  CompileResult compile(const CompileRequest& request) {
    Worker worker(test_pack(), TARSIA_TEST_PRELUDES);
    return worker.compile(request, parts);
  }
  static std::string prelude_of(const CompileResult& result) {
    std::string last;  // OpenMP may need a second attempt
    for (const auto& timing : result.timings)
      if (timing.first.starts_with("prelude")) last = timing.first;
    return last;
  }
  // The result of int f().
  static int run(const CompileResult& result) {
    EXPECT_TRUE(result.ok) << errors(result);
    if (!result.ok) return -1;
    const Opened opened(result.module);
    const tarsia_function* f = opened.function("f");
    EXPECT_NE(f, nullptr);
    if (!f) return -1;
    tarsia_value out = {};
    EXPECT_EQ(f->call(nullptr, 0, &out), 0);
    return int(out.i);
  }
  std::vector<std::string> texts(const CompileRequest& request, bool map_is_below = false) {
    std::vector<std::string> all;
    for (const LayerText& layer : layers_of(
             further_includes(request.files[0], request),
             [&](const std::string& name) { return map_is_below && name == "map"; }, request))
      all.push_back(layer.text);
    return all;
  }

  TemporaryDir dir;
};

constexpr char k_text[] =
    "#include <big.h>\nint f() { std::map<int, int> m; m[1] = inner(); return m[1]; }\n";

TEST_F(FurtherPreludesTest, an_edit_takes_the_one_that_was_made) {
  EXPECT_EQ(prelude_of(compile(asked(k_text))), "prelude made");
  EXPECT_EQ(parts.kept[PartKind::prelude], 1);
  const CompileResult edited = compile(asked(std::string(k_text) + "int g() { return 2; }\n"));
  EXPECT_EQ(prelude_of(edited), "prelude kept");
  EXPECT_EQ(run(edited), 1);
  EXPECT_EQ(parts.kept[PartKind::prelude], 1);
}

TEST_F(FurtherPreludesTest, a_header_may_be_named_from_where_the_source_lies) {
  const std::string text = "#include \"./big.h\"" + std::string(k_text).substr(sizeof "#include <big.h>" - 1);
  EXPECT_EQ(prelude_of(compile(asked(text))), "prelude made");
  EXPECT_EQ(prelude_of(compile(asked(text + "int g() { return 2; }\n"))), "prelude kept");
  write("third/inner.h", "#pragma once\ninline int inner() { return 3; }\n");
  EXPECT_EQ(run(compile(asked(text))), 3);
  CompileRequest own = asked(text);
  own.headers.push_back({"big.h", "#include <map>\ninline int inner() { return 5; }\n"});
  EXPECT_EQ(run(compile(own)), 5);
  EXPECT_THAT(texts(asked("#include \"../third/big.h\"\n")), IsEmpty());
}

TEST_F(FurtherPreludesTest, it_holds_until_a_file_of_it_changes) {
  ASSERT_EQ(run(compile(asked(k_text))), 1);
  write("third/inner.h",
        "#pragma once\ninline int inner() {\n#ifdef MORE\n  return 333;\n#endif\n  return 22;\n}\n");
  const CompileResult changed = compile(asked(k_text));
  EXPECT_EQ(prelude_of(changed), "prelude made");
  EXPECT_EQ(run(changed), 22);
  // A file appears where one was looked for in vain before.
  write("third/map", "#include_next <map>\n#define MORE\n");
  EXPECT_EQ(run(compile(asked(k_text))), 333);
}

TEST_F(FurtherPreludesTest, a_folder_that_goes_is_an_error_that_names_the_header) {
  ASSERT_EQ(run(compile(asked(k_text))), 1);
  std::filesystem::remove_all(path("third"));
  const CompileResult gone = compile(asked(k_text));
  EXPECT_FALSE(gone.ok);
  EXPECT_THAT(errors(gone),
              testing::HasSubstr("a.cc:1:10: 'big.h' file not found; give its folder in include_dirs"));
}

TEST_F(FurtherPreludesTest, a_header_that_includes_itself_is_an_error_that_says_so) {
  write("third/big.h", "#include <map>\n#include \"big.h\"\n");
  const CompileResult result = compile(asked(k_text));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result),
              testing::HasSubstr("big.h:2:10: #include nested too deeply; a header that includes "
                                 "itself begins with #pragma once"));
  EXPECT_EQ(parts.kept[PartKind::prelude], 0);
}

TEST_F(FurtherPreludesTest, macros_before_an_include_belong_to_it) {
  write("third/big.h", "#include <map>\n#ifdef SIZE\ninline int inner() { return SIZE; }\n#endif\n");
  for (int size : {3, 4}) {
    const std::string text = "#define SIZE " + std::to_string(size) + " // of it\n" + k_text;
    EXPECT_EQ(run(compile(asked(text))), size);
    EXPECT_EQ(run(compile(asked(text + "int g() { return SIZE; }\n"))), size);
  }
  EXPECT_EQ(parts.kept[PartKind::prelude], 2);
  EXPECT_FALSE(compile(asked(k_text)).ok);  // without the macro there is no such function
}

TEST_F(FurtherPreludesTest, headers_without_guards_are_read_once) {
  write("third/big.h", "#include <map>\nint count = 7; int inner() { return count; }\n");
  EXPECT_EQ(run(compile(asked(k_text))), 7);
  EXPECT_EQ(run(compile(asked(std::string(k_text) + "int g() { return 2; }\n"))), 7);
}

TEST_F(FurtherPreludesTest, places_of_errors_do_not_change) {
  const std::string text = "// one\n#include <big.h>  /* two */\nint f() { return unknown; }\n";
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(errors(compile(asked(text))), testing::HasSubstr("a.cc:3:18: use of undeclared identifier"));
}

TEST_F(FurtherPreludesTest, warnings_of_its_headers_are_given_each_time) {
  write("third/inner.h", "#pragma once\ninline int inner() { int x = 1; if (x = 2) return x; return 1; }\n");
  for (int i = 0; i < 2; ++i) {
    const CompileResult result = compile(asked(k_text + std::string(i, '\n')));
    EXPECT_TRUE(result.ok);
    EXPECT_THAT(errors(result), testing::HasSubstr("inner.h:2:"));
  }
  CompileRequest strict = asked(k_text);
  strict.options.cflags = {"-Werror"};
  EXPECT_FALSE(compile(strict).ok);
}

TEST_F(FurtherPreludesTest, a_text_of_the_request_is_no_part_of_it) {
  ASSERT_EQ(run(compile(asked(k_text))), 1);
  CompileRequest own = asked(k_text);
  own.headers.push_back({"map",
                         "namespace std { template <class, class> struct map { int x; int& operator[](int) "
                         "{ return x; } }; }\n#define inner() 5\n"});
  write("third/big.h", "#pragma once\n#include <vector>\n#include <map>\n#include \"inner.h\"\n");
  own.files[0].text =
      "#include <big.h>\nint f() { return 0; }\n#ifdef inner\nint g() { return 5; }\n#endif\n";
  const CompileResult result = compile(own);
  EXPECT_FALSE(result.ok && Opened(result.module).function("g") == nullptr);
}

TEST_F(FurtherPreludesTest, macros_of_its_headers_do_not_reach_the_text_that_describes_exports) {
  write("third/inner.h",
        "#pragma once\ninline int inner() { return 1; }\n#define address 1 +\n#define nullptr 5\n#define "
        "name \n");
  EXPECT_EQ(run(compile(asked(k_text))), 1);
}

TEST_F(FurtherPreludesTest, the_time_of_day_is_not_kept) {
  write("third/inner.h", "#pragma once\ninline int inner() { return __TIME__[0] != 0; }\n");
  EXPECT_EQ(run(compile(asked(k_text))), 1);
  EXPECT_EQ(parts.kept[PartKind::prelude], 0);
}

TEST_F(FurtherPreludesTest, pragmas_of_openmp_turn_it_on_as_ever) {
  write("third/inner.h",
        "#pragma once\ninline int inner() {\n  int n = 0;\n#pragma omp parallel for reduction(+ : n)\n"
        "  for (int i = 0; i < 9; ++i) ++n;\n#ifdef _OPENMP\n  n += 100;\n#endif\n  return n;\n}\n");
  const CompileResult first = compile(asked(k_text));
  EXPECT_TRUE(first.ok) << errors(first);
  const CompileResult second = compile(asked(std::string(k_text) + "int g() { return 2; }\n"));
  EXPECT_TRUE(second.ok) << errors(second);
  EXPECT_EQ(prelude_of(second), "prelude kept");
}

TEST_F(FurtherPreludesTest, each_folder_has_a_layer_if_it_pays) {
  write("own/big_own.h", "#include <set>\n");
  write("own/small.h", "int small();\n");
  EXPECT_THAT(texts(asked("#include <big.h>\n#include \"big_own.h\"\n")),
              ElementsAre("#include <big.h>\n", "#include \"big_own.h\"\n"));
  EXPECT_THAT(texts(asked("#include \"small.h\"\n#include <big.h>\n")),
              ElementsAre("#include \"small.h\"\n#include <big.h>\n"));
  EXPECT_THAT(texts(asked("#include <big.h>\n#include \"small.h\"\n")), ElementsAre("#include <big.h>\n"));
  EXPECT_THAT(texts(asked("#include \"small.h\"\n")), IsEmpty());
  EXPECT_THAT(texts(asked("#include <big.h>\n"), /*map_is_below=*/true), IsEmpty());
}

TEST_F(FurtherPreludesTest, it_ends_where_something_else_begins) {
  EXPECT_THAT(texts(asked("#define N 1\n#include <vector>\n#undef NDEBUG\n#include <big.h>\n#define M\n")),
              ElementsAre("#define N 1\n#undef NDEBUG\n#include <big.h>\n"));
  EXPECT_THAT(texts(asked("#include <big.h>\nint x;\n#include <set>\n")), ElementsAre("#include <big.h>\n"));
  EXPECT_THAT(texts(asked("#if 1\n#include <big.h>\n#endif\n")), IsEmpty());
  EXPECT_THAT(texts(asked("#define A /* b\n*/ c\n#include <big.h>\n")), IsEmpty());
  EXPECT_THAT(texts(asked("#include \"../third/big.h\"\n")), IsEmpty());
}

TEST_F(FurtherPreludesTest, an_edit_of_a_small_header_leaves_what_it_begins_with) {
  const auto near = [&](int number) {
    write("own/near.h",
          "// Ours.\n#ifndef NEAR_H\n#define NEAR_H\n#include <big.h>  // theirs\n#include \"./more.h\"\n"
          "inline int near() { return more() + " +
              std::to_string(number) + "; }\n#endif\n");
  };
  write("own/more.h", "#pragma once\n#include <set>\ninline int more() { return inner(); }\n");
  near(1);
  const CompileRequest request = asked("#include \"near.h\"\nint f() { std::set<int> s; return near(); }\n");
  EXPECT_THAT(texts(request), ElementsAre("#include <big.h>\n#include <set>\n"));
  EXPECT_EQ(run(compile(request)), 2);
  const int made = parts.kept[PartKind::prelude];
  EXPECT_GE(made, 1);
  near(20);
  EXPECT_EQ(run(compile(request)), 21);
  write("own/more.h", "#pragma once\n#include <set>\ninline int more() { return 300; }\n");
  EXPECT_EQ(run(compile(request)), 320);
  EXPECT_EQ(parts.kept[PartKind::prelude], made);
  write("third/inner.h", "#pragma once\ninline int inner() { return 4; }\n");
  write("own/more.h", "#pragma once\n#include <set>\ninline int more() { return inner(); }\n");
  EXPECT_EQ(run(compile(request)), 24);
  EXPECT_GT(parts.kept[PartKind::prelude], made);
}

TEST_F(FurtherPreludesTest, what_a_small_header_begins_with_comes_first_where_that_changes_nothing) {
  const auto texts_with = [&](const std::string& near, const std::string& before = {}) {
    write("own/near.h", near);
    return texts(asked(before + "#include \"near.h\"\n"));
  };
  const auto first = ElementsAre("#include <big.h>\n");
  const auto whole = ElementsAre("#include \"near.h\"\n");
  EXPECT_THAT(texts_with("#pragma once\n#include <big.h>\n"), first);
  EXPECT_THAT(texts_with("#include <big.h>\n"), whole);                             // it has no guard
  EXPECT_THAT(texts_with("#pragma once\n#define N 1\n#include <big.h>\n"), whole);  // big.h may ask for N
  EXPECT_THAT(texts_with("#pragma once\n#if N\n#endif\n#include <big.h>\n"), whole);
  EXPECT_THAT(texts_with("#pragma once\n" + std::string(70'000, '\n') + "#include <big.h>\n"), whole);
  EXPECT_THAT(texts_with("#ifndef A\n#define A\n#include <big.h>\n#endif\n", "#define A\n"),
              ElementsAre("#define A\n#include \"near.h\"\n"));
  EXPECT_THAT(texts_with("#if !defined(A)\n#define A\n#include <big.h>\n#endif\n", "#define A\n"),
              ElementsAre("#define A\n#include \"near.h\"\n"));
  EXPECT_THAT(texts_with("#ifndef AB\n#define AB\n#include <big.h>\n#endif\n", "#define A\n"),
              ElementsAre("#define A\n#include <big.h>\n"));
  for (const char* guard : {"#if !defined(A_H)\n#define A_H 1\n", "#  pragma once  // and only once\n",
                            "#ifndef A_H  /* a guard */\n#  define A_H\n", "#if !defined A_H\n#define A_H\n"})
    EXPECT_THAT(texts_with(guard + std::string("#include <big.h>\n#if 1\n#endif\n")), first) << guard;
  for (const char* none :
       {"#if !defined(A_H) || B\n#define A_H\n", "#ifndef A_H\n#define A_H_2\n", "#if A_H\n#define A_H\n"})
    EXPECT_THAT(texts_with(none + std::string("#include <big.h>\n#endif\n")), whole) << none;
  // As PyTorch's headers begin.
  write("third/late.h",
        "#if !defined(STABLE) && \\\n  !defined(OTHER)\n#pragma once\n#include <map>\n#endif\n");
  write("third/later.h", "#if !defined(STABLE)  // yet\n#pragma once\n#include <map>\n#endif\n");
  EXPECT_THAT(texts_with("#pragma once\n#include <later.h>\n"), ElementsAre("#include <later.h>\n"));
  EXPECT_THAT(texts_with("#pragma once\n#include <late.h>\n"), whole);
  write("third/list.inc", "ITEM(1)\n");
  EXPECT_THAT(texts_with("#pragma once\n#include <list.inc>\n#include <big.h>\n"), whole);
  write("third/all.h", "#include <big.h>\n// no more\n");  // like Eigen's Dense
  EXPECT_THAT(texts_with("#pragma once\n#include <all.h>\n"), ElementsAre("#include <all.h>\n"));
  write("third/same.h", "#pragma once\n#include <map>\n");
  write("own/same.h", "#pragma once\n#include <set>\n");
  EXPECT_THAT(texts_with("#pragma once\n#include \"same.h\"\n"), whole);  // it means its own
}

TEST_F(FurtherPreludesTest, a_text_of_the_request_beside_the_source_is_no_header_of_its_folders) {
  write("own/near.h", "#pragma once\n#include <big.h>\n");
  CompileRequest own = asked("#include \"near.h\"\nint f() { return near(); }\n");
  own.files[0].name = "sub/a.cc";
  own.headers.push_back({"sub/near.h", "inline int near() { return 6; }\n"});
  EXPECT_TRUE(leading_part(own.files[0], own).begun.empty());
  EXPECT_EQ(run(compile(own)), 6);
}

TEST_F(FurtherPreludesTest, small_headers_that_include_each_other_end) {
  write("own/near.h", "#pragma once\n#include \"far.h\"\n#include <map>\ninline int near() { return 1; }\n");
  write("own/far.h", "#pragma once\n#include \"near.h\"\ninline int far() { return 2; }\n");
  EXPECT_EQ(run(compile(asked("#include \"near.h\"\nint f() { return near() + far(); }\n"))), 3);
}

TEST_F(FurtherPreludesTest, errors_of_what_a_small_header_begins_with_name_its_place) {
  write("own/near.h", "#pragma once\n#include <vector>\n#include <missing.h>\n");
  EXPECT_THAT(errors(compile(asked("#include \"near.h\"\nint f() { return 1; }\n"))),
              testing::HasSubstr("near.h:3:10: 'missing.h' file not found"));
}

TEST_F(FurtherPreludesTest, cuda_sources_hold_what_comes_before_a_small_header) {
  CompileRequest request = asked("");
  const auto part_of = [&](const std::string& text) {
    request.files = {{"a.cu", text}};
    return leading_part(request.files[0], request);
  };
  const auto once = [](const std::string& name) {
    return "#if __has_include(" + name + ")\n#include " + name + "\n#endif\n";
  };
  write("own/near.h", "#pragma once\n#include <big.h>\ninline int near() { return 1; }\n");
  const std::string begin = "#include <vector>\n", whole = begin + "#include \"near.h\"\n";
  LeadingPart part = part_of(whole + "int x;\n");
  EXPECT_EQ(part.end, begin.size());
  EXPECT_EQ(part.begun, once("<big.h>"));
  part = part_of("#include \"near.h\"\n");
  EXPECT_EQ(part.end, 0u);
  EXPECT_EQ(part.begun, once("<big.h>"));
  EXPECT_EQ(part_of(whole + "#include <set>\n").begun, once("<big.h>"));  // big.h may well include that
  // What follows would be read each time.
  write("third/other.h", "#pragma once\n#include <cub/cub.cuh>\n");
  EXPECT_EQ(part_of(whole + "#include <other.h>\n").begun, "");
  EXPECT_EQ(part_of(whole + "#include <other.h>\n").end, whole.size() + 19);
  write("own/vectors.h", "#pragma once\n#include <vector>\n");
  EXPECT_EQ(part_of("#include \"vectors.h\"\n#include <set>\n").begun, "");
  EXPECT_EQ(part_of(whole + "#if 1\n#include <set>\n#endif\n").begun, "");
  EXPECT_EQ(part_of(whole + "#include <assert.h>\n").end, begin.size());
  write("own/more.h", "#pragma once\n#include \"near.h\"\n");
  part = part_of("#include \"more.h\"\n");
  EXPECT_EQ(part.begun, once("<big.h>"));
  EXPECT_TRUE(part_of("int x;\n#include \"near.h\"\n").empty());
}

}  // namespace
}  // namespace tarsia::jit
