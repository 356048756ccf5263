// The scanner that finds lambdas marked __device__.
#include "jit/worker/source/device_lambdas.h"

#include <vector>

#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {

void mark_device_lambdas(std::string& text) {
  constexpr std::string_view k_mark = "__device__", k_instead = "__tarsiaL_";
  static_assert(k_mark.size() == k_instead.size());
  if (text.find(k_mark) == text.npos) return;
  enum class Bracket { list, attribute };
  std::vector<Bracket> open;
  std::vector<size_t> found;
  size_t at_open = text.npos, at_mark = text.npos;  // of the token before this one
  bool after_list = false;                          // the token before this one ends a lambda's captures
  int angles = 0;                                   // of its template parameters
  bool in_parameters = false;
  for_each_raw_token(text, [&](const clang::Token& token, size_t at) {
    using namespace clang::tok;
    const bool is_name = token.is(raw_identifier);
    if (at_mark != text.npos && !(is_name && token.getRawIdentifier() == "__host__"))
      found.push_back(at_mark);
    at_mark = text.npos;
    if (after_list && token.is(less)) {
      in_parameters = true;
      angles = 0;
    }
    if (in_parameters) {
      angles += token.is(less) - token.is(greater) - 2 * token.is(greatergreater);
      after_list = angles <= 0;
      in_parameters = !after_list;
      return;
    }
    if (after_list && is_name && token.getRawIdentifier().str() == k_mark) at_mark = at;
    after_list = false;
    if (token.is(l_square)) {
      // "[[" begins an attribute, which may stand before a function that is __device__.
      if (at_open + 1 == at && !open.empty()) open.back() = Bracket::attribute;
      open.push_back(Bracket::list);
      at_open = at;
      return;
    }
    at_open = text.npos;
    if (token.is(r_square) && !open.empty()) {
      after_list = open.back() == Bracket::list;
      open.pop_back();
    }
  });
  for (size_t at : found) text.replace(at, k_mark.size(), k_instead);
}

}  // namespace tarsia::jit
