// What is left of a file's text.
#include "jit/worker/split/device_text.h"

#include <algorithm>
#include <set>

#include "jit/worker/source/raw_tokens.h"
#include "llvm/ADT/StringMap.h"

namespace tarsia::jit {
namespace {

// Whether one macro makes both this token and the one before it: they share a place in the text.
bool shares_macro(const Tokens& tokens, size_t at) {
  return at > 0 && at < tokens.size() && tokens[at].begin == tokens[at - 1].begin;
}

void blank(const SplitFile& file, size_t begin, size_t end, std::string& gone) {
  if (begin >= end || begin >= file.tokens->size()) return;
  uint32_t from = (*file.tokens)[begin].begin, to = from;
  for (size_t i = begin; i < end && i < file.tokens->size(); ++i) to = std::max(to, (*file.tokens)[i].end);
  for (uint32_t i = from; i < to && i < gone.size(); ++i)
    if (!gone[i]) gone[i] = ' ';
}

// Blanks a region that the host's parse left out. What a header includes under the device's compiler, it
// includes for all of itself.
void blank_region(const SplitFile& file, const SplitItem& item, llvm::StringRef text, std::string& gone) {
  const uint32_t region_end = std::min<uint32_t>(item.text_end, uint32_t(gone.size()));
  std::fill(gone.begin() + item.text_begin, gone.begin() + region_end, ' ');
  for (const FileRegions::Directive& directive : file.regions.directives)
    if (directive.begin >= item.text_begin && directive.end <= region_end &&
        text.substr(directive.word).starts_with("include") && !file.regions.is_dead(directive.begin))
      std::fill(gone.begin() + directive.begin, gone.begin() + directive.end, '\0');
}

bool is_scalar(clang::tok::TokenKind kind) {
  using namespace clang::tok;
  return kind == kw_int || kind == kw_float || kind == kw_double || kind == kw_bool || kind == kw_char ||
         kind == kw_short || kind == kw_long || kind == kw_unsigned;
}

// Tokens behind which "(type){" can be nothing else.
bool may_precede_a_literal(clang::tok::TokenKind kind) {
  using namespace clang::tok;
  for (clang::tok::TokenKind one :
       {equal,      kw_return,    comma,   l_paren,   question,     colon,      plus,      minus,
        star,       slash,        percent, l_brace,   plusequal,    minusequal, starequal, slashequal,
        equalequal, exclaimequal, less,    lessequal, greaterequal, ampamp,     pipepipe,  l_square})
    if (kind == one) return true;
  return false;
}

// "(float2){1, 2}" becomes " float2 {1, 2}".
// Work-around: NVRTC knows no compound literals.
// Trigger: one in device code, or in a macro. Symptom: "expected an expression". Removal: NVRTC takes what
// nvcc takes.
void open_compound_literals(const Tokens& tokens, std::string& gone) {
  using namespace clang::tok;
  for (size_t i = 1; i + 3 < tokens.size(); ++i) {
    if (tokens[i].kind != l_paren || (i > 1 && tokens[i - 2].kind == kw_operator)) continue;
    if (!may_precede_a_literal(tokens[i - 1].kind) || shares_macro(tokens, i)) continue;
    size_t end = i + 1;
    const size_t tag = tokens[end].kind == kw_struct ? end++ : 0;
    int angles = 0;
    bool plain =
        tokens[end].kind == identifier || tokens[end].kind == coloncolon || is_scalar(tokens[end].kind);
    for (; plain && end < tokens.size() && tokens[end].kind != r_paren; ++end) {
      const TokenKind kind = tokens[end].kind;
      angles += (kind == less) - (kind == greater);
      plain = kind == identifier || kind == coloncolon || kind == less || kind == greater ||
              (is_scalar(kind) && (angles > 0 || end == i + 1)) ||
              (angles > 0 && (kind == comma || kind == numeric_constant));
      if (shares_macro(tokens, end)) plain = false;
    }
    if (!plain || angles != 0 || end + 1 >= tokens.size() || tokens[end + 1].kind != l_brace) continue;
    if (shares_macro(tokens, end)) continue;
    gone[tokens[i].begin] = gone[tokens[end].begin] = ' ';
    if (tag) std::fill(gone.begin() + tokens[tag].begin, gone.begin() + tokens[tag].end, ' ');
  }
}

clang::tok::TokenKind kind_of_raw(const clang::Token& token) {
  using namespace clang::tok;
  if (token.isNot(raw_identifier)) return token.getKind();
  static const llvm::StringMap<TokenKind> k_kinds = {
      {"struct", kw_struct}, {"operator", kw_operator}, {"return", kw_return},    {"int", kw_int},
      {"float", kw_float},   {"double", kw_double},     {"bool", kw_bool},        {"char", kw_char},
      {"short", kw_short},   {"long", kw_long},         {"unsigned", kw_unsigned}};
  const auto known = k_kinds.find(token.getRawIdentifier());
  return known == k_kinds.end() ? identifier : known->second;
}

// The same in the body of a macro, of which the parse has no tokens: "#define ONE (float2){1, 0}".
void open_compound_literals_of_macro(const FileRegions::Directive& directive, llvm::StringRef text,
                                     std::string& gone) {
  using namespace clang::tok;
  const llvm::StringRef line = text.slice(directive.word, directive.end);
  if (!line.starts_with("define") || !line.contains('{')) return;
  Tokens tokens;
  for_each_raw_token(line.str(), [&](const clang::Token& token, size_t at) {
    const auto begin = uint32_t(directive.word + at);
    tokens.push_back({begin, begin + token.getLength(), kind_of_raw(token), nullptr});
  });
  // The word itself, the macro's name, and its parameters if their bracket touches the name.
  size_t body = 2;
  if (body < tokens.size() && tokens[body].kind == l_paren && tokens[body].begin == tokens[1].end) {
    while (body < tokens.size() && tokens[body].kind != r_paren) ++body;
    ++body;
  }
  if (body >= tokens.size()) return;
  // At its beginning stands a literal, unless the braces have statements, or show "if CONDITION" to be cut
  // in two.
  const auto count = [&](TokenKind kind) {
    return std::ranges::count(tokens, kind, &TokenRecorder::Token::kind);
  };
  const bool is_literal = count(l_brace) == count(r_brace) && count(semi) == 0;
  tokens[body - 1].kind = is_literal ? equal : semi;
  tokens.erase(tokens.begin(), tokens.begin() + std::ptrdiff_t(body) - 1);
  open_compound_literals(tokens, gone);
}

void apply(const SplitFile& file, const SplitCut& cut, std::string& gone, Words& words) {
  if (cut.begin >= cut.end || cut.end > file.tokens->size()) return;
  blank(file, cut.begin, cut.end, gone);
  const uint32_t at = (*file.tokens)[cut.begin].begin;
  if (cut.instead == SplitCut::words) words[at] = cut.text;
  if (cut.instead == SplitCut::semicolon) gone[at] = ';';
}

// Work-around: NVRTC stops at a byte of ones and knows no old marks.
// Trigger: a text with a byte order mark, with lines that end with a carriage return alone, or with a byte
// 0xFF in a comment. Symptom: errors; behind the byte of ones nothing is read.
// Removal: NVRTC reads texts as Clang does.
void make_plain(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.replace(0, 3, "   ");
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) text[i] = '\n';
    if (text[i] == '\xFF') text[i] = '?';
  }
}

// Puts the host's answer in the place of the __has_include whose header's name begins at `at`.
// Work-around: NVRTC looks everywhere for a header that is only asked for. Trigger: `__has_include` with a
// path, or with a header beside a text that NVRTC was given. Symptom: it finds files outside of the include
// directories, and misses texts. Removal: NVRTC lets its caller answer.
void answer_has_include(std::string& text, size_t at, bool found) {
  constexpr std::string_view k_blanks = " \t";
  const size_t bracket = at == 0 ? text.npos : text.find_last_not_of(k_blanks, at - 1);
  if (bracket == text.npos || bracket == 0 || text[bracket] != '(') return;
  const size_t last = text.find_last_not_of(k_blanks, bracket - 1);
  if (last == text.npos) return;
  size_t begin = text.npos;
  for (std::string_view word : {"__has_include", "__has_include_next"})
    if (last + 1 >= word.size() && text.compare(last + 1 - word.size(), word.size(), word) == 0)
      begin = last + 1 - word.size();
  const size_t name_end = text.find(text[at] == '<' ? '>' : '"', at + 1);
  if (begin == text.npos || name_end == text.npos) return;
  const size_t end = text.find_first_not_of(k_blanks, name_end + 1);
  if (end == text.npos || text[end] != ')') return;
  text.replace(begin, end + 1 - begin, end + 1 - begin, ' ');
  text[begin] = found ? '1' : '0';
}

// Puts the host's answer in the place of the condition whose first word begins at `begin`.
void answer_condition(std::string& text, uint32_t begin, uint32_t end, bool answer) {
  const std::string word = text.compare(begin, 2, "el") == 0 ? "elif" : "if";
  const std::string instead = word + (answer ? " 1" : " 0");
  if (end > text.size() || end - begin < instead.size()) return;
  if (text.find_first_of("\n\\", begin) < begin + instead.size()) return;
  for (uint32_t i = begin; i < end; ++i)
    if (text[i] != '\n' && text[i] != '\r' && text[i] != '\\') text[i] = ' ';
  text.replace(begin, instead.size(), instead);
}

// Writes the header's name in the place of the macros of the #include whose "#" stands at `hash`, if macros
// it has: the host's preprocessor knows what they make, and nobody else looks into them.
void name_header(std::string& text, size_t hash, const std::string& name, Words& words) {
  constexpr std::string_view k_blanks = " \t";
  if (hash >= text.size() || text[hash] != '#') return;
  size_t at = text.find_first_not_of(k_blanks, hash + 1);
  while (at < text.size() && (isalpha(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  at = text.find_first_not_of(k_blanks, at);
  if (at == text.npos || text[at] == '<' || text[at] == '"') return;
  for (size_t i = at; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n')
      ++i;  // the line goes on
    else
      text[i] = ' ';
  }
  words[uint32_t(at)] = name;
}

}  // namespace

// The text without what the host steps over.
std::string host_text(const SplitFile& file, llvm::StringRef text) {
  std::string gone(text.size(), '\0');
  for (const SplitItem& item : file.items)
    for (auto [begin, end] : item.bodies)
      if (!shares_macro(*file.tokens, begin) && !shares_macro(*file.tokens, end))
        blank(file, begin, end, gone);
  std::string result = text.str();
  for (size_t i = 0; i < gone.size(); ++i)
    if (gone[i] && result[i] != '\n') result[i] = k_device_byte;
  return result;
}

// The replacement of each byte of the file; NUL where the byte stays. `words`: what stands, besides, where
// something longer or shorter stood.
std::string mask(const SplitFile& file, llvm::StringRef text, Words& words) {
  std::string gone(text.size(), '\0');
  for (auto [begin, end] : file.regions.dead) std::fill(gone.begin() + begin, gone.begin() + end, ' ');
  for (const SplitItem& item : file.items) {
    if (!item.kept && item.text_end > 0)
      blank_region(file, item, text, gone);
    else if (!item.kept)
      blank(file, item.begin, item.end, gone);
    else if (item.only_declared && item.declaration)
      apply(file, *item.declaration, gone, words);
    else
      for (const SplitCut& cut : item.cuts) apply(file, cut, gone, words);
  }
  open_compound_literals(*file.tokens, gone);
  // Work-around: NVRTC takes no storage class `register`.
  // Trigger: an old text with `register int i`, which nvcc takes by default. Symptom: an error under all
  // standards that Tarsia asks NVRTC for. Removal: NVRTC takes it, as nvcc does.
  for (const TokenRecorder::Token& token : *file.tokens)
    if (token.kind == clang::tok::kw_register && text.substr(token.begin).starts_with("register"))
      std::fill_n(gone.begin() + token.begin, 8, ' ');
  // Within a blanked range, conditionals and macro definitions stay in force.
  for (const FileRegions::Directive& directive : file.regions.directives) {
    auto begin = gone.begin() + directive.begin, end = gone.begin() + directive.end;
    if (directive.holds) {
      std::fill(begin, end, '\0');
      open_compound_literals_of_macro(directive, text, gone);
    } else if (std::find(begin, end, ' ') != end)
      std::fill(begin, end, ' ');
  }
  return gone;
}

std::string text_under(const std::string& mask, llvm::StringRef source, const std::vector<Inclusion>& files,
                       Words& words) {
  std::string text = source.str();
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] && text[i] != '\n' && text[i] != '\r') text[i] = mask[i];
  std::map<uint32_t, std::set<bool>> asked;
  std::map<std::pair<uint32_t, uint32_t>, std::set<bool>> conditions;
  std::map<uint32_t, std::set<std::string>> computed;
  for (const Inclusion& file : files) {
    for (auto [at, found] : file.recorded->asked_headers) asked[at].insert(found);
    for (auto range : file.conditions)
      if (auto answer = file.recorded->conditions.find(range.first);
          answer != file.recorded->conditions.end())
        conditions[range].insert(answer->second);
    for (const auto& [at, included] : file.recorded->included) computed[at].insert(included.name);
  }
  // If several inclusions of one header got different answers, no answer is right for all.
  for (const auto& [at, answers] : asked)
    if (answers.size() == 1) answer_has_include(text, at, *answers.begin());
  for (const auto& [range, answers] : conditions)
    if (answers.size() == 1) answer_condition(text, range.first, range.second, *answers.begin());
  make_plain(text);
  std::erase_if(words, [&](const auto& one) { return !mask[one.first]; });  // an inclusion keeps it
  for (const auto& [at, names] : computed)
    if (names.size() == 1) name_header(text, at, *names.begin(), words);
  return text;
}

// Puts each of the words where its place is; blanks behind it make room, the rest of the line moves.
void put_words(std::string& text, const Words& words, std::vector<Doubt>& doubts) {
  for (auto one = words.rbegin(); one != words.rend(); ++one) {
    const auto& [at, word] = *one;
    size_t room = 0;
    while (room < word.size() && at + room < text.size() && text[at + room] == ' ') ++room;
    text.replace(at, room, word);
    const uint32_t more = uint32_t(word.size() - room);
    for (Doubt& doubt : doubts)
      for (auto& [begin, end] : doubt.ranges) {
        if (begin > at) begin += more;
        if (end > at) end += more;
      }
  }
}

}  // namespace tarsia::jit
