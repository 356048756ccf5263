// What the modules of a pack were made with: which Tarsia, and which parts of CUDA.
//
//   made_with := version build nvrtc clang major folder_count folder*
//   version, major, folder_count := u32
//   build   := text, of the compiler                        nvrtc, clang := texts: identities (base/cuda)
//   folder  := text, absolute: CUDA's headers lay there     text := u32 length and bytes
//
// Numbers are little-endian. It is the payload of an entry of Kind::fact in a pack, under the hash of its
// bytes.
//
// Problem: an image for servers has a GPU, and neither NVRTC nor CUDA's headers. The key of a CUDA source
// names NVRTC, and the headers are among the files that its module was made from. Choice: a replayed module
// stands for what NVRTC would make, so it is looked for under the key that the pack's NVRTC gives, too. Its
// headers of CUDA count as long as they are unchanged or gone: nobody could have edited what is not there.
// Headers of the user's own always count.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dependency.h"
#include "cache/pack.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

struct MadeWith {
  std::string build;
  std::string nvrtc_identity, clang_identity;  ///< empty: CUDA had no part in it
  int major = 0;
  std::vector<std::string> folders;

  /// Of what this build makes of a request.
  static MadeWith of(const jit::CompileRequest& request);
  std::string serialise() const;
  /// Nothing if the bytes do not follow the grammar of this version.
  static std::optional<MadeWith> parse(std::string_view bytes);

  /// Whether CUDA had a part in it.
  bool has_cuda() const { return major != 0 || !nvrtc_identity.empty(); }
  /// Puts what a key says of CUDA into a request.
  void lend_to(jit::CompileRequest& request) const;
  bool operator==(const MadeWith&) const = default;
};

/// Tells the files that lay in CUDA's folders and that this machine does not have. Looks for each once.
class MissingHeaders {
 public:
  explicit MissingHeaders(std::vector<std::string> folders) : m_folders(std::move(folders)) {}
  bool operator()(const Dependency& dependency);

 private:
  std::vector<std::string> m_folders;
  std::map<std::string, bool, std::less<>> m_gone;  ///< headers are those of most modules
};

/// Takes such files out of the manifests that have paths.
void forget_missing_headers(const std::vector<MadeWith>& made_with, cache::OpenPack& pack);

}  // namespace tarsia::pipeline
