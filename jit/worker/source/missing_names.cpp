// What to do about a name that is missing: the header that declares it, a newer standard, another spelling.
#include "jit/worker/source/missing_names.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "jit/standard_headers.h"
#include "jit/worker/source/names/device_names.h"
#include "jit/worker/source/names/headers_of_names.h"
#include "jit/worker/source/names/newcomers.h"
#include "jit/worker/source/names/words.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tarsia::jit {
namespace {

/// What the header of a name is said to have: the name, or those that begin like it. It may be misspelt.
std::string claim(llvm::StringRef name) {
  const llvm::StringRef begin = intrinsic_prefix(name);
  return begin.empty() ? name.str() : ("what begins with " + begin).str();
}

/// How Clang's guess at a misspelt name begins.
constexpr llvm::StringLiteral k_guess = "; did you mean '";

llvm::StringRef word_at(llvm::StringRef& text) {
  text = text.ltrim();
  const llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  text = text.drop_front(word.size());
  return word;
}

/// The version of GNU's C++ library whose headers Tarsia brings along.
constexpr llvm::StringLiteral k_own_library = "GCC 12's";

/// The standard that has a name such as "std::ranges::sort"; or empty.
llvm::StringRef standard_of_name(llvm::StringRef name) {
  if (!name.consume_front("std::")) return {};
  const llvm::StringRef standard = standard_of(name);
  return standard.empty() ? standard_of(name.split("::").first) : standard;
}

/// What to say of a name whose header is included already, or unknown. Empty if the standard has it.
std::string newer_standard(llvm::StringRef what, const Compiled& how) {
  const llvm::StringRef standard = standard_of_name(what);
  return is_newer(standard, how.standard) ? ("; " + what + " needs std=\"" + standard + "\" or later").str()
                                          : std::string();
}

std::string with_include(llvm::StringRef header, llvm::StringRef what, const Compiled& how,
                         llvm::StringRef text) {
  if (std::string lacking = lacking_header_remedy(header, how.system_headers); !lacking.empty())
    return ("; " + what + " is in <" + header + ">, ").str() + lacking;
  std::string name = header.str();
  if (includes(text, header) || (header.starts_with("c") && includes(text, header.drop_front().str() + ".h")))
    return newer_standard(what, how);
  if (how.is_c && header.starts_with("c") && is_standard_header(name.substr(1) + ".h"))
    name = name.substr(1) + ".h";
  const llvm::StringRef standard = how.is_c ? llvm::StringRef() : standard_of_name(what);
  return "; #include <" + name + ">, where " + what.str() + " is" +
         (is_newer(standard, how.standard) ? ", with std=\"" + standard.str() + "\" or later"
                                           : std::string());
}

/// The remedy for a name whose header the C++ library of the compile has, but not the name:
/// "std::ranges::to". Empty if it has the name, or is not known to lack it.
std::string lacking_name_remedy(llvm::StringRef name, const Compiled& how) {
  // What libstdc++ 12 lacks of the standard up to C++23, by the version that has it.
  static constexpr std::pair<int, const char*> k_lacking[] = {
      {13,
       "views::zip views::zip_transform views::adjacent views::adjacent_transform views::pairwise "
       "views::pairwise_transform views::chunk views::slide views::chunk_by views::stride views::enumerate "
       "views::repeat views::cartesian_product views::as_rvalue views::as_const views::join_with "
       "ranges::zip_view ranges::chunk_view ranges::slide_view ranges::stride_view ranges::enumerate_view "
       "ranges::repeat_view ranges::cartesian_product_view ranges::join_with_view "
       "ranges::range_adaptor_closure "
       "ranges::fold_left ranges::fold_left_first ranges::fold_right ranges::fold_right_last "
       "ranges::fold_left_with_iter ranges::contains ranges::contains_subrange ranges::starts_with "
       "ranges::ends_with ranges::find_last ranges::find_last_if ranges::find_last_if_not ranges::iota "
       "ranges::shift_left ranges::shift_right expected::and_then expected::or_else expected::transform "
       "expected::transform_error basic_const_iterator const_iterator"},
      {14,
       "ranges::to stacktrace basic_stacktrace stacktrace_entry chrono::current_zone chrono::locate_zone "
       "chrono::get_tzdb chrono::get_tzdb_list chrono::reload_tzdb chrono::tzdb chrono::tzdb_list "
       "chrono::time_zone chrono::time_zone_link chrono::zoned_time chrono::zoned_seconds "
       "chrono::zoned_traits "
       "chrono::leap_second chrono::sys_info chrono::local_info chrono::clock_cast chrono::parse "
       "chrono::clock_time_conversion bind_back out_ptr inout_ptr out_ptr_t inout_ptr_t forward_like "
       "reference_converts_from_temporary reference_constructs_from_temporary"},
  };
  if (how.system_headers || how.is_c || !name.consume_front("std::")) return {};
  if (const llvm::StringRef whole = name; name.consume_front("ranges::") && !name.starts_with("views::"))
    name = whole;
  for (const auto& [version, names] : k_lacking)
    if (holds_name(names, name))
      return ("; the C++ library that Tarsia brings (" + k_own_library + ") lacks std::" + name +
              ": write it without, or take this machine's library by host_headers=\"system\", where that is "
              "of GCC " +
              std::to_string(version) + " or later")
          .str();
  return {};
}

/// The remedy for `scope`::`member`, where nothing of the namespace is known, or that member is not.
std::string scoped_remedy(llvm::StringRef scope, llvm::StringRef member, const Compiled& how,
                          llvm::StringRef text) {
  const std::string what = member.empty() ? scope.str() : (scope + "::" + member).str();
  if (std::string lacking = lacking_name_remedy(what, how); !lacking.empty()) return lacking;
  if (scope.starts_with("std::")) {  // such as std::ranges, whose algorithms are where those of std are
    const llvm::StringRef part = scope.drop_front(5);
    llvm::StringRef header = std_header_of((part + "::" + member).str(), text);
    if (header.empty()) header = std_header_of(part == "ranges" ? member : part, text);
    return header.empty() ? std::string() : with_include(header, what, how, text);
  }
  if (scope == "std") {
    llvm::StringRef header = std_header_of(member, text);
    if (header.empty()) header = c_header_of(member);
    return header.empty() ? std::string() : with_include(header, what, how, text);
  }
  const NamespaceHeader header = header_within(scope, member);
  if (header.name.empty()) return {};
  return with_include(header.name, header.has_member ? llvm::StringRef(what) : scope, how, text);
}

/// "scope::member" at the start of a text; the member is empty if there is none.
std::pair<llvm::StringRef, llvm::StringRef> scoped_at(llvm::StringRef text) {
  const llvm::StringRef scope = word_at(text);
  text = text.ltrim();
  return {scope, text.consume_front("::") ? word_at(text) : llvm::StringRef()};
}

/// "ranges" and "sort" of a text that begins with "std::ranges::sort" or "ranges::sort", and so on for other
/// namespaces within std; empty if it does not.
std::pair<llvm::StringRef, llvm::StringRef> inner_space_at(llvm::StringRef text) {
  static constexpr llvm::StringLiteral k_spaces[] = {"ranges", "views", "chrono", "filesystem"};
  auto [space, inner] = scoped_at(text);
  if (space == "std") {
    text = text.ltrim().drop_front(space.size()).ltrim();
    text.consume_front("::");
    std::tie(space, inner) = scoped_at(text);
  }
  return llvm::is_contained(k_spaces, space) ? std::pair(space, inner)
                                             : std::pair<llvm::StringRef, llvm::StringRef>();
}

/// Whether a name is that of a function that only the host has.
bool is_of_hosts_headers(llvm::StringRef name) {
  static constexpr const char* k_hosts[] = {
      "cstdio",      "cstdlib", "ctime",    "csignal", "clocale",    "omp.h",   "unistd.h",   "pthread.h",
      "cublas_v2.h", "cufft.h", "curand.h", "fcntl.h", "sys/mman.h", "dlfcn.h", "semaphore.h"};
  llvm::StringRef header = other_header_of(name);
  if (header.empty()) header = c_header_of(name);
  return llvm::is_contained(k_hosts, header) && !name.ends_with("_t") && !name.empty() &&
         llvm::isLower(name[0]);
}

/// The macro of Tarsia's whose argument begins at `column`, from 0, of a line; empty if none is called there.
llvm::StringRef macro_around(llvm::StringRef line, size_t column) {
  const llvm::StringRef before = line.take_front(column).rtrim();
  if (!before.ends_with("(")) return {};
  llvm::StringRef name = before.drop_back().rtrim();
  const size_t begin = name.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  name = begin == name.npos ? name : name.drop_front(begin + 1);
  return name.starts_with("TARSIA_") ? name : llvm::StringRef();
}

/// The call whose arguments hold the end of a text: its name, and how many arguments stand before the last
/// one. The name is empty if there is none.
std::pair<llvm::StringRef, int> call_around_end(llvm::StringRef text) {
  int depth = 0, before = 0;
  for (size_t at = text.size(); at-- > 0;) {
    const char c = text[at];
    if (c == ';' || c == '{' || c == '}') break;
    if (c == ',' && depth == 0) ++before;
    if (c == ')') ++depth;
    if (c != '(' || depth-- > 0) continue;
    const llvm::StringRef name = text.take_front(at).rtrim();
    const size_t begin =
        name.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return {begin == name.npos ? name : name.drop_front(begin + 1), before};
  }
  return {};
}

/// The remedy where `place` is an argument that only a macro takes, whose header is missing: the type of
/// offsetof, and the name that TARSIA_DISPATCH gives a type.
std::string call_remedy(llvm::StringRef place, const Compiled& how, llvm::StringRef text) {
  if (place.data() < text.data() || place.data() > text.data() + text.size()) return {};
  const auto [name, before] =
      call_around_end(text.take_front(static_cast<size_t>(place.data() - text.data())));
  if (name == "offsetof" && before == 0 && !includes(text, "stddef.h"))
    return with_include("cstddef", name, how, text);
  if (name == "TARSIA_DISPATCH" && before > 0) return with_include(other_header_of(name), name, how, text);
  return {};
}

/// The remedy for a struct of C's or POSIX's library of which only the name is known: "struct timespec".
std::string incomplete_type_remedy(llvm::StringRef message, const Compiled& how, llvm::StringRef text) {
  llvm::StringRef name = message.split("incomplete type '").second.split('\'').first;
  name.consume_front("struct ");
  static constexpr const char* k_structs[] = {"timespec", "timeval", "tm", "stat", "sigaction", "dirent"};
  if (!llvm::is_contained(k_structs, name)) return {};
  llvm::StringRef header = c_header_of(name);
  if (header.empty()) header = other_header_of(name);
  return header.empty() ? std::string() : with_include(header, name, how, text);
}

/// What Clang offers in place of an unknown name; or empty.
llvm::StringRef guess_in(llvm::StringRef message) {
  return message.split(k_guess).second.split('\'').first;
}

/// The name without its scope.
llvm::StringRef last_part(llvm::StringRef name) {
  const size_t at = name.rfind("::");
  return at == name.npos ? name : name.drop_front(at + 2);
}

}  // namespace

std::string lacking_header_remedy(llvm::StringRef header, bool system_headers) {
  // What libstdc++ 12 lacks of the standard up to C++23.
  static constexpr const char* k_lacking[] = {"format",   "print",    "generator",     "mdspan",
                                              "flat_map", "flat_set", "text_encoding", "stdfloat"};
  if (system_headers || !llvm::is_contained(k_lacking, header)) return {};
  std::string text = "which the C++ library that Tarsia brings (" + k_own_library.str() + ") lacks; ";
  for (int version = 20; version > 12; --version) {
    const std::string dir = "/usr/include/c++/" + std::to_string(version);
    if (llvm::sys::fs::exists(dir + "/" + header))
      return text + "host_headers=\"system\" takes this machine's, of GCC " + std::to_string(version) +
             ", which has it";
  }
  return text +
         (header == "format" || header == "print" ? "use <cstdio> or <sstream>, or the library fmt"
                                                  : "write it without") +
         "; host_headers=\"system\" takes this machine's library, where that is of GCC " +
         (header == "format" || header == "stdfloat" ? "13" : "14") + " or later";
}

std::string missing_name_remedy(llvm::StringRef message, llvm::StringRef place, const Compiled& how,
                                llvm::StringRef text) {
  if (message == "a type specifier is required for all declarations") {
    const llvm::StringRef macro = word_at(place),
                          header = macro.starts_with("TARSIA_") ? other_header_of(macro) : llvm::StringRef();
    return header.empty() ? std::string() : with_include(header, macro, how, text);
  }
  if (message == "expected namespace name") return scoped_remedy(word_at(place), "", how, text);
  if (message.contains("incomplete type '")) return incomplete_type_remedy(message, how, text);
  // A type where a macro is called that nobody has defined.
  if (message.ends_with("' does not refer to a value") || message == "expected expression" ||
      message.starts_with("unexpected type name '") ||
      message == "expected '(' for function-style cast or type construction")
    return call_remedy(place, how, text);
  bool known = false;
  for (llvm::StringRef begin :
       {"use of undeclared identifier '", "unknown type name '", "no template named '", "no member named '",
        "no type named '", "use of undeclared identifier \"", "call to undeclared library function '",
        "call to undeclared function '"})
    known |= message.starts_with(begin);
  if (!known) return {};
  llvm::StringRef name = message.split('\'').second.split('\'').first;
  const llvm::StringRef rest = message.split('\'').second.split('\'').second;
  const bool in_std = rest.starts_with(" in namespace 'std'");
  // A member of a class of std's that a newer standard has.
  if (llvm::StringRef type = rest.split(" in '").second.split('\'').first; type.consume_front("std::")) {
    type = type.take_until([](char c) { return c == '<'; });
    type.consume_front("basic_");
    if (std::string lacking = lacking_name_remedy(("std::" + type + "::" + name).str(), how);
        !lacking.empty())
      return lacking;
    const llvm::StringRef standard = standard_of((type + "::" + name).str());
    if (is_newer(standard, how.standard))
      return ("; std::" + type + " has it with std=\"" + standard + "\" or later").str();
  }
  // The same name of another scope is Clang's answer. Any other guess is about the spelling alone.
  if (const llvm::StringRef guess = guess_in(message); !guess.empty() && last_part(guess) == name) return {};
  if (message.starts_with("no ") && !in_std && rest.contains(" in ")) {
    const llvm::StringRef scope = rest.split("namespace '").second.split('\'').first;
    return scoped_remedy(scope, name, how, text);
  }
  const auto [scope, member] = scoped_at(place);
  // Of std::ranges::sort, or std::chrono::parse, it is the last part that has a header.
  if (const auto [space, inner] = inner_space_at(place); !inner.empty() && (in_std || scope == name))
    if (std::string remedy = scoped_remedy("std::" + space.str(), inner, how, text); !remedy.empty())
      return remedy;
  if (!in_std && scope == name && !member.empty())
    if (std::string remedy = scoped_remedy(scope, member, how, text); !remedy.empty()) return remedy;
  if (in_std)
    if (std::string lacking = lacking_name_remedy(("std::" + name).str(), how); !lacking.empty())
      return lacking;
  llvm::StringRef header;
  std::string what = claim(name);
  if (in_std || message.starts_with("no template named '")) {
    header = std_header_of(name, text);
    if (!header.empty()) what = "std::" + what;
  }
  if (header.empty() && !in_std) header = other_header_of(name);
  if (header.empty()) header = c_header_of(name);
  if (header.empty() && !in_std && !how.is_c)
    if (std::string remedy = newcomer_remedy(name, text); !remedy.empty()) return remedy;
  if (header.empty()) return in_std ? newer_standard("std::" + what, how) : call_remedy(place, how, text);
  return with_include(header, what, how, text);
}

llvm::StringRef misleading_guess(llvm::StringRef message, llvm::StringRef text) {
  const llvm::StringRef name = message.split('\'').second.split('\'').first, guess = guess_in(message);
  return last_part(guess) == name || has_word(text, last_part(guess)) ? llvm::StringRef() : guess;
}

std::string missing_device_name_remedy(const Diagnostic& diagnostic, llvm::StringRef text,
                                       const Compiled& how) {
  const llvm::StringRef whole = text;
  for (int before = 1; before < diagnostic.line; ++before) text = text.split('\n').second;
  const llvm::StringRef line = text.split('\n').first, message = diagnostic.message;
  const size_t column =
      std::min(static_cast<size_t>(std::max(diagnostic.column - 1, 0)), line.size());  // from 0
  const llvm::StringRef place = line.drop_front(column);
  const auto quoted = [](llvm::StringRef text) { return text.split('"').second.split('"').first; };
  if (message.starts_with("identifier \"") && message.contains("\" is undefined")) {
    const llvm::StringRef name = quoted(message);
    if (std::string remedy = host_function_remedy(name, is_of_hosts_headers(name)); !remedy.empty())
      return remedy;
    for (const llvm::StringRef header : {other_header_of(name), c_header_of(name)})
      if (!header.empty()) return with_include(header, claim(name), how, whole);
    const llvm::StringRef macro = macro_around(line, column), header = other_header_of(macro);
    return header.empty() ? near_builtin(name) : with_include(header, macro, how, whole);
  }
  if (std::string remedy = incomplete_cuda_type_remedy(message); !remedy.empty()) return remedy;
  const auto remedy_of = [&](llvm::StringRef scope, llvm::StringRef member) {
    std::string remedy = scope == "std" ? host_only_remedy(member) : std::string();
    return remedy.empty() ? scoped_remedy(scope, member, how, whole) : remedy;
  };
  if (message.starts_with("name followed by \"::\" must be a class or namespace name")) {
    auto [scope, member] = scoped_at(place);
    // The message is about what stands in front of the last "::", such as this_thread.
    if (line.take_front(column).rtrim().ends_with("std::")) std::tie(scope, member) = std::pair("std", scope);
    return remedy_of(scope, member);
  }
  if (message.starts_with("namespace \"") && message.contains("\" has no member \""))
    return remedy_of(quoted(message), quoted(message.split(" has no member ").second));
  if (message.starts_with("device code does not support exception handling"))
    return ": return a value that says so, or end the kernel by __trap()";
  return {};
}

}  // namespace tarsia::jit
