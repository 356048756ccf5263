// Slots in the place of references, and the table that tells of them.
#include "jit/worker/cell/cell_linkage.h"

#include <optional>
#include <set>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "jit/worker/cell/cell_code.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/ReplaceConstant.h"

namespace tarsia::jit {
namespace {

constexpr char k_call_of_nothing[] = "tarsia_cell_call_of_nothing";
constexpr std::size_t k_most_uses = 5;          // that are told of what is not defined
constexpr char k_initialiser[] = "__tls_init";  // of a module's thread_local variables, as Clang calls it

enum class Kind { function, variable, shared, thread_variable };

struct Symbol {
  llvm::GlobalValue* value;
  Kind kind;
  std::string type;
  llvm::GlobalVariable* slot = nullptr;
  llvm::Function* accessor =
      nullptr;  ///< gives the calling thread's; null: it is not thread_local, or not defined here
  /// Of a function: the slot of its address, which stays the same when another definition takes its place.
  llvm::GlobalVariable* address_slot = nullptr;
  llvm::Function* thunk = nullptr;      ///< what lies there: it jumps to the newest definition
  std::string uses;                     ///< of what this module does not define: "cell 1:4, cell 1:9"
  llvm::Function* complaint = nullptr;  ///< of a function: what is called as long as nobody defines it
  bool defined() const { return !value->isDeclaration(); }
  /// What the slot of its own module holds at first.
  llvm::GlobalValue* definition() const { return accessor ? accessor : value; }
};

class CellLinker {
 public:
  CellLinker(clang::CodeGenerator& generator, llvm::Module& module, clang::ASTContext& context)
      : m_generator(generator), m_module(module), m_context(context), m_pointer(pointer_type()) {}

  void link(const std::string& info) {
    // As NoKeyFunctions leaves them.
    for (llvm::Function& function : m_module)
      function.setDLLStorageClass(llvm::GlobalValue::DefaultStorageClass);
    take_ends_of_threads(m_module);
    note_places(m_module);
    take_run(m_module);
    find_symbols();
    find_initialisers();
    for (Symbol& symbol : m_symbols) add_accessor(symbol);
    for (Symbol& symbol : m_symbols) add_slot(symbol);
    for (Symbol& symbol : m_symbols) add_complaint(symbol);
    for (Symbol& symbol : m_symbols) add_thunk(symbol);
    for (Symbol& symbol : m_symbols) use_slot(symbol);
    for (llvm::Function& function : m_module) keep_faults(function);
    move_initial_values();
    add_table(info);
  }

 private:
  llvm::PointerType* pointer_type() const { return llvm::PointerType::getUnqual(m_module.getContext()); }
  llvm::IntegerType* int64() const { return llvm::Type::getInt64Ty(m_module.getContext()); }

  const clang::Decl* decl_of(const llvm::GlobalValue& value) const {
    return m_generator.GetDeclForMangledName(value.getName());
  }

  /// Whether a text of the request is the first to declare it.
  bool is_of_session(const clang::Decl& decl) const {
    const clang::SourceManager& sources = m_context.getSourceManager();
    const clang::SourceLocation place = sources.getExpansionLoc(decl.getCanonicalDecl()->getLocation());
    return place.isValid() && sources.getFilename(place).starts_with(k_source_dir);
  }

  std::string type_of(const clang::Decl& decl) const {
    const auto* value = llvm::dyn_cast<clang::ValueDecl>(&decl);
    std::string type = value ? value->getType().getCanonicalType().getAsString() : std::string();
    // A lambda's type is named by its place. A later cell reads the cell's text by the name that users know.
    const std::string folder = std::string(k_source_dir) + "/";
    for (std::size_t at = type.find(folder); at != type.npos; at = type.find(folder, at))
      type.erase(at, folder.size());
    // Its column is another one where a shorter text stands for what lies before it in its line.
    for (std::size_t at = type.find("(lambda at "); at != type.npos; at = type.find("(lambda at ", at + 1)) {
      const std::size_t close = type.find(')', at), column = type.rfind(':', close);
      if (close != type.npos && column > at) type.erase(column, close - column);
    }
    return type;
  }

  void find_symbols() {
    for (llvm::Function& function : m_module) {
      if (function.isIntrinsic() || function.hasWeakLinkage() || function.hasLinkOnceLinkage()) continue;
      if (function.getName().starts_with(k_builtin_prefix)) {
        if (function.isDeclaration()) m_symbols.push_back({&function, Kind::function, {}});
        continue;
      }
      const clang::Decl* decl = decl_of(function);
      // Thunks of virtual functions, which virtual tables name, are made where the functions are defined.
      const bool is_thunk = !decl && is_virtual_thunk(function.getName());
      if (is_thunk && function.hasAvailableExternallyLinkage()) function.deleteBody();
      if (is_thunk && function.hasExternalLinkage()) m_symbols.push_back({&function, Kind::function, {}});
      if (!decl || !is_of_session(*decl)) continue;
      if (function.hasLocalLinkage() && !is_at_namespace_scope(*decl)) continue;
      m_symbols.push_back({&function, Kind::function, type_of(*decl)});
    }
    if (llvm::any_of(m_symbols, is_missing_function)) {
      auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m_module.getContext()),
                                           {m_pointer, m_pointer}, false);
      auto* complains =
          llvm::cast<llvm::Function>(m_module.getOrInsertFunction(k_call_of_nothing, type).getCallee());
      m_symbols.push_back({complains, Kind::function, {}});
    }
    // Constructors and destructors that are others' by another name.
    for (llvm::GlobalAlias& alias : m_module.aliases()) {
      if (!llvm::isa<llvm::Function>(alias.getAliaseeObject()) || !alias.hasExternalLinkage()) continue;
      const clang::Decl* decl = decl_of(alias);
      if (decl && llvm::isa<clang::FunctionDecl>(decl) && is_of_session(*decl))
        m_symbols.push_back({&alias, Kind::function, type_of(*decl)});
    }
    for (llvm::GlobalVariable& variable : m_module.globals()) {
      if (variable.getName().starts_with("llvm.") || variable.hasSection()) continue;
      const bool is_of_thread = variable.isThreadLocal();
      if (variable.hasWeakLinkage() || variable.hasLinkOnceLinkage()) {
        // What ties a module to libtarsia is its own.
        if (variable.getName().starts_with("tarsia_")) continue;
        if (!variable.isConstant() && !variable.isDeclaration())
          m_symbols.push_back({&variable, Kind::shared, is_of_thread ? "thread_local" : ""});
        continue;
      }
      const clang::Decl* decl = decl_of(variable);
      if (!decl || !llvm::isa<clang::VarDecl>(decl) || !is_of_session(*decl) || !is_at_namespace_scope(*decl))
        continue;
      // Each module has the constants of the language that it uses; those of others are kept here
      // (keep_definitions).
      if (variable.isConstant() && variable.hasLocalLinkage() && !decl->hasAttr<clang::UsedAttr>()) continue;
      if (is_of_thread)
        m_symbols.push_back({&variable, Kind::thread_variable, "thread_local " + type_of(*decl)});
      else
        m_symbols.push_back({&variable, Kind::variable, type_of(*decl)});
    }
  }

  static bool is_at_namespace_scope(const clang::Decl& decl) {
    const clang::DeclContext* scope = decl.getDeclContext()->getRedeclContext();
    return scope->isFileContext() || scope->isRecord();
  }

  void add_slot(Symbol& symbol) {
    llvm::GlobalValue& value = *symbol.value;
    symbol.slot = new llvm::GlobalVariable(
        m_module, m_pointer, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
        symbol.defined() ? static_cast<llvm::Constant*>(symbol.definition())
                         : llvm::ConstantPointerNull::get(m_pointer),
        "tarsia.slot." + value.getName());
    symbol.slot->setVisibility(llvm::GlobalValue::HiddenVisibility);
    symbol.slot->setDSOLocal(true);
  }

  static bool is_virtual_thunk(llvm::StringRef name) {
    return name.starts_with("_ZTh") || name.starts_with("_ZTv") || name.starts_with("_ZTc");
  }

  static bool is_missing_function(const Symbol& symbol) {
    return symbol.kind == Kind::function && !symbol.defined() &&
           !symbol.value->getName().starts_with(k_builtin_prefix);
  }

  /// "cell 3:2"; empty if the file is no cell.
  static std::string place_in_cell(llvm::StringRef file, unsigned line) {
    if (file.consume_front(k_source_dir)) file.consume_front("/");
    return file.starts_with("cell ") && line > 0 ? (file + ":" + llvm::Twine(line)).str() : std::string();
  }

  std::string place_of(const clang::Decl& decl) const {
    const clang::PresumedLoc place = m_context.getSourceManager().getPresumedLoc(decl.getLocation());
    return place.isValid() ? place_in_cell(place.getFilename(), place.getLine()) : std::string();
  }

  /// The lines of the module's cell that use the value; if there is none, that of its declaration.
  std::string uses_of(const llvm::GlobalValue& value) const {
    std::set<std::pair<unsigned, std::string>> places;
    std::vector<const llvm::User*> work(value.user_begin(), value.user_end());
    llvm::SmallPtrSet<const llvm::User*, 16> seen;
    while (!work.empty()) {
      const llvm::User* user = work.back();
      work.pop_back();
      if (!seen.insert(user).second) continue;
      if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) {
        const llvm::DebugLoc& place = instruction->getDebugLoc();
        if (std::string text = place ? place_in_cell(place->getFilename(), place.getLine()) : "";
            !text.empty())
          places.emplace(place.getLine(), std::move(text));
        // The place of a thread's variable is asked for by a function of Clang's.
        if (!place && instruction->getFunction()->getName().starts_with("_ZTW"))
          work.insert(work.end(), instruction->getFunction()->user_begin(),
                      instruction->getFunction()->user_end());
      } else if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(user)) {
        const clang::Decl* decl = decl_of(*variable);
        if (std::string text = decl ? place_of(*decl) : ""; !text.empty())
          places.emplace(m_context.getSourceManager().getPresumedLineNumber(decl->getLocation()),
                         std::move(text));
      } else {
        work.insert(work.end(), user->user_begin(), user->user_end());
      }
    }
    std::string all;
    std::size_t n = 0;
    for (const auto& [line, text] : places) {
      if (n++ == k_most_uses) return all + ", ...";
      all += (all.empty() ? "" : ", ") + text;
    }
    const clang::Decl* decl = all.empty() ? decl_of(value) : nullptr;
    return decl ? place_of(*decl) : all;
  }

  /// What a slot holds as long as nobody defines the function: code that says so, and where it is used.
  void add_complaint(Symbol& symbol) {
    if (symbol.defined() || symbol.value->getName().starts_with(k_builtin_prefix)) return;
    symbol.uses = uses_of(*symbol.value);
    if (!is_missing_function(symbol)) return;
    const auto complains =
        llvm::find_if(m_symbols, [](const Symbol& one) { return one.value->getName() == k_call_of_nothing; });
    symbol.complaint = jump_function("tarsia.undefined.", *symbol.value);
    llvm::IRBuilder<> builder(&symbol.complaint->getEntryBlock());
    auto* jump = llvm::InlineAsm::get(
        llvm::FunctionType::get(builder.getVoidTy(), {m_pointer, m_pointer, m_pointer}, false),
        "leaq ${0:P}(%rip), %rdi\n\tleaq ${1:P}(%rip), %rsi\n\tjmpq *${2:P}(%rip)", "s,s,s",
        /*hasSideEffects=*/true);
    builder.CreateCall(jump, {text(symbol.value->getName().str()), text(symbol.uses), complains->slot});
    builder.CreateUnreachable();
  }

  /// A function that has an entry block alone, for assembly that jumps elsewhere.
  llvm::Function* jump_function(const char* prefix, const llvm::GlobalValue& target) {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m_module.getContext()), false);
    auto* made =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, prefix + target.getName(), m_module);
    made->addFnAttr(llvm::Attribute::Naked);
    made->addFnAttr(llvm::Attribute::NoInline);
    made->addFnAttr(llvm::Attribute::NoUnwind);
    made->setAlignment(llvm::Align(16));  // the lowest bit of a pointer to a member means a virtual one
    llvm::BasicBlock::Create(m_module.getContext(), "", made);
    return made;
  }

  /// Whether something other than calls and its slot uses the function. What keeps it in the module is no
  /// use.
  static bool has_address_taken(const Symbol& symbol) {
    const auto keeps = [](const llvm::User* user) {
      const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(user);
      return variable && (variable->getName() == "llvm.used" || variable->getName() == "llvm.compiler.used");
    };
    return llvm::any_of(symbol.value->uses(), [&](const llvm::Use& use) {
      const llvm::User* user = use.getUser();
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) return !call->isCallee(&use);
      return user != symbol.slot &&
             !(llvm::isa<llvm::ConstantArray>(user) && llvm::all_of(user->users(), keeps));
    });
  }

  /// Gives a function an address that is the same for all code and at all times: that of a jump through the
  /// slot. Of all modules that have such a jump, the oldest's is used. Modules that only call have none.
  void add_thunk(Symbol& symbol) {
    if (symbol.kind != Kind::function || is_direct(symbol) || !has_address_taken(symbol)) return;
    // A launch finds a kernel by the address of its stub.
    const clang::Decl* decl = decl_of(*symbol.value);
    if (!decl || decl->hasAttr<clang::CUDAGlobalAttr>()) return;
    symbol.thunk = jump_function("tarsia.jump.", *symbol.value);
    llvm::IRBuilder<> builder(&symbol.thunk->getEntryBlock());
    auto* jump = llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), {m_pointer}, false),
                                      "jmpq *${0:P}(%rip)", "s", /*hasSideEffects=*/true);
    builder.CreateCall(jump, {symbol.slot});
    builder.CreateUnreachable();
    symbol.address_slot = new llvm::GlobalVariable(m_module, m_pointer, /*isConstant=*/false,
                                                   llvm::GlobalValue::ExternalLinkage, symbol.thunk,
                                                   "tarsia.address." + symbol.value->getName());
    symbol.address_slot->setVisibility(llvm::GlobalValue::HiddenVisibility);
    symbol.address_slot->setDSOLocal(true);
  }

  /// Whether the code of its cell uses it directly.
  static bool is_direct(const Symbol& symbol) {
    return symbol.kind == Kind::function && symbol.defined() && symbol.value->hasLocalLinkage();
  }

  /// What Clang calls where a thread_local variable may have to be initialised first; null if there is none.
  llvm::Function* wrapper_of(const llvm::GlobalValue& variable) const {
    const std::string name = variable.getName().str();
    return m_module.getFunction(name.starts_with("_Z") ? "_ZTW" + name.substr(2)
                                                       : "_ZTW" + std::to_string(name.size()) + name);
  }

  /// Finds the functions that initialise thread_local variables of this module.
  void find_initialisers() {
    for (llvm::GlobalAlias& alias : m_module.aliases())
      if (alias.getName().starts_with("_ZTH"))
        m_initialisers.insert(llvm::dyn_cast<llvm::Function>(alias.getAliaseeObject()));
    llvm::Function* all = m_module.getFunction(k_initialiser);
    if (!all) return;
    for (llvm::Instruction& instruction : llvm::instructions(*all))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        m_initialisers.insert(call->getCalledFunction());
  }

  void add_accessor(Symbol& symbol) {
    if (!symbol.value->isThreadLocal() || !symbol.defined()) return;
    symbol.accessor =
        llvm::Function::Create(llvm::FunctionType::get(m_pointer, false), llvm::GlobalValue::InternalLinkage,
                               "tarsia.thread." + symbol.value->getName(), m_module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(m_module.getContext(), "", symbol.accessor));
    // Clang makes no wrapper for a variable that only this module has and does not use.
    llvm::Function* const initialiser = wrapper_of(*symbol.value);
    if (llvm::Function* first = initialiser ? initialiser : m_module.getFunction(k_initialiser))
      builder.CreateCall(first);
    builder.CreateRet(builder.CreateThreadLocalAddress(symbol.value));
  }

  /// Lets code ask the function in the slot. What initialises the variable means its own.
  void use_accessor(Symbol& symbol) {
    llvm::GlobalValue& variable = *symbol.value;
    llvm::Function* const wrapper = wrapper_of(variable);
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : variable.uses()) {
      auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      const llvm::Function* function = user ? user->getFunction() : nullptr;
      const bool is_own =
          symbol.defined() && (function == symbol.accessor || m_initialisers.contains(function));
      if (function && function != wrapper && !is_own) uses.push_back(&use);
    }
    for (llvm::Use* use : uses) {
      auto* user = llvm::cast<llvm::Instruction>(use->getUser());
      llvm::Value* own = thread_address(symbol, *use);
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::threadlocal_address) {
        use->set(own);
        continue;
      }
      user->replaceAllUsesWith(own);
      user->eraseFromParent();
    }
    if (!wrapper) return;
    const auto* decl = llvm::dyn_cast_or_null<clang::VarDecl>(decl_of(variable));
    uses.clear();
    for (llvm::Use& use : wrapper->uses()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(use.getUser());
      if (call && call->isCallee(&use) && call->getFunction() != symbol.accessor) uses.push_back(&use);
    }
    for (llvm::Use* use : uses) {
      auto* call = llvm::cast<llvm::CallInst>(use->getUser());
      llvm::Value* own = thread_address(symbol, *use);
      // The wrapper gives what a reference refers to.
      if (decl && decl->getType()->isReferenceType())
        own = llvm::IRBuilder<>(call).CreateLoad(m_pointer, own);
      call->replaceAllUsesWith(own);
      call->eraseFromParent();
    }
    if (!symbol.defined() && wrapper->use_empty()) wrapper->eraseFromParent();
  }

  /// The address of the calling thread's variable, for this use.
  llvm::Value* thread_address(const Symbol& symbol, const llvm::Use& use) {
    llvm::IRBuilder<> builder(place_before(use));
    return builder.CreateCall(llvm::FunctionType::get(m_pointer, false),
                              builder.CreateLoad(m_pointer, symbol.slot));
  }

  /// Where an instruction can stand that makes what is used.
  static llvm::Instruction* place_before(const llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use)->getTerminator() : user;
  }

  void use_slot(Symbol& symbol) {
    llvm::GlobalValue& value = *symbol.value;
    if (is_direct(symbol)) return;
    if (value.isThreadLocal()) return use_accessor(symbol);
    llvm::convertUsersOfConstantsToInstructions({&value});
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : value.uses())
      if (llvm::isa<llvm::Instruction>(use.getUser())) uses.push_back(&use);
    for (llvm::Use* use : uses) {
      llvm::IRBuilder<> builder(place_before(*use));
      const auto* call = llvm::dyn_cast<llvm::CallBase>(use->getUser());
      const bool is_address = symbol.thunk && !(call && call->isCallee(use));
      use->set(builder.CreateLoad(m_pointer, is_address ? symbol.address_slot : symbol.slot));
    }
  }

  /// Initial values that name what another cell defines are written before the cell runs.
  void move_initial_values() {
    std::vector<llvm::GlobalVariable*> all;
    for (llvm::GlobalVariable& variable : m_module.globals())
      if (variable.hasInitializer() && !variable.getName().starts_with("llvm.") &&
          !variable.getName().starts_with("tarsia.slot."))
        all.push_back(&variable);
    for (llvm::GlobalVariable* variable : all) {
      const std::size_t before = m_fixups.size();
      llvm::Constant* initial = without_others(variable->getInitializer(), *variable, 0);
      if (m_fixups.size() == before) continue;
      variable->setInitializer(initial);
      variable->setConstant(false);
    }
  }

  /// The number of the symbol whose address is no constant of this module; -1 if the value is none.
  int symbol_of(const llvm::Value* value) const {
    for (std::size_t i = 0; i < m_symbols.size(); ++i)
      if (m_symbols[i].value == value) return m_symbols[i].thunk || !m_symbols[i].defined() ? int(i) : -1;
    return -1;
  }

  bool names_other(const llvm::Constant* constant) const {
    if (llvm::isa<llvm::GlobalValue>(constant)) return symbol_of(constant) >= 0;
    return llvm::any_of(constant->operands(), [&](const llvm::Use& use) {
      const auto* operand = llvm::dyn_cast<llvm::Constant>(use.get());
      return operand && names_other(operand);
    });
  }

  llvm::Constant* without_others(llvm::Constant* constant, llvm::GlobalVariable& variable,
                                 std::uint64_t offset) {
    if (!names_other(constant)) return constant;
    const llvm::DataLayout& layout = m_module.getDataLayout();
    if (auto* record = llvm::dyn_cast<llvm::ConstantStruct>(constant)) {
      const llvm::StructLayout* places = layout.getStructLayout(record->getType());
      std::vector<llvm::Constant*> parts;
      for (unsigned i = 0; i < record->getNumOperands(); ++i)
        parts.push_back(without_others(record->getOperand(i), variable,
                                       offset + places->getElementOffset(i).getFixedValue()));
      return llvm::ConstantStruct::get(record->getType(), parts);
    }
    if (auto* array = llvm::dyn_cast<llvm::ConstantArray>(constant)) {
      const std::uint64_t size = layout.getTypeAllocSize(array->getType()->getElementType());
      std::vector<llvm::Constant*> parts;
      for (unsigned i = 0; i < array->getNumOperands(); ++i)
        parts.push_back(without_others(array->getOperand(i), variable, offset + i * size));
      return llvm::ConstantArray::get(array->getType(), parts);
    }
    llvm::APInt addend(64, 0);
    const llvm::Value* base = constant;
    // A pointer to a member function holds an address as a number.
    if (const auto* cast = llvm::dyn_cast<llvm::ConstantExpr>(constant);
        cast && cast->getOpcode() == llvm::Instruction::PtrToInt && constant->getType()->isIntegerTy(64))
      base = cast->getOperand(0);
    if (base->getType()->isPointerTy())
      base = base->stripAndAccumulateConstantOffsets(layout, addend, /*AllowNonInbounds=*/true);
    if (const int symbol = symbol_of(base); symbol >= 0) {
      m_fixups.push_back({&variable, offset, symbol, addend.getSExtValue()});
      return llvm::Constant::getNullValue(constant->getType());
    }
    // Any other is computed when the cell runs, before all else.
    llvm::IRBuilder<> builder(begin_of_run());
    builder.CreateStore(computed(constant, builder),
                        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &variable, offset));
    return llvm::Constant::getNullValue(constant->getType());
  }

  /// A constant that names what another cell defines, as instructions compute it.
  llvm::Value* computed(llvm::Constant* constant, llvm::IRBuilder<>& builder) {
    if (!names_other(constant)) return constant;
    if (const int symbol = symbol_of(constant); symbol >= 0)
      return builder.CreateLoad(m_pointer, slot_of_address(m_symbols[std::size_t(symbol)]));
    if (auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(constant)) {
      llvm::Instruction* made = expression->getAsInstruction();
      for (llvm::Use& use : made->operands())
        use.set(computed(llvm::cast<llvm::Constant>(use.get()), builder));
      return builder.Insert(made);
    }
    // A vector: structs and arrays are gone through by without_others().
    llvm::Value* made = llvm::PoisonValue::get(constant->getType());
    for (unsigned i = 0; i < constant->getNumOperands(); ++i)
      made = builder.CreateInsertElement(made, computed(constant->getAggregateElement(i), builder), i);
    return made;
  }

  llvm::Instruction* begin_of_run() {
    llvm::Function* run = m_module.getFunction(k_cell_run_symbol);
    if (!run) {
      auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m_module.getContext()), false);
      run = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, k_cell_run_symbol, m_module);
      llvm::IRBuilder<>(llvm::BasicBlock::Create(m_module.getContext(), "", run)).CreateRetVoid();
    }
    return &*run->getEntryBlock().getFirstInsertionPt();
  }

  static llvm::GlobalVariable* slot_of_address(const Symbol& symbol) {
    return symbol.thunk ? symbol.address_slot : symbol.slot;
  }

  llvm::Constant* text(const std::string& bytes) { return cell_text(m_module, bytes); }

  llvm::Constant* number(std::int64_t value) { return llvm::ConstantInt::getSigned(int64(), value); }

  llvm::Constant* array_of(llvm::StructType* type, const std::vector<llvm::Constant*>& rows) {
    if (rows.empty()) return llvm::ConstantPointerNull::get(m_pointer);
    auto* array = llvm::ArrayType::get(type, rows.size());
    return new llvm::GlobalVariable(m_module, array, true, llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(array, rows), "tarsia.cell.rows");
  }

  void add_table(const std::string& info) {
    llvm::LLVMContext& context = m_module.getContext();
    auto* symbol_type = llvm::StructType::get(
        context, {m_pointer, m_pointer, m_pointer, m_pointer, int64(), m_pointer, m_pointer});
    llvm::Constant* const null = llvm::ConstantPointerNull::get(m_pointer);
    std::vector<llvm::Constant*> symbols;
    for (const Symbol& symbol : m_symbols) {
      if (symbol.defined() && symbol.value->hasLocalLinkage()) {
        // It is asked for by its address alone, and stays.
        symbol.value->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::None);
      }
      symbols.push_back(llvm::ConstantStruct::get(
          symbol_type, {text(symbol.value->getName().str()), text(symbol.type), symbol.slot,
                        symbol.defined() ? static_cast<llvm::Constant*>(symbol.definition()) : null,
                        number(std::int64_t(symbol.kind)), symbol.complaint ? symbol.complaint : null,
                        text(symbol.uses)}));
    }
    std::vector<int> rows_of_address(m_symbols.size(), -1);
    for (std::size_t i = 0; i < m_symbols.size(); ++i) {
      const Symbol& symbol = m_symbols[i];
      if (!symbol.thunk) continue;
      rows_of_address[i] = int(symbols.size());
      symbols.push_back(llvm::ConstantStruct::get(
          symbol_type,
          {text("address of " + symbol.value->getName().str()), text(symbol.type), symbol.address_slot,
           symbol.thunk, number(std::int64_t(Kind::shared)), null, text("")}));
    }
    auto* fixup_type = llvm::StructType::get(context, {m_pointer, int64(), int64(), int64()});
    std::vector<llvm::Constant*> fixups;
    for (const Fixup& fixup : m_fixups) {
      const int address = rows_of_address[std::size_t(fixup.symbol)];
      fixups.push_back(llvm::ConstantStruct::get(
          fixup_type, {fixup.variable, number(std::int64_t(fixup.offset)),
                       number(address < 0 ? fixup.symbol : address), number(fixup.addend)}));
    }
    auto* table_type = llvm::StructType::get(
        context, {int64(), m_pointer, int64(), m_pointer, int64(), m_pointer, m_pointer});
    // What destructors are registered under.
    auto* handle = llvm::cast<llvm::GlobalVariable>(
        m_module.getOrInsertGlobal("__dso_handle", llvm::Type::getInt8Ty(context)));
    handle->setVisibility(llvm::GlobalValue::HiddenVisibility);
    auto* table = new llvm::GlobalVariable(
        m_module, table_type, true, llvm::GlobalValue::ExternalLinkage,
        llvm::ConstantStruct::get(
            table_type,
            {number(3), text(info), number(std::int64_t(symbols.size())), array_of(symbol_type, symbols),
             number(std::int64_t(fixups.size())), array_of(fixup_type, fixups), handle}),
        k_cell_table_symbol);
    table->setVisibility(llvm::GlobalValue::DefaultVisibility);
  }

  struct Fixup {
    llvm::GlobalVariable* variable;
    std::uint64_t offset;
    int symbol;
    std::int64_t addend;
  };

  clang::CodeGenerator& m_generator;
  llvm::Module& m_module;
  clang::ASTContext& m_context;
  llvm::PointerType* m_pointer;
  std::vector<Symbol> m_symbols;
  std::set<const llvm::Function*> m_initialisers;  ///< of thread_local variables
  std::vector<Fixup> m_fixups;
};

}  // namespace

void link_cell(clang::CodeGenerator& generator, llvm::Module& module, clang::ASTContext& context,
               const std::string& info) {
  CellLinker(generator, module, context).link(info);
}

}  // namespace tarsia::jit
