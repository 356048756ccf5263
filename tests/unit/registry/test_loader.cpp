// Loading files, good and bad.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string load_error(const std::string& path) {
  ErrorCode code{};
  const std::string error = error_of([&] { load_file(path); }, &code);
  EXPECT_EQ(code, ErrorCode::load);
  return error;
}

TEST(Loader, a_file_that_is_too_large_is_named) {
  TemporaryDir dir;
  const std::string path = dir.path() + "/large.so";
  write_file(path, "");
  ASSERT_EQ(::truncate(path.c_str(), (std::int64_t{4} << 30) + 1), 0);  // takes no room on the disk
  EXPECT_THAT(error_of([&] { load_file(path); }), AllOf(HasSubstr(path), HasSubstr("4294967296")));
}

TEST(Loader, a_rebuilt_file_is_the_new_one) {
  TemporaryDir dir;
  const std::string path = dir.path() + "/lib.so";
  write_file(path, read_file(module_path("ops")));
  Ref<Library> first = load_file(path);
  write_file(path, read_file(module_path("ops_again")));
  Ref<Library> second = load_file(path);
  EXPECT_EQ(Call(*first, "current_version", {}).result.i, 1);
  EXPECT_EQ(Call(*second, "current_version", {}).result.i, 2);
  std::filesystem::remove(path);
  EXPECT_EQ(Call(*first, "current_version", {}).result.i, 1);
  OpRegistry::instance().remove(*first);
  OpRegistry::instance().remove(*second);
}

TEST(Loader, the_same_file_twice_gives_two_libraries) {
  Ref<Library> a = load("ops_again"), b = load("ops_again");
  EXPECT_NE(a->functions()[0]->call, b->functions()[0]->call);
  OpRegistry::instance().remove(*b);
}

TEST(Loader, what_declarations_of_ops_allocate_is_freed_with_the_library) {
  long held = 0;
  setenv("TARSIA_TEST_ALLOCATIONS", std::to_string(reinterpret_cast<std::uintptr_t>(&held)).c_str(), 1);
  {
    Ref<Library> library = load("allocations");
    EXPECT_EQ(library->op_names().size(), 1);
    EXPECT_GT(held, 10);
    OpRegistry::instance().remove(*library);
  }
  EXPECT_EQ(held, 0);
  unsetenv("TARSIA_TEST_ALLOCATIONS");
}

TEST(Loader, a_library_tells_what_it_is) {
  Ref<Library> library = load("portable17");
  EXPECT_EQ(library->name(), "portable17");
  EXPECT_EQ(library->origin(), Origin::prebuilt);
  EXPECT_STREQ(origin_name(library->origin()), "prebuilt");
  EXPECT_TRUE(library->kernels().empty());
  EXPECT_TRUE(library->images().empty());
  EXPECT_TRUE(library->op_names().empty());
  EXPECT_FALSE(library->uses_cuda());
}

TEST(Loader, an_exported_library_is_the_same_bytes_and_loads) {
  TemporaryDir dir;
  Ref<Library> library = load("portable17");
  library->export_to(dir.path() + "/copy.so");
  EXPECT_EQ(read_file(dir.path() + "/copy.so"), read_file(module_path("portable17")));
  Ref<Library> copy = load_file(dir.path() + "/copy.so");
  EXPECT_EQ(copy->functions().size(), library->functions().size());
}

TEST(Loader, what_follows_the_image_in_a_file_is_not_exported) {
  TemporaryDir dir;
  const std::string bytes = read_file(module_path("ops_again"));
  write_file(dir.path() + "/longer.so", bytes + std::string(5000, 'x'));
  Ref<Library> library = load_file(dir.path() + "/longer.so");
  library->export_to(dir.path() + "/copy.so");
  EXPECT_EQ(read_file(dir.path() + "/copy.so"), bytes);
  OpRegistry::instance().remove(*library);
}

TEST(Loader, libraries_in_memory_hold_a_descriptor_each_as_long_as_there_are_many) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  std::vector<Ref<Library>> libraries;
  for (int i = 0; i < 5; ++i) libraries.push_back(load("portable17"));
  EXPECT_EQ(open_files(), before + 5);  // by which debuggers open them

  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> taken;
  while (taken.size() < 20) taken.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto with_few = open_files();
  for (int i = 0; i < 5; ++i) libraries.push_back(load("portable17"));
  EXPECT_EQ(open_files(), with_few);
  taken.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  TemporaryDir dir;
  libraries[0]->export_to(dir.path() + "/copy.so");
  EXPECT_EQ(read_file(dir.path() + "/copy.so"), read_file(module_path("portable17")));
}

TEST(Loader, too_many_open_files_are_told_with_the_remedy) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  const std::string path = module_path("portable17");
  const auto names_the_limit = AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n"));
  ModuleFile module{.file = make_memfd("module", read_file(path)), .path = "given", .name = "given"};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> files;
  while (files.empty() || files.back()) files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  files.pop_back();
  const std::string no_file = error_of([&] { load_file(path); });
  const std::string no_mapping = error_of([&] { load_module(std::move(module)); });
  // The module's own descriptor is free now: enough to open the file, and not to copy it.
  const std::string no_copy = error_of([&] { load_file(path); });
  files.pop_back();
  EXPECT_EQ(load_file(path)->name(), "portable17");
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(no_file, names_the_limit);
  EXPECT_THAT(no_mapping, names_the_limit);
  EXPECT_THAT(no_copy, names_the_limit);
}

TEST(Loader, what_is_no_library_is_told_apart) {
  TemporaryDir dir;
  EXPECT_THAT(load_error(dir.path() + "/nowhere.so"),
              AllOf(HasSubstr("nowhere.so"), HasSubstr("No such file")));
  EXPECT_THAT(load_error(dir.path()), HasSubstr("is no file"));
  write_file(dir.path() + "/text.so", "int main() {}\n");
  EXPECT_THAT(load_error(dir.path() + "/text.so"), HasSubstr("text.so is no shared library"));
  write_file(dir.path() + "/empty.so", "");
  EXPECT_THAT(load_error(dir.path() + "/empty.so"), HasSubstr("is no shared library"));
  ASSERT_EQ(mkfifo((dir.path() + "/fifo.so").c_str(), 0600), 0);
  EXPECT_THAT(load_error(dir.path() + "/fifo.so"), HasSubstr("is no file"));
  EXPECT_THAT(load_error("/proc/self/exe"), HasSubstr("is a program"));
}

TEST(Loader, another_machine_is_named) {
  TemporaryDir dir;
  std::string bytes = read_file(module_path("plain"));
  bytes[18] = static_cast<char>(0xB7);  // e_machine: AArch64
  write_file(dir.path() + "/arm.so", bytes);
  EXPECT_THAT(load_error(dir.path() + "/arm.so"), HasSubstr("is built for AArch64; this machine is x86-64"));
  bytes[4] = 1;  // EI_CLASS: 32 bits
  write_file(dir.path() + "/32.so", bytes);
  EXPECT_THAT(load_error(dir.path() + "/32.so"), HasSubstr("32-bit"));
}

TEST(Loader, a_library_cut_anywhere_is_an_error) {
  const std::string bytes = read_file(module_path("ops_again"));
  int refused = 0;
  for (size_t n = 0; n < bytes.size(); n += bytes.size() / 97 + 1) {
    TemporaryDir dir;
    write_file(dir.path() + "/cut.so", bytes.substr(0, n));
    try {
      // Sections are no part of what is mapped: a file without the last of them may load.
      OpRegistry::instance().remove(*load_file(dir.path() + "/cut.so"));
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(e.code(), ErrorCode::load) << e.what();
    }
  }
  EXPECT_GT(refused, 4);  // how many of the cuts lie in what is mapped depends on the build
}

TEST(Loader, a_library_without_anything_of_tarsia) {
  EXPECT_THAT(load_error(module_path("plain")),
              AllOf(HasSubstr("plain.so exports nothing for Tarsia"), HasSubstr("TARSIA_EXPORT")));
  EXPECT_THAT(load_error(module_path("exports_nothing")),
              HasSubstr("has no function, kernel or op that can be called"));
}

TEST(Loader, an_unresolved_symbol_is_named) {
  EXPECT_THAT(load_error(module_path("unresolved")),
              AllOf(HasSubstr("unresolved.so"), HasSubstr("gone::nowhere(char const*)")));
}

TEST(Loader, a_missing_library_is_named) {
  EXPECT_THAT(load_error(module_path("needs_gone")),
              AllOf(HasSubstr("needs libtarsia_test_gone.so"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(Loader, a_version_that_this_machine_lacks_is_named) {
  std::string library = read_file(module_path("ops"));
  const std::string asked = "GLIBCXX_3.4", newer = "GLIBCXX_9.9";
  ASSERT_NE(library.find(asked), library.npos);
  for (size_t at; (at = library.find(asked)) != library.npos;) library.replace(at, asked.size(), newer);
  TemporaryDir dir;
  write_file(dir.path() + "/lib.so", library);
  EXPECT_THAT(load_error(dir.path() + "/lib.so"),
              AllOf(HasSubstr("lib.so needs " + newer), HasSubstr("newer than what this machine has")));
}

}  // namespace
}  // namespace tarsia::registry
