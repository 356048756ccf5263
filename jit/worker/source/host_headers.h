// Headers of Tarsia's own that only Clang reads; the texts lie in host_headers/ and become part of the
// program.
#pragma once

#include <vector>

namespace tarsia::jit {

struct HostHeader {
  const char* name;
  const char* text;
};

const std::vector<HostHeader>& host_headers();

}  // namespace tarsia::jit
