// What device code sees of Tarsia's public headers.
#include "jit/worker/public_headers.h"

#include <gtest/gtest.h>

#include <set>

namespace tarsia::jit {
namespace {

TEST(PublicHeaders, what_is_kept_from_nvrtc_goes_and_lines_stay_where_they_are) {
  EXPECT_EQ(without_host_parts("#include <a.h>\n"
                               "#if !defined(__CUDACC_RTC__)  // why\n"
                               "#include <b.h>\n"
                               "#if X\n"
                               "host\n"
                               "#else\n"
                               "host\n"
                               "#endif\n"
                               "#else\n"
                               "device\n"
                               "#endif\n"
                               "#  ifdef __CUDACC_RTC__\n"
                               "#if Y\n"
                               "both\n"
                               "#else\n"
                               "both\n"
                               "#endif\n"
                               "#else\n"
                               "host\n"
                               "#endif\n"
                               "last"),
            "#include <a.h>\n\n\n\n\n\n\n\n\ndevice\n\n\n#if Y\nboth\n#else\nboth\n#endif\n\n\n\nlast\n");
}

TEST(PublicHeaders, each_header_that_device_code_sees_included_is_given) {
  const SysrootPack pack(TARSIA_TEST_SYSROOT);
  std::set<std::string> names;
  for (const SourceFile& header : public_device_headers(pack)) names.insert(header.name);
  for (const char* name : {"tarsia/op.h", "tarsia/tensor.h", "tarsia/elementwise.h", "tarsia/device.h",
                           "tarsia/detail/loop.h", "tarsia/detail/small_float_elements.h"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("tarsia/host.h"));  // of host code alone
  for (const SourceFile& header : public_device_headers(pack)) {
    constexpr std::string_view k_include = "#include <tarsia/";
    for (size_t at = 0; (at = header.text.find(k_include, at)) != std::string::npos; ++at) {
      const size_t begin = at + k_include.size() - std::string_view("tarsia/").size();
      const std::string name = header.text.substr(begin, header.text.find('>', begin) - begin);
      EXPECT_TRUE(names.contains(name)) << header.name << " includes " << name;
    }
  }
}

}  // namespace
}  // namespace tarsia::jit
