// The sysroot pack as it was built, and packs that were damaged.
#include "jit/worker/source/sysroot.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"

namespace tarsia::jit {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Sysroot : public testing::Test {
 protected:
  SysrootPack m_pack{TARSIA_TEST_SYSROOT};
};

TEST_F(Sysroot, holds_the_headers_of_every_part) {
  for (const char* path : {
           "/tarsia/sysroot/usr/include/c++/12/vector",
           "/tarsia/sysroot/usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h",
           "/tarsia/sysroot/usr/include/stdio.h",
           "/tarsia/sysroot/usr/include/crypt.h",
           "/tarsia/sysroot/usr/include/linux/types.h",
           "/tarsia/sysroot/clang/include/stddef.h",
           "/tarsia/include/tarsia/abi.h",
       }) {
    EXPECT_TRUE(m_pack.find(path)) << path;
  }
}

TEST_F(Sysroot, finds_nothing_but_whole_paths) {
  for (const char* path :
       {"", "/", "/tarsia", "/tarsia/sysroot/usr/include/c++/12/vecto", "/zzz",
        "/tarsia/sysroot/usr/include/c++/12/vector/", "/tarsia/sysroot/usr/include/c++/12/vectors"}) {
    EXPECT_FALSE(m_pack.find(path)) << path;
  }
}

TEST_F(Sysroot, tells_folders_from_files) {
  EXPECT_TRUE(m_pack.is_directory("/tarsia"));
  EXPECT_TRUE(m_pack.is_directory("/tarsia/sysroot/usr/include/c++/12"));
  EXPECT_FALSE(m_pack.is_directory("/tarsia/sysroot/usr/include/c++/1"));
  EXPECT_FALSE(m_pack.is_directory("/tarsia/sysroot/usr/include/c++/12/vector"));
}

TEST_F(Sysroot, every_file_is_found_and_ends_with_a_nul) {
  ASSERT_GT(m_pack.size(), 2000u);
  for (size_t i = 0; i < m_pack.size(); i++) {
    const SysrootPack::File file = m_pack.file(i);
    const auto content = m_pack.find(file.path);
    ASSERT_TRUE(content) << file.path;
    EXPECT_EQ(content->data(), file.content.data());
    EXPECT_EQ(content->data()[content->size()], '\0') << file.path;
  }
}

TEST_F(Sysroot, contents_are_the_files_bytes) {
  EXPECT_EQ(m_pack.find("/tarsia/sysroot/usr/include/c++/12/vector"), read("/usr/include/c++/12/vector"));
  EXPECT_EQ(m_pack.find("/tarsia/include/tarsia/abi.h"), read(TARSIA_TEST_INCLUDE "/tarsia/abi.h"));
}

TEST_F(Sysroot, identity_is_the_hash_of_what_follows_the_header) {
  const std::string bytes = read(TARSIA_TEST_SYSROOT);
  std::array<unsigned char, 32> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()) + 56,
                     bytes.size() - 56, nullptr, 0);
  EXPECT_EQ(m_pack.identity(), hash);
}

class DamagedSysroot : public testing::Test {
 protected:
  void SetUp() override {
    m_bytes = read(TARSIA_TEST_SYSROOT);
    m_path = fs::temp_directory_path() / ("tarsia-test-sysroot-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove(m_path); }

  /// The message of the refusal.
  std::string open() {
    std::ofstream(m_path, std::ios::binary) << m_bytes;
    try {
      SysrootPack pack(m_path);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "(taken)";
  }

  std::string m_bytes;
  fs::path m_path;
};

TEST_F(DamagedSysroot, is_refused_with_its_path_and_a_remedy) {
  m_bytes[0] = 'X';
  const std::string message = open();
  EXPECT_NE(message.find(m_path.string()), std::string::npos) << message;
  EXPECT_NE(message.find("install Tarsia again"), std::string::npos) << message;
}

TEST_F(DamagedSysroot, of_another_version_is_refused) {
  m_bytes[8]++;
  EXPECT_NE(open().find("version"), std::string::npos);
}

TEST_F(DamagedSysroot, cut_off_anywhere_is_refused) {
  for (size_t size : {size_t{0}, size_t{10}, size_t{56}, size_t{1000}, m_bytes.size() - 1}) {
    const std::string whole = m_bytes;
    m_bytes.resize(size);
    EXPECT_NE(open(), "(taken)") << size;
    m_bytes = whole;
  }
}

TEST_F(DamagedSysroot, with_an_entry_that_points_outside_is_refused) {
  const std::string whole = m_bytes;
  for (size_t field : {56 + 3, 56 + 7, 56 + 15, 56 + 23}) {  // the highest byte of each of the first entry's
    m_bytes = whole;
    m_bytes[field] = '\x7f';
    EXPECT_NE(open().find("outside"), std::string::npos) << field;
  }
}

TEST_F(DamagedSysroot, with_entries_out_of_order_is_refused) {
  std::swap_ranges(m_bytes.begin() + 56, m_bytes.begin() + 80, m_bytes.begin() + 80);
  EXPECT_NE(open().find("order"), std::string::npos);
}

TEST(NoSysroot, is_said_with_its_path) {
  try {
    SysrootPack pack("/no/such/pack");
    FAIL();
  } catch (const NotFound& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/pack"), std::string::npos);
  }
}

}  // namespace
}  // namespace tarsia::jit
