// Which files the client opens for a confined worker.
#include "jit/client/readable_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "jit/client/isolation.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/jit/stand_in_worker/stand_in_worker.h"

namespace tarsia::jit {
namespace {

struct ReadableFilesTest : testing::Test {
  TemporaryDir dir;
  std::string root = dir / "root";
  CompileRequest request;
  void SetUp() override {
    ::mkdir(root.c_str(), 0700);
    write("root/a.h", "a");
    write("secret", "planted");
    request.options.include_dirs = {root};
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(dir / name) << text; }
  /// What the worker would read; "-" if it gets nothing.
  std::string reads(const std::string& path, std::vector<std::string> named_by = {}) {
    const UniqueFd file = ReadableFiles(request).open({path, false, std::move(named_by)});
    return file ? read_descriptor(file.get(), std::uint64_t{1} << 30) : "-";
  }
};

TEST_F(ReadableFilesTest, files_of_include_folders_are_opened_and_others_are_not) {
  EXPECT_EQ(reads(root + "/a.h"), "a");
  EXPECT_EQ(reads(dir / "secret"), "-");
  EXPECT_EQ(reads(root + "/../secret"), "-");
  EXPECT_EQ(reads(root + "/./x/../a.h"), "a");
  EXPECT_EQ(reads(root + "x/a.h"), "-");
  EXPECT_EQ(reads("/etc/passwd"), "-");
  EXPECT_EQ(reads("a.h"), "-");
}

TEST_F(ReadableFilesTest, links_are_followed_but_not_into_proc) {
  ASSERT_EQ(::symlink(std::string(dir / "secret").c_str(), (root + "/link.h").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/environ", (root + "/environ.h").c_str()), 0);
  EXPECT_EQ(reads(root + "/link.h"), "planted");
  EXPECT_EQ(reads(root + "/environ.h"), "-");
  request.options.include_dirs = {"/"};
  EXPECT_EQ(reads("/proc/self/environ"), "-");
  EXPECT_EQ(reads(dir / "secret"), "planted");
}

TEST_F(ReadableFilesTest, what_a_readable_file_includes_by_its_own_name_is_readable) {
  write("common.h", "# include \"more.h\"\n");
  write("more.h", "more");
  write("root/b.h", "#include \"../common.h\"\n");
  EXPECT_EQ(reads(dir / "common.h"), "-");
  EXPECT_EQ(reads(dir / "common.h", {root + "/b.h"}), "# include \"more.h\"\n");
  EXPECT_EQ(reads(dir / "more.h", {dir / "common.h", root + "/b.h"}), "more");
  EXPECT_EQ(reads(dir / "more.h", {root + "/b.h"}), "-");
  EXPECT_EQ(reads(dir / "secret", {root + "/b.h"}), "-");
  EXPECT_EQ(reads(dir / "secret", {dir / "secret"}), "-");
  EXPECT_EQ(reads(dir / "more.h", {dir / "common.h"}), "-");
}

TEST_F(ReadableFilesTest, folders_are_opened_within_the_roots_alone) {
  const ReadableFiles readable(request);
  EXPECT_TRUE(readable.open({root, true}));
  EXPECT_FALSE(readable.open({root + "/..", true}));
  EXPECT_FALSE(readable.open({"/etc", true}));
  EXPECT_FALSE(readable.open({root, false}));
}

TEST_F(ReadableFilesTest, a_fifo_and_a_device_are_none) {
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(reads(root + "/fifo"), "-");
  request.options.include_dirs = {"/dev"};
  EXPECT_EQ(reads("/dev/zero"), "-");
}

TEST_F(ReadableFilesTest, libraries_are_readable_where_scripts_lead_to_them) {
  EXPECT_NE(reads(stand_in_worker().path).size(), 1u);  // ELF, and no part of the request
  write("core", std::string("\x7f"
                            "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0",
                            18));
  EXPECT_EQ(reads(dir / "core"), "-");
  write("lib.a", "!<arch>\n");
  EXPECT_EQ(reads(dir / "lib.a"), "!<arch>\n");
  write("libscript.so", "INPUT(a)");
  EXPECT_EQ(reads(dir / "libscript.so"), "-");
  request.options.libraries = {dir / "libscript.so"};
  EXPECT_EQ(reads(dir / "libscript.so"), "INPUT(a)");
}

TEST(IsolationSettingTest, has_three_values) {
  for (const auto& [value, wanted] :
       {std::pair{"", Isolation::on}, std::pair{"on", Isolation::on}, std::pair{"off", Isolation::off},
        std::pair{"required", Isolation::required}}) {
    ::setenv("TARSIA_ISOLATION", value, 1);
    EXPECT_EQ(wanted_isolation(), wanted) << value;
  }
  ::setenv("TARSIA_ISOLATION", "none", 1);
  EXPECT_THROW(wanted_isolation(), ArgumentError);
  ::unsetenv("TARSIA_ISOLATION");
}

TEST(IsolationSettingTest, what_is_lacking_is_an_error_where_it_is_required) {
  tell_of_lacking_isolation(Isolation::required, {});
  tell_of_lacking_isolation(Isolation::on, {"no Landlock"});
  EXPECT_THROW(tell_of_lacking_isolation(Isolation::required, {"no Landlock"}), Unsupported);
}

}  // namespace
}  // namespace tarsia::jit
