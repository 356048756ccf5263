// Which of the macros that a request defines its headers depend on.
//
// Headers depend on a macro if they ask whether it is defined, expand it, define or undefine it. Clang tells
// of each. Headers that were read without a macro do not depend on it if they do not mention its name:
// wherever the preprocessor looks at a name, it makes an entry in its table of names.
#include "jit/worker/source/macros/define_use.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/Support/xxhash.h"

namespace tarsia::jit {
namespace {

bool is_reserved(llvm::StringRef name) {
  return name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

std::uint32_t fingerprint(llvm::StringRef name) {
  return static_cast<std::uint32_t>(llvm::xxh3_64bits(name));
}

/// Of "NAME" or "NAME=text", as PreprocessorOptions have it, or of "NAME text".
llvm::StringRef name_of(llvm::StringRef macro) {
  return macro.take_until([](char c) { return c == '=' || c == '(' || c == ' ' || c == '\n'; });
}

std::string bytes_of(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

std::vector<std::uint32_t> words_of(std::string_view bytes) {
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  return words;
}

}  // namespace

std::string common_words(std::string_view one, std::string_view other) {
  std::vector<std::uint32_t> both;
  std::ranges::set_intersection(words_of(one), words_of(other), std::back_inserter(both));
  return bytes_of(both);
}

bool mentions(std::string_view words, std::string_view name) {
  if (is_reserved(name)) return true;
  const std::uint32_t wanted = fingerprint(name);
  const auto word = [&](std::size_t at) {
    std::uint32_t one = 0;
    std::memcpy(&one, words.data() + at * sizeof one, sizeof one);
    return one;
  };
  const auto places = std::views::iota(std::size_t{0}, words.size() / sizeof wanted);
  const auto at = std::ranges::lower_bound(places, wanted, {}, word);
  return at != places.end() && word(*at) == wanted;
}

struct DefineWatch::State {
  /// Those that nobody has asked for so far.
  std::map<const clang::IdentifierInfo*, std::string> unused;
  std::vector<std::string> used;

  void use(const clang::Token& name) {
    const auto found = unused.find(name.getIdentifierInfo());
    if (found == unused.end()) return;
    used.push_back(found->second);
    unused.erase(found);
  }
};

class DefineWatch::Callbacks final : public clang::PPCallbacks {
 public:
  Callbacks(const clang::Preprocessor& preprocessor, std::shared_ptr<State> state)
      : m_preprocessor(preprocessor), m_state(std::move(state)) {}

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange,
                    const clang::MacroArgs*) override {
    m_state->use(name);
  }
  void MacroDefined(const clang::Token& name, const clang::MacroDirective*) override { change(name); }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition&,
                      const clang::MacroDirective*) override {
    change(name);
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange) override {
    m_state->use(name);
  }
  void Ifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    m_state->use(name);
  }
  void Ifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    m_state->use(name);
  }
  using PPCallbacks::Elifdef;
  void Elifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    m_state->use(name);
  }
  using PPCallbacks::Elifndef;
  void Elifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    m_state->use(name);
  }

 private:
  /// The options define them, too.
  void change(const clang::Token& name) {
    const clang::SourceManager& sources = m_preprocessor.getSourceManager();
    if (sources.getFileID(name.getLocation()) != m_preprocessor.getPredefinesFileID()) m_state->use(name);
  }

  const clang::Preprocessor& m_preprocessor;
  std::shared_ptr<State> m_state;
};

DefineWatch::DefineWatch(clang::Preprocessor& preprocessor, const Defines& defines)
    : m_state(std::make_shared<State>()) {
  for (const auto& [macro, value] : defines) {
    const llvm::StringRef name = name_of(macro);
    // A macro with parameters is mentioned without being expanded.
    if (is_reserved(name) || name.size() != macro.size())
      m_state->used.push_back(name.str());
    else
      m_state->unused.emplace(preprocessor.getIdentifierInfo(name), name.str());
  }
  if (!m_state->unused.empty())
    preprocessor.addPPCallbacks(std::make_unique<Callbacks>(preprocessor, m_state));
}

DefineWatch::~DefineWatch() = default;

DefineUse DefineWatch::forget_others(clang::CompilerInstance& clang,
                                     const std::vector<std::string>& settled) {
  clang::Preprocessor& preprocessor = clang.getPreprocessor();
  std::set<llvm::StringRef> unused;
  for (const auto& [identifier, name] : m_state->unused) {
    unused.insert(name);
    if (std::ranges::find(settled, name) != settled.end()) continue;
    if (preprocessor.isMacroDefined(identifier))
      preprocessor.appendMacroDirective(
          const_cast<clang::IdentifierInfo*>(identifier),
          new (preprocessor.getPreprocessorAllocator()) clang::UndefMacroDirective(
              preprocessor.getSourceManager().getLocForStartOfFile(preprocessor.getPredefinesFileID())));
    std::erase_if(clang.getPreprocessorOpts().Macros,
                  [&](const auto& macro) { return name_of(macro.first) == name; });
  }

  DefineUse use{.used = m_state->used, .words = {}};
  std::ranges::sort(use.used);
  use.used.erase(std::unique(use.used.begin(), use.used.end()), use.used.end());
  std::vector<std::uint32_t> words;
  for (const auto& [name, identifier] : preprocessor.getIdentifierTable())
    if (!is_reserved(name) && !unused.contains(name)) words.push_back(fingerprint(name));
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  use.words = bytes_of(words);
  return use;
}

void keep_settled(clang::Preprocessor& preprocessor, const std::vector<std::string>& settled) {
  if (settled.empty()) return;
  std::string kept;
  llvm::StringRef rest = preprocessor.getPredefines();
  while (!rest.empty()) {
    auto [line, more] = rest.split('\n');
    llvm::StringRef macro = line;
    const bool is_macro = macro.consume_front("#define ") || macro.consume_front("#undef ");
    if (!is_macro || std::ranges::find(settled, name_of(macro)) == settled.end()) {
      kept += line;
      kept += '\n';
    }
    rest = more;
  }
  preprocessor.setPredefines(std::move(kept));
}

}  // namespace tarsia::jit
