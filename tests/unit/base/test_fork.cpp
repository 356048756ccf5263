// Children forked while other threads search for CUDA.
#include "base/fork.h"

#include <gtest/gtest.h>

#include <string>

#include "base/cuda/cuda_parts.h"
#include "base/log.h"
#include "base/paths.h"
#include "tests/unit/base/forked_child.h"

namespace tarsia {
namespace {

TEST(Fork, a_child_searches_for_cuda_while_a_thread_does) {
  expect_children_to_go_on(
      [](int i) {
        if (i % 4 == 0) add_site_packages("/nowhere/" + std::to_string(i % 64));
        cuda_findings();
        search_places();
      },
      [] {
        add_site_packages("/nowhere/of_the_child");
        cuda_findings();
        search_places();
      });
}

TEST(Fork, a_child_logs_and_knows_its_place) {
  EXPECT_EQ(in_forked_child([] {
              log().info("a child says something");
              return library_dir();
            }),
            library_dir());
}

}  // namespace
}  // namespace tarsia
