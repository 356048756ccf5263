// What handlers of signals know of threads, modules and frames.
#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "registry/crash/frames.h"
#include "registry/crash/module_range.h"
#include "registry/crash/thread_record.h"
#include "registry/loader.h"
#include "registry/resources/call_context.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

TEST(CrashRecords, a_thread_has_one_record_that_ends_with_it) {
  const ThreadRecord* own = watch_thread(call_slot());
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(watch_thread(call_slot()), own);
  EXPECT_EQ(find_thread_record(), own);
  EXPECT_EQ(own->slot, call_slot());
  const ThreadRecord* first = nullptr;
  std::thread([&] {
    EXPECT_EQ(find_thread_record(), nullptr);
    first = watch_thread(call_slot());
    EXPECT_EQ(find_thread_record(), first);
  }).join();
  EXPECT_NE(first, own);
  EXPECT_EQ(first->thread.load(), pthread_t{});
  const ThreadRecord* second = nullptr;
  std::thread([&] { second = watch_thread(call_slot()); }).join();
  EXPECT_EQ(second, first) << "the record of a thread that ended is used again";
}

TEST(CrashRecords, threads_at_once_have_records_of_their_own) {
  constexpr int k_threads = 8;
  std::latch together(k_threads);
  std::vector<const ThreadRecord*> records(k_threads);
  std::vector<std::thread> threads;
  for (int i = 0; i < k_threads; ++i)
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      records[i] = watch_thread(call_slot());
      EXPECT_EQ(find_thread_record(), records[i]);
      static std::latch s_all(k_threads);
      s_all.arrive_and_wait();  // nobody's record is free before all have one
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set(records.begin(), records.end()).size(), std::size_t{k_threads});
}

TEST(CrashRecords, a_mapped_module_is_found_by_the_addresses_of_its_code) {
  std::uintptr_t address = 0;
  {
    const Ref<Library> library = load_file(module_path("portable17"));
    address = reinterpret_cast<std::uintptr_t>(reinterpret_cast<void*>(library->functions().front()->call));
    const ModuleRecord* found = find_module(address);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, library->name());
    EXPECT_EQ(find_module(found->begin - 1), nullptr);
    EXPECT_NE(find_module(found->end), found);
  }
  EXPECT_EQ(find_module(address), nullptr);
}

TEST(CrashRecords, the_innermost_and_the_outermost_of_many_frames_are_kept) {
  static SignalFrames frames;
  constexpr std::size_t k_all = 1000;
  for (std::size_t i = 0; i < k_all; ++i) frames.add({i, false});
  ASSERT_EQ(frames.n_inner, SignalFrames::k_inner);
  ASSERT_EQ(frames.n_outer_kept(), SignalFrames::k_outer);
  EXPECT_EQ(frames.left_out(), k_all - SignalFrames::k_inner - SignalFrames::k_outer);
  EXPECT_EQ(frames.inner[39].pc, 39u);
  EXPECT_EQ(frames.outer_kept(0).pc, k_all - SignalFrames::k_outer);
  EXPECT_EQ(frames.outer_kept(SignalFrames::k_outer - 1).pc, k_all - 1);
  frames.clear();
  EXPECT_EQ(frames.n_inner + frames.n_outer_kept() + frames.left_out(), 0u);
}

}  // namespace
}  // namespace tarsia::registry
