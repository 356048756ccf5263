// The part of a unit's code that is made of headers alone, so that an edit of the source can use it again.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace llvm {
class GlobalValue;
class Module;
}  // namespace llvm

namespace tarsia::jit {

/// Where a function or variable of a unit is written.
enum class CodeOrigin {
  user,      ///< in a text of the request, which may be edited
  header,    ///< in a header
  instance,  ///< in a template of a header, for arguments that the unit gives it
};
using OriginOf = std::function<CodeOrigin(const llvm::GlobalValue&)>;

/// Takes the larger functions of headers, with what they need, out of `module`, which calls them from then
/// on. Returns their bitcode in parts, those that are no instances first: the same bytes whatever else the
/// module holds, as long as the same functions of headers are in use. Empty, and the module unchanged, if
/// they are too few to matter or the module holds something that cannot be parted. Static variables and
/// functions of headers that a part uses get hidden symbols; `unit` keeps those of several modules apart.
/// `is_fast`: the code shall run at full speed, so what might be inlined is not taken out.
std::vector<std::string> cut_header_code(llvm::Module& module, int unit, const OriginOf& origin_of,
                                         bool is_fast);

}  // namespace tarsia::jit
