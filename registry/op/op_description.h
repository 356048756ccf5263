// Descriptions of ops: whether they hold together, and what callers depend on.
#pragma once

#include <tarsia/op_abi.h>

#include <string>
#include <string_view>

namespace tarsia::registry {

/// Whether it adds implementations to an op that another description declares.
inline bool is_extension(const tarsia_op& op) {
  return (op.flags & TARSIA_OP_EXTENDS) != 0;
}

/// Throws LoadError, which names the library, the op and its place, unless the description holds together. Of
/// an extension, only what can be said without the op is checked.
void check_op(const tarsia_op& op, const std::string& library);

/// Throws LoadError if two implementations of the op would leave the choice to chance, or one has pairs of
/// tensors that the op does not have. `blamed` is the description that brought them.
void check_implementations(const tarsia_op& op, const tarsia_op& blamed, const std::string& library);

/// "scale(x, mean (mutable), *, k: float) -> y": all that callers depend on.
std::string signature_of(const tarsia_op& op);

/// " at relu.cpp:12"
std::string located(const tarsia_op& op);

}  // namespace tarsia::registry
