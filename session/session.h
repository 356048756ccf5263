// A session: cells of C++ and CUDA that are compiled and run one after the other and share what they define.
//
// Each cell is compiled like any other source, by the pipeline and its cache, as a module of its own
// (cell_text.h). Modules are tied by slots (cell_module.h): so a definition replaces an earlier one for the
// code of earlier cells, too, and undo() gives it back.
//
// A cell may define again what earlier cells have defined. The compiler then names the earlier declaration,
// and the session takes it out of what later cells read and compiles once more. A declaration of an earlier
// cell that no longer holds without it goes, too, and the result says so (`undone`). Code that was compiled
// with it runs as before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/origin.h"
#include "jit/compile.h"
#include "jit/compile_options.h"
#include "session/cell_module.h"
#include "session/cell_text.h"
#include "session/session_source.h"

namespace tarsia::session {

/// What became of a cell.
struct CellResult {
  bool ok = false;
  int number = 0;  ///< of the cell: "cell 3" in diagnostics
  bool has_value = false;
  std::string value;                    ///< the text of the last expression's value
  std::string image;                    ///< the value as a .npy file, if it is an image; else empty
  std::string output;                   ///< what the cell wrote to standard output, if that was to be kept
  std::vector<Diagnostic> diagnostics;  ///< the compiler's, errors first
  std::string error;                    ///< why it failed; empty if it did not
  std::string error_class;              ///< "CompileError" and so on: Python's class
  std::vector<std::string> undone;      ///< names of earlier cells that are no longer there
  std::vector<std::string> notes;       ///< for people
  bool lost_gpu = false;                ///< CUDA cannot be used any more in this process
  double compile_ms = 0, run_ms = 0;
  std::optional<Origin> origin;  ///< of its module; none: it has none
};

/// What may stand at a place of a cell.
struct Completed {
  std::size_t begin = 0;  ///< the byte where the name begins that is completed
  std::vector<jit::Completion> completions;
};

struct SessionOptions {
  jit::CompileOptions compile;
  bool keep_output = false;  ///< standard output goes into CellResult::output
  /// Asked while a cell is compiled, and by cells that ask; true ends it.
  std::function<bool()> interrupted;
};

/// One thread at a time. Sessions in one process are independent of each other, save for ops, which all
/// share.
class Session {
 public:
  /// Throws ArgumentError for a standard older than C++17, which <tarsia/repl.h> needs.
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Compiles a cell and runs it. A cell that fails changes nothing of what is defined; what it did until
  /// then (output, values that it assigned) stays. Throws nothing that a cell can cause. `number`: the
  /// cell's; 0: one more than the last.
  CellResult run(const std::string& text, int number = 0);
  /// What may stand at byte `offset` of a text that is to be a cell: names, members, keywords, headers.
  /// Throws as the pipeline does where no compiler can be asked.
  Completed complete(const std::string& text, std::size_t offset) const;
  /// Takes the last cell back and returns the names that it had defined; empty if there is none. Values that
  /// its statements assigned to variables of earlier cells stay.
  std::vector<std::string> undo();
  /// The number of live cells.
  std::size_t size() const { return m_before.size(); }
  /// A source that can be compiled: what the cells declare and do, which happens in their order when it is
  /// loaded. What was replaced or taken back is not in it. What no longer compiles with what there is now is
  /// a comment that says why.
  std::string source() const { return source_with(/*shown=*/false); }
  /// A source to look at the code of: variables are declared alone, and the statements stand in a function
  /// `void session()`. To be compiled with
  /// TARSIA_DETAIL_CODE_IS_SHOWN.
  std::string shown_source() const { return source_with(/*shown=*/true); }
  /// The names of the ops that live cells have registered.
  std::vector<std::string> ops() const;
  /// Compiles later cells with these options. Throws as the constructor does.
  void set_compile_options(jit::CompileOptions options);
  /// From now on, cells ask this; see SessionOptions.
  void set_interrupted(std::function<bool()> interrupted) { m_options.interrupted = std::move(interrupted); }

 private:
  struct Live {
    std::shared_ptr<const CellText> text;
    std::shared_ptr<CellModule> module;  ///< null: it declares the ready values
  };

  /// `shown`: as shown_source() does.
  std::string source_with(bool shown) const;
  /// Compiles a cell, and takes what it replaces, and what no longer holds, out of the earlier ones. Throws
  /// as the pipeline does.
  pipeline::Module compile(const CellText& cell, CellTexts& earlier) const;
  /// Compiles a cell that declares something by the name of a macro: nothing if it does not. `before`: the
  /// earlier cells before any try.
  std::optional<pipeline::Module> compile_without(const std::string& macro, const CellTexts& before,
                                                  CellText& cell, CellTexts& earlier) const;
  void fail(CellResult& result, const CellTexts& earlier, const CellText& cell) const;
  /// Of a cell with a comment that it does not end.
  void refuse_open_comment(CellResult& result, const CellText& cell) const;
  void run_module(CellModule& module, CellResult& result);
  /// What code that was compiled with debug="undefined" has noted while the cell ran; "" if nothing.
  std::string undefined_behaviour(const CellModule& running, const CellResult& result) const;
  /// Waits for what the cell has given to the GPU. Says why that has failed; "" if it has not.
  std::string failure_of_gpu(CellResult& result);
  /// What launches in the cell that has run have left behind, in its module or in one whose code it called.
  registry::LaunchErrors launch_errors(const CellModule& running) const;
  const CellSymbol* relink(const std::vector<Live>& live) const;
  void note_stale(const std::vector<Live>& live, CellResult& result) const;
  void note_compiled_in(const std::vector<Live>& live, const std::vector<std::string>& undone,
                        CellResult& result) const;

  SessionOptions m_options;
  std::set<std::string> m_told;  ///< warnings about no text
  std::vector<Live> m_live;      ///< the first declares the ready values
  /// Before each live cell: the others as they were.
  std::vector<std::vector<Live>> m_before;
  int m_next = 1;
  bool m_has_lost_gpu = false;  ///< and has told of it
};

/// The result as JSON: {"ok", "number", "value", "stdout", "diagnostics", "error", "error_class", "undone",
/// "notes", "lost_gpu", "compile_ms", "run_ms", "origin", "image"}, the last in base64.
std::string to_json(const CellResult& result);
/// {"start": the byte where the name begins, "matches": [names], "details": [declarations]}.
std::string to_json(const Completed& completed);

}  // namespace tarsia::session
