// The parse of one unit, as the parts of its compile see it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clang/Basic/SourceLocation.h"
#include "jit/worker/cell/cell_items.h"
#include "jit/worker/cell/statement_checks.h"
#include "jit/worker/code/header_code.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/host/host_compiler.h"
#include "jit/worker/host/parse_writer.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/macros/define_use.h"
#include "jit/worker/source/main_text.h"
#include "jit/worker/split/token_recorder.h"

namespace clang {
class Decl;
class FunctionDecl;
class Sema;
class TopLevelStmtDecl;
}  // namespace clang

namespace tarsia::jit {

/// What the parts of one compile share.
struct HostParse {
  HostUnit unit;
  DiagnosticCollector& diagnostics;
  SourceFileSystem* files = nullptr;
  HostHooks hooks{};
  HostResult result{};
  MainText* text = nullptr;
  clang::CompilerInstance* clang = nullptr;
  clang::Sema* sema = nullptr;
  ExportChoice choice;
  bool described = false;
  bool has_modules = false;  // Clang's language option, which it gets back before it reads the unit
  bool led = false;          // the leading includes were read
  bool held = false;         // and the process may have forked there
  bool names_main = false;   // so far, something depends on the name of the unit's file
  bool leaves = false;       // this is a child, which compiles one text
  std::string begun_as{};
  bool wanted = false;            // the text that instantiates the kernels that are wanted was entered
  std::function<void()> pass_on;  // lets code be generated for what was held back so far
  std::unique_ptr<TokenRecorder> tokens;
  ParseWriter* writer = nullptr;                        // Clang's, if the leading includes may be written
  std::optional<DefineWatch> define_watch;              // and what they do with macros
  std::unique_ptr<CellItems> cell;                      // the unit is a cell of a session
  std::unique_ptr<StatementChecks> checks;              // of its statements
  int closed_braces = 0;                                // that it left open
  std::vector<clang::SourceLocation> returns;           // its `return`s, of macros too
  std::vector<clang::CXXRecordDecl*> classes_of_cells;  // those that the texts of the session define
  // What its statements at the top level declare belongs to these (give_locals_a_function).
  std::map<const clang::TopLevelStmtDecl*, clang::FunctionDecl*> statement_functions;
  clang::Decl* last_seen = nullptr;  // of the unit's declarations
  clang::TopLevelStmtDecl* last_statement = nullptr;
  std::unique_ptr<Slicer> slicer;
  DeviceSlice slice;
  std::string export_text;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::vector<clang::FunctionDecl*> kept_functions;  // of the user's headers, in precompiled leading includes

  /// It is off, and the source has its pragmas.
  bool lacks_openmp() const { return diagnostics.met_openmp() && !keeps_openmp_off(unit.request->options); }
  bool cuda() const { return unit.language == Language::cuda; }
};

/// Makes ready to read the unit. `invalid` is set where a file that it includes is no text.
void prepare_preprocessor(clang::Preprocessor& preprocessor, const HostUnit& unit, SourceFileSystem& files,
                          bool& invalid);

/// What the prelude stands for at the beginning of the unit's text is not read again.
void step_over_covered(clang::Preprocessor& preprocessor, const HostUnit& unit);

/// The unit is known, its prelude open, and nothing read.
void begin_reading(HostParse& parse, clang::Preprocessor& preprocessor);

/// Whether a place lies in a file of the user's, be it one that the unit's precompiled leading includes hold.
bool is_of_user(const HostParse& parse, clang::SourceLocation place);

/// Where a function or variable of the unit's code is written. Clang made it for `decl`, or by itself (null).
CodeOrigin origin_of(const HostParse& parse, const clang::Decl* decl, const llvm::GlobalValue& value);

/// The macros that the user's files define.
std::set<std::string> macros_of_user(const clang::Preprocessor& preprocessor);

/// Lets the lexer read a text before it goes on. What a system's text includes counts as the system's.
void enter(clang::Preprocessor& preprocessor, const std::string& text, const char* path,
           clang::SourceLocation place, clang::SrcMgr::CharacteristicKind kind = clang::SrcMgr::C_System);

/// The slicer of a CUDA unit, made on the first call.
Slicer& slicer_of(HostParse& parse, clang::ASTContext& context);

}  // namespace tarsia::jit
