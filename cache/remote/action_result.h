// ActionResult of Bazel's remote cache, as far as it is used: one output file, named by its SHA-256, which
// may be in it as well; or a short text alone.
//
//   ActionResult := output_files (field 2) … | stdout_raw (field 5)
//   OutputFile   := path (1) digest (2) contents (5) …
//   Digest       := hash (1), 64 digits; size_bytes (2)
//
// In protobuf's wire format: https://protobuf.dev/programming-guides/encoding and
// build.bazel.remote.execution.v2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarsia::cache {

struct BlobName {
  std::string hash;  ///< SHA-256, 64 lower-case digits
  std::uint64_t size = 0;
};

BlobName name_of_blob(std::string_view bytes);

/// What a result says of its first output file.
struct ResultFile {
  BlobName name;
  std::string contents;  ///< if they are in the result, and have the size that it says; else ""
};

/// Empty contents are left out.
std::string action_result(const BlobName& blob, std::string_view contents);
/// Nothing if the bytes are no such message.
std::optional<ResultFile> parse_action_result(std::string_view bytes);

std::string result_of_text(std::string_view text);
/// The text that result_of_text() was given. Nothing if the bytes are no message with one.
std::optional<std::string> text_of_result(std::string_view bytes);

}  // namespace tarsia::cache
