// The host's half of a compile.
//
// Clang makes one pass over the text, to which Tarsia appended a pragma. When the lexer meets the pragma,
// all of the user's declarations have been parsed. Pending templates are then instantiated, and kernels and
// exports are listed. The text that describes the exports is entered as if it had been included there. When
// the parse is complete, the device's slice is handed over. Code is generated while the device's compiler
// already works.
#include "jit/worker/host/host_compiler.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/figures/elapsed.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "clang/Sema/SemaConsumer.h"
#include "clang/Serialization/ASTReader.h"
#include "jit/build_id.h"
#include "jit/worker/cell/cell_errors.h"
#include "jit/worker/code/host_code.h"
#include "jit/worker/code/target_cpu.h"
#include "jit/worker/code/traps.h"
#include "jit/worker/exports/export_text.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/host/allowances.h"
#include "jit/worker/host/argument_order.h"
#include "jit/worker/host/cell_parse.h"
#include "jit/worker/host/clocks.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/host/device_uses.h"
#include "jit/worker/host/end_of_text.h"
#include "jit/worker/host/host_parse.h"
#include "jit/worker/host/host_tables.h"
#include "jit/worker/host/leading_parse.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/host/wanted_kernels.h"
#include "jit/worker/source/assembler_files.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/initializers.h"
#include "jit/worker/source/line_tables.h"
#include "jit/worker/source/main_text.h"
#include "jit/worker/source/names/near_headers.h"
#include "jit/worker/source/own_types.h"
#include "jit/worker/source/raw_tokens.h"
#include "jit/worker/split/kernel_body.h"
#include "jit/worker/split/token_recorder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

// Whether Clang is in the body of a function that only the device calls. Most of these are stepped over.
// Those that are constexpr, or whose type is deduced, are read, as if the host called them.
bool is_in_device_body(const clang::Sema& sema) {
  for (const clang::DeclContext* scope = sema.CurContext; scope; scope = scope->getParent())
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(scope);
        function && is_device_only(*function))
      return true;
  return false;
}

// Whether it stands in a text of the request, not in a header on disk.
bool is_in_request(const clang::SourceManager& sources, const clang::Decl& decl) {
  const clang::SourceLocation place = sources.getExpansionLoc(decl.getLocation());
  return is_user_file(sources, place) && sources.getFilename(place).starts_with(k_source_dir);
}

// Whether it is the user's, and runs code when the module is loaded: a variable whose initial value is
// computed then, as TORCH_LIBRARY makes one, or a function marked `constructor`.
bool runs_at_load(const clang::SourceManager& sources, const clang::Decl& decl) {
  if (!is_in_request(sources, decl)) return false;
  if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl)) {
    const auto* scope = llvm::cast<clang::DeclContext>(&decl);
    return std::any_of(scope->noload_decls_begin(), scope->noload_decls_end(),
                       [&](const clang::Decl* inner) { return runs_at_load(sources, *inner); });
  }
  if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl))
    return variable->isThisDeclarationADefinition() == clang::VarDecl::Definition &&
           !variable->isTemplated() && variable->hasInit() && !variable->hasConstantInitialization();
  return llvm::isa<clang::FunctionDecl>(decl) && decl.hasAttr<clang::ConstructorAttr>();
}

// Stands between the parser and Clang's code generator. For CUDA, it holds declarations back until the
// parse is complete. Only then is it known which kernels the host refers to, and whether the object exists
// already.
class HostConsumer final : public clang::SemaConsumer {
 public:
  HostConsumer(HostParse& shared, clang::CompilerInstance& clang) : m_shared(shared), m_clang(clang) {
    m_llvm.setDiscardValueNames(clang.getCodeGenOpts().DiscardValueNames);
    m_generator = clang::CreateLLVMCodeGen(clang, "tarsia_module", m_llvm);
    shared.pass_on = [this] {
      empty_kernels(m_clang.getASTContext(), m_clang.getASTContext().getTranslationUnitDecl());
      pass_on();
      m_holding = true;
    };
    if (const CompileOptions& options = shared.unit.request->options; !keeps_lines(options))
      m_line_tables.emplace(options.include_dirs.empty());
  }

  void InitializeSema(clang::Sema& sema) override {
    m_shared.sema = &sema;
    if (m_shared.unit.headers) name_leading_text(m_shared);
    allow(m_shared.unit.allowances, sema);
    if (m_shared.cell) m_shared.checks = std::make_unique<StatementChecks>(sema);
    if (!m_shared.cuda()) return;
    demand_blocks(sema.getASTContext());
    // Work-around: Clang refuses unroll pragmas where no loop follows.
    // Trigger: `#pragma unroll` before something else in a CUDA source. Symptom: an error, though the pragma
    // speaks to the device's compiler. Clang's parser takes what it has registered out again by name, so
    // these stand in for its own. Removal: Clang warns.
    for (auto& pragma : m_ignored_pragmas) {
      sema.getPreprocessor().RemovePragmaHandler(&pragma);
      sema.getPreprocessor().AddPragmaHandler(&pragma);
    }
  }
  void ForgetSema() override { m_shared.sema = nullptr; }
  clang::ASTDeserializationListener* GetASTDeserializationListener() override {
    return m_line_tables ? &*m_line_tables : nullptr;
  }
  // Work-around: Clang names all builtins a second time.
  // Trigger: a precompiled prelude in C++20 or newer, where Clang counts on modules. Symptom: a small
  // source takes longer. Clang's options tell of no modules until the source is read. Removal: Clang names no
  // builtins where a prelude has been loaded.
  void Initialize(clang::ASTContext& context) override {
    clang::LangOptions& options = m_clang.getLangOpts();
    m_shared.has_modules = options.Modules;
    if (!m_shared.unit.prelude.empty()) options.Modules = false;
    m_generator->Initialize(context);
  }
  bool shouldSkipFunctionBody(clang::Decl* decl) override { return m_shared.cuda() && is_device_only(*decl); }

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    // After so many errors that no more are told, what is left would be read for nothing, and each repetition
    // of a name is compared with all before it.
    if (m_clang.getDiagnostics().hasFatalErrorOccurred()) return false;
    if (m_shared.cuda()) demand_blocks(m_clang.getASTContext());
    if (m_shared.cell) note_in_cell(m_shared, group);  // while bodies that were stepped over are known
    for (clang::Decl* decl : group) {
      if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
        name_main(*function);
        if (m_shared.cuda()) note_instance(*function);
        if (m_shared.cuda() && function->isFromASTFile() && is_of_user(m_shared, function->getLocation()))
          m_shared.kept_functions.push_back(function);
      }
      m_shared.result.has_effects |= runs_at_load(m_clang.getSourceManager(), *decl);
    }
    if (m_line_tables) m_line_tables->choose(group);
    later([=, this] {
      if (m_shared.cuda())
        for (clang::Decl* decl : group) order(decl);
      if (m_shared.cell)
        generate_in_cell(m_shared, *m_generator, group);
      else
        m_generator->HandleTopLevelDecl(group);
    });
    return true;
  }
  void HandleInlineFunctionDefinition(clang::FunctionDecl* decl) override {
    if (m_line_tables) m_line_tables->choose(*decl);
    later([=, this] {
      if (m_shared.cuda()) order(decl);
      m_generator->HandleInlineFunctionDefinition(decl);
    });
  }
  void HandleTagDeclDefinition(clang::TagDecl* decl) override {
    if (auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl);
        record && is_in_request(m_clang.getSourceManager(), *decl)) {
      m_own_types.note(decl);
      if (m_shared.cell) m_shared.classes_of_cells.push_back(record);
    }
    later([=, this] { m_generator->HandleTagDeclDefinition(decl); });
  }
  void HandleTagDeclRequiredDefinition(const clang::TagDecl* decl) override {
    later([=, this] { m_generator->HandleTagDeclRequiredDefinition(decl); });
  }
  void HandleCXXStaticMemberVarInstantiation(clang::VarDecl* decl) override {
    later([=, this] { m_generator->HandleCXXStaticMemberVarInstantiation(decl); });
  }
  void CompleteTentativeDefinition(clang::VarDecl* decl) override {
    later([=, this] { m_generator->CompleteTentativeDefinition(decl); });
  }
  void HandleVTable(clang::CXXRecordDecl* decl) override {
    later([=, this] { m_generator->HandleVTable(decl); });
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    HostResult& result = m_shared.result;
    end_allowances(m_shared.unit.allowances, m_clang.getLangOpts());
    result.timings.emplace_back("parse", milliseconds_since(m_shared.start));
    forget_passed_over(m_clang.getDiagnostics(), m_shared.diagnostics);
    if (m_shared.cuda() && m_shared.closed_braces == 0 && !m_clang.getDiagnostics().hasErrorOccurred()) {
      complain_of_open_braces(context);
      refuse_device_calls(m_shared, context);
    }
    if (m_clang.getDiagnostics().hasErrorOccurred() || m_shared.lacks_openmp()) return;
    if (m_shared.closed_braces > 0) return;
    if (m_shared.unit.language == Language::c)
      result.exports_of_c =
          export_text_of_c(list_exports_of(m_shared, context), context, m_shared.unit.request->cuda);
    if (m_shared.cuda()) {
      auto start = std::chrono::steady_clock::now();
      Slicer& slicer = slicer_of(m_shared, context);
      if (const auto& headers = m_shared.unit.headers)
        result.needs_headers = !slicer.adopt_headers(headers->files, *m_clang.getASTReader());
      if (result.needs_headers) return;
      slicer.slice(m_shared.slice, m_shared.text->size());
      result.timings.emplace_back("split", milliseconds_since(start));
      const std::string cell_path = m_shared.cell ? m_shared.cell->path() : std::string();
      if (!m_shared.slice.variables.empty() || !m_shared.slice.earlier_variables.empty())
        warn_of_device_reads(context, cell_path);
      warn_of_ignored_openmp(m_clang.getDiagnostics(), slicer.openmp_in_bodies(), cell_path);
      if (m_shared.hooks.on_split) m_shared.hooks.on_split(DeviceSlice(m_shared.slice));
    }
    if (!m_shared.unit.request->options.kernels.empty()) {
      result.ok = true;
      return;
    }
    std::optional<Digest> key;
    if (m_shared.cuda() && m_shared.hooks.find_objects) {
      key = object_key();
      if (auto objects = m_shared.hooks.find_objects(*key)) {
        result.objects = std::move(*objects);
        result.ok = true;
        return;
      }
    }
    auto start = std::chrono::steady_clock::now();
    tell_debug_lines(m_clang.getSourceManager(), *m_shared.unit.file);
    pass_on();
    if (m_shared.cuda()) prepare_device_tables(*m_generator, m_shared.slice);
    {
      const WhileGenerating scope = while_generating();
      m_generator->HandleTranslationUnit(context);
    }
    if (m_clang.getDiagnostics().hasErrorOccurred()) return;
    if (m_shared.cell) tie_cell(m_shared, *m_generator);
    std::unique_ptr<llvm::Module> module(m_generator->ReleaseModule());
    if (!module) return;
    if (m_shared.leaves) name_line_tables(m_shared, *module);
    if (m_shared.cuda())
      add_device_tables(*module, m_shared.slice, list_header_kernels(*m_generator, *module, m_shared.slice),
                        m_shared.unit.number);
    result.timings.emplace_back("irgen", milliseconds_since(start));
    m_own_types.make_own(*module, context);
    if (result.has_effects && m_shared.unit.language != Language::c && !m_shared.cell)
      guard_initializers(*module);
    set_target_cpu(*module, *m_shared.unit.request, m_clang.getTargetOpts());
    start = std::chrono::steady_clock::now();
    AssemblerFiles files(*m_shared.files);
    const HeaderObjects headers = header_objects();
    const unsigned warnings = m_clang.getDiagnosticClient().getNumWarnings();
    result.objects =
        generate_host_code(m_clang, *m_generator, std::move(module), m_shared.unit.number, files,
                           keeps_ir(m_shared.unit.request->options), parts_headers() ? &headers : nullptr);
    result.timings.emplace_back("codegen", milliseconds_since(start));
    if (result.objects.empty()) return;
    result.ok = true;
    const bool has_warned = m_clang.getDiagnosticClient().getNumWarnings() != warnings;
    // The key was made before the code, so it does not cover the files that inline assembly read. Who finds
    // objects hears no warnings of their code.
    if (key && m_shared.hooks.keep_objects && !result.volatile_text && !files.asked() && !has_warned)
      m_shared.hooks.keep_objects(*key, result.objects);
  }

 private:
  // Hashes everything that can change the object, and nothing of the kernels' bodies.
  Digest object_key() const {
    const HostUnit& unit = m_shared.unit;
    Hasher hasher("tarsia host object");
    hasher.field(build_id()).field(std::uint64_t(unit.number));
    for (const std::string& argument : clang_arguments(*unit.request, unit.language, unit.file->name, ""))
      hasher.field(argument);
    hasher.field(unit.request->host_cpu).field(std::uint64_t(keeps_lines(unit.request->options)));
    for (const SourceFile& file : unit.request->files) {
      hasher.field(file.debug_file).field(std::uint64_t(file.debug_lines.size()));
      for (const std::uint32_t line : file.debug_lines) hasher.field(std::uint64_t(line));
    }
    for (const auto& text : m_shared.slice.host_texts) hasher.field(text->digest);
    for (const KernelUse& kernel : m_shared.slice.kernels) hasher.field(kernel.name).field(kernel.mangled);
    for (const DeviceVariable& variable : m_shared.slice.variables) hasher.field(variable.mangled);
    hasher.field(m_shared.export_text);
    // A cell's object tells where its items lie, kernels among them.
    if (m_shared.cell)
      hasher.field(m_shared.cell->json()).field(std::uint64_t(unit.request->options.cell_shows));
    for (const Dependency& dependency : m_shared.files->dependencies())
      if (!dependency.absent) hasher.field(dependency.path).field(dependency.content);
    return hasher.finish();
  }

  // Debuggers step from the user's code into that of headers, and checks are told by the object that they
  // are in.
  bool parts_headers() const {
    const CompileOptions& options = m_shared.unit.request->options;
    return m_clang.getCodeGenOpts().OptimizationLevel >= 1 && !options.debug && m_shared.hooks.find_objects &&
           m_shared.hooks.keep_objects;
  }

  HeaderObjects header_objects() const {
    const auto key_of = [this](const std::string& bitcode) {
      const HostUnit& unit = m_shared.unit;
      Hasher hasher("tarsia header object");
      hasher.field(build_id());
      for (const std::string& argument : code_arguments(*unit.request, unit.language)) hasher.field(argument);
      return hasher.field(unit.request->host_cpu).field(bitcode).finish();
    };
    return {.origin_of =
                [this](const llvm::GlobalValue& value) {
                  return origin_of(m_shared, m_generator->GetDeclForMangledName(value.getName()), value);
                },
            .find = [this, key_of](
                        const std::string& bitcode) { return m_shared.hooks.find_objects(key_of(bitcode)); },
            .keep =
                [this, key_of](const std::string& bitcode, const std::vector<std::string>& objects) {
                  m_shared.hooks.keep_objects(key_of(bitcode), objects);
                }};
  }

  void order(clang::Decl* decl) {
    if (is_of_user(m_shared, decl->getLocation())) order_arguments(*decl);
  }

  void pass_on() {
    // A step may read declarations from the prelude. Clang passes these to this consumer at once.
    m_holding = false;
    const WhileGenerating scope = while_generating();
    for (const auto& step : std::exchange(m_held, {})) step();
  }

  template <class Step>
  void later(Step step) {
    if (m_holding) {
      m_held.emplace_back(step);
    } else {
      const WhileGenerating scope = while_generating();
      step();
    }
  }

  /// What is in force while Clang generates code, and not while it reads the text.
  struct WhileGenerating {
    GeneratedTraps traps;
    NoKeyFunctions no_keys;
  };

  // nvcc's programs run on behind a missing return (clang_setup.cpp). In a session, a division by zero is as
  // little optimised away as a read through a null pointer.
  WhileGenerating while_generating() {
    return {{m_clang.getLangOpts(),
             {.missing_returns = !m_shared.cuda(), .divisions_by_zero = m_shared.cell != nullptr}},
            {m_clang.getASTContext(), m_shared.classes_of_cells}};
  }

  // Work-around: Clang says nothing of a brace that a skipped body leaves open.
  // Trigger: a '}' is missing in the body of a kernel, which is stepped over. Symptom: the body swallows all
  // that follows it, without an error. Removal: Clang's parser complains as it does of bodies that it reads.
  void complain_of_open_braces(clang::ASTContext& context) {
    const std::vector<clang::SourceLocation> open = m_shared.tokens->open_braces();
    if (open.empty()) return;
    clang::DiagnosticsEngine& diagnostics = m_clang.getDiagnostics();
    const clang::SourceManager& sources = context.getSourceManager();
    diagnostics.Report(sources.getLocForEndOfFile(sources.getMainFileID()),
                       diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "expected '}'"));
    for (clang::SourceLocation brace : open)
      diagnostics.Report(brace,
                         diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Note, "to match this '{'"));
  }

  // A kernel of a header, instantiated for the host. Its template is not the user's, so its body is empty
  // only now.
  void note_instance(clang::FunctionDecl& function) {
    empty_kernel(function.getASTContext(), &function);
    if (function.isTemplateInstantiation() && function.hasAttr<clang::CUDAGlobalAttr>() &&
        !is_of_user(m_shared, function.getLocation()))
      m_shared.slice.has_header_kernels = true;
  }

  // To the language, main stays main. Its symbol must not be that of the process's own main. In a session it
  // is a function like others, which later cells declare.
  void name_main(clang::FunctionDecl& function) {
    if (!function.isMain() || (!function.isThisDeclarationADefinition() && !m_shared.cell)) return;
    m_shared.result.has_main = !m_shared.cell;
    const char* symbol = m_shared.unit.language == Language::c ? k_main_of_c_symbol : k_main_symbol;
    function.addAttr(clang::AsmLabelAttr::CreateImplicit(function.getASTContext(), symbol));
  }

  HostParse& m_shared;
  clang::CompilerInstance& m_clang;
  llvm::LLVMContext m_llvm;
  std::unique_ptr<clang::CodeGenerator> m_generator;
  clang::EmptyPragmaHandler m_ignored_pragmas[2] = {clang::EmptyPragmaHandler("unroll"),
                                                    clang::EmptyPragmaHandler("nounroll")};
  std::optional<LineTables> m_line_tables;
  OwnTypes m_own_types;
  bool m_holding = m_shared.cuda() || !m_shared.unit.request->options.cell.empty() ||
                   !m_shared.unit.file->debug_lines.empty();
  std::vector<std::function<void()>> m_held;
};

/// Lets Clang read the unit's file in place of the empty text that it has begun with.
bool enter_main_file(clang::CompilerInstance& clang, const std::string& path) {
  auto file = clang.getFileManager().getFileRef(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  clang::SourceManager& sources = clang.getSourceManager();
  sources.setMainFileID(sources.createFileID(*file, clang::SourceLocation(), clang::SrcMgr::C_User));
  return true;
}

class HostAction final : public clang::ASTFrontendAction {
 public:
  explicit HostAction(HostParse& shared) : m_shared(shared) {}

 protected:
  // The unit is known from here on.
  void ExecuteAction() override {
    clang::CompilerInstance& clang = getCompilerInstance();
    clang::Preprocessor& preprocessor = clang.getPreprocessor();
    clang.getLangOpts().Modules = m_shared.has_modules;
    begin_reading(m_shared, preprocessor);
    if (m_shared.cell) watch_conditions(m_shared, preprocessor);
    if (m_shared.tokens || m_shared.cell)
      preprocessor.setTokenWatcher([this](const clang::Token& token) {
        if (m_shared.tokens) m_shared.tokens->record(token);
        if (m_shared.cell) note_token(m_shared, token);
      });
    clang::ASTFrontendAction::ExecuteAction();
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    m_shared.clang = &clang;
    clang::Preprocessor& preprocessor = clang.getPreprocessor();
    if (m_shared.unit.language != Language::c) {
      add_own_pragma(preprocessor, "exports",
                     [this](clang::Preprocessor& lexer, clang::SourceLocation place) {
                       describe_exports(m_shared, lexer, place);
                     });
      add_own_pragma(preprocessor, "leading",
                     [this](clang::Preprocessor& lexer, clang::SourceLocation place) {
                       end_leading(m_shared, lexer, place);
                     });
      add_own_pragma(preprocessor, "begun", [this](clang::Preprocessor& lexer, clang::SourceLocation place) {
        end_begun(m_shared, lexer, place);
      });
      add_own_pragma(preprocessor, "hold",
                     [this](clang::Preprocessor& lexer, clang::SourceLocation) { hold(m_shared, lexer); });
    }
    const HostUnit& unit = m_shared.unit;
    prepare_preprocessor(preprocessor, unit, *m_shared.files, m_shared.result.invalid);
    preprocessor.addPPCallbacks(std::make_unique<Clocks>(m_shared.result.volatile_text, m_shared.names_main));
    if (m_shared.cuda())
      m_shared.tokens =
          std::make_unique<TokenRecorder>(preprocessor, unit.headers ? &unit.headers->leading : nullptr);
    auto consumer = std::make_unique<HostConsumer>(m_shared, clang);
    if (!unit.writes_leading) return consumer;
    auto writer = std::make_unique<ParseWriter>(clang);
    m_shared.writer = writer.get();
    std::vector<std::unique_ptr<clang::ASTConsumer>> both;
    both.push_back(std::move(writer));
    both.push_back(std::move(consumer));
    return std::make_unique<clang::MultiplexConsumer>(std::move(both));
  }

 private:
  HostParse& m_shared;
};

}  // namespace

bool has_long_word(const CompileRequest& request) {
  const auto has_long = [](const SourceFile& file) { return has_long_identifier(file.text); };
  return std::ranges::any_of(request.files, has_long) || std::ranges::any_of(request.headers, has_long);
}

HostClang::HostClang(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files)
    : m_files(std::move(files)),
      m_collector(std::make_unique<DiagnosticCollector>(unit.file->name, unit.file->text,
                                                        has_system_headers(unit.request->options))) {
  initialize_llvm();
  std::vector<std::string> arguments =
      clang_arguments(*unit.request, unit.language, main_path_of(*unit.file), unit.prelude);
  // Work-around: Clang compares an unknown name with itself in steps of its length squared.
  // Trigger: a long word that nothing declares, as of encoded data without quotation marks. Symptom: it looks
  // for what is meant for minutes. Removal: it leaves out the name itself, or long ones.
  if (has_long_word(*unit.request)) arguments.emplace_back("-fno-spell-checking");
  m_clang = make_clang(arguments, m_files, *m_collector, unit.language == Language::cuda);
  if (!m_clang) return;
  m_parse = std::make_unique<HostParse>(unit, *m_collector, m_files.get());
  m_action = std::make_unique<HostAction>(*m_parse);
}

HostClang::~HostClang() {
  if (m_parse && m_parse->leaves) {
    static_cast<void>(m_action.release());
    static_cast<void>(m_parse.release());
    static_cast<void>(m_clang.release());
    return;
  }
  if (m_has_begun) m_action->EndSourceFile();
  m_action.reset();
  m_parse.reset();
}

bool HostClang::begin() {
  begin_source();
  if (m_parse) m_parse->unit = {};
  return m_has_begun;
}

// The unit's file comes later: until then, Clang has an empty text.
void HostClang::begin_source() {
  if (!m_clang || std::exchange(m_has_tried, true)) return;
  if (!m_action->PrepareToExecute(*m_clang) || !m_clang->createTarget()) return;
  const clang::FrontendInputFile& file = m_clang->getFrontendOpts().Inputs.front();
  m_has_begun =
      m_action->BeginSourceFile(*m_clang, {llvm::MemoryBufferRef("", file.getFile()), file.getKind()});
}

HostResult HostClang::compile(const HostUnit& unit, const HostHooks& hooks) {
  HostResult result;
  for (std::string fault :
       {fault_of_march(unit.request->options.march), fault_of_warnings(unit.request->options)})
    if (!fault.empty()) {
      result.diagnostics.push_back({"", 0, 0, Severity::error, std::move(fault)});
      return result;
    }
  const bool stops = unit.leading && hooks.on_leading;
  const std::string main_path = main_path_of(*unit.file);
  m_text.emplace(*unit.file, stops ? unit.leading : std::nullopt,
                 unit.language == Language::c ? std::string_view() : k_ending);
  m_files->add_text(main_path, m_text->bytes(), unit.file->text);
  m_collector->set_main_text(unit.file->name, unit.file->text);
  m_collector->find_header_remedies([&](llvm::StringRef name) { return header_remedy(name, *unit.request); });
  bool led = false;
  if (m_clang) {
    HostParse& shared = *m_parse;
    shared.unit = unit;
    shared.hooks = hooks;
    shared.text = &*m_text;
    shared.begun_as = unit.file->name;
    shared.cell = cell_of(*unit.request);
    if (const auto& functions = unit.request->options.functions) {
      shared.choice.restricted = true;
      shared.choice.wanted.insert(functions->begin(), functions->end());
    }
    if (shared.cuda())
      m_collector->pass_over_where([&] { return shared.sema && is_in_device_body(*shared.sema); });
    shared.start = std::chrono::steady_clock::now();
    if (!m_has_tried) {
      begin_source();
      shared.result.timings.emplace_back("begin", milliseconds_since(shared.start));
      shared.start = std::chrono::steady_clock::now();
    }
    if (m_has_begun && enter_main_file(*m_clang, main_path)) llvm::consumeError(m_action->Execute());
    led = shared.led;
    if (shared.closed_braces > 0)
      shared.result.open_braces = shared.cell->open_braces(unit.request->options.cell);
    result = std::move(shared.result);
  }
  if (stops && !led && m_collector->getNumErrors() == 0) {  // something in the headers swallowed the pragma
    HostUnit whole = unit;
    whole.leading = std::nullopt;
    return compile_host(whole, m_files, hooks);
  }
  if (m_collector->met_openmp() && !keeps_openmp_off(unit.request->options)) {
    result = HostResult();
    result.needs_openmp = true;
    return result;
  }
  result.needs = m_collector->needs();
  result.diagnostics = m_collector->take();
  if (m_collector->getNumErrors() > 0) explain_errors_of_cell(*unit.request, result.diagnostics);
  result.diagnostics.insert(result.diagnostics.end(), result.open_braces.begin(), result.open_braces.end());
  for (Diagnostic& diagnostic : result.diagnostics) blame_wanted(diagnostic, unit.request->options.kernels);
  for (const Diagnostic& diagnostic : result.diagnostics)
    if (diagnostic.severity >= Severity::error) result.ok = false;
  return result;
}

HostResult compile_host(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                        const HostHooks& hooks) {
  return HostClang(unit, std::move(files)).compile(unit, hooks);
}

}  // namespace tarsia::jit
