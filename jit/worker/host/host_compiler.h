// The host's half of a compile: Clang in this process, from the user's text to an object in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/host/clang_setup.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/macros/define_use.h"
#include "jit/worker/source/main_text.h"
#include "jit/worker/source/source_fs.h"
#include "jit/worker/split/header_items.h"
#include "jit/worker/split/split.h"

namespace clang {
class CompilerInstance;
class FrontendAction;
}  // namespace clang

namespace tarsia::jit {

/// One translation unit to compile.
struct HostUnit {
  const CompileRequest* request = nullptr;
  const SourceFile* file = nullptr;
  Language language = Language::cxx;
  int number = 0;                      ///< of the unit within the source, makes symbols of units differ
  std::string prelude;                 ///< virtual path of a precompiled prelude, or empty
  std::size_t covered = 0;             ///< so much of the text the prelude stands for: it is not read again
  std::optional<std::size_t> leading;  ///< the text's leading includes end here (prelude/leading_text.h)
  std::string begun;                   ///< the includes, a line each, with which a header at `leading` begins
  const std::vector<std::string>* macros = nullptr;  ///< of the user's that the prelude defines, if any
  std::vector<std::string> settled{};                ///< macros of the options that the prelude depends on
  /// CUDA: the headers of the text's that the prelude holds, if any.
  std::shared_ptr<const HeaderItems> headers;
  Allowances allowances;
  bool writes_leading = false;  ///< HostHooks::on_leading may write what was parsed
};

/// Leading includes in a precompiled form. The lists are as in PreludeLayer.
struct LeadingContent {
  std::string pch;
  std::string headers;  ///< HeaderItems, serialized
  std::vector<std::string> names, macros;
  DefineUse use;
  std::vector<Diagnostic> warnings;
};

/// The parse behind the leading includes.
struct LeadingParse {
  /// Does once what each text behind them would have to do. To be called before the process forks.
  std::function<void()> prepare;
  /// After `prepare`, in a process of its own, which then ends. Without a `pch` if no prelude can stand for
  /// these includes.
  std::function<LeadingContent()> write;
  /// In a process that goes on with another text: shows it, under its name. False if the headers have asked
  /// for a file of that name.
  std::function<bool()> show;
};

struct HostResult {
  bool ok = false;
  bool invalid = false;              ///< a file that the source includes is no text
  std::vector<std::string> objects;  ///< ELF; the device tables refer to hidden symbols of them
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> open_braces;  ///< of a cell, among `diagnostics`, too
  bool has_main = false;
  bool has_effects = false;  ///< the user's text has something that runs when the module is loaded
  /// OpenMP is off, and a file has a pragma of OpenMP's: nothing was compiled. Ask again with openmp.
  bool needs_openmp = false;
  Allowances needs;  ///< HostUnit::allowances that may help
  /// What is kept with the precompiled headers is damaged: nothing was compiled. Ask again without them.
  bool needs_headers = false;
  /// "file:line" of functions, which the device tables define: see export_text().
  std::vector<std::string> places;
  std::string exports_of_c;    ///< of a unit in C: the C++ unit that describes its functions
  bool volatile_text = false;  ///< __TIME__, __DATE__ or __TIMESTAMP__ was used
  /// Functions by name: those that it exports, and those that it could export but that the request does not
  /// name.
  std::vector<std::string> exported, left_out;
  std::vector<std::pair<std::string, double>> timings;
};

/// The symbol of a C unit's main. A C++ main that calls it describes it (worker.cpp).
inline constexpr char k_main_of_c_symbol[] = "tarsia_main_of_c";

/// What the compile reports and asks while it runs, on the thread that runs it.
struct HostHooks {
  /// The parse is done and had no errors: the device's half can start. CUDA units only.
  std::function<void(DeviceSlice&&)> on_split;
  /// Objects that were already made from this host text. The key is a hash of all that can change them.
  std::function<std::optional<std::vector<std::string>>(const Digest&)> find_objects;
  std::function<void(const Digest&, const std::vector<std::string>&)> keep_objects;
  /// The leading includes have been read. It may replace the text of the unit's file by another that begins
  /// in the same way and is no longer than MainText::room_for allows; it then returns true, and the parse
  /// goes on with that text.
  std::function<bool(const LeadingParse&)> on_leading;
};

struct HostParse;

/// The virtual path of a unit's file.
std::string main_path_of(const SourceFile& file);

/// Whether a word in the request's texts is so long that Clang must not look for what is meant.
bool has_long_word(const CompileRequest& request);

/// Clang for one unit. What the options and the prelude decide can be done before the unit has a text. One
/// compiles at a time in a process: Clang is not safe for several.
class HostClang {
 public:
  /// Of `unit` it takes the options, the language, the file's name, whether the file has debug lines, and the
  /// prelude with the headers in it. compile() takes the rest.
  HostClang(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files);
  ~HostClang();
  HostClang(const HostClang&) = delete;
  HostClang& operator=(const HostClang&) = delete;

  /// Does what needs no text; the unit that was given may go then. Without it, compile() does that. False: it
  /// does not take the options, which compile() of another tells.
  bool begin();
  /// Compiles the unit; once. `unit.file` may change as HostHooks::on_leading says.
  HostResult compile(const HostUnit& unit, const HostHooks& hooks);
  const llvm::IntrusiveRefCntPtr<SourceFileSystem>& files() const { return m_files; }

 private:
  void begin_source();

  const llvm::IntrusiveRefCntPtr<SourceFileSystem> m_files;
  std::unique_ptr<DiagnosticCollector> m_collector;
  std::unique_ptr<clang::CompilerInstance> m_clang;  ///< null: it does not take the options
  std::unique_ptr<HostParse> m_parse;
  std::unique_ptr<clang::FrontendAction> m_action;
  std::optional<MainText> m_text;
  bool m_has_tried = false, m_has_begun = false;
};

/// Compiles one unit, with a Clang of its own.
HostResult compile_host(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                        const HostHooks& hooks);

}  // namespace tarsia::jit
