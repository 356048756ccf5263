// The device's half by Clang: parse, code, libdevice, PTX, cubin.
#include "jit/worker/nvptx/nvptx_compiler.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/figures/elapsed.h"
#include "base/file.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/CodeGen/BackendUtil.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "clang/Sema/SemaCUDA.h"
#include "clang/Sema/SemaConsumer.h"
#include "jit/build_id.h"
#include "jit/worker/device/diagnostic_list.h"
#include "jit/worker/device/nvrtc_includes.h"
#include "jit/worker/device/nvrtc_log.h"
#include "jit/worker/device/ptxas_log.h"
#include "jit/worker/host/allowances.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/host/end_of_text.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/host/wanted_kernels.h"
#include "jit/worker/nvptx/device_module.h"
#include "jit/worker/nvptx/nvjitlink.h"
#include "jit/worker/nvptx/nvptx_setup.h"
#include "jit/worker/prelude/further_includes.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/file_checks.h"
#include "jit/worker/source/names/near_headers.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

using Clock = std::chrono::steady_clock;

/// What instantiates a type that lacks `typename`, or a call that lacks `template`, may lead to more of them.
constexpr int k_most_rounds = 8;

/// What one pass over the text yields.
struct Pass {
  std::string ptx;
  std::set<std::string> symbols;
  bool has_variables = false;
  std::vector<std::string> errors;  ///< of the code generator, without places
  bool uses_passed_over = false;    ///< a template is used in which errors were passed over
};

/// What a pass needs.
struct Task {
  const NvptxUnit& unit;
  const std::atomic<bool>* cancelled = nullptr;
  std::string libdevice;  ///< its bytes; empty if there is none
  Pass& pass;
  std::vector<std::pair<std::string, double>>& timings;
  bool& invalid;  ///< set where a header on disk is no text
  Allowances allowances;
  const DiagnosticCollector& collector;
  bool judges_templates = false;                          ///< also those that nobody seems to use
  clang::Sema* sema = nullptr;                            ///< not before the parse begins
  std::set<const clang::FunctionDecl*> passed_over = {};  ///< templates in which errors were passed over
  bool is_cancelled() const { return cancelled && *cancelled; }
};

// Work-around: Clang judges host functions and unused templates as strictly as device code.
// Trigger: under __CUDA_ARCH__, a host function that calls an operator of the device's, and `using ::arg;` in
// a template that nobody uses, both in Eigen's headers; nvcc takes them. Symptom: "invalid operands to binary
// expression"; "no member named 'arg' in the global namespace". Nothing is made of host functions here: the
// host's half judges them. If such a template is used, the text is parsed once more, and told of. Removal:
// Clang has a flag for that.
bool is_judged_elsewhere(Task& task) {
  if (!task.sema) return false;
  const clang::FunctionDecl* function = task.sema->getCurFunctionDecl(/*AllowLambda=*/true);
  if (!function) return false;
  if (task.sema->CUDA().IdentifyTarget(function) == clang::CUDAFunctionTarget::Host) return true;
  if (task.judges_templates || !task.sema->CodeSynthesisContexts.empty()) return false;
  function = task.sema->getCurFunctionDecl();
  if (!function || !function->isDependentContext()) return false;
  task.passed_over.insert(function->getCanonicalDecl());
  return true;
}

/// Keeps the code generator's errors. Without it LLVM prints them and ends the process.
class Errors final : public llvm::DiagnosticHandler {
 public:
  explicit Errors(std::vector<std::string>& errors) : m_errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    std::string& text = m_errors.emplace_back();
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }

 private:
  std::vector<std::string>& m_errors;
};

/// Tells Clang that the host refers to all device variables of the user's, as Tarsia's tables do: static ones
/// then have symbols.
void note_variables(clang::ASTContext& context, clang::Decl* decl) {
  if (auto* scope = llvm::dyn_cast<clang::NamespaceDecl>(decl))
    for (clang::Decl* inner : scope->decls()) note_variables(context, inner);
  if (auto* scope = llvm::dyn_cast<clang::LinkageSpecDecl>(decl))
    for (clang::Decl* inner : scope->decls()) note_variables(context, inner);
  auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
  if (!variable || variable->isTemplated() || !variable->hasGlobalStorage()) return;
  // A declaration of a class that is not defined (yet): nothing can use it.
  if (context.getBaseElementType(variable->getType())->isIncompleteType()) return;
  // A constexpr variable is __constant__ without a word of the user's. The host has its own; and the code
  // generator takes a time that grows with the square of the number of variables here.
  const auto* on_device = variable->getAttr<clang::CUDADeviceAttr>();
  const auto* constant = variable->getAttr<clang::CUDAConstantAttr>();
  if ((!on_device || on_device->isImplicit()) && (!constant || constant->isImplicit())) return;
  const clang::SourceManager& sources = context.getSourceManager();
  if (sources.isInSystemHeader(sources.getExpansionLoc(variable->getLocation()))) return;
  context.CUDADeviceVarODRUsedByHost.insert(variable);
}

class Consumer final : public clang::SemaConsumer {
 public:
  Consumer(Task& task, clang::CompilerInstance& clang) : m_task(task), m_clang(clang) {
    m_llvm.setDiscardValueNames(clang.getCodeGenOpts().DiscardValueNames);
    m_generator.reset(clang::CreateLLVMCodeGen(clang, "tarsia_device", m_llvm).release());
  }

  void Initialize(clang::ASTContext& context) override {
    m_context = &context;
    m_generator->Initialize(context);
  }
  void InitializeSema(clang::Sema& sema) override {
    m_task.sema = &sema;
    allow(m_task.allowances, sema);
    // Statements of a session's cell stand outside of functions, and run on the host.
    if (m_task.unit.request->options.cell.empty()) return;
    sema.CUDA().CurCUDATargetCtx.Target = clang::CUDAFunctionTarget::Host;
  }
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    if (m_task.is_cancelled()) return false;
    forget_passed_over();
    for (clang::Decl* decl : group) {
      if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
        name_main(*function);
        const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern();
        m_task.pass.uses_passed_over |= pattern && m_task.passed_over.contains(pattern->getCanonicalDecl());
      }
      if (llvm::isa<clang::TopLevelStmtDecl>(decl)) return true;  // a session's statement runs on the host
      note_variables(*m_context, decl);
    }
    // What NVRTC has compiled is known at the end: until then nothing is made of kernels, nor of what they
    // call.
    if (auto* kernel = group.isSingleDecl() ? may_be_left_out(group.getSingleDecl()) : nullptr) {
      m_kernels.push_back(kernel);
      return true;
    }
    return m_generator->HandleTopLevelDecl(group);
  }
  void HandleInlineFunctionDefinition(clang::FunctionDecl* decl) override {
    forget_passed_over();
    m_generator->HandleInlineFunctionDefinition(decl);
  }
  void HandleInterestingDecl(clang::DeclGroupRef group) override { HandleTopLevelDecl(group); }
  void HandleTagDeclDefinition(clang::TagDecl* decl) override {
    forget_passed_over();
    m_generator->HandleTagDeclDefinition(decl);
  }
  void HandleTagDeclRequiredDefinition(const clang::TagDecl* decl) override {
    m_generator->HandleTagDeclRequiredDefinition(decl);
  }
  void HandleCXXStaticMemberVarInstantiation(clang::VarDecl* decl) override {
    note_variables(*m_context, decl);
    m_generator->HandleCXXStaticMemberVarInstantiation(decl);
  }
  void CompleteTentativeDefinition(clang::VarDecl* decl) override {
    m_generator->CompleteTentativeDefinition(decl);
  }
  void HandleVTable(clang::CXXRecordDecl* decl) override { m_generator->HandleVTable(decl); }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    m_task.timings.emplace_back("clang parse", milliseconds_since(m_start));
    end_allowances(m_task.allowances, m_clang.getLangOpts());
    forget_passed_over();
    const clang::DiagnosticsEngine& diagnostics = m_clang.getDiagnostics();
    // The client may know of errors that Clang has passed over.
    const bool failed = diagnostics.hasErrorOccurred() || m_task.collector.getNumErrors() != 0;
    if (failed || m_task.pass.uses_passed_over || m_task.is_cancelled()) return;
    std::set<std::string> left_out;
    if (m_task.unit.left_out) left_out = m_task.unit.left_out();
    if (m_task.is_cancelled()) return;
    const auto start = Clock::now();
    for (clang::FunctionDecl* kernel : m_kernels)
      if (!left_out.contains(mangled_name(context, *kernel)))
        m_generator->HandleTopLevelDecl(clang::DeclGroupRef(kernel));
    if (m_task.unit.request->options.cell.empty())
      for (clang::VarDecl* variable : define_declared_variables(context)) {
        warn_of_definition(*variable);
        m_generator->HandleTopLevelDecl(clang::DeclGroupRef(variable));
      }
    m_generator->HandleTranslationUnit(context);
    if (diagnostics.hasErrorOccurred()) return;
    const std::unique_ptr<llvm::Module> module(m_generator->ReleaseModule());
    if (!module) return;
    m_llvm.setDiagnosticHandler(std::make_unique<Errors>(m_task.pass.errors));
    make_ptx(*module, left_out);
    m_llvm.setDiagnosticHandler(nullptr);
    m_task.timings.emplace_back("clang code", milliseconds_since(start));
  }

 private:
  /// The code generator makes nothing of what follows an error.
  void forget_passed_over() const {
    tarsia::jit::forget_passed_over(m_clang.getDiagnostics(), m_task.collector);
  }

  // The host's main has a symbol of its own (jit/worker/host/host_compiler.cpp). Names of lambdas and types
  // within a function depend on whether it has one, and not on which.
  void name_main(clang::FunctionDecl& function) const {
    const bool in_cell = !m_task.unit.request->options.cell.empty();
    if (function.isMain() && (function.isThisDeclarationADefinition() || in_cell))
      function.addAttr(clang::AsmLabelAttr::CreateImplicit(*m_context, "main"));
  }

  /// As NVRTC does: another text's variable of this name is another variable.
  void warn_of_definition(const clang::VarDecl& variable) const {
    clang::DiagnosticsEngine& diagnostics = m_clang.getDiagnostics();
    const unsigned id =
        diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Warning,
                                    "extern declaration of the entity %0 is treated as a static definition");
    diagnostics.Report(variable.getLocation(), id) << variable.getNameAsString();
  }

  clang::FunctionDecl* may_be_left_out(clang::Decl* decl) const {
    auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl);
    const bool may_be = m_task.unit.left_out && function && function->hasAttr<clang::CUDAGlobalAttr>() &&
                        !function->isDependentContext() && function->doesThisDeclarationHaveABody();
    return may_be ? function : nullptr;
  }

  void make_ptx(llvm::Module& module, const std::set<std::string>& left_out) {
    Pass& pass = m_task.pass;
    mark_managed(module);
    if (!m_task.libdevice.empty())
      if (std::string fault = link_libdevice(module, m_task.libdevice); !fault.empty())
        pass.errors.push_back(std::move(fault));
    // What is called by name alone is checked before the optimiser makes calls of its own of it.
    for (const std::string& name : undefined_functions(module)) {
      if (name.starts_with("__nv_") && m_task.libdevice.empty())
        pass.errors.push_back("device code calls " + name.substr(5) +
                              ", which is in CUDA's libdevice, and that was not found; install it with `pip "
                              "install nvidia-nvvm`, or set TARSIA_CUDA_HOME to a CUDA toolkit");
      else
        pass.errors.push_back("device code calls '" + llvm::demangle(name) +
                              "', which is defined nowhere in this source; define it here, marked "
                              "__device__");
    }
    if (!pass.errors.empty() || m_task.is_cancelled()) return;
    if (!m_task.unit.kernels.empty()) keep_kernels(module, m_task.unit.kernels);
    if (!left_out.empty()) leave_out(module, left_out);
    hide_functions(module);
    pass.symbols = symbols_of(module);
    llvm::SmallVector<char, 0> bytes;
    clang::emitBackendOutput(m_clang, m_clang.getCodeGenOpts(), m_clang.getTarget().getDataLayoutString(),
                             &module, clang::Backend_EmitAssembly, m_clang.getVirtualFileSystemPtr(),
                             std::make_unique<llvm::raw_svector_ostream>(bytes));
    pass.ptx.assign(bytes.begin(), bytes.end());
    pass.has_variables = !left_out.empty() && has_variables(module);
  }

  Task& m_task;
  clang::CompilerInstance& m_clang;
  clang::ASTContext* m_context = nullptr;
  llvm::LLVMContext m_llvm;
  std::unique_ptr<clang::CodeGenerator> m_generator;
  std::vector<clang::FunctionDecl*> m_kernels;  ///< which may be left out
  Clock::time_point m_start = Clock::now();
};

class Action final : public clang::ASTFrontendAction {
 public:
  Action(Task& task, SourceFileSystem& files) : m_task(task), m_files(files) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    clang::Preprocessor& preprocessor = clang.getPreprocessor();
    take_pragmas_of_nvcc(preprocessor);
    preprocessor.addPPCallbacks(make_debug_pragmas());
    preprocessor.addPPCallbacks(make_file_checks(preprocessor, m_files, m_task.invalid));
    return std::make_unique<Consumer>(m_task, clang);
  }

 private:
  Task& m_task;
  SourceFileSystem& m_files;
};

/// What nvJitLink says went wrong, in the words of NVRTC's log. Not empty.
std::vector<Diagnostic> errors_of_nvjitlink(const NvptxUnit& unit, const std::string& log) {
  std::string messages;
  const std::string text = without_figures(log);
  for (llvm::StringRef rest = text; !rest.empty();) {
    const auto [line, more] = rest.split('\n');
    rest = more;
    if (!line.starts_with("ERROR ")) messages += line.str() + '\n';
  }
  std::vector<Diagnostic> errors = parse_nvrtc_log(messages);
  std::erase_if(errors, [](const Diagnostic& one) { return one.severity < Severity::error; });
  if (errors.empty()) errors.push_back(error_of(*unit.file, "nvJitLink: " + log));
  for (Diagnostic& error : errors)
    if (error.file.empty()) error.file = unit.file->name;
  return errors;
}

/// The cubin of a PTX text, from the parts that are kept or made by nvJitLink.
NvJitLinkOutput cubin_of(const CompileRequest& request, const std::string& arch, const std::string& ptx,
                         PartStore& parts) {
  std::vector<std::string> options = {"-arch=" + arch, "-verbose"};
  options.push_back(request.options.debug ? "-O0" : "-O3");
  if (request.options.debug) options.push_back("-g");
  add_line_option(request.options, options);
  if (request.options.maxrregcount > 0)
    options.push_back("-maxrregcount=" + std::to_string(request.options.maxrregcount));
  Hasher hasher("tarsia nvJitLink part");
  hasher.field(build_id()).field(request.cuda_parts.clang_identity).field(ptx);
  for (const std::string& option : options) hasher.field(option);
  const Digest key = hasher.finish();
  if (const auto bytes = parts.find(PartKind::device, key)) {
    const nlohmann::json kept = nlohmann::json::from_msgpack(*bytes, true, /*allow_exceptions=*/false);
    if (kept.is_array() && kept.size() == 2 && kept[0].is_string() && kept[1].is_binary()) {
      const auto& cubin = kept[1].get_binary();
      return {true, {cubin.begin(), cubin.end()}, kept[0]};
    }
  }
  NvJitLinkOutput output = NvJitLink::open(request.cuda_parts.nvjitlink).compile(ptx, options);
  if (output.ok) {
    const std::vector<std::uint8_t> cubin(output.cubin.begin(), output.cubin.end());
    const auto packed = nlohmann::json::to_msgpack({output.log, nlohmann::json::binary(cubin)});
    parts.keep(PartKind::device, key, {packed.begin(), packed.end()});
  }
  return output;
}

class Compile {
 public:
  Compile(const NvptxUnit& unit, const MakeFiles& make_files, PartStore& parts,
          const std::atomic<bool>* cancelled)
      : m_unit(unit),
        m_request(*unit.request),
        m_make_files([make_files] {
          auto files = make_files();
          add_nvptx_headers(*files);
          return files;
        }),
        m_files(m_make_files()),
        m_parts(parts),
        m_cancelled(cancelled) {}

  NvptxResult run() {
    for (const std::string& arch : m_request.options.archs)
      if (std::string fault = fault_of_arch(arch); !fault.empty()) return fail(std::move(fault));
    m_leading = leading_part(*m_unit.file, m_request);
    std::string libdevice;
    if (const std::string& path = m_request.cuda_parts.libdevice; !path.empty()) libdevice = read_file(path);
    const std::string main_path = std::string(k_source_dir) + "/" + m_unit.file->name;
    std::string text = m_unit.file->text;
    if (!m_request.options.kernels.empty()) text += "\n;\n" + text_of_wanted(m_request.options.kernels);
    std::string below = text;  // a prelude's own includes
    for (size_t i = 0; i < m_leading.end; ++i)
      if (below[i] != '\n') below[i] = ' ';
    for (const std::string& arch : m_request.options.archs)
      if (!compile(arch, main_path, text, below, libdevice)) break;
    m_result.device.dependencies = m_files->dependencies();
    m_result.device.ok =
        !is_cancelled() && !has_errors(m_result.device.diagnostics) && !m_request.options.archs.empty();
    if (is_cancelled()) m_result.device.diagnostics.clear();
    return std::move(m_result);
  }

 private:
  bool is_cancelled() const { return m_cancelled && *m_cancelled; }

  NvptxResult fail(std::string message) {
    m_result.device.diagnostics.push_back(error_of(*m_unit.file, std::move(message)));
    return std::move(m_result);
  }

  /// The virtual path of a prelude that the files now have; "": none.
  std::string find_prelude(const std::string& arch) {
    if (!m_unit.preludes || m_leading.empty()) return {};
    const auto start = Clock::now();
    const std::string text = m_leading.text(*m_unit.file);
    const std::string path = "/tarsia/prelude_" + arch;
    const std::vector<std::string> arguments = nvptx_arguments(m_request, path + ".h", arch, "");
    Hasher hasher("tarsia device prelude");
    hasher.field(build_id()).field(text);
    for (const std::string& argument : arguments) hasher.field(argument);
    for (const std::string& dir : m_request.cuda_parts.include_dirs) hasher.field(dir);
    for (const auto* group : {&m_request.files, &m_request.headers})  // the includes may read one of them
      for (const SourceFile& file : *group) {
        hasher.field(file.name);
        if (&file != m_unit.file) hasher.field(file.text);
      }
    const Digest key = hasher.finish();
    std::shared_ptr<const KeptLayer> prelude = m_unit.preludes->find(key, m_parts);
    if (!prelude && DevicePreludes::is_worth_while(key, m_parts)) {
      bool refused = false;
      prelude = make_device_prelude(arguments, path + ".h", text, m_make_files(), refused);
      if (prelude) DevicePreludes::keep(key, *prelude, m_parts);
      if (refused) DevicePreludes::give_up(key, m_parts);
    }
    if (!prelude) return {};
    m_result.device.timings.emplace_back("clang prelude", milliseconds_since(start));
    m_files->add_text(path + ".pch", {prelude->layer().pch.data(), prelude->layer().pch.size()});
    m_texts.push_back(text);
    m_files->add_text(path + ".h", m_texts.back());
    m_files->inherit(prelude->layer().dependencies);
    m_used.push_back(std::move(prelude));
    return path + ".pch";
  }

  bool may_be_in_prelude(const std::string& path, const std::string& main_path) const {
    if (path == main_path) return false;
    if (path.starts_with(k_source_dir)) return true;
    return std::ranges::any_of(m_used, [&](const auto& prelude) {
      return std::ranges::any_of(prelude->layer().dependencies,
                                 [&](const Dependency& one) { return one.path == normal_path(path); });
    });
  }

  bool compile(const std::string& arch, const std::string& main_path, const std::string& text,
               const std::string& below, const std::string& libdevice) {
    Pass pass;
    DeviceResult& result = m_result.device;
    std::string prelude;
    const auto parse_once = [&](const Allowances& allowances, bool judges_templates) {
      pass = Pass();
      DiagnosticCollector collector(m_unit.file->name, m_unit.file->text,
                                    has_system_headers(m_request.options));
      Task task{m_unit,     m_cancelled, libdevice,       pass, result.timings, result.invalid,
                allowances, collector,   judges_templates};
      collector.pass_over_where([&task] { return is_judged_elsewhere(task); });
      collector.find_header_remedies([&](llvm::StringRef name) { return header_remedy(name, m_request); });
      if (auto clang =
              make_device_clang(nvptx_arguments(m_request, main_path, arch, prelude), m_files, collector)) {
        Action action(task, *m_files);
        clang->ExecuteAction(action);
      }
      collector.pass_over_where(nullptr);
      return collector;
    };
    const auto parse = [&](const Allowances& allowances) {
      DiagnosticCollector collector = parse_once(allowances, /*judges_templates=*/false);
      if (pass.uses_passed_over) collector = parse_once(allowances, /*judges_templates=*/true);
      return collector;
    };
    on_large_stack([&] {
      prelude = find_prelude(arch);
      m_files->add_text(main_path, prelude.empty() ? text : below, m_unit.file->text);
      DiagnosticCollector collector = parse({});
      if (collector.needs().any())
        if (DiagnosticCollector again = parse(collector.needs()); again.getNumErrors() == 0)
          collector = std::move(again);
      // Work-around: Clang refuses types without `typename`, and templates without `template`, where nvcc
      // does not. Trigger: `static_assert(sizeof(T::type) != 1)`, and `x.f<3>(y)` of a dependent x, in a
      // template of device code. Symptom: "missing 'typename' prior to dependent type name"; "reference to
      // non-static member function must be called". Removal: Clang takes it, or has a flag for that.
      if (collector.getNumErrors() != 0 && !collector.missing_words().empty()) {
        DiagnosticCollector again = collector;
        for (int round = 0; round < k_most_rounds && again.getNumErrors() != 0; ++round) {
          if (again.missing_words().empty()) break;
          auto words = again.missing_words();
          const auto is_meant = [&](const auto& one) { return may_be_in_prelude(one.first, main_path); };
          if (!prelude.empty() && std::ranges::any_of(words, is_meant)) {
            // A prelude's headers could not change. What was inserted in the main text before is told anew.
            m_files->add_text(main_path, text, m_unit.file->text);
            prelude.clear();
            if (round > 0) words.erase(main_path);
          }
          for (const auto& [path, some] : words) m_files->insert(path, some);
          again = parse(collector.needs());
        }
        if (again.getNumErrors() == 0) collector = std::move(again);
      }
      append_new(result.diagnostics, collector.take());
    });
    for (std::string& error : pass.errors)
      result.diagnostics.push_back(error_of(*m_unit.file, std::move(error)));
    if (has_errors(result.diagnostics) || is_cancelled()) return false;
    m_result.symbols.insert(pass.symbols.begin(), pass.symbols.end());
    m_result.has_variables |= pass.has_variables;
    m_result.ptx = std::move(pass.ptx);
    const std::string& ptx = m_result.ptx;
    if (m_request.cuda_parts.nvjitlink.empty()) {
      // The driver makes the machine code when it loads the PTX.
      result.images.push_back({"compute_" + arch.substr(3), ptx});
      return true;
    }
    const auto start = Clock::now();
    NvJitLinkOutput made = cubin_of(m_request, arch, ptx, m_parts);
    result.timings.emplace_back("nvJitLink " + arch, milliseconds_since(start));
    if (!made.ok) {
      std::vector<Diagnostic> errors = errors_of_nvjitlink(m_unit, made.log);
      place_in_source(arch, errors);
      append_new(result.diagnostics, std::move(errors));
      return false;
    }
    append_new(result.diagnostics, spills_of(made.log, m_unit.file->name, arch));
    result.images.push_back({arch, std::move(made.cubin)});
    if (m_request.options.ptx && &arch == &m_request.options.archs.back())
      result.images.push_back({"compute_" + arch.substr(3), ptx});
    return true;
  }

  /// ptxas tells lines of the PTX. Those of the source are in a PTX that is made once more, with its lines.
  void place_in_source(const std::string& arch, std::vector<Diagnostic>& errors) {
    if (ptxas_lines(errors).empty()) return;
    if (!keeps_lines(m_request.options)) {
      CompileRequest request = m_request;
      keep_lines(request.options);
      request.options.archs = {arch};
      request.options.ptx = false;
      NvptxUnit unit = m_unit;
      unit.request = &request;
      unit.preludes = nullptr;  // their debug information is none
      NvptxResult again = Compile(unit, m_make_files, m_parts, m_cancelled).run();
      if (is_cancelled() || !has_errors(again.device.diagnostics)) return;
      std::erase_if(again.device.diagnostics,
                    [](const Diagnostic& one) { return one.severity < Severity::error; });
      errors = std::move(again.device.diagnostics);
      return;
    }
    for (const PtxasMessage& message : ptxas_lines(errors)) {
      Diagnostic& error = errors[message.diagnostic];
      Diagnostic place = source_of_ptx_line(m_result.ptx, message.ptx_line);
      if (place.line == 0) continue;
      llvm::StringRef file = place.file;
      for (const std::string& folder : {m_request.source_dir + "/", std::string("./")})
        if (folder != "/") file.consume_front(folder);
      error.file = file.str();
      error.line = place.line;
      error.column = place.column;
      error.message = "ptxas: " + error.message.substr(error.message.find(": ") + 2);
    }
  }

  const NvptxUnit& m_unit;
  const CompileRequest& m_request;
  const MakeFiles m_make_files;
  const llvm::IntrusiveRefCntPtr<SourceFileSystem> m_files;
  LeadingPart m_leading;
  std::vector<std::shared_ptr<const KeptLayer>> m_used;  ///< which the files show, …
  std::deque<std::string> m_texts;                       ///< … and their texts
  PartStore& m_parts;
  const std::atomic<bool>* m_cancelled;
  NvptxResult m_result;
};

}  // namespace

NvptxResult compile_nvptx(const NvptxUnit& unit, const MakeFiles& make_files, PartStore& parts,
                          const std::atomic<bool>* cancelled) {
  initialize_nvptx();
  return Compile(unit, make_files, parts, cancelled).run();
}

}  // namespace tarsia::jit
