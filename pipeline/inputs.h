// What a request's key is made of, kept beside the manifest so that people can be told which input differs.
//
//   inputs := version flags made library archs input_count input*
//   version, input_count := u32; flags := u32: 1 not kept, since the text asks for the time; 2 CUDA
//   made   := i64, seconds of the epoch
//   archs  := count:u32 text*
//   input  := name shown digest                            in the order of the key
//   library, name, shown := u32 length and bytes
//   digest := 32 bytes, of all that the input is
//
// Numbers are little-endian. It is the payload of an entry of Kind::inputs under the request's key, written
// once a compile. A look-up never reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

struct Input {
  std::string name;   ///< "option opt", "file op.cu", "the CPU"
  std::string shown;  ///< for people; long texts by their sizes
  Digest digest;
};

struct Inputs {
  std::string library;  ///< the name that the compile gave it; may be empty
  std::int64_t made = 0;
  bool kept = true;  ///< the module is in the cache, or was
  bool cuda = false;
  std::vector<std::string> archs;
  std::vector<Input> inputs;

  std::string serialise() const;
  /// Nothing if the bytes do not follow the grammar.
  static std::optional<Inputs> parse(std::string_view bytes);
  /// Whether this Tarsia's parse() should understand the bytes.
  static bool is_of_this_version(std::string_view bytes);

  const Input* find(std::string_view name) const;
  /// What people know it by: the library's name, else that of its first file.
  std::string title() const;
};

/// Those of a request (key.cpp).
Inputs inputs_of(const jit::CompileRequest& request, bool kept);

}  // namespace tarsia::pipeline
