// Texts that are handed over to callers of the C ABI.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace tarsia::api {

/// A copy for tarsia_free.
inline char* give_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace tarsia::api
