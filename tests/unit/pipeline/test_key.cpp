// Each input of the key, changed alone.
#include "pipeline/key.h"

#include <gtest/gtest.h>
#include <tarsia/abi.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/run_time.h"
#include "jit/build_id.h"
#include "pipeline/inputs.h"
#include "pipeline/meta.h"
#include "tests/unit/base/changed.h"

namespace tarsia::pipeline {
namespace {

jit::CompileRequest base_request() {
  jit::CompileRequest request;
  request.files = {{"a.cu", "text"}, {"b.c", "more"}};
  request.headers = {{"h.h", "1"}, {"i.h", "2"}};
  request.cuda = true;
  request.options.functions = {"f"};
  request.options.defines = {{"A", "1"}, {"B", std::nullopt}};
  request.options.include_dirs = {"/i", "/j"};
  request.options.libraries = {"z"};
  request.options.library_dirs = {"/l"};
  request.options.archs = {"sm_80", "sm_90"};
  request.cuda_parts = {.include_dirs = {"/cuda"},
                        .nvrtc = "/n",
                        .cudart = "/r",
                        .nvrtc_identity = "id",
                        .major = 13,
                        .library_dirs = {"/cuda-lib"}};
  return request;
}

using Change = std::function<void(jit::CompileRequest&)>;

TEST(Key, every_input_that_matters_changes_it_alone) {
  using Request = jit::CompileRequest;
  std::vector<std::pair<std::string, Change>> changes = {
      {"text", [](Request& r) { r.files[0].text = "texT"; }},
      {"file name", [](Request& r) { r.files[0].name = "c.cu"; }},
      {"file order", [](Request& r) { std::swap(r.files[0], r.files[1]); }},
      {"boundary",
       [](Request& r) {
         r.files[0].text = "textb.c";
         r.files[1].name = "";
       }},
      {"another file", [](Request& r) { r.files.push_back({"d.cc", ""}); }},
      {"header text", [](Request& r) { r.headers[1].text = "3"; }},
      {"header name", [](Request& r) { r.headers[1].name = "j.h"; }},
      {"no header", [](Request& r) { r.headers.clear(); }},
      {"header as file",
       [](Request& r) {
         r.files.push_back(r.headers.back());
         r.headers.pop_back();
       }},
      {"cuda", [](Request& r) { r.cuda = false; }},
      {"define value", [](Request& r) { r.options.defines[0].second = "2"; }},
      {"define name", [](Request& r) { r.options.defines[0].first = "C"; }},
      {"define without value", [](Request& r) { r.options.defines[0].second = std::nullopt; }},
      {"define with empty value", [](Request& r) { r.options.defines[1].second = ""; }},
      {"define order", [](Request& r) { std::swap(r.options.defines[0], r.options.defines[1]); }},
      {"include order", [](Request& r) { r.options.include_dirs = {"/j", "/i"}; }},
      {"library dir as include dir",
       [](Request& r) {
         r.options.include_dirs.push_back("/l");
         r.options.library_dirs.clear();
       }},
      {"host cpu", [](Request& r) { r.host_cpu = "x86-64-v9"; }},
      {"nvrtc", [](Request& r) { r.cuda_parts.nvrtc_identity = "other"; }},
      {"parts for Clang", [](Request& r) { r.cuda_parts.clang_identity = "other"; }},
      {"cuda major", [](Request& r) { r.cuda_parts.major = 12; }},
      {"cuda library dirs", [](Request& r) { r.cuda_parts.library_dirs = {}; }},
      {"file for debuggers", [](Request& r) { r.files[0].debug_file = "model.py"; }},
      {"another file's file for debuggers", [](Request& r) { r.files[1].debug_file = "model.py"; }},
      {"lines for debuggers", [](Request& r) { r.files[0].debug_lines = {7}; }},
      {"more lines for debuggers", [](Request& r) { r.files[0].debug_lines = {7, 8}; }},
      {"other lines for debuggers", [](Request& r) { r.files[0].debug_lines = {7, 9}; }},
      {"source dir", [](Request& r) { r.source_dir = "/s"; }},
  };
  // Every option that the compiler is told of can change what it makes.
  int count = 0;
  const jit::CompileOptions defaults;
  jit::for_each_option(defaults, [&](const OptionRow& row, const auto&) {
    EXPECT_TRUE(row.in_key) << row.name;
    changes.emplace_back(row.field, [field = row.field](Request& r) {
      jit::for_each_option(r.options, [&](const OptionRow& other, auto& value) {
        if (other.field == field) value = changed(value);
      });
    });
    ++count;
  });
  EXPECT_GE(count, 15);
  std::map<cache::Key, std::string> keys{{request_key(base_request()), "base"}};
  for (const auto& [what, change] : changes) {
    jit::CompileRequest request = base_request();
    change(request);
    const auto [place, fresh] = keys.emplace(request_key(request), what);
    EXPECT_TRUE(fresh) << what << " has the key of " << place->second;
  }
}

TEST(Key, each_of_the_surroundings_changes_both_keys_alone) {
  const jit::CompileRequest request = base_request();
  const Surroundings& here = Surroundings::here();
  EXPECT_EQ(here.build_id, jit::build_id());
  EXPECT_EQ(here.abi, TARSIA_ABI_VERSION);
  EXPECT_EQ(here.run_time, run_time_identity());
  EXPECT_FALSE(here.run_time.empty());
  Surroundings build = here, abi = here, run_time = here, boundary = here;
  build.build_id.back() ^= 1;
  ++abi.abi;
  run_time.run_time += "2";
  boundary.build_id += '2';
  std::set<cache::Key> keys, shared;
  for (const Surroundings& around : {here, build, abi, run_time, boundary}) {
    EXPECT_TRUE(keys.insert(request_key(request, around)).second);
    EXPECT_TRUE(shared.insert(shared_key(request, place_of(request), around)).second);
  }
  EXPECT_TRUE(keys.contains(request_key(request)));
}

cache::Key anywhere(const jit::CompileRequest& request) {
  return shared_key(request, place_of(request));
}

TEST(Key, for_all_places_the_folders_of_headers_count_by_how_they_lie_to_each_other) {
  using Request = jit::CompileRequest;
  const auto with = [](std::vector<std::string> dirs, std::string cuda) {
    Request request = base_request();
    request.options.include_dirs = std::move(dirs);
    request.cuda_parts.include_dirs = {std::move(cuda)};
    return anywhere(request);
  };
  const cache::Key key = with({"/i", "/j"}, "/cuda");
  EXPECT_EQ(with({"/home/u/inc", "/opt/j/"}, "/usr/local/cuda/include"), key);
  EXPECT_EQ(with({"/i/./x/..", "/j"}, "/cuda"), key);
  for (const cache::Key& other : {with({"/i"}, "/cuda"), with({"/i", "/i/j"}, "/cuda"),
                                  with({"/i", "/i"}, "/cuda"), with({"/i", "/cuda/x"}, "/cuda"),
                                  with({"/i", "/l/j"}, "/cuda"), with({"/i", "/usr/include/j"}, "/cuda")})
    EXPECT_NE(other, key);
  EXPECT_NE(key, request_key(base_request()));
}

TEST(Key, for_all_places_libraries_count_by_the_names_of_their_folders) {
  using Request = jit::CompileRequest;
  const auto with = [](std::vector<std::string> libraries, std::vector<std::string> dirs,
                       std::vector<std::string> cuda) {
    Request request = base_request();
    request.options.libraries = std::move(libraries);
    request.options.library_dirs = std::move(dirs);
    request.cuda_parts.library_dirs = std::move(cuda);
    return anywhere(request);
  };
  const cache::Key key = with({"z", "/y/liba.so"}, {"/x"}, {"/nv"});
  EXPECT_EQ(with({"z", "/home/u/y/liba.so"}, {"/opt/x"}, {"/venv/nvidia/lib"}), key);
  for (const cache::Key& other :
       {with({"z", "/y/libb.so"}, {"/x"}, {"/nv"}), with({"z", "/y/liba.so"}, {"/x", "/y"}, {"/nv"}),
        with({"z", "/y/liba.so"}, {"/x", "/nv"}, {}), with({"z", "/y/liba.so"}, {"/usr/lib"}, {"/nv"}),
        with({"/y/liba.so", "z"}, {"/x"}, {"/nv"})})
    EXPECT_NE(other, key);
}

TEST(Key, for_all_places_everything_else_counts_as_before) {
  std::map<cache::Key, std::string_view> keys{{anywhere(base_request()), "base"}};
  const jit::CompileOptions defaults;
  jit::for_each_option(defaults, [&](const OptionRow& row, const auto&) {
    jit::CompileRequest request = base_request();
    jit::for_each_option(request.options, [&](const OptionRow& other, auto& value) {
      if (other.field == row.field) value = changed(value);
    });
    EXPECT_TRUE(keys.emplace(anywhere(request), row.name).second) << row.name;
  });
  jit::CompileRequest request = base_request();
  request.files[0].text = "texT";
  EXPECT_TRUE(keys.emplace(anywhere(request), "text").second);
  request = base_request();
  request.host_cpu = "x86-64-v9";
  EXPECT_TRUE(keys.emplace(anywhere(request), "cpu").second);
}

TEST(Key, a_source_with_lines_has_no_key_for_all_places) {
  jit::CompileRequest request = base_request();
  EXPECT_TRUE(request_of(request, request_key(request)).shared);
  request.options.lineinfo = true;
  EXPECT_FALSE(request_of(request, request_key(request)).shared);
}

TEST(Key, people_are_told_of_folders_that_lie_otherwise_and_of_paths_that_count) {
  const auto digest = [](std::vector<std::string> dirs, bool lines) {
    jit::CompileRequest request = base_request();
    request.options.include_dirs = std::move(dirs);
    request.options.lineinfo = lines;
    return inputs_of(request, true).find("option include_dirs")->digest;
  };
  EXPECT_EQ(digest({"/i", "/j"}, false), digest({"/k", "/m/n"}, false));
  EXPECT_NE(digest({"/i", "/j"}, false), digest({"/i", "/i/j"}, false));
  EXPECT_NE(digest({"/i", "/j"}, true), digest({"/k", "/j"}, true));
}

TEST(Meta, files_of_diagnostics_move_with_the_request) {
  jit::CompileRequest here = base_request(), there = base_request();
  there.options.include_dirs = {"/home/u/inc", "/k"};
  std::vector<Diagnostic> all = {{"a.cu", 1, 1, Severity::warning, ""},
                                 {"/i/sub/h.h", 2, 1, Severity::warning, ""},
                                 {"<stdin>", 3, 1, Severity::warning, ""},
                                 {"/elsewhere.h", 4, 1, Severity::warning, ""}};
  all = named_files(std::move(all), place_of(here));
  EXPECT_EQ(all[1].file, "<include_dirs 0>/sub/h.h");
  move_to(all, there);
  EXPECT_EQ(all[0].file, "a.cu");
  EXPECT_EQ(all[1].file, "/home/u/inc/sub/h.h");
  EXPECT_EQ(all[2].file, "<stdin>");
  EXPECT_EQ(all[3].file, "/elsewhere.h");
}

// An option that is left out of the key has its reason here.
TEST(Key, leaves_out_the_options_that_change_no_byte) {
  const std::map<std::string_view, const char*> reasons = {
      {"timeout", "decides whether there is a module, and a compile that was stopped is never kept"},
  };
  std::set<std::string_view> left_out;
#define TARSIA_LEFT_OUT(...) \
  if (const OptionRow row = TARSIA_OPTION_ROW(__VA_ARGS__); !row.in_key) left_out.insert(row.name);
  TARSIA_COMPILE_OPTIONS(TARSIA_LEFT_OUT)
  TARSIA_KERNEL_OPTIONS(TARSIA_LEFT_OUT)
  for (const std::string_view name : left_out) EXPECT_TRUE(reasons.contains(name)) << name;
  EXPECT_EQ(left_out.size(), reasons.size());
}

TEST(Key, what_changes_nothing_is_not_in_it) {
  using Request = jit::CompileRequest;
  for (const Change& change : std::initializer_list<Change>{
           [](Request& r) { r.name = "another name"; },
           [](Request& r) { r.timeout_ms = 5; },
           [](Request& r) { std::swap(r.headers[0], r.headers[1]); },
           [](Request& r) { r.cuda_parts.include_dirs = {"/elsewhere"}; },
           [](Request& r) { r.cuda_parts.nvrtc = "/elsewhere"; },
           [](Request& r) { r.cuda_parts.cudart = "/elsewhere"; },
           [](Request& r) { r.cuda_parts.libdevice = "/elsewhere"; },
           [](Request& r) { r.cuda_parts.nvjitlink = "/elsewhere"; },
       }) {
    Request request = base_request();
    change(request);
    EXPECT_EQ(request_key(request), request_key(base_request()));
  }
  Request without = base_request();
  without.options.libraries.clear();
  const cache::Key key = request_key(without);
  without.cuda_parts.library_dirs = {"/elsewhere"};
  EXPECT_EQ(request_key(without), key);
}

TEST(Meta, warnings_survive_and_damage_is_no_warning) {
  const std::vector<Diagnostic> warnings = {{"a.cu", 3, 4, Severity::warning, "m"},
                                            {"", 0, 0, Severity::note, ""}};
  const std::string meta = encode_meta(warnings);
  const std::vector<Diagnostic> back = decode_meta(meta);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(format(back[0]), format(warnings[0]));
  EXPECT_EQ(back[1].severity, Severity::note);
  for (std::size_t size = 0; size < meta.size(); ++size)
    EXPECT_TRUE(decode_meta(meta.substr(0, size)).empty());
  EXPECT_TRUE(decode_meta(encode_meta({})).empty());
}

}  // namespace
}  // namespace tarsia::pipeline
