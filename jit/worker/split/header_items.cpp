// What the split knows of the headers with which a text begins, as bytes that go with their precompiled form.
//
// The bytes are read for each compile, so they are plain numbers. Words and namespaces stand in tables, and
// so do paths. A word becomes an identifier of Clang's when something names it.
#include "jit/worker/split/header_items.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/little_endian.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/IdentifierTable.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Serialization/ASTReader.h"
#include "clang/Serialization/ASTWriter.h"
#include "clang/Serialization/ModuleFile.h"
#include "jit/worker/source/diagnostics.h"

namespace tarsia::jit {
namespace {

using Number = std::uint32_t;

void write(LittleWriter& to, const Ranges& ranges) {
  to.number(Number(ranges.size()));
  for (auto [begin, end] : ranges) to.number(Number(begin)).number(Number(end));
}

// The elements that the bytes say are there; each takes at least one byte.
template <class Read>
void repeat(LittleReader& from, const Read& read) {
  for (auto left = from.number<Number>(); left > 0 && from.good(); --left) read();
}

Ranges read_ranges(LittleReader& from) {
  Ranges ranges;
  repeat(from, [&] {
    const auto begin = from.number<Number>();
    ranges.emplace_back(begin, from.number<Number>());
  });
  return ranges;
}

void write_directives(LittleWriter& to, const TokenRecorder::File& file) {
  to.text(file.path);
  write(to, file.skipped);
  to.number(Number(file.asked_headers.size()));
  for (auto [at, found] : file.asked_headers) to.number(Number(at)).number(std::uint8_t(found));
  to.number(Number(file.included.size()));
  for (const auto& [at, one] : file.included) to.number(Number(at)).text(one.name).text(one.path);
  to.number(Number(file.conditions.size()));
  for (auto [at, value] : file.conditions) to.number(Number(at)).number(std::uint8_t(value));
}

TokenRecorder::File read_directives(LittleReader& from) {
  TokenRecorder::File file;
  const auto read_answers = [&](std::map<uint32_t, bool>& answers) {
    repeat(from, [&] {
      const auto at = from.number<Number>();
      answers.emplace_hint(answers.end(), at, from.number<std::uint8_t>() != 0);
    });
  };
  file.path = from.text();
  file.skipped = read_ranges(from);
  read_answers(file.asked_headers);
  repeat(from, [&] {
    const auto at = from.number<Number>();
    TokenRecorder::File::Included one;
    one.name = from.text();
    one.path = from.text();
    file.included.emplace_hint(file.included.end(), at, std::move(one));
  });
  read_answers(file.conditions);
  return file;
}

constexpr std::uint8_t k_directive_of_host = 1, k_directive_holds = 2;
enum Flag : std::uint16_t {
  k_root = 1,
  k_function = 2,
  k_callable = 4,
  k_nameless = 8,
  k_unnamed = 16,
  k_calls_conversions = 32,
  k_has_declaration = 64,
};

class Writer {
 public:
  Writer(clang::ASTContext& context, clang::ASTWriter& ast) : m_context(context), m_ast(ast), m_to(m_body) {}

  std::string write(const FilesOfHeaders& all) {
    m_to.number(Number(all.files.size()));
    for (const FilesOfHeaders::One& one : all.files) write(one);
    m_to.number(Number(all.defined.size()));
    for (const auto& [macro, paths] : all.defined) {
      m_to.text(macro).number(Number(paths.size()));
      for (const std::string& path : paths) m_to.number(index_of(path, m_path_at, m_paths));
    }
    m_to.number(Number(all.device_macros.size()));
    for (const std::string& macro : all.device_macros) m_to.text(macro);
    for (const auto& identifier : m_context.Idents) index_of_word(identifier.getKey());
    std::string bytes;
    LittleWriter head(bytes);
    for (const auto* table : {&m_words, &m_paths}) {
      head.number(Number(table->size()));
      for (const std::string& text : *table) head.text(text);
    }
    head.number(Number(m_spaces.size()));
    for (const clang::NamespaceDecl* space : m_spaces) head.number(id_of(space));
    return bytes + m_body;
  }

 private:
  static Number index_of(const std::string& text, std::unordered_map<std::string, Number>& at,
                         std::vector<std::string>& table) {
    const auto [found, is_new] = at.try_emplace(text, Number(table.size()));
    if (is_new) table.push_back(text);
    return found->second;
  }
  Number index_of_word(llvm::StringRef word) { return index_of(word.str(), m_word_at, m_words); }
  Number index_of_name(const clang::IdentifierInfo* name) {
    const auto [found, is_new] = m_name_at.try_emplace(name, 0);
    if (is_new) found->second = index_of_word(name->getName());
    return found->second;
  }
  // 0 is the global one.
  Number index_of_space(const clang::NamespaceDecl* space) {
    if (!space) return 0;
    const auto [found, is_new] = m_space_at.try_emplace(space, Number(m_spaces.size() + 1));
    if (is_new) m_spaces.push_back(space);
    return found->second;
  }
  std::uint64_t id_of(const clang::Decl* decl) { return m_ast.getDeclID(decl).getRawValue(); }
  std::uint64_t id_of(DeclKey key) { return key == 0 ? 0 : id_of(decl_of(key, m_context)); }

  void write(const std::vector<const clang::IdentifierInfo*>& names) {
    m_to.number(Number(names.size()));
    for (const clang::IdentifierInfo* name : names) m_to.number(index_of_name(name));
  }
  void write(const std::vector<DeclKey>& decls) {
    m_to.number(Number(decls.size()));
    for (DeclKey decl : decls) m_to.number(id_of(decl));
  }
  void write(const std::vector<std::pair<size_t, size_t>>& ranges) {
    m_to.number(Number(ranges.size()));
    for (auto [begin, end] : ranges) m_to.number(Number(begin)).number(Number(end));
  }
  void write(const SplitCut& cut) {
    m_to.number(Number(cut.begin)).number(Number(cut.end)).number(std::uint8_t(cut.instead)).text(cut.text);
    m_to.number(id_of(cut.method));
  }

  void write(const SplitItem& item) {
    const auto flag = [](bool set, Flag one) { return std::uint16_t(set ? one : 0); };
    m_to.number(std::uint16_t(flag(item.root, k_root) | flag(item.function, k_function) |
                              flag(item.callable, k_callable) | flag(item.nameless, k_nameless) |
                              flag(item.unnamed, k_unnamed) |
                              flag(calls_conversions(item), k_calls_conversions) |
                              flag(item.declaration.has_value(), k_has_declaration)));
    m_to.number(std::uint8_t(item.use)).number(std::uint8_t(item.at_glance));
    m_to.number(Number(item.begin)).number(Number(item.end));
    m_to.number(Number(item.text_begin)).number(Number(item.text_end));
    m_to.number(index_of_space(item.space));
    write(item.bodies);
    for (const auto* names : {&item.names, &item.argument_types, &item.own_names, &item.unseen})
      write(*names);
    for (const auto* decls : {&item.declared, &item.calls, &item.called_methods}) write(*decls);
    std::vector<const clang::IdentifierInfo*> names;
    std::set<clang::OverloadedOperatorKind> operators = item.called_operators;
    for (const clang::DeclarationName name : item.called_names) {
      if (name.isIdentifier()) names.push_back(name.getAsIdentifierInfo());
      if (name.getNameKind() == clang::DeclarationName::CXXOperatorName)
        operators.insert(name.getCXXOverloadedOperator());
    }
    write(names);
    m_to.number(Number(operators.size()));
    for (clang::OverloadedOperatorKind one : operators) m_to.number(std::uint8_t(one));
    m_to.number(Number(item.cuts.size()));
    for (const SplitCut& cut : item.cuts) write(cut);
    if (item.declaration) write(*item.declaration);
    m_to.number(Number(item.glances.size()));
    for (size_t at : item.glances) m_to.number(Number(at));
  }
  // A conversion to a type that depends on a template's parameters may be any.
  static bool calls_conversions(const SplitItem& item) {
    return item.calls_conversions || std::ranges::any_of(item.called_names, [](clang::DeclarationName name) {
             return name.getNameKind() == clang::DeclarationName::CXXConversionFunctionName;
           });
  }

  void write(const FilesOfHeaders::One& one) {
    m_to.number(Number(m_context.getSourceManager().getLocForStartOfFile(one.id).getRawEncoding()));
    write_directives(m_to, one.recorded);
    m_to.number(Number(one.recorded.tokens.size()));
    for (const TokenRecorder::Token& token : one.recorded.tokens) {
      m_to.number(Number(token.begin)).number(Number(token.end)).number(std::uint16_t(token.kind));
      m_to.number(token.identifier ? index_of_name(token.identifier) + 1 : Number(0));
    }
    m_to.number(Number(one.items.regions.directives.size()));
    for (const FileRegions::Directive& directive : one.items.regions.directives) {
      m_to.number(Number(directive.begin)).number(Number(directive.end)).number(Number(directive.word));
      m_to.number(std::uint8_t((directive.of_host ? k_directive_of_host : 0) |
                               (directive.holds ? k_directive_holds : 0)));
    }
    tarsia::jit::write(m_to, one.items.regions.dead);
    tarsia::jit::write(m_to, one.items.regions.asking);
    tarsia::jit::write(m_to, one.items.regions.of_nvrtc);
    m_to.number(Number(one.items.spaces.size()));
    for (const SplitSpace& space : one.items.spaces)
      m_to.number(Number(space.begin)).number(Number(space.end)).number(index_of_space(space.space));
    m_to.number(Number(one.items.items.size()));
    for (const SplitItem& item : one.items.items) write(item);
    m_to.number(Number(one.items.unseen.size()));
    for (auto [name, space] : one.items.unseen)
      m_to.number(index_of_name(name)).number(index_of_space(space));
    m_to.text(one.host_text->name).raw(one.host_text->digest);
    m_to.number(Number(one.host_names->size()));
    for (const HostName& name : *one.host_names)
      m_to.number(index_of_word(name.name)).number(std::uint8_t(name.is_function)).number(Number(name.line));
  }

  clang::ASTContext& m_context;
  clang::ASTWriter& m_ast;
  std::string m_body;
  LittleWriter m_to;
  std::vector<std::string> m_words, m_paths;
  std::unordered_map<std::string, Number> m_word_at, m_path_at;
  std::unordered_map<const clang::IdentifierInfo*, Number> m_name_at;
  std::vector<const clang::NamespaceDecl*> m_spaces;
  std::unordered_map<const clang::NamespaceDecl*, Number> m_space_at;
};

class Reader {
 public:
  Reader(std::string_view bytes, clang::ASTContext& context, clang::ASTReader& ast)
      : m_from(bytes), m_context(context), m_ast(ast), m_form(ast.getModuleManager().getPrimaryModule()) {}

  std::optional<FilesOfHeaders> read() {
    for (auto* table : {&m_words, &m_paths}) repeat(m_from, [&] { table->push_back(m_from.text()); });
    m_names.resize(m_words.size());
    m_spaces.push_back(nullptr);
    repeat(m_from, [&] {
      const clang::Decl* decl = m_ast.GetLocalDecl(m_form, local_id());
      m_spaces.push_back(llvm::dyn_cast_or_null<clang::NamespaceDecl>(decl));
    });
    FilesOfHeaders all;
    repeat(m_from, [&] { read(all.files.emplace_back()); });
    repeat(m_from, [&] {
      std::set<std::string>& paths = all.defined[m_from.text()];
      repeat(m_from, [&] { paths.insert(element(m_paths)); });
    });
    repeat(m_from, [&] { all.device_macros.insert(m_from.text()); });
    const auto is_lost = [](const FilesOfHeaders::One& one) { return one.id.isInvalid(); };
    if (!m_from.good() || !m_from.at_end() || std::ranges::any_of(all.files, is_lost)) return std::nullopt;
    std::ranges::sort(m_words);
    all.words = std::make_shared<const std::vector<std::string>>(std::move(m_words));
    return all;
  }

 private:
  // Indices that are too large stand for the first element; the bytes are not good then.
  template <class Element>
  Element element(const std::vector<Element>& table) {
    const auto at = m_from.number<Number>();
    return at < table.size() ? table[at] : Element();
  }
  // Work-around: Clang looks up what a precompiled form declares under each identifier that is made.
  // Trigger: a source on top of leading includes that are kept. Symptom: all that the headers declare is read
  // from them, used or not. Names that are out of date wait until the parser uses them.
  // Removal: Clang makes identifiers without looking them up.
  const clang::IdentifierInfo* name(Number at) {
    if (at >= m_names.size()) return nullptr;
    const clang::IdentifierInfo*& known = m_names[at];
    if (known) return known;
    clang::IdentifierTable& table = m_context.Idents;
    if (const auto found = table.find(m_words[at]); found != table.end()) return known = found->second;
    clang::IdentifierInfo& made = table.getOwn(m_words[at]);
    made.setOutOfDate(true);
    return known = &made;
  }
  const clang::IdentifierInfo* name() { return name(m_from.number<Number>()); }
  const clang::NamespaceDecl* space() { return element(m_spaces); }
  clang::LocalDeclID local_id() {
    const auto raw = m_from.number<std::uint64_t>();
    return clang::LocalDeclID::get(m_ast, m_form, raw);
  }
  DeclKey decl() {
    const auto raw = m_from.number<std::uint64_t>();
    if (raw == 0) return 0;
    return m_ast.getGlobalDeclID(m_form, clang::LocalDeclID::get(m_ast, m_form, raw)).getRawValue() << 1 | 1;
  }

  void read(std::vector<const clang::IdentifierInfo*>& names) {
    repeat(m_from, [&] {
      if (const clang::IdentifierInfo* one = name()) names.push_back(one);
    });
  }
  void read(std::vector<DeclKey>& decls) {
    repeat(m_from, [&] { decls.push_back(decl()); });
  }
  void read(std::vector<std::pair<size_t, size_t>>& ranges) {
    for (auto [begin, end] : read_ranges(m_from)) ranges.emplace_back(begin, end);
  }
  SplitCut read_cut() {
    SplitCut cut;
    cut.begin = m_from.number<Number>();
    cut.end = m_from.number<Number>();
    cut.instead = static_cast<decltype(cut.instead)>(m_from.number<std::uint8_t>());
    cut.text = m_from.text();
    cut.method = decl();
    return cut;
  }

  void read(SplitItem& item) {
    const auto flags = m_from.number<std::uint16_t>();
    item.root = flags & k_root;
    item.function = flags & k_function;
    item.callable = flags & k_callable;
    item.nameless = flags & k_nameless;
    item.unnamed = flags & k_unnamed;
    item.calls_conversions = flags & k_calls_conversions;
    item.use = static_cast<SplitItem::Use>(m_from.number<std::uint8_t>());
    item.at_glance = static_cast<SplitItem::AtGlance>(m_from.number<std::uint8_t>());
    item.begin = m_from.number<Number>();
    item.end = m_from.number<Number>();
    item.text_begin = m_from.number<Number>();
    item.text_end = m_from.number<Number>();
    item.space = space();
    read(item.bodies);
    for (auto* names : {&item.names, &item.argument_types, &item.own_names, &item.unseen}) read(*names);
    for (auto* decls : {&item.declared, &item.calls, &item.called_methods}) read(*decls);
    repeat(m_from, [&] {
      if (const clang::IdentifierInfo* one = name()) item.called_names.emplace_back(one);
    });
    repeat(m_from, [&] {
      item.called_operators.insert(static_cast<clang::OverloadedOperatorKind>(m_from.number<std::uint8_t>()));
    });
    repeat(m_from, [&] { item.cuts.push_back(read_cut()); });
    if (flags & k_has_declaration) item.declaration = read_cut();
    repeat(m_from, [&] { item.glances.push_back(m_from.number<Number>()); });
  }

  void read(FilesOfHeaders::One& one) {
    const auto place = clang::SourceLocation::getFromRawEncoding(m_from.number<Number>());
    one.id = m_context.getSourceManager().getFileID(m_ast.TranslateSourceLocation(m_form, place));
    one.recorded = read_directives(m_from);
    repeat(m_from, [&] {
      TokenRecorder::Token& token = one.recorded.tokens.emplace_back();
      token.begin = m_from.number<Number>();
      token.end = m_from.number<Number>();
      token.kind = static_cast<clang::tok::TokenKind>(m_from.number<std::uint16_t>());
      if (const auto at = m_from.number<Number>()) token.identifier = name(at - 1);
    });
    repeat(m_from, [&] {
      FileRegions::Directive& directive = one.items.regions.directives.emplace_back();
      directive.begin = m_from.number<Number>();
      directive.end = m_from.number<Number>();
      directive.word = m_from.number<Number>();
      const auto flags = m_from.number<std::uint8_t>();
      directive.of_host = flags & k_directive_of_host;
      directive.holds = flags & k_directive_holds;
    });
    one.items.regions.dead = read_ranges(m_from);
    one.items.regions.asking = read_ranges(m_from);
    one.items.regions.of_nvrtc = read_ranges(m_from);
    repeat(m_from, [&] {
      SplitSpace& opened = one.items.spaces.emplace_back();
      opened.begin = m_from.number<Number>();
      opened.end = m_from.number<Number>();
      opened.space = space();
    });
    repeat(m_from, [&] { read(one.items.items.emplace_back()); });
    repeat(m_from, [&] {
      const clang::IdentifierInfo* unseen = name();
      const clang::NamespaceDecl* in = space();
      if (unseen) one.items.unseen.emplace_back(unseen, in);
    });
    const auto text = std::make_shared<HostText>();
    text->name = m_from.text();
    text->digest = m_from.raw<std::tuple_size_v<Digest>>();
    one.host_text = text;
    const auto names = std::make_shared<HostNames>();
    const std::string file = user_name(one.recorded.path);
    repeat(m_from, [&] {
      HostName& host = names->emplace_back();
      host.name = element(m_words);
      host.is_function = m_from.number<std::uint8_t>() != 0;
      host.file = file;
      host.line = int(m_from.number<Number>());
    });
    one.host_names = names;
  }

  LittleReader m_from;
  clang::ASTContext& m_context;
  clang::ASTReader& m_ast;
  clang::serialization::ModuleFile& m_form;
  std::vector<std::string> m_words, m_paths;
  std::vector<const clang::IdentifierInfo*> m_names;
  std::vector<const clang::NamespaceDecl*> m_spaces;
};

}  // namespace

std::string HeaderItems::serialize() const {
  std::string bytes;
  LittleWriter to(bytes);
  to.number(Number(counter));
  write_directives(to, leading);
  to.number(Number(entities.size()));
  for (const std::uint64_t one : entities) to.number(one);
  to.number(std::uint64_t(files.size()));
  return bytes.append(files);
}

std::optional<HeaderItems> HeaderItems::parse(std::string_view bytes, std::shared_ptr<const void> owner) {
  HeaderItems items;
  LittleReader from(bytes);
  items.counter = from.number<Number>();
  items.leading = read_directives(from);
  repeat(from, [&] { items.entities.push_back(from.number<std::uint64_t>()); });
  const auto size = from.number<std::uint64_t>();
  if (!from.good() || size > bytes.size()) return std::nullopt;
  items.files = bytes.substr(bytes.size() - size);
  items.owner = std::move(owner);
  return items;
}

std::string FilesOfHeaders::write(clang::ASTContext& context, clang::ASTWriter& writer) const {
  return Writer(context, writer).write(*this);
}

std::optional<FilesOfHeaders> FilesOfHeaders::read(std::string_view bytes, clang::ASTContext& context,
                                                   clang::ASTReader& reader) {
  return Reader(bytes, context, reader).read();
}

}  // namespace tarsia::jit
