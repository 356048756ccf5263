// What a declaration's functions call that the host and the device may run.
#pragma once

#include "clang/AST/DeclCXX.h"
#include "jit/worker/split/split_items.h"

namespace tarsia::jit {

/// Adds to the item what a function calls that the host and the device may run.
void add_calls(const clang::FunctionDecl& function, SplitItem& item);
/// Adds what such members of a class call, and those of the classes in it.
void add_calls(const clang::CXXRecordDecl& record, SplitItem& item);

}  // namespace tarsia::jit
