// What must hold of the files that a source includes or embeds.
#pragma once

#include <memory>

namespace clang {
class PPCallbacks;
class Preprocessor;
}  // namespace clang

namespace tarsia::jit {

class SourceFileSystem;

/// For `preprocessor`, whose files `files` serves. An included file that holds a NUL byte is a fatal error,
/// after which `invalid` is true: Clang reads on there, NVRTC stops. So is an #embed of a text that is not
/// served as it is. All three must outlive the result.
std::unique_ptr<clang::PPCallbacks> make_file_checks(clang::Preprocessor& preprocessor,
                                                     const SourceFileSystem& files, bool& invalid);

}  // namespace tarsia::jit
