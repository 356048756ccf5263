// A store that fails is left alone, by all processes of a host, and for longer each time.
#include "cache/remote/breaker.h"

#include <gtest/gtest.h>

#include <ctime>

#include "base/file.h"
#include "cache/remote/store.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

std::uint64_t until_in(const std::string& bytes) {
  std::uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(bytes.at(32 + i));
  return number;
}

std::uint64_t seconds_from_now(const std::string& bytes) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return (until_in(bytes) + 999'999'999) / 1'000'000'000 - static_cast<std::uint64_t>(now.tv_sec);
}

TEST(Breaker, one_failure_keeps_all_processes_away_and_a_success_lets_them_in) {
  const TemporaryDir dir;
  Breaker first(dir / "locks/b"), second(dir / "locks/b");
  EXPECT_TRUE(first.lets_pass());
  first.note_failure();
  EXPECT_FALSE(first.lets_pass());
  EXPECT_FALSE(second.lets_pass());
  first.note_success();
  EXPECT_TRUE(first.lets_pass());
  EXPECT_TRUE(Breaker(dir / "locks/b").lets_pass());
}

TEST(Breaker, each_failure_doubles_the_pause_up_to_a_limit) {
  const TemporaryDir dir;
  Breaker breaker(dir / "b");
  breaker.note_failure();
  EXPECT_NEAR(seconds_from_now(read_file(dir / "b")), 5, 2);
  breaker.note_failure();
  EXPECT_NEAR(seconds_from_now(read_file(dir / "b")), 10, 2);
  for (int i = 0; i < 100; ++i) breaker.note_failure();
  EXPECT_NEAR(seconds_from_now(read_file(dir / "b")), 300, 2);
}

TEST(Breaker, a_file_that_is_none_or_of_another_boot_or_too_far_off_closes_nothing) {
  const TemporaryDir dir;
  Breaker(dir / "b").note_failure();
  const std::string good = read_file(dir / "b");
  ASSERT_FALSE(Breaker(dir / "b").lets_pass());
  std::string other = good;
  other[8] ^= 1;
  std::string far = good;
  far[39] ^= 0x40;
  for (const std::string& bytes : {std::string(), std::string("x"), good + "x", good.substr(1), other, far}) {
    write_file(dir / "b", bytes);
    EXPECT_TRUE(Breaker(dir / "b").lets_pass());
  }
}

TEST(Breaker, without_a_file_it_serves_its_process) {
  Breaker breaker("");
  breaker.note_failure();
  EXPECT_FALSE(breaker.lets_pass());
  breaker.note_success();
  EXPECT_TRUE(breaker.lets_pass());
}

TEST(StoreUrl, urls_are_shown_without_passwords) {
  EXPECT_EQ(without_password("http://bob:secret@host:80/cache"), "http://host:80/cache");
  EXPECT_EQ(without_password("http://bob:se@cret@host"), "http://host");
  EXPECT_EQ(without_password("http://bob:sec/ret@host:80/cache"), "http://host:80/cache");
  EXPECT_EQ(without_password("http://bob:sec?ret#@host"), "http://host");
  EXPECT_EQ(without_password("http://host/cache?token=secret"), "http://host/cache");
  EXPECT_EQ(without_password("redis:bob:secret@host"), "host");
  EXPECT_EQ(without_password("nonsense"), "nonsense");
}

}  // namespace
}  // namespace tarsia::cache
