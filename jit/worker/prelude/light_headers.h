// Small headers of a source's author, which are edited like the source itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "jit/compile.h"

namespace tarsia::jit {

/// Where a prelude begins to pay off: so many bytes of headers take Clang about 5 ms.
inline constexpr std::size_t k_heavy_text = std::size_t{64} << 10;

/// Whether an include, as "<name>" or "\"name\"", can mean a header of the source's author: it is in quotes
/// and names no folder.
bool may_be_light(std::string_view include);

/// The text of a header that is found in one of the request's folders. None if it is not there, or has more
/// than k_heavy_text bytes.
std::optional<std::string> light_text(const CompileRequest& request, std::string_view name);

/// Whether a header of the request's folders says the same when it is included once more: it begins with a
/// guard, or does nothing but include such headers.
bool is_repeatable(const CompileRequest& request, std::string_view name);

}  // namespace tarsia::jit
