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
#include "jit/worker/host/prelude_layer.h"
#include "jit/worker/prelude/prelude_text.h"

namespace tarsia::jit {

/// A layer of the pack. One of CUDA's headers names them by their virtual paths: whether those of this
/// machine are the same is still to be seen.
struct ShippedLayer {
  std::shared_ptr<const PreludeLayer> layer;
  Digest identity{};  ///< of the bytes, and of the layers below
};

/// A pack mapped into memory. Used by one thread.
class ShippedPreludes {
 public:
  /// Opened when first asked. A pack that is missing, damaged or of another build is as one that is empty.
  explicit ShippedPreludes(std::string path);
  ~ShippedPreludes();

  /// The largest layer that holds nothing but what these includes ask for. `settings` is the hash of the
  /// build and all that decides how a header is read. Null when there is none. A damaged layer is as one that
  /// is absent.
  const ShippedLayer* find(const Digest& settings, const std::vector<std::string>& includes);

  /// One layer to be shipped: of these includes, on top of the layer of that number or (-1) of nothing.
  struct Plan {
    Language language = Language::cxx;
    std::string standard;
    int base = -1;
    std::vector<std::string> includes;
  };
  static const std::vector<Plan>& plans();
  /// Makes a layer and gives the settings' hash that it is found by.
  using Make =
      std::function<PreludeLayer(const Plan&, std::shared_ptr<const PreludeLayer> base, Digest& settings)>;
  /// Makes all plans' layers, or all but CUDA's, and writes the pack. Throws what `make` throws.
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
