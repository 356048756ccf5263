// The split: which parts of a CUDA source the device's compiler needs.
#pragma once

#include <tarsia/abi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "jit/compile.h"
#include "jit/worker/split/split_regions.h"

namespace clang {
class ASTContext;
class ASTReader;
class ASTWriter;
class Decl;
class FunctionDecl;
class SourceLocation;
class VarDecl;
}  // namespace clang

namespace tarsia::jit {

class TokenRecorder;

/// A parameter of a kernel, as abi.h describes it.
struct KernelParam {
  std::string name;
  tarsia_type type{};
  uint32_t bytes = 0, align = 1;
};

/// A kernel, or one instantiation of a kernel template that the host code refers to.
struct KernelUse {
  const clang::FunctionDecl* function = nullptr;
  std::string name;         ///< "ns::scale<float>", as NVRTC takes it for a name expression
  std::string mangled;      ///< Itanium name of the kernel itself (not of its stub)
  std::string stub_symbol;  ///< of the host's function that launches it
  bool extern_c = false;    ///< its mangled name is the device's
  bool overloaded = false;  ///< the name alone is ambiguous
  bool defined = true;      ///< here; else another source defines it
  // What its descriptor says.
  std::string listed_name;  ///< "ns::scale<float>", without unnamed namespaces
  std::string signature;
  std::string location;
  std::vector<KernelParam> params;
};

/// A template of kernels, as its descriptor says.
struct KernelTemplate {
  struct Param {
    std::string name;
    unsigned kind = TARSIA_TEMPLATE_TYPE;
    bool has_default = false;
    std::string default_text;
  };
  struct Deducible {
    std::string name;
    int deduces = -1;
    bool is_pointer = false;
  };
  std::string name, signature, location;
  std::vector<Param> params;
  std::vector<Deducible> function_params;
};

/// A variable in device memory that host code may refer to.
struct DeviceVariable {
  const clang::VarDecl* variable = nullptr;
  std::string name;
  std::string mangled;
  bool constant = false;
  bool managed = false;
  uint64_t bytes = 0;
  std::string shadow_symbol;  ///< of the host's variable that stands for it
  // What its descriptor says.
  std::string listed_name;  ///< "ns::table"
  std::string type;
  std::string location;
  tarsia_dtype dtype{};
  std::vector<int64_t> shape;
  bool read_only = false;
};

/// A declaration that is in a slice because something on the device bears its name. The device may need it
/// or not.
struct Doubt {
  std::string file;  ///< one of the slice's
  int first_line = 0, last_line = 0;
  Ranges ranges;  ///< in the file's text
};

/// The byte in `host_texts` that stands for each byte of a body that the host's parse stepped over. Ends of
/// lines stay.
inline constexpr char k_device_byte = '\1';

/// A function or variable of the host that the slice lacks, for messages about its name.
struct HostName {
  std::string name;  ///< without namespaces
  bool is_function = false;
  std::string file;
  int line = 0;
  std::string symbol = {};  ///< of a member function that is no template: as ptxas names it
};

using HostNames = std::vector<HostName>;

/// In the PTX of such a function's body: what nobody has.
inline constexpr char k_refused_prefix[] = "tarsia_host_function_";
std::string refused_symbol(const std::string& name);

/// A file as the host's parse saw it: without the bodies that it stepped over.
struct HostText {
  std::string name, text;
  Digest digest{};  ///< of both; of lines alone if no columns count
};

/// The device compiler's input: the user's texts at the same lines and columns, with everything blanked out
/// that is only the host's.
struct DeviceSlice {
  std::string main_file;          ///< one of `files`
  std::vector<SourceFile> files;  ///< main file and the user's headers, by the names they are included by
  std::vector<std::shared_ptr<const HostText>> host_texts;  ///< the user's files, the main one first
  std::vector<Doubt> doubts;
  std::vector<std::shared_ptr<const HostNames>> host_names;  ///< of each file
  HostNames refused;  ///< the host's member functions, which device code must not call, with their classes
  std::vector<KernelUse> kernels;
  std::vector<DeviceVariable> variables;
  /// Of a session's earlier cells, if the unit is a cell: in this device code they would be others.
  std::vector<DeviceVariable> earlier_variables;
  std::vector<KernelTemplate> templates;
  /// The host instantiates kernels of headers that are not the user's, and launches them.
  bool has_header_kernels = false;
  bool takes_from_headers = false;  ///< files on disk are among `files`
  /// Identifiers of the headers that were precompiled, sorted, if any were: `host_texts` lack their texts.
  std::shared_ptr<const std::vector<std::string>> words_of_headers;
  bool empty() const { return kernels.empty() && variables.empty(); }
};

/// Whether the source marks it as device code.
bool has_device_attribute(const clang::Decl& decl);

/// The declaration that a template declares; else the declaration itself.
const clang::Decl& templated(const clang::Decl& decl);

/// Whether the host does not need the body of this function: kernels and device-only functions.
bool is_device_only(const clang::Decl& decl);

/// Makes the texts for the device's compiler. What it says of headers it can find out before the parse ends,
/// once for all texts that are parsed behind them in children of the process.
class Slicer {
 public:
  /// `columns`: columns count in the digests of host texts.
  Slicer(clang::ASTContext& context, TokenRecorder& tokens, bool columns);
  ~Slicer();
  /// Between declarations of the main file: all other files are complete.
  void read_headers();
  /// Whether the headers that were read may be precompiled: none of them has a variable of the device.
  bool can_take_headers() const;
  /// What it has of the headers, for parses on top of the precompiled form that this writer has just made.
  /// The slicer is spent then.
  std::string take_headers(clang::ASTWriter& writer);
  /// Takes these bytes in place of headers that were not read here, once, before `slice`. False if they are
  /// not of that form.
  bool adopt_headers(std::string_view bytes, clang::ASTReader& reader);
  /// The parse is complete. The main file's text has `main_size` bytes; the rest of its buffer is Tarsia's.
  /// Once.
  void slice(DeviceSlice& slice, std::size_t main_size);
  /// Once that is done: where pragmas of OpenMP's stand in bodies that the host steps over.
  std::vector<clang::SourceLocation> openmp_in_bodies() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

}  // namespace tarsia::jit
