// Configures Clang for one translation unit of the user's source.
#include "jit/worker/host/clang_setup.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "base/machine/folders.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "jit/worker/code/target_cpu.h"
#include "jit/worker/code/traps.h"
#include "jit/worker/host/pragmas.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"

namespace tarsia::jit {
namespace {

constexpr char k_emit_llvm[] = "-emit-llvm";

// The build machine's layout, kept inside the pack.
const char* const k_own_cxx[] = {"/tarsia/sysroot/usr/include/c++/12",
                                 "/tarsia/sysroot/usr/include/x86_64-linux-gnu/c++/12",
                                 "/tarsia/sysroot/usr/include/c++/12/backward"};
const char* const k_own_c[] = {"/tarsia/sysroot/usr/include/x86_64-linux-gnu", "/tarsia/sysroot/usr/include"};

std::string c_standard(const std::string&) {
  return "gnu17";
}

/// Clang's arguments for one of options.cflags.
std::vector<std::string> clang_spelling(const std::string& flag) {
  static const std::map<std::string, std::vector<std::string>> s_others = {
      {"-fno-strict-aliasing", {"-relaxed-aliasing"}},
      {"-fassociative-math", {"-mreassociate"}},
      {"-ffinite-math-only", {"-ffinite-math-only", "-menable-no-infs", "-menable-no-nans"}},
      {"-fno-omit-frame-pointer", {"-mframe-pointer=all"}},
      {k_emit_llvm, {}},
      {std::string(k_extended_lambda), {}},  // see below
      {"-fno-openmp", {}}};
  if (flag.starts_with("-U")) return {"-U", flag.substr(2)};
  if (flag.starts_with("-fbracket-depth=")) return {"-fbracket-depth", flag.substr(flag.find('=') + 1)};
  const auto other = s_others.find(flag);
  return other == s_others.end() ? std::vector<std::string>{flag} : other->second;
}

// Places where a machine keeps its own headers. The newest libstdc++ among them is taken.
std::vector<std::string> system_cxx() {
  for (int version = 16; version >= 9; --version) {
    std::string dir = "/usr/include/c++/" + std::to_string(version);
    if (llvm::sys::fs::is_directory(dir))
      return {dir, "/usr/include/x86_64-linux-gnu/c++/" + std::to_string(version), dir + "/backward"};
  }
  return {};
}

}  // namespace

Language language_of(const SourceFile& file, bool request_is_cuda) {
  const Language language = language_of_name(file.name).value_or(Language::cuda);
  return language == Language::cuda && !request_is_cuda ? Language::cxx : language;
}

bool keeps_ir(const CompileOptions& options) {
  return std::ranges::find(options.cflags, k_emit_llvm) != options.cflags.end();
}

void add_extended_lambda(const CompileOptions& options, std::vector<std::string>& arguments) {
  if (std::ranges::find(options.cflags, k_extended_lambda) == options.cflags.end()) return;
  arguments.insert(arguments.end(), {"-include", "functional"});
}

std::string gnu_standard(const std::string& standard) {
  return standard.starts_with("c++") ? "gnu" + standard.substr(1) : standard;
}

void add_folders(const CompileRequest& request, Language language, const std::vector<std::string>& before_cxx,
                 std::vector<std::string>& args) {
  const CompileOptions& options = request.options;
  auto add = [&](auto... more) { (args.emplace_back(more), ...); };
  // User's folders first, then the C++ library's, Clang's, C's, and CUDA's.
  add("-I", k_source_dir, "--embed-dir=" + std::string(k_source_dir));
  for (const std::string& dir : options.include_dirs) add("-I", dir, "--embed-dir=" + dir);
  add("-internal-isystem", k_include_dir);
  for (const std::string& dir : before_cxx) add("-internal-isystem", dir);
  if (!has_system_headers(options)) {
    if (language != Language::c)
      for (const char* dir : k_own_cxx) add("-internal-isystem", dir);
    add("-internal-isystem", k_clang_dir);
    for (const char* dir : k_own_c) add("-internal-externc-isystem", dir);
  } else {
    if (language != Language::c)
      for (const std::string& dir : system_cxx()) add("-internal-isystem", dir);
    add("-internal-isystem", k_clang_dir, "-internal-isystem", "/usr/local/include");
    add("-internal-externc-isystem", "/usr/include/x86_64-linux-gnu", "-internal-externc-isystem",
        "/usr/include");
  }
  if (request.cuda) add("-internal-isystem", k_host_headers_dir);
  if (!request.cuda_parts.include_dirs.empty()) add("-internal-isystem", k_cuda_dir);

  // What Tarsia does not bring is the machine's.
  if (!has_system_headers(options))
    for (const char* dir : k_machine_dirs) add("-internal-externc-isystem", dir);
}

std::vector<std::string> folders_without_name(const CompileOptions& options) {
  std::vector<std::string> folders;
  for (std::string folder : options.include_dirs) {
    if (folder.find('=') != folder.npos) continue;  // the options have no escape for it
    if (!folder.ends_with('/')) folder += '/';
    // In "/" and "/usr" lie others, whose files keep their names: Tarsia's and the machine's.
    const auto is_below = [&](const char* other) { return (other + std::string("/")).starts_with(folder); };
    if (is_below(k_source_dir) || std::ranges::any_of(k_machine_dirs, is_below)) continue;
    folders.push_back(std::move(folder));
  }
  std::ranges::stable_sort(folders, {}, &std::string::size);
  return folders;
}

void add_macros(const CompileOptions& options, std::vector<std::string>& args) {
  auto add = [&](auto... more) { (args.emplace_back(more), ...); };
  add("-D", "TARSIA_INLINE_SOURCE=1");
  // libstdc++ would choose TBB where the machine has its headers, and ask for its library.
  const auto is_tbb = [](const auto& define) { return define.first == "_GLIBCXX_USE_TBB_PAR_BACKEND"; };
  if (!has_system_headers(options) && std::ranges::none_of(options.defines, is_tbb))
    add("-D", "_GLIBCXX_USE_TBB_PAR_BACKEND=0");
  for (const auto& [name, value] : options.defines) add("-D", value ? name + "=" + *value : name);
}

std::string cuda_arch_list(const std::vector<std::string>& archs) {
  std::set<int> numbers;
  for (const std::string& arch : archs)
    if (const size_t digits = arch.find_first_of("0123456789"); digits != arch.npos)
      numbers.insert(10 * std::atoi(arch.c_str() + digits));
  std::string text;
  for (int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<std::string> clang_arguments(const CompileRequest& request, Language language,
                                         const std::string& input, const std::string& prelude) {
  const CompileOptions& options = request.options;
  std::vector<std::string> args = {
      "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-main-file-name", input, "-mrelocation-model", "pic",
      "-pic-level", "2", "-mconstructor-aliases", "-funwind-tables=2", "-fgnuc-version=4.2.1",
      "-fvisibility=hidden", "-fno-ident", "-nostdsysteminc", "-nobuiltininc", "-fdebug-compilation-dir=.",
      "-ferror-limit", "50", "-fdiagnostics-absolute-paths", "-Wall", "-Wsource-uses-openmp",
      "-Wsource-uses-openacc", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
      "-Wno-unused-const-variable", "-Wno-unused-private-field", "-fno-pch-timestamp",
      "-fmacro-prefix-map=/tarsia/src/=", "-fbracket-depth", "2048", "-mframe-pointer=none",
      "-fno-caret-diagnostics",
      // A null pointer is read and written as any other, which crashes there (jit/worker/code/traps.h).
      "-fno-delete-null-pointer-checks",
      // LLVM checks nothing that Clang has made.
      "-disable-llvm-verifier",
      // See jit/worker/host/allowances.h.
      "-Wno-microsoft-redeclare-static",
      // Errors of Clang's that are warnings to g++.
      "-Wno-error=c++11-narrowing", "-Wno-error=register", "-Wno-error=reserved-user-defined-literal"};
  auto add = [&](auto... more) { (args.emplace_back(more), ...); };

  // A cell of a session holds statements between its declarations, and what it declares may be defined later.
  if (!options.cell.empty())
    add("-fincremental-extensions", "-Wno-unused-value", "-Wno-unused-comparison", "-Wno-unused-result",
        "-Wno-undefined-internal", "-Wno-undefined-inline", "-Wno-missing-declarations",
        "-Wno-macro-redefined");
  if (!keeps_ir(options)) add("-discard-value-names");  // they take time
  for (std::string& argument : cpu_arguments(options.march)) add(std::move(argument));
  const int level = options.dev ? 0 : options.opt;
  add("-O" + std::to_string(level));
  if (level >= 2) add("-vectorize-loops", "-vectorize-slp");
  if (options.fast_math)
    add("-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-funsafe-math-optimizations",
        "-fno-signed-zeros", "-mreassociate", "-freciprocal-math", "-ffp-contract=fast", "-ffast-math",
        "-ffinite-math-only");
  else  // a * b + c rounds twice on every machine, whether it has an instruction that rounds once or not
    add("-ffp-contract=off");
  // Shipped preludes are made without OpenMP and lack the macro. So it is given as users give theirs.
  if (options.openmp) add("-fopenmp", "-fopenmp-version=51", "-D", "_OPENMP=202011");
  for (const std::string& flag : options.cflags)
    for (std::string& argument : clang_spelling(flag)) add(std::move(argument));
  // Every module has line tables: reports of crashes, debuggers and profilers name its lines. DWARF 4 spreads
  // them over fewer sections, which matters for a small source, and needs no checksums of headers;
  // valgrind 3.19 reads no newer one, and lldb warns of checksums that are not those of the user's text.
  if (options.debug)
    add("-debug-info-kind=constructor", "-dwarf-version=4", "-debugger-tuning=gdb");
  else
    add("-debug-info-kind=line-tables-only", "-dwarf-version=4", "-debugger-tuning=gdb", "-gno-column-info");
  if (has_checks(options, "undefined")) {
    // Without checks that need type information (vptr, function). The code goes on behind what can be gone on
    // behind.
    const std::string checks =
        "alignment,array-bounds,bool,builtin,enum,float-cast-overflow,integer-divide-by-zero,nonnull-"
        "attribute,null,"
        "object-size,pointer-overflow,return,returns-nonnull-attribute,shift-base,shift-exponent,"
        "signed-integer-overflow,unreachable,vla-bound";
    add("-fsanitize=" + checks, "-fsanitize-recover=" + checks);
  }
  if (has_checks(options, "address"))
    add("-fsanitize=address", "-fsanitize-address-use-after-scope", "-mframe-pointer=all");
  if (has_checks(options, "thread")) add("-fsanitize=thread", "-mframe-pointer=all");
  // So the bytes are the same wherever the folders lie. Clang takes the last of these options that fits, and
  // of those for macros the longest.
  for (const std::string& folder : folders_without_name(options)) {
    add("-fmacro-prefix-map=" + folder + "=");
    // A debugger opens them where they are.
    if (!keeps_lines(options)) add("-fdebug-prefix-map=" + folder + "=");
  }

  // The user's own names, or the copies that a debugger opens.
  add("-fdebug-prefix-map=" + std::string(k_source_dir) +
      "/=" + (request.source_dir.empty() ? "" : request.source_dir + "/"));

  add_folders(request, language, {}, args);
  add_macros(options, args);

  switch (language) {
    case Language::c:
      // Exceptions of the C++ that it calls pass through its frames.
      add("-std=" + c_standard(options.std), "-fexceptions", "-x", "c");
      break;
    case Language::cxx:
      add("-std=" + gnu_standard(options.std), "-fcxx-exceptions", "-fexceptions", "-fdeprecated-macro", "-x",
          "c++");
      break;
    case Language::cuda:
      // Clang's code calls the launch API of CUDA 9.2 and later, and asks for it by version.
      add("-std=" + gnu_standard(options.std), "-fcxx-exceptions", "-fexceptions", "-fdeprecated-macro",
          "-aux-triple", "nvptx64-nvidia-cuda", "-target-sdk-version=12.9", "-Wno-unknown-cuda-version",
          "-Wno-vla-cxx-extension", "-x", "cuda");
      // Without it CUB prepares its launches for every architecture that there is.
      if (!options.archs.empty()) add("-D", "__CUDA_ARCH_LIST__=" + cuda_arch_list(options.archs));
      // nvcc leaves host code unoptimised unless told otherwise. Some programs break the language's rules:
      // a missing return, numbers that wrap around, a float read as an int. Without optimisation they do
      // what their authors expect.
      add("-fno-strict-return", "-fwrapv", "-relaxed-aliasing");
      break;
  }
  if (!prelude.empty())
    add("-include-pch", prelude);
  else if (language == Language::cuda)
    add("-include", std::string(k_host_headers_dir) + "/tarsia_cuda_host.h");
  if (language == Language::cuda) add_extended_lambda(options, args);
  add(input);
  return args;
}

std::vector<std::string> code_arguments(const CompileRequest& request, Language language) {
  CompileRequest plain;
  plain.cuda = request.cuda;
  plain.cuda_parts = request.cuda_parts;
  plain.options = request.options;
  plain.options.defines.clear();
  plain.options.include_dirs.clear();
  return clang_arguments(plain, language, "", "");
}

std::string fault_of_warnings(const CompileOptions& options) {
  for (const std::string& flag : options.cflags) {
    llvm::StringRef name = flag;
    if (!name.consume_front("-W")) continue;
    name.consume_front("no-");
    if (name == "error" || name.consume_front("error=")) name.consume_front("no-");
    if (name == "error" || name == "everything") continue;
    if (clang::DiagnosticIDs::getGroupForWarningOption(name)) continue;
    const llvm::StringRef nearest =
        clang::DiagnosticIDs::getNearestOption(clang::diag::Flavor::WarningOrError, name);
    std::string fault = "'" + flag + "' names no warning of Clang's";
    if (!nearest.empty()) fault += "; did you mean '-W" + nearest.str() + "'?";
    return fault;
  }
  return {};
}

std::unique_ptr<clang::CompilerInstance> make_plain_clang(const std::vector<std::string>& args,
                                                          llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                          clang::DiagnosticConsumer& collector) {
  std::vector<const char*> pointers;
  for (const std::string& arg : args) pointers.push_back(arg.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine early(clang::DiagnosticIDs::create(), options, &collector,
                                 /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, early)) return nullptr;
  take_over_debug_pragmas(invocation->getPreprocessorOpts());
  // The choice of the prelude has already been checked against the options and the files.
  invocation->getPreprocessorOpts().DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::PCH;
  auto clang = std::make_unique<clang::CompilerInstance>(std::move(invocation));
  clang->setVirtualFileSystem(std::move(files));
  clang->createDiagnostics(&collector, /*ShouldOwnClient=*/false);
  clang->createFileManager();
  clang->createSourceManager();
  return clang;
}

std::unique_ptr<clang::CompilerInstance> make_clang(const std::vector<std::string>& args,
                                                    llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                    clang::DiagnosticConsumer& collector, bool skips_bodies) {
  auto clang = make_plain_clang(args, std::move(files), collector);
  if (!clang) return nullptr;
  clang->getFrontendOpts().SkipFunctionBodies = skips_bodies;
  trap_unreachable_code(clang->getCodeGenOpts(), clang->getLangOpts());
  return clang;
}

void initialize_llvm() {
  static std::once_flag s_once;
  std::call_once(s_once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

}  // namespace tarsia::jit
