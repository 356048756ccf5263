// Reads LLD's log: "ld.lld: error: undefined symbol: foo" and its ">>> referenced by" lines become one
// diagnostic.
#include "jit/worker/link/link_messages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "jit/worker/link/driver_stubs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tarsia::jit {
namespace {

constexpr size_t k_most_undefined = 50;

// CUDA declares them to the host as well, and nothing defines them there.
constexpr llvm::StringLiteral k_device_variables[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                                      "warpSize"};

/// Whether CUDA declares a function for the device alone: on a line that begins with
/// `__DEVICE_FUNCTIONS_DECL__`, say. `folders`: of CUDA's headers.
bool is_device_function(llvm::StringRef name, const std::vector<std::string>& folders) {
  if (name.empty() || !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; })) return false;
  const std::string called = " " + name.str() + "(";
  for (const std::string& folder : folders)
    for (const char* header : {"device_functions.h", "device_double_functions.h"}) {
      const auto file = llvm::MemoryBuffer::getFile(folder + "/crt/" + header);
      if (!file) continue;
      const llvm::StringRef text = (*file)->getBuffer();
      for (size_t at = text.find(called); at != text.npos; at = text.find(called, at + 1)) {
        const llvm::StringRef line = text.take_front(at).rsplit('\n').second;
        if (line.contains("__device__") || line.starts_with("__DEVICE_")) return true;
      }
    }
  return false;
}

/// Whether it is named as functions of the CUDA runtime are: cudaMalloc.
bool is_of_runtime(llvm::StringRef symbol) {
  return symbol.consume_front("cuda") && !symbol.empty() && llvm::isUpper(symbol.front()) &&
         llvm::all_of(symbol, llvm::isAlnum);
}

/// What to do about a symbol of a library that people know by its names. Empty: it is of none.
std::string library_remedy(llvm::StringRef symbol) {
  struct Library {
    llvm::StringLiteral begins;  ///< of its symbols, with words between them
    llvm::StringLiteral remedy;
  };
  static constexpr Library k_cxx[] = {
      {"at:: c10:: caffe2:: torch::",
       ", of PyTorch; compile with its options: load_inline(source, **tarsia.torch.options())"},
      {"tvm::ffi:: TVMFFI",
       ", of tvm-ffi; compile with its options: load_inline(source, **tarsia.tvm_ffi.options())"},
  };
  for (const Library& library : k_cxx)
    for (const llvm::StringRef begin : llvm::split(library.begins, ' '))
      if (symbol.starts_with(begin)) return library.remedy.str();
  // Those of NVIDIA are functions of C: cublasLtCreate is cublasLt's.
  for (const char* name : {"cublasLt", "cublas", "cusparseLt", "cusparse", "cusolverMg", "cusolver",
                           "cufftXt", "cufft", "curand", "cudnn", "nccl", "nvjpeg", "nvrtc", "nvJitLink"}) {
    llvm::StringRef rest = symbol;
    if (!rest.consume_front(name) || rest.empty() || !llvm::isUpper(rest.front())) continue;
    llvm::StringRef library = name;
    if (library == "cufftXt") library = "cufft";
    return ("; name its library: libraries=['" + library +
            "'], and library_dirs where it lies in no folder of the linker or of CUDA")
        .str();
  }
  return {};
}

class Reader {
 public:
  Reader(const std::map<std::string, std::string>& names, const std::vector<std::string>& cuda_folders)
      : m_names(names), m_cuda_folders(cuda_folders) {}

  LinkMessages run(llvm::StringRef log) {
    while (!log.empty()) {
      auto [line, rest] = log.split('\n');
      log = rest;
      if (line.trim().empty()) continue;
      if (line.consume_front("ld.lld: error: ") || line.contains("error: "))
        begin(line, Severity::error);
      else if (line.consume_front("ld.lld: warning: "))
        begin(line, Severity::warning);
      else if (!m_skip && !m_found.empty())
        add_detail(line);
    }
    if (m_undefined > k_most_undefined)
      m_found.push_back(
          {.message = std::to_string(m_undefined - k_most_undefined) + " more symbols are undefined"});
    return {std::move(m_found), std::move(m_of_driver)};
  }

 private:
  std::string clean(llvm::StringRef line) const {
    std::string text = line.str();
    for (const auto& [path, name] : m_names)
      for (size_t at; (at = text.find(path)) != std::string::npos;) text.replace(at, path.size(), name);
    static constexpr std::string_view k_stub = "__device_stub__";  // what Clang calls a kernel's launcher
    for (size_t at; (at = text.find(k_stub)) != std::string::npos;)
      text.replace(at, k_stub.size(), "kernel ");
    // What a static function's symbol ends with if two objects share it.
    constexpr llvm::StringLiteral k_begin = " (.of";
    for (size_t at = text.find(k_begin); at != std::string::npos; at = text.find(k_begin, at + 1)) {
      const llvm::StringRef rest = llvm::StringRef(text).drop_front(at + k_begin.size());
      const size_t digits = rest.take_while(llvm::isDigit).size();
      if (digits && rest.drop_front(digits).starts_with(")")) text.erase(at, k_begin.size() + digits + 1);
    }
    return text;
  }

  void begin(llvm::StringRef line, Severity severity) {
    Diagnostic diagnostic;
    diagnostic.severity = severity;
    diagnostic.message = clean(line);
    llvm::StringRef symbol = line;
    const bool undefined = symbol.consume_front("undefined symbol: ");
    const bool of_driver = undefined && is_of_driver(symbol);
    if (of_driver) m_of_driver.insert(symbol.str());
    m_skip = undefined && (of_driver || may_stay_undefined(symbol.str()) || ++m_undefined > k_most_undefined);
    if (m_skip) return;
    if (undefined) diagnostic.severity = Severity::error;
    if (undefined && llvm::is_contained(k_device_variables, symbol)) {
      diagnostic.message =
          "'" + symbol.str() + "' has a value in kernels and device functions alone, and host code reads it";
    } else if (undefined && is_device_function(symbol, m_cuda_folders)) {
      diagnostic.message = "'" + symbol.str() +
                           "' is a function of the device, and host code calls it: a function of both sides "
                           "may do so behind `#ifdef __CUDA_ARCH__`";
    } else if (undefined && m_cuda_folders.empty() && is_of_runtime(symbol)) {
      diagnostic.message += ", of the CUDA runtime; name it: libraries=['cudart']";
    } else if (const std::string remedy = undefined ? library_remedy(symbol) : ""; !remedy.empty()) {
      diagnostic.message += remedy;
    } else if (undefined) {
      diagnostic.message += "; define it, or name the library that does in `libraries`";
    }
    m_duplicate = line.starts_with("duplicate symbol: ");
    if (m_duplicate)
      diagnostic.message = diagnostic.message.substr(18) +
                           " is defined more than once: make it static or inline, or rename one. It is in";
    m_found.push_back(std::move(diagnostic));
  }

  // Whether the user may have meant this symbol by the one that is undefined: LLD takes any whose name
  // differs in one letter. It is not the function that refers to it, and of short names one letter is much.
  static bool is_likely(llvm::StringRef guess, llvm::StringRef message) {
    constexpr size_t k_short = 4;
    const auto name_of = [](llvm::StringRef symbol) {
      symbol = symbol.take_until([](char c) { return c == '('; });
      return symbol.substr(symbol.rfind(':') + 1);
    };
    const llvm::StringRef meant = name_of(guess),
                          undefined = name_of(message.split("undefined symbol: ").second.split(';').first);
    if (message.contains(("\nin " + guess).str()) || message.contains(("(" + guess + ")").str()))
      return false;
    return meant == undefined || (meant.size() >= k_short && undefined.size() >= k_short);
  }

  // A line that begins with ">>>".
  void add_detail(llvm::StringRef line) {
    Diagnostic& last = m_found.back();
    llvm::StringRef text = line.trim();
    text.consume_front(">>>");
    text = text.trim();
    if (text.starts_with("referenced by ") && last.file.empty()) {
      std::string place = clean(text.drop_front(14));
      last.file = place.substr(0, place.find(':'));
      if (const llvm::StringRef line = llvm::StringRef(place).rsplit(':').second;
          place == last.file + ":" + line.str() && !line.getAsInteger(10, last.line) && last.line > 0)
        return;
    }
    if (text.starts_with("defined at tarsia_module")) return;
    std::string place = clean(text);
    if (m_drops_guess && text.starts_with("defined in: ")) return;
    m_drops_guess = text.starts_with("did you mean: ") && !is_likely(text.drop_front(14), last.message);
    if (m_drops_guess) return;
    // The line table's "a.cc:2", then "a.cc:(f())". Functions that Tarsia makes have line 0.
    if (m_duplicate && text.consume_front("defined at ")) {
      m_line_of_duplicate =
          text.ends_with(":0") ? "" : clean(text.take_until([](char c) { return c == ' '; }));
      return;
    }
    // "a.cc:(f())": the function that refers to a symbol, of a file that was named.
    if (!m_duplicate && last.line > 0 && place.starts_with(last.file + ":(") && place.ends_with(")"))
      place = "in " + place.substr(last.file.size() + 2, place.size() - last.file.size() - 3);
    if (size_t at = place.find(":("); m_duplicate && at != place.npos) place.resize(at);
    if (!m_line_of_duplicate.empty()) place = std::exchange(m_line_of_duplicate, {});
    last.message += "\n" + place;
  }

  const std::map<std::string, std::string>& m_names;
  const std::vector<std::string>& m_cuda_folders;
  std::vector<Diagnostic> m_found;
  std::set<std::string> m_of_driver;
  bool m_skip = false;         // the lines are about a symbol of which nothing is said
  bool m_drops_guess = false;  // LLD's guess at what was meant was left out
  bool m_duplicate = false;    // they are about a symbol that is defined twice
  std::string m_line_of_duplicate;
  size_t m_undefined = 0;
};

}  // namespace

bool may_stay_undefined(const std::string& symbol) {
  llvm::StringRef name = symbol;
  if (name.starts_with("__asan_") || name.starts_with("__tsan_") || name.starts_with("__sanitizer_"))
    return true;
  name.consume_front("_");
  return name.starts_with("Py") &&
         std::ranges::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LinkMessages read_messages(const std::string& log, const std::map<std::string, std::string>& names,
                           const std::vector<std::string>& cuda_folders) {
  return Reader(names, cuda_folders).run(log);
}

}  // namespace tarsia::jit
