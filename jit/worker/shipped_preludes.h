// The preludes that lie beside the worker: made when Tarsia is built, for how most sources begin.
#pragma once

#include <optional>
#include <string>

#include "base/hash.h"

namespace tarsia::jit {

class Worker;

/// The kept form of the prelude with this key, if it was shipped.
std::optional<std::string> find_shipped_prelude(const Digest& key);

/// Makes them all, as files of the folder named by their keys. Throws Error naming what could not be made.
void make_shipped_preludes(Worker& worker, const std::string& folder);

}  // namespace tarsia::jit
