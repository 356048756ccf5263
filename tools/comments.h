// Comments that are in another encoding than the code they stand in.
#pragma once

#include <string>

namespace tarsia::tools {

/// The text of a file with each byte of a comment that is not UTF-8 as a question mark: lines and columns
/// stay. What is not UTF-8 elsewhere stays too, and is refused where it counts.
std::string with_plain_comments(std::string text);

}  // namespace tarsia::tools
