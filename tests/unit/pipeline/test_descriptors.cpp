// The pipeline when hardly any file can be opened.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "tests/unit/base/few_descriptors.h"
#include "tests/unit/pipeline/pipeline_fixture.h"

namespace tarsia::pipeline {
namespace {

/// The module's bytes; "" where the error says that descriptors lack. Any other is a failure.
std::string compile(Pipeline& pipeline, const std::string& text) {
  try {
    return bytes_of(pipeline.compile(source(text)));
  } catch (const ResourceLimit& error) {
    EXPECT_NE(std::string(error.what()).find("ulimit -n"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  return {};
}

struct FewFiles : ::testing::Test {
  void SetUp() override { ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("TARSIA_CACHE_DIR"); }
  TemporaryDir dir;
};

TEST_F(FewFiles, the_error_is_that_and_nothing_wrong_is_kept) {
  write_file(dir / "h", "content");
  int made = 0;
  for (const char* verb : {"compile ", "parts ", "read "}) {
    for (unsigned left = 0; left < 24; ++left) {
      const std::string text = verb + (dir / "h") + " " + std::to_string(left);  // each is compiled anew
      std::string few, enough;
      {
        Pipeline pipeline(test_settings());
        {
          const FewDescriptors limit(left);
          few = compile(pipeline, text);
        }
        made += !few.empty();
        enough = compile(pipeline, text);
      }
      // What a later process finds is what was made.
      Pipeline later(test_settings());
      const std::string kept = compile(later, text);
      EXPECT_FALSE(kept.empty());
      EXPECT_TRUE(enough.starts_with(kept.substr(0, 5)));
      if (verb == std::string("read ")) {
        EXPECT_EQ(kept.substr(0, 12),
                  "\x7f"
                  "ELF content")
            << left;
      }
    }
  }
  EXPECT_GT(made, 24);
}

}  // namespace
}  // namespace tarsia::pipeline
