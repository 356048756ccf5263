// Paths by the environment, and folders that are refused.
#include "base/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia {
namespace {

/// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : m_name(name) {
    if (const char* old = std::getenv(name)) m_old = old, m_had = true;
    set(value);
  }
  ~Variable() { set(m_had ? m_old.c_str() : nullptr); }

 private:
  void set(const char* value) { value ? ::setenv(m_name, value, 1) : ::unsetenv(m_name); }
  const char* m_name;
  std::string m_old;
  bool m_had = false;
};

TEST(Paths, the_cache_follows_the_environment) {
  const Variable home("HOME", "/home/x"), xdg("XDG_CACHE_HOME", "/xdg"), own("TARSIA_CACHE_DIR", "/own");
  EXPECT_EQ(cache_dir_name(), "/own");
  {
    const Variable none("TARSIA_CACHE_DIR", nullptr);
    EXPECT_EQ(cache_dir_name(), "/xdg/tarsia");
    const Variable relative("XDG_CACHE_HOME", "not/absolute");
    EXPECT_EQ(cache_dir_name(), "/home/x/.cache/tarsia");
  }
  const Variable relative("TARSIA_CACHE_DIR", "here");
  EXPECT_EQ(cache_dir_name(), std::filesystem::current_path().string() + "/here");
}

TEST(Paths, a_folder_that_others_may_write_to_is_refused_with_a_remedy) {
  const TemporaryDir dir;
  const std::string path = dir / "cache";
  EXPECT_EQ(prepare_private_dir(path), "");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const mode_t mode : {0720, 0702, 0777}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_NE(prepare_private_dir(path).find("chmod go-w"), std::string::npos);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(prepare_private_dir(path), "");
  EXPECT_NE(prepare_private_dir(""), "");
  write_file(dir / "file", "");
  EXPECT_NE(prepare_private_dir(dir / "file/cache"), "");
}

TEST(Paths, a_folder_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const TemporaryDir dir;
  const std::string path = dir / "cache";
  ASSERT_EQ(make_directories(path), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_NE(prepare_private_dir(path).find("another user (12345)"), std::string::npos);
}

TEST(Paths, the_named_compiler_has_to_be_a_program) {
  const Variable wrong("TARSIA_COMPILER", "/etc/passwd");
  EXPECT_THROW(compiler_path(""), NotFound);
  const Variable right("TARSIA_COMPILER", "/bin/sh");
  EXPECT_EQ(compiler_path(""), "/bin/sh");
}

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[256];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  ::pclose(pipe);
  return output;
}

/// /bin/echo, packed as the worker is.
class PackedCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string program = read_file("/bin/echo");
    std::string packed(ZSTD_compressBound(program.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), program.data(), program.size(), 1));
    write_file(m_packed, packed);
  }

  TemporaryDir m_folder;
  std::string m_packed = m_folder / "tarsia-compiler.zst";
  Variable m_unset{"TARSIA_COMPILER", nullptr};
};

TEST_F(PackedCompiler, is_unpacked_once_into_the_cache) {
  const TemporaryDir dir;
  const std::string path = compiler_path(dir.path(), m_folder.path());
  EXPECT_EQ(path.rfind(dir.path() + "/compiler/", 0), 0u);
  EXPECT_EQ(run(path + " hello"), "hello\n");
  struct stat before, after;
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  EXPECT_EQ(compiler_path(dir.path(), m_folder.path()), path);
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(PackedCompiler, is_unpacked_into_memory_where_there_is_no_folder) {
  const std::string path = compiler_path("/proc/nowhere", m_folder.path());
  EXPECT_EQ(path.rfind("/proc/self/fd/", 0), 0u);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execl(path.c_str(), "echo", nullptr);
    ::_exit(127);
  }
  int state = 0;
  EXPECT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

TEST_F(PackedCompiler, a_forked_child_has_it_while_a_thread_unpacks_it) {
  const TemporaryDir dir;
  expect_children_to_go_on(
      [&](int) {
        const std::string path = compiler_path(dir.path(), m_folder.path());
        ::unlink(path.c_str());
      },
      [&] {
        compiler_path(dir.path(), m_folder.path());
        compiler_path("/proc/nowhere", m_folder.path());
      });
}

TEST_F(PackedCompiler, cut_short_is_an_error) {
  const std::string packed = read_file(m_packed);
  write_file(m_packed, packed.substr(0, packed.size() / 2));
  const TemporaryDir dir;
  EXPECT_THROW(compiler_path(dir.path(), m_folder.path()), Error);
}

TEST(Paths, a_missing_compiler_is_told_with_the_remedy) {
  const Variable unset("TARSIA_COMPILER", nullptr);
  const TemporaryDir dir;
  try {
    compiler_path("", dir.path());
    FAIL();
  } catch (const NotFound& error) {
    EXPECT_NE(std::string(error.what()).find("TARSIA_COMPILER"), std::string::npos);
  }
}

}  // namespace
}  // namespace tarsia
