// The plan of a device compile: texts, headers and options for NVRTC, decided before it runs.
//
// A source has two plans. The light one leaves out what costs time and is rarely needed: NVRTC's own
// declarations of textures and the runtime (-minimal), libcu++ under cooperative groups and cuRAND,
// cuRAND's tables, and parts of std that nobody mentions. If the light plan does not compile, the full one
// decides, and its diagnostics count.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"

namespace tarsia::jit {

struct DeviceRequest : CompileOptions {
  SourceFile main;                  ///< the device slice, by the name that diagnostics print
  std::vector<SourceFile> headers;  ///< sliced headers of the user's, by their paths relative to one root
  std::string source_dir;  ///< where tools find a copy of the main text; "" if line information has no paths
  CudaParts cuda;
  std::vector<std::string> expressions;  ///< "ns::scale<float>", "&ns::table", "(void(*)(int*))&f"
  std::vector<std::string>
      managed;  ///< qualified names of __managed__ variables, which no expression can name
};

struct DevicePlan {
  std::string text;  ///< the main text, with includes of the user's headers by their full names
  std::vector<SourceFile> headers;   ///< all texts that NVRTC gets
  std::vector<std::string> options;  ///< without the architecture
  std::string prefix;                ///< the directives before the main text's first declaration …
  bool heavy_prefix = false;         ///< … which lead to libcu++ or CUB: worth precompiling
  std::vector<Diagnostic>
      refused;           ///< why it must not be compiled: headers that lie outside of the include directories
  bool invalid = false;  ///< one of these is a header on disk that is no text
  std::vector<Dependency> dependencies;  ///< headers on disk that may be read
  Digest key{};                          ///< of all that determines the result, NVRTC's identity included
};

enum class PlanKind { light, full };

/// Reads headers on disk, but neither opens NVRTC nor compiles. Throws Error if a header cannot be read.
DevicePlan plan_device(const DeviceRequest& request, PlanKind kind = PlanKind::light);

}  // namespace tarsia::jit
