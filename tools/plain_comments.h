// Comments in another encoding than the code around them.
#pragma once

#include <string>

namespace tarsia::tools {

/// Replaces each byte of a comment that is not UTF-8 by a question mark, so that lines and columns stay.
/// Invalid bytes outside of comments stay as well; the compiler refuses them.
std::string with_plain_comments(std::string text);

}  // namespace tarsia::tools
