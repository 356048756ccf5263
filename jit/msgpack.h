// Structs on their way through a socket, as msgpack. Only what converts structs includes this: it brings all
// of nlohmann-json.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tarsia::jit {

/// A message that is written, or the same that is read: what a list of its fields takes.
template <class Message, class Of>
concept Is = std::same_as<std::remove_const_t<Message>, Of>;

/// Whether arrays and maps of the msgpack nest deeper than any message's. The parser recurses, so a few
/// megabytes of opening brackets would overflow its stack.
bool nests_too_deep(std::string_view msgpack);

inline std::string pack(const nlohmann::json& json) {
  std::string bytes;
  nlohmann::json::to_msgpack(json, bytes);
  return bytes;
}

/// What `build` makes of the payload. Throws Error that names `what`, if it is malformed.
template <typename Build>
auto unpack(const char* what, std::string_view payload, Build build) {
  const auto malformed = [&](const char* why) {
    return Error(std::string("a message of the compiler's protocol is malformed: ") + what + ": " + why);
  };
  if (nests_too_deep(payload)) throw malformed("it nests too deep");
  try {
    return build(nlohmann::json::from_msgpack(payload.begin(), payload.end()));
  } catch (const nlohmann::json::exception& error) {
    throw malformed(error.what());
  }
}

}  // namespace tarsia::jit
