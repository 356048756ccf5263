// Members of classes by misspelt names.
#pragma once

#include <string>

namespace clang {
class Diagnostic;
}

namespace tarsia::jit {

/// What to add to Clang's error about a member that a class lacks: "; did you mean 'push_back'?" for
/// puhs_back. Empty if no public member of the class or of its bases has nearly that name, or if the message
/// is about something else.
std::string near_member_remedy(const clang::Diagnostic& info);

}  // namespace tarsia::jit
