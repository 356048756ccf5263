// Rules for the files that a source includes or embeds.
#pragma once

#include <memory>

namespace clang {
class PPCallbacks;
class Preprocessor;
}  // namespace clang

namespace tarsia::jit {

class SourceFileSystem;

/// Checks the files of `preprocessor`, which `files` serves. An included file that holds a NUL byte is a
/// fatal error, and `invalid` is true from then on: Clang would read on there, NVRTC would stop. An #embed
/// of a text that is not served as it is on disk is such an error, too. `files` takes note of the names that
/// directives give. All three must outlive the result.
std::unique_ptr<clang::PPCallbacks> make_file_checks(clang::Preprocessor& preprocessor,
                                                     SourceFileSystem& files, bool& invalid);

}  // namespace tarsia::jit
