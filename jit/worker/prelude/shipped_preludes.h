// The preludes that lie beside the worker: made when Tarsia is built, for how most sources begin.
// Format: docs/preludes.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "jit/worker/host/clang_setup.h"
#include "jit/worker/prelude/prelude_layer.h"
#include "jit/worker/prelude/prelude_text.h"

namespace tarsia::jit {

/// A layer of the pack. A layer of CUDA's headers names them by their virtual paths. The caller has yet to
/// check that this machine's headers are the same.
struct ShippedLayer {
  std::shared_ptr<const PreludeLayer> layer;
  Digest identity{};  ///< of the bytes, and of the layers below
};

/// A pack mapped into memory. Used by one thread.
class ShippedPreludes {
 public:
  /// Opened on first use. A pack that is missing, damaged or of another build counts as empty.
  explicit ShippedPreludes(std::string path);
  ~ShippedPreludes();

  /// The largest layer that holds only what these includes ask for. `settings` is the hash of the build and
  /// of all that decides how a header is read, but for the macros that the request defines: the layer depends
  /// on none of them. Null if there is none. A damaged layer counts as absent.
  const ShippedLayer* find(const Digest& settings, const std::vector<std::string>& includes,
                           const Defines& defines);

  /// A layer to be shipped: these includes, on top of the layer of that number, or of nothing (-1).
  struct Plan {
    Language language = Language::cxx;
    std::string standard;
    int base = -1;
    std::vector<std::string> includes;
  };
  static const std::vector<Plan>& plans();
  /// Makes a layer. Returns the hash of the settings under which it is found.
  using Make =
      std::function<PreludeLayer(const Plan&, std::shared_ptr<const PreludeLayer> base, Digest& settings)>;
  /// Makes the layers of all plans, or of all but CUDA's, and writes the pack. Throws what `make` throws.
  static void write(const std::string& path, bool with_cuda, const Make& make);

 private:
  struct Entry;
  void open();
  void read_index();
  bool check(Entry& entry);

  std::string m_path;  ///< empty once opened
  Mapping m_pack;
  std::vector<Entry> m_entries;
};

}  // namespace tarsia::jit
