// The members of classes that a cell shows.
#pragma once

namespace clang {
class Sema;
}

namespace tarsia::jit {

/// Makes the bodies of those instances of tarsia::repl::put_members that have none. Each writes
///
///     {(Base) {.a = 1}, .x = 2, .y = {3, 4}}
///
/// of a class whose members and bases are public, each by tarsia::repl::put, and where the value lies of any
/// other. Whether there were some: they may need further instantiations, and these further members.
bool put_members_of_values(clang::Sema& sema);

}  // namespace tarsia::jit
