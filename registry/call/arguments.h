// Checks values against a parameter's descriptor and converts them to what an adapter unpacks.
#pragma once

#include <tarsia/abi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tarsia::registry {

/// Room for the values of a call, on the stack if they are few.
class Values {
 public:
  static constexpr std::size_t k_few = 16;
  explicit Values(std::size_t n) {
    if (n > k_few) m_many = std::make_unique<tarsia_value[]>(n);
  }
  tarsia_value* data() { return m_many ? m_many.get() : m_few.data(); }

 private:
  std::array<tarsia_value, k_few> m_few;
  std::unique_ptr<tarsia_value[]> m_many;
};

/// "argument 'x'", or "argument 2" of one without a name.
std::string param_name(const tarsia_param& param, unsigned i);

/// What the pointers and tensors of one call have in common.
struct CallPlace {
  tarsia_device device{TARSIA_CPU, 0};
  bool has_tensor = false;
  bool needs_gpu = false;  ///< a stream is taken, or tarsia::gpu<T>
  bool needs_cpu = false;  ///< the source has no CUDA
};

/// Why a value does not fit, without the parameter's name.
struct Misfit {
  bool is_type;  ///< wrong kind, as opposed to wrong value
  std::string text;
};

/// Converts. Lists are copied into the call's memory. Gives a Misfit if the value does not fit.
std::optional<Misfit> convert(const tarsia_type& type, const tarsia_value& given, CallPlace& place,
                              tarsia_value& out);

}  // namespace tarsia::registry
