// Children forked while other threads are in the registry, which they leave half way.
#include "base/fork.h"

#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "registry/resources/cuda_runtime.h"
#include "registry/resources/parallel.h"
#include "registry/resources/reaper.h"
#include "registry/resources/recent_launches.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

TEST(Fork, a_child_finds_ops_while_a_thread_registers_and_looks_for_them) {
  OpRegistry& registry = OpRegistry::instance();
  const auto library = load("ops");
  const auto no_warning = [](const std::string& text) { FAIL() << text; };
  expect_children_to_go_on(
      [&](int i) {
        if (i % 2)
          registry.remove(*library);
        else
          registry.add(library, no_warning);
        try {
          registry.find("test_op_of_a_name_that_is_compared_with_all_others");
        } catch (const NotFound&) {
        }
      },
      [&] {
        registry.add(library, no_warning);
        registry.find("test_relu");
        registry.names();
      });
  registry.remove(*library);
}

TEST(Fork, a_child_keeps_names_while_a_thread_does) {
  expect_children_to_go_on([](int i) { kept_name("kernel of the parent " + std::to_string(i % 5000)); },
                           [] { kept_name("kernel of the child"); });
}

TEST(Fork, a_child_looks_for_a_cuda_runtime_while_a_thread_does) {
  expect_children_to_go_on([](int) { find_cuda_runtime("libcudart.so.of_no_version"); },
                           [] { find_cuda_runtime("libcudart.so.of_no_version"); });
}

TEST(Fork, a_child_loads_libraries_while_a_thread_loads_and_closes_them) {
  expect_children_to_go_on([](int) { load("portable17"); }, [] { load("portable17"); });
}

TEST(Fork, a_child_asks_for_the_symbols_that_a_thread_is_reading) {
  Ref<Library> kept;
  std::atomic<const Library*> latest{nullptr};
  expect_children_to_go_on(
      [&](int) {
        Ref<Library> library = load("portable17");
        latest = library.get();
        library->symbols();
        kept = std::move(library);
      },
      [&] { latest.load()->symbols(); });
}

TEST(Fork, a_child_runs_loops_while_a_thread_does) {
  std::atomic<std::int64_t> done{0};
  const auto loop = [&done] {
    parallel(
        100, 1,
        [](void* sum, std::int64_t, std::int64_t end) {
          static_cast<std::atomic<std::int64_t>*>(sum)->fetch_add(end);
        },
        &done);
  };
  expect_children_to_go_on([&](int) { loop(); }, loop);
}

TEST(Fork, a_child_waits_for_idle_gpus_while_a_thread_does) {
  expect_children_to_go_on([](int) { when_idle(0, [] {}); },
                           [] {
                             when_idle(0, [] {});
                             drain_reaper(60'000);
                           });
}

TEST(Fork, a_fork_within_the_loader_does_not_wait_for_itself) {
  const InLoader in_loader;
  EXPECT_EQ(in_forked_child([] {
              load("portable17");
              return in_forked_child([] { return std::string("deep"); });
            }),
            "deep");
  load("portable17");
}

TEST(Fork, a_mutex_that_forks_do_not_wait_for_is_free_in_the_child) {
  ForkRenewedMutex mutex;
  std::latch held(1), forked(1);
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    held.count_down();
    forked.wait();
  });
  held.wait();
  EXPECT_EQ(in_forked_child([&] {
              const std::lock_guard lock(mutex);
              return std::string("free");
            }),
            "free");
  forked.count_down();
  other.join();
  const std::lock_guard lock(mutex);
}

TEST(Fork, what_a_thread_was_in_the_midst_of_making_is_made_by_the_child) {
  std::atomic<int*> slot{nullptr};
  std::latch making(1), forked(1);
  std::thread other([&] {
    made_once(slot, [&] {
      making.count_down();
      forked.wait();
      return 1;
    });
  });
  making.wait();
  EXPECT_EQ(in_forked_child([&] { return std::to_string(made_once(slot, [] { return 2; })); }), "2");
  forked.count_down();
  other.join();
  EXPECT_EQ(made_once(slot, [] { return 3; }), 1);
  delete slot.load();
}

}  // namespace
}  // namespace tarsia::registry
