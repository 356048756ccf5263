// The configuration of Clang for one translation unit of the user's source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/readable.h"
#include "jit/source_suffix.h"
#include "jit/worker/source/source_fs.h"

namespace clang {
class CompilerInstance;
class DiagnosticConsumer;
}  // namespace clang

namespace tarsia::jit {

/// The language by the name's suffix; without one, by the request. A request without CUDA takes .cu for C++.
Language language_of(const SourceFile& file, bool request_is_cuda);

/// The -cc1 arguments. `input` is the virtual path of the main file. `prelude` is the virtual path of a
/// precompiled prelude, or empty.
std::vector<std::string> clang_arguments(const CompileRequest& request, Language language,
                                         const std::string& input, const std::string& prelude);
/// The same without the macros and the user's folders, which change what is read and not what is made of it.
std::vector<std::string> code_arguments(const CompileRequest& request, Language language);

/// A Clang set up for these arguments, ready to run an action on any half of a text. Null if it does not
/// understand them. The collector must outlive it.
std::unique_ptr<clang::CompilerInstance> make_plain_clang(const std::vector<std::string>& args,
                                                          llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                          clang::DiagnosticConsumer& collector);

/// The same for the host's half. `skips_bodies`: the action's consumer chooses bodies that are not read.
std::unique_ptr<clang::CompilerInstance> make_clang(const std::vector<std::string>& args,
                                                    llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                    clang::DiagnosticConsumer& collector, bool skips_bodies);

/// g++ and nvcc without -std speak GNU's dialect, which takes all that the standard one takes: "c++20" →
/// "gnu++20".
std::string gnu_standard(const std::string& standard);

/// Appends the arguments that name the folders of headers: the user's, `before_cxx`, and the rest.
void add_folders(const CompileRequest& request, Language language, const std::vector<std::string>& before_cxx,
                 std::vector<std::string>& args);

/// The folders of the user's headers, with a slash behind each, that what is made of a source does not name:
/// names of files below begin there. The longest folder that holds a file counts, and comes last.
std::vector<std::string> folders_without_name(const CompileOptions& options);

/// Appends the macros that every compile of these options has.
void add_macros(const CompileOptions& options, std::vector<std::string>& args);

/// The value of nvcc's __CUDA_ARCH_LIST__: ten times each compute capability, ascending: "750,900".
std::string cuda_arch_list(const std::vector<std::string>& archs);

/// Whether the module shall hold LLVM's IR of the host code, too: "-emit-llvm" among options.cflags.
bool keeps_ir(const CompileOptions& options);

/// Where options.cflags has k_extended_lambda: the header that nvcc then puts before a CUDA source.
void add_extended_lambda(const CompileOptions& options, std::vector<std::string>& arguments);

/// Says what is wrong with the -W options among options.cflags, and what may stand there. Empty if nothing
/// is.
std::string fault_of_warnings(const CompileOptions& options);

/// Initialises LLVM's X86 target; any number of times. Thread-safe.
void initialize_llvm();

}  // namespace tarsia::jit
