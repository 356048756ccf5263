// The search for CUDA's parts, in folders that look like toolkits and wheels.
#include "base/cuda/cuda_parts.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/base/few_descriptors.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Builds folders that look like toolkits and wheels: the files by which a part is known.
class CudaPartsTest : public testing::Test {
 protected:
  void file(const std::string& name, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(dir / name).parent_path());
    std::ofstream(dir / name) << text;
  }
  void headers(const std::string& at, int version) {
    file(at + "/cuda_runtime.h");
    file(at + "/cuda_runtime_api.h", "/* … */\n#define CUDART_VERSION  " + std::to_string(version) + "\n");
  }
  void crt(const std::string& at) { file(at + "/crt/host_config.h"); }
  void cccl(const std::string& at) {
    file(at + "/cub/cub.cuh");
    file(at + "/cuda/std/type_traits");
  }
  void nvrtc(const std::string& lib, const std::string& major, const std::string& version) {
    file(lib + "/libnvrtc.so." + major, "not an ELF file");
    file(lib + "/libnvrtc-builtins.so." + version);
  }
  CudaSearch::Home home(const std::string& name, bool wanted = false) { return {dir / name, name, wanted}; }

  TemporaryDir dir;
};

std::string detail_of(const CudaFindings& found, const std::string& part) {
  for (const CudaFinding& line : found.lines)
    if (line.part == part) return line.path + "|" + line.detail;
  return "no such line";
}

TEST_F(CudaPartsTest, without_descriptors_the_search_says_so_and_does_not_miss_what_is_there) {
  headers("tk/include", 13000), crt("tk/include"), cccl("tk/include/cccl");
  file("tk/include/curand_kernel.h");
  nvrtc("tk/lib64", "13", "13.0"), file("tk/lib64/libcudart.so.13");
  const CudaSearch search{.homes = {home("tk")}};
  const CudaParts whole = find_cuda_parts_in(search).parts;
  for (unsigned left = 0; left < 4; ++left) {
    const FewDescriptors few(left);
    try {
      EXPECT_EQ(find_cuda_parts_in(search).parts.nvrtc_identity, whole.nvrtc_identity);
      EXPECT_GT(left, 0u);
    } catch (const ResourceLimit& error) {
      EXPECT_NE(std::string(error.what()).find("ulimit -n"), std::string::npos);
    }
  }
}

TEST_F(CudaPartsTest, a_whole_toolkit_is_taken_from_one_place) {
  headers("tk/include", 13000), crt("tk/include"), cccl("tk/include/cccl");
  file("tk/include/curand_kernel.h");
  nvrtc("tk/lib64", "13", "13.0"), file("tk/lib64/libcudart.so.13");
  CudaParts parts = find_cuda_parts_in({.homes = {home("tk")}}).parts;
  EXPECT_THAT(parts.include_dirs, ElementsAre(dir / "tk/include", dir / "tk/include/cccl"));
  EXPECT_EQ(parts.nvrtc, dir / "tk/lib64/libnvrtc.so.13");
  EXPECT_EQ(parts.cudart, dir / "tk/lib64/libcudart.so.13");
  EXPECT_THAT(parts.library_dirs, ElementsAre(dir / "tk/lib64"));
  EXPECT_EQ(parts.major, 13);
  EXPECT_THAT(parts.nvrtc_identity, StartsWith("13.0 size 15"));
}

TEST_F(CudaPartsTest, the_parts_for_clang_come_from_a_toolkit_or_from_wheels) {
  headers("tk/include", 13000), crt("tk/include"), nvrtc("tk/lib64", "13", "13.0");
  file("tk/lib64/libcudart.so.13"), file("tk/nvvm/libdevice/libdevice.10.bc", "bitcode");
  file("site/nvidia/cu13/lib/libnvJitLink.so.13", "linker");
  const CudaFindings found = find_cuda_parts_in({.homes = {home("tk")}, .site_packages = {dir / "site"}});
  EXPECT_EQ(found.parts.libdevice, dir / "tk/nvvm/libdevice/libdevice.10.bc");
  EXPECT_EQ(found.parts.nvjitlink, dir / "site/nvidia/cu13/lib/libnvJitLink.so.13");
  EXPECT_EQ(found.parts.clang_identity, "libdevice size 7 nvJitLink size 6");
  EXPECT_EQ(found.missing, "");
  const CudaFindings none = find_cuda_parts_in({.homes = {home("elsewhere")}});
  EXPECT_THAT(detail_of(none, "libdevice"), HasSubstr("pip install nvidia-nvvm"));
  EXPECT_THAT(detail_of(none, "nvJitLink"), HasSubstr("pip install nvidia-nvjitlink"));
  file("site12/nvidia/nvjitlink/lib/libnvJitLink.so.12"), nvrtc("site12/nvidia/cuda_nvrtc/lib", "12", "12.9");
  file("site12/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
  const CudaParts old = find_cuda_parts_in({.site_packages = {dir / "site12"}}).parts;
  EXPECT_EQ(old.nvjitlink, dir / "site12/nvidia/nvjitlink/lib/libnvJitLink.so.12");
  EXPECT_EQ(old.libdevice, dir / "site12/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
}

TEST_F(CudaPartsTest, a_partial_toolkit_is_completed_from_wheels) {
  headers("tk/include", 13000), crt("tk/include"), file("tk/lib64/libcudart.so.13");
  cccl("site/nvidia/cu13/include/cccl");
  file("site/nvidia/cu13/include/curand_kernel.h");
  nvrtc("site/nvidia/cu13/lib", "13", "13.5");
  CudaParts parts = find_cuda_parts_in({.homes = {home("tk")}, .site_packages = {dir / "site"}}).parts;
  EXPECT_THAT(parts.include_dirs, ElementsAre(dir / "tk/include", dir / "site/nvidia/cu13/include/cccl",
                                              dir / "site/nvidia/cu13/include"));
  EXPECT_EQ(parts.nvrtc, dir / "site/nvidia/cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(parts.cudart, dir / "tk/lib64/libcudart.so.13");
}

TEST_F(CudaPartsTest, wheels_of_cuda_12_are_spread_over_folders) {
  headers("site/nvidia/cuda_runtime/include", 12090), file("site/nvidia/cuda_runtime/lib/libcudart.so.12");
  crt("site/nvidia/cuda_nvcc/include");
  cccl("site/nvidia/cuda_cccl/include");
  file("site/nvidia/curand/include/curand_kernel.h"), file("site/nvidia/curand/lib/libcurand.so.10");
  nvrtc("site/nvidia/cuda_nvrtc/lib", "12", "12.9");
  file("site/nvidia/cuda_nvrtc/lib/libnvrtc.alt.so.12");
  CudaParts parts = find_cuda_parts_in({.site_packages = {dir / "site"}}).parts;
  const std::string nvidia = dir / "site/nvidia/";
  EXPECT_THAT(parts.include_dirs, ElementsAre(nvidia + "cuda_runtime/include", nvidia + "cuda_cccl/include",
                                              nvidia + "cuda_nvcc/include", nvidia + "curand/include"));
  EXPECT_EQ(parts.nvrtc, nvidia + "cuda_nvrtc/lib/libnvrtc.so.12");
  EXPECT_EQ(parts.major, 12);
  EXPECT_THAT(parts.library_dirs, testing::Contains(nvidia + "curand/lib"));
}

TEST_F(CudaPartsTest, a_mapped_runtime_decides_the_major_and_is_the_one_used) {
  for (std::string major : {"12", "13"}) {
    headers(major + "/include", std::stoi(major) * 1000), crt(major + "/include");
    nvrtc(major + "/lib64", major, major + ".0"), file(major + "/lib64/libcudart.so." + major);
  }
  CudaSearch search{.homes = {home("13"), home("12")}};
  EXPECT_EQ(find_cuda_parts_in(search).parts.major, 13);
  search.mapped = {"/elsewhere/libcudart.so.12"};
  CudaParts parts = find_cuda_parts_in(search).parts;
  EXPECT_EQ(parts.major, 12);
  EXPECT_EQ(parts.nvrtc, dir / "12/lib64/libnvrtc.so.12");
  EXPECT_EQ(parts.cudart, "/elsewhere/libcudart.so.12");
  EXPECT_EQ(parts.include_dirs.front(), dir / "12/include");
}

TEST_F(CudaPartsTest, headers_and_nvrtc_of_one_version_are_preferred) {
  headers("a/include", 13000), crt("a/include"), nvrtc("a/lib64", "13", "13.0");
  headers("site/nvidia/cu13/include", 13050), nvrtc("site/nvidia/cu13/lib", "13", "13.5");  // without crt
  CudaParts parts = find_cuda_parts_in({.homes = {home("a")}, .site_packages = {dir / "site"}}).parts;
  EXPECT_EQ(parts.nvrtc, dir / "a/lib64/libnvrtc.so.13");
  EXPECT_EQ(parts.include_dirs.front(), dir / "a/include");
}

TEST_F(CudaPartsTest, the_wanted_home_wins_over_newer_ones) {
  headers("old/include", 12040), crt("old/include"), nvrtc("old/lib64", "12", "12.4");
  headers("new/include", 13000), crt("new/include"), nvrtc("new/lib64", "13", "13.0");
  CudaSearch search{.homes = {home("new"), home("old", true)}};
  EXPECT_EQ(find_cuda_parts_in(search).parts.major, 12);
}

TEST_F(CudaPartsTest, without_nvrtc_the_rest_is_still_found) {
  headers("tk/include", 13000), crt("tk/include"), file("tk/lib64/libcudart.so.13");
  CudaFindings found = find_cuda_parts_in({.homes = {home("tk")}});
  EXPECT_EQ(found.parts.major, 13);
  EXPECT_EQ(found.parts.nvrtc, "");
  EXPECT_EQ(found.parts.nvrtc_identity, "");
  EXPECT_THAT(found.parts.include_dirs, ElementsAre(dir / "tk/include"));
  EXPECT_THAT(detail_of(found, "NVRTC"), HasSubstr("pip install nvidia-cuda-nvrtc,"));
  EXPECT_THAT(detail_of(found, "CUDA headers"), StartsWith(dir / "tk/include|13.0, tk"));
}

TEST_F(CudaPartsTest, remedies_name_the_wheels_of_the_major) {
  file("tk/lib64/libcudart.so.12");
  CudaFindings found = find_cuda_parts_in({.homes = {home("tk")}});
  EXPECT_THAT(detail_of(found, "NVRTC"), HasSubstr("pip install nvidia-cuda-nvrtc-cu12"));
  EXPECT_THAT(detail_of(found, "CUDA crt headers"), HasSubstr("pip install nvidia-cuda-nvcc-cu12"));
}

TEST_F(CudaPartsTest, what_every_cuda_source_needs_and_is_missing_is_told_with_one_remedy) {
  EXPECT_THAT(
      find_cuda_parts_in({}).missing,
      StartsWith("CUDA headers, CUDA crt headers, CUDA runtime, NVRTC: pip install nvidia-cuda-runtime "
                 "nvidia-cuda-crt nvidia-cuda-nvrtc, or"));
  headers("tk/include", 13000), nvrtc("tk/lib64", "13", "13.0"), file("tk/lib64/libcudart.so.13");
  EXPECT_THAT(find_cuda_parts_in({.homes = {home("tk")}}).missing,
              StartsWith("CUDA crt headers: pip install nvidia-cuda-crt, or"));
  crt("tk/include");
  EXPECT_EQ(find_cuda_parts_in({.homes = {home("tk")}}).missing, "");
}

TEST_F(CudaPartsTest, nothing_anywhere_is_no_error) {
  CudaFindings found = find_cuda_parts_in({.homes = {home("absent")}, .site_packages = {dir / "absent"}});
  EXPECT_EQ(found.parts.major, 0);
  EXPECT_TRUE(found.parts.include_dirs.empty());
  for (const CudaFinding& line : found.lines) EXPECT_EQ(line.path, "");
  EXPECT_EQ(found.lines.size(), 8u);
}

TEST_F(CudaPartsTest, a_broken_link_is_no_library) {
  file("tk/lib64/libcudart.so.13");
  std::filesystem::create_symlink("gone", dir / "tk/lib64/libnvrtc.so.13");
  EXPECT_EQ(find_cuda_parts_in({.homes = {home("tk")}}).parts.nvrtc, "");
}

TEST_F(CudaPartsTest, identity_tells_builds_apart_but_not_places) {
  nvrtc("a", "13", "13.5"), nvrtc("b", "13", "13.5"), nvrtc("c", "13", "13.5");
  file("c/libnvrtc.so.13", "another build");
  EXPECT_EQ(identify_nvrtc(dir / "a/libnvrtc.so.13"), identify_nvrtc(dir / "b/libnvrtc.so.13"));
  EXPECT_NE(identify_nvrtc(dir / "a/libnvrtc.so.13"), identify_nvrtc(dir / "c/libnvrtc.so.13"));
  EXPECT_THAT(identify_nvrtc("/proc/self/exe"), HasSubstr("build "));
}

TEST_F(CudaPartsTest, site_packages_added_later_are_looked_into) {
  nvrtc("site/nvidia/cu99/lib", "99", "99.1");
  const std::shared_ptr<const CudaFindings> before = cuda_findings();
  EXPECT_EQ(before, cuda_findings());
  if (before->parts.cudart.find(".so.99") != std::string::npos)
    GTEST_SKIP() << "the CUDA of this machine is of version 99";
  add_site_packages(dir / "site");
  for (const std::string& path : search_places().mapped)
    if (path.find("libcudart") != std::string::npos) GTEST_SKIP() << "this process has loaded " << path;
  if (std::getenv("TARSIA_CUDA_HOME")) GTEST_SKIP() << "TARSIA_CUDA_HOME decides the major";
  EXPECT_EQ(find_cuda_parts().nvrtc, dir / "site/nvidia/cu99/lib/libnvrtc.so.99");
}

}  // namespace
}  // namespace tarsia
