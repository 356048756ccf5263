// What Clang leaves to the end of a translation unit, done where its headers end.
#pragma once

namespace clang {
class Sema;
}

namespace tarsia::jit {

/// Instantiates what is pending, and forgets what Clang would check at the end of the unit: these headers
/// have compiled. To be called between declarations at namespace scope.
void end_headers(clang::Sema& sema);

}  // namespace tarsia::jit
