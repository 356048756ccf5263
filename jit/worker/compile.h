// One compile: a request's way through split, device, host and link.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/worker/device_job.h"
#include "jit/worker/host/host_compiler.h"
#include "jit/worker/link/linker.h"
#include "jit/worker/prelude/child_writer.h"
#include "jit/worker/prelude/further_includes.h"
#include "jit/worker/worker.h"

namespace tarsia::jit {

/// The request with its texts as Clang is to read them.
CompileRequest prepared(CompileRequest request, bool marks_lambdas);

class Compile {
 public:
  Compile(const CompileRequest& request, PartStore& parts, WorkerState& worker);

  /// The steps, and their numbers, are those of docs/architecture.md, "Inside the worker".
  CompileResult run();

  /// Whether a parse that stands still behind the same includes has taken the request and answered it.
  bool answer_elsewhere();

  std::vector<SourceFile> slices(std::vector<Diagnostic>& diagnostics);

  /// Of a cell without texts: Clang that has begun behind the prelude, and under `key` what it has begun
  /// with. Null if it cannot stand for another.
  std::unique_ptr<HostClang> begin_host(const Prelude& prelude, Digest& key);

 private:
  /// Whether the source has what no compiler takes that it may have.
  bool is_refused();

  bool kernels_alone() const { return !m_request.options.kernels.empty(); }

  /// The request's texts. If only kernels are asked for, the text that has them.
  std::vector<const SourceFile*> chosen_texts() const;

  /// Steps 1 to 5 for a text. Compiles the host's half here and waits for the device's, which runs beside it.
  /// Returns the stage that failed.
  std::optional<Stage> compile_text(int number, std::vector<const SourceFile*>& texts);

  /// Takes the device's code.
  bool take(DeviceJob::Outcome device, std::unique_ptr<DeviceJob> job, HostResult& host);

  /// Whether and why Clang compiles the unit's device code. Where it does, it starts at once.
  ClangChoice device_clang_for(const HostUnit& unit);

  /// Whether a function that is asked for by name is in no text.
  bool lacks_functions();

  void add_device_tables();

  bool link_module();

  /// Steps 1 to 5 for a text, once. Starts `job` in step 4.
  HostResult compile_unit(HostUnit& unit, std::unique_ptr<DeviceJob>& job, const ClangChoice& clang);

  /// The text whose leading includes may be held: the first in CUDA. Nothing else runs while it is parsed.
  const SourceFile* held_text();

  /// Names all of the request but the rest of the text, which a held parse takes from each request. Of
  /// held_text() alone.
  Digest held_key(const SourceFile& file) const;

  /// Returns in this process, and true in each child that goes on with the text of another request.
  bool hold_parse(const HostUnit& unit, SourceFileSystem& files, const LeadingParse& parse);

  /// Writes what was parsed of the leading includes, for other processes.
  void write_leading(const LeadingParse& parse, const SourceFileSystem& files, const Prelude& below,
                     const Digest& family, ChildWriter& writer);

  /// Waits for what write_leading() has begun, if it has, and keeps that.
  void keep_leading(ChildWriter& writer, const Digest& family);

  /// Answers CompileRequest::complete_line.
  CompileResult complete();

  /// The unit that is parsed behind the prelude, which must outlive its use.
  static void use_prelude(const Prelude& prelude, HostUnit& unit);

  /// Clang for the unit, behind the prelude: one that has begun before, or a new one.
  std::unique_ptr<HostClang> clang_for(const HostUnit& unit, const Prelude& prelude);

  /// Names what a Clang takes up when it begins on the unit. Nothing if one that has begun without the texts
  /// would not do.
  std::optional<Digest> key_of_begun(const HostUnit& unit, const Prelude& prelude) const;

  /// Whether what the prelude has read lies where the files lead.
  static bool reaches(const SourceFileSystem& files, const Prelude& prelude);

  llvm::IntrusiveRefCntPtr<SourceFileSystem> make_files() const;
  void add_texts(SourceFileSystem& files) const;
  static void add_prelude(const Prelude& prelude, SourceFileSystem& files);
  llvm::IntrusiveRefCntPtr<SourceFileSystem> files_behind(const Prelude& prelude) const;

  void append(std::vector<Diagnostic>& diagnostics);

  // A header that both the device and the host read counts once.
  void add(const std::vector<Dependency>& dependencies);

  CompileResult fail(Stage stage);

  const CompileRequest* m_asked;
  CompileRequest m_next;                           ///< in a child of a held parse: what it is asked
  std::map<std::string, std::string> m_why_clang;  ///< by file
  bool m_marks_lambdas;
  CompileRequest m_request;
  std::optional<LeadingPart> m_leading;          ///< of held_text(), as it was when the compile began
  bool m_reads_headers = false;                  ///< a prelude of them lacks what the device needs
  const bool m_openmp;                           ///< before a header was seen to need it
  std::deque<SourceFile> m_made;                 ///< texts that describe C texts, and TH's routines
  std::set<std::string> m_exported, m_left_out;  ///< names of functions, of all texts
  PartStore& m_parts;
  WorkerState& m_worker;

  CompileResult m_result;
  std::set<std::string> m_seen;      ///< paths of the dependencies
  std::vector<LinkInput> m_objects;  ///< of the host, and one of device code
  std::vector<DeviceUnit> m_units;   ///< device code, one of each text that has any; names point into …
  std::vector<std::unique_ptr<DeviceJob>> m_jobs;  ///< … the jobs that made them
  std::vector<FileTemplates> m_templates;          ///< of kernels
  bool m_has_main = false, m_has_effects = false;
};

}  // namespace tarsia::jit
