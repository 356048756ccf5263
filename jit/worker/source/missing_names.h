// The remedy for a name that Clang did not find because its header is not included.
#pragma once

#include <string>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// How the text is compiled that a message is about.
struct Compiled {
  bool is_c = false;
  bool system_headers = false;
  int standard = 23;  ///< of C++: 11 to 23
};

/// What to add to Clang's message about an unknown name, such as "; #include <vector>, where std::vector is".
/// `place` is the source's text from the name on. Empty if the message is about something else, or the name's
/// header is unknown. Headers that the library of the compile lacks are named as such. Where `text`, that of
/// the file, includes the header already, it is the standard that lacks the name, or nothing is said. Where
/// header and standard lack, both are named.
std::string missing_name_remedy(llvm::StringRef message, llvm::StringRef place, const Compiled& how,
                                llvm::StringRef text = {});

/// What Clang offers, by its spelling, in place of an unknown name whose header is known: "wmemcpy" where
/// <cstring> is missing. Empty if it offers nothing, or the same name of another scope ("std::cout"), or what
/// `text` itself writes elsewhere.
llvm::StringRef misleading_guess(llvm::StringRef message, llvm::StringRef text);

/// The same as missing_name_remedy for a message of NVRTC's. `text` is that of its file.
std::string missing_device_name_remedy(const Diagnostic& diagnostic, llvm::StringRef text,
                                       const Compiled& how);

/// What to add where a standard header was not found: that the C++ library of Tarsia lacks it, and whose has
/// it. Empty if it is no header of the C++ standard, or the compile uses the machine's library.
std::string lacking_header_remedy(llvm::StringRef header, bool system_headers);

}  // namespace tarsia::jit
