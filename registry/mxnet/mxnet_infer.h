// Binding of ops for MXNet's extension API: attributes, and inference in that API's words, where an unknown
// dtype or storage type is -1, an unknown extent 0, an unknown shape empty.
#pragma once

#include <tarsia/mxnet/table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tarsia::registry::mxnet {

/// The last error becomes that of a function that gave TARSIA_MXNET_FAILED; other codes stay as they are.
std::int32_t failure(std::int32_t code, const char* function);

/// Sets the error of an op that does what it may not.
std::int32_t op_is_wrong(const std::string& text);

/// "cpu" or "gpu".
const char* device_type(tarsia_device device);

/// The attributes of a binding, as texts, and what the library made of them.
class MxnetAttributes {
 public:
  /// Throws ArgumentError for a text with a NUL in it, Error as the library says.
  MxnetAttributes(const tarsia_mxnet_library& library, const tarsia_bind_info& info);
  ~MxnetAttributes();
  MxnetAttributes(const MxnetAttributes&) = delete;
  MxnetAttributes& operator=(const MxnetAttributes&) = delete;

  /// What the library made.
  void* get() const { return m_made; }
  /// Those that are the binding's params.
  static void* of(const tarsia_bind_info& info) {
    return static_cast<const MxnetAttributes*>(info.params)->get();
  }

 private:
  const tarsia_mxnet_library& m_library;
  std::vector<const char*> m_values;
  tarsia_mxnet_texts m_texts;
  void* m_made = nullptr;
};

/// Shapes as arrays of unsigned numbers.
class Shapes {
 public:
  /// Throws ArgumentError for an extent that is too large.
  Shapes(const tarsia_meta* metas, std::uint32_t n);
  const tarsia_mxnet_shapes& get() const { return m_shapes; }

 private:
  std::vector<std::vector<std::uint32_t>> m_extents;
  std::vector<std::uint32_t*> m_pointers;
  std::vector<std::int32_t> m_ndims;
  tarsia_mxnet_shapes m_shapes{};
};

/// The numbers of the inputs' dtypes, and one element more. Gives a code with the last error set for a dtype
/// that the API does not have.
std::int32_t read_dtypes(const tarsia_bind_info& info, std::vector<int>& dtypes);

/// Marks the inputs that the op changes. Gives 0, or a code with the last error set; may throw.
std::int32_t mark_mutable(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op, void* attributes,
                          tarsia_port* inputs, std::uint32_t n);

/// Runs the op's inference. Gives 0, or a code with the last error set; may throw.
std::int32_t infer(const tarsia_mxnet_library& library, const tarsia_mxnet_op& op,
                   const tarsia_bind_info& info);

}  // namespace tarsia::registry::mxnet
