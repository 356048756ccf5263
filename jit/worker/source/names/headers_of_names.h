// Which header declares a name.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// Whether a list of names, which blanks separate, has this one.
bool holds_name(llvm::StringRef names, llvm::StringRef name);

// The header that declares a name, the first of several; empty if it is not known.

/// Of a name in std: "sort", "ranges::subrange". If several headers declare it, one that `text` includes.
llvm::StringRef std_header_of(llvm::StringRef name, llvm::StringRef text);
/// Of a name that C's headers put into the global namespace.
llvm::StringRef c_header_of(llvm::StringRef name);
/// Of a name outside of namespaces that has no other form in C++.
llvm::StringRef other_header_of(llvm::StringRef name);

/// How the names of the CPU's own functions begin of which this is one; empty if it is none.
llvm::StringRef intrinsic_prefix(llvm::StringRef name);

struct NamespaceHeader {
  llvm::StringRef name;     ///< empty: the namespace is not known, or not this member of it
  bool has_member = false;  ///< the header has the member; otherwise, it has the whole namespace
};
/// Of a member of a namespace other than std.
NamespaceHeader header_within(llvm::StringRef scope, llvm::StringRef member);

}  // namespace tarsia::jit
