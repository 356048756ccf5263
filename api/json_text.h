// Reports that are handed over to callers of the C ABI.
#pragma once

#include <nlohmann/json.hpp>

#include "api/text.h"

namespace tarsia::api {

/// A report as a text for tarsia_free. Texts that are no UTF-8 get replacement characters.
inline char* give_json(const nlohmann::json& json) {
  return give_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tarsia::api
