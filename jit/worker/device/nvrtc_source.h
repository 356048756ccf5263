// A scan of a source's text: the includes and names in it, without preprocessing.
//
// It skips comments, strings and raw strings. Directives in regions that a condition excludes count as
// well, so the answers say what a text may need, never less.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tarsia::jit {

struct IncludeLine {
  std::string name;
  bool angled = false;
  int line = 0;
  size_t begin = 0;  ///< of the name with its delimiters
  size_t end = 0;
};

/// "#define NAME "x.h"", which an "#include NAME" may mean, and "#define NAME(x) <folder/x>".
struct HeaderMacro {
  std::string_view name;
  std::string_view parameter;  ///< empty if it has none
  std::string header;
};

/// "#include NAME" or "#include NAME(argument)": the line itself does not tell the header.
struct ComputedInclude {
  std::string_view macro;     ///< empty if the line has neither form
  std::string_view argument;  ///< empty if there is none
  int line = 0;
};

/// A place in a text, both from 1.
struct TextPlace {
  int line = 0;
  int column = 0;
};

struct SourceNames {
  std::vector<IncludeLine> includes;
  std::vector<IncludeLine> asked;  ///< headers that a __has_include names
  std::vector<ComputedInclude> computed_includes;
  std::vector<HeaderMacro> header_macros;
  std::unordered_set<std::string_view> identifiers;  ///< into the text; those of #include lines are left out
  std::unordered_set<std::string_view> std_names;    ///< X of every std::X
  bool using_std = false;                            ///< using namespace std
  TextPlace launch;                                  ///< the first <<<
  TextPlace embed;                                   ///< the first #embed
  TextPlace device_lambda;                           ///< the first lambda marked __device__
  size_t first_code = 0;                             ///< where the first token stands that is no directive's
};

/// The views point into `text`.
SourceNames scan_source(std::string_view text);

/// The header that a macro makes of this argument.
std::string header_of(const HeaderMacro& macro, std::string_view argument);

/// The names that `text` includes, for files of which only these matter.
std::vector<IncludeLine> scan_includes(std::string_view text);

}  // namespace tarsia::jit
