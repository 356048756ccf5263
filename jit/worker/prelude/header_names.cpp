// What is known of headers by their names, and which of them are a request's own.
#include "jit/worker/prelude/header_names.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "jit/standard_headers.h"

namespace tarsia::jit {

bool is_cheap(std::string_view name) {
  static const std::set<std::string_view> cheap = {
      "assert.h", "ctype.h",  "errno.h", "float.h",  "inttypes.h", "limits.h", "stdbool.h",
      "stddef.h", "stdint.h", "stdio.h", "string.h", "time.h",     "unistd.h", "cassert",
      "cctype",   "cerrno",   "cfloat",  "climits",  "cstdarg",    "cstddef",  "cstdint",
      "cstdio",   "cstring",  "ctime",   "stdarg.h", "sys/time.h", "signal.h", "initializer_list",
      "version",  "stdlib.h", "math.h",  "cstdlib"};
  return cheap.count(name) > 0;
}

bool is_free(std::string_view name) {
  for (std::string_view own : {"tarsia/op.h", "tarsia/repl.h", "lib_api.h", "mxnet/lib_api.h", "mobula_op.h"})
    if (name == own) return true;
  return is_standard_header(name) || is_posix_header(name);
}

bool is_of_cuda_runtime(std::string_view name) {
  for (const char* one :
       {"cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "vector_types.h",
        "vector_functions.h", "driver_types.h", "builtin_types.h", "host_defines.h"})
    if (name == one) return true;
  return false;
}

std::string_view name_of(std::string_view include) {
  if (include.empty()) return {};
  std::string_view name = include.substr(1, include.size() - 2);
  if (include[0] == '"')
    while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

bool is_known_quoted(std::string_view name) {
  for (const char* prefix : {"cuda", "curand", "cooperative_groups", "tarsia/", "lib_api.h",
                             "mxnet/lib_api.h", "mobula_op.h", "mma.h", "device_", "vector_types.h",
                             "driver_types.h", "math_constants.h", "builtin_types.h", "texture_"})
    if (name.starts_with(prefix)) return true;
  return is_class_op(name);
}

bool is_known_c(std::string_view name) {
  for (const char* one : {"dirent.h", "dlfcn.h", "getopt.h", "immintrin.h", "libgen.h", "malloc.h",
                          "math_constants.h", "memory.h", "omp.h", "sys/ioctl.h", "sys/resource.h",
                          "sys/sysinfo.h", "sys/timeb.h", "sys/wait.h", "unistd.h", "x86intrin.h"})
    if (name == one) return true;
  return false;
}

bool is_cuda(std::string_view name) {
  for (std::string_view prefix : {"cuda", "curand", "cooperative_groups", "mma.h", "cub/", "cuComplex.h"})
    if (name.starts_with(prefix)) return true;
  return false;
}

bool is_class_op(std::string_view name) {
  static constexpr std::string_view k_headers[] = {"mxnet/base.h",
                                                   "mxnet/operator.h",
                                                   "mxnet/resource.h",
                                                   "mxnet/tensor_blob.h",
                                                   "tarsia/math/mshadow.h",
                                                   "mshadow/",
                                                   "dmlc/",
                                                   "nnvm/",
                                                   "mshadow_op.h",
                                                   "mxnet_op.h",
                                                   "operator_common.h",
                                                   "elemwise_op_common.h",
                                                   "channel_op_common.h"};
  return std::ranges::any_of(k_headers, [&](std::string_view header) {
    return header.ends_with('/') ? name.starts_with(header)
                                 : name == header || name.ends_with("/" + std::string(header));
  });
}

std::string beside(std::string_view header, std::string_view include) {
  const std::size_t slash = header.rfind('/');
  return std::string(header.substr(0, slash == header.npos ? 0 : slash + 1)) + std::string(include);
}

const SourceFile* own_file(const CompileRequest& request, std::string_view name) {
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& own : *group)
      if (own.name == name) return &own;
  return nullptr;
}

bool may_lie_beside(const CompileRequest& request, std::string_view include) {
  const auto lies_in_a_folder = [name = "/" + std::string(name_of(include))](const SourceFile& own) {
    return own.name.ends_with(name);
  };
  return include.starts_with('"') && (std::ranges::any_of(request.files, lies_in_a_folder) ||
                                      std::ranges::any_of(request.headers, lies_in_a_folder));
}

std::string folder_with(const CompileRequest& request, std::string_view name) {
  std::error_code ec;
  for (const std::string& dir : request.options.include_dirs)
    if (std::filesystem::exists(dir + "/" + std::string(name), ec)) return dir;
  return {};
}

}  // namespace tarsia::jit
