// The classes of other people's frameworks that functions may take and return as they are.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace clang {
class ASTContext;
}  // namespace clang

namespace tarsia::jit {

/// How a class may be used in a function's type.
enum class ForeignRole {
  handle,     ///< by value and by any reference: copies are the same object
  value,      ///< by value and by reference to const
  view,       ///< as a value, but not as a result: it owns nothing
  list_view,  ///< as a parameter: items of its first template argument, which it does not own
  pointee,    ///< a struct of C: by pointer
  optional,   ///< its first template argument or nothing
  list        ///< items of its first template argument
};

struct ForeignType {
  const char* name;
  ForeignRole role;
  const char* adapter;  ///< the header that describes it to callers
  const char* home;     ///< the class that must be complete for the adapter
  const char* header;   ///< which brings that class
  const char* instead;  ///< of a view, what to return
};

/// The row of a class by its qualified name; null: it is none of them.
const ForeignType* foreign_type(std::string_view name);

/// The row of a struct of TH's or THC's tensors, by its name; null: it is none.
const ForeignType* th_tensor(std::string_view name);

/// Whether the source includes the header that the adapter of a class needs.
bool has_home(const ForeignType& type, clang::ASTContext& context);

/// Adds the adapters that a function's type needs. `type` is its canonical text.
void add_adapters(std::string_view type, std::set<std::string>& adapters);

}  // namespace tarsia::jit
