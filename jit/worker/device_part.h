// Device code as a part that is kept: what counts in its key, and its form.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "jit/compile.h"
#include "jit/worker/device/device_compiler.h"
#include "jit/worker/split/split.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// Which files' lines can be seen in the device code.
class ShownLines {
 public:
  ShownLines(const CompileRequest& request, const DeviceSlice& slice);
  bool of(llvm::StringRef text) const;

 private:
  void add_macro(llvm::StringRef definition);
  bool tells(llvm::StringRef word) const;

  bool m_all;
  std::map<std::string, std::set<std::string>> m_macros;  // the words in their definitions
  std::set<std::string> m_tellers;
};

/// Whether the code has a path of CUDA's headers, as an assertion in one of them writes it, or a warning has
/// one of any folder. The key leaves out where folders lie.
bool names_folder(const DeviceResult& result, const DeviceRequest& request);

/// The text without white space at the ends of lines and of itself. Without `lines` it has no empty lines,
/// and nothing before the first word of a line.
std::string condensed(llvm::StringRef text, bool lines);

std::string to_bytes(const DeviceResult& result);
/// None if the bytes are not of that form.
std::optional<DeviceResult> from_bytes(const std::string& bytes);

}  // namespace tarsia::jit
