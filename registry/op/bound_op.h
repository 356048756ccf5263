// A bound op: attributes parsed, shapes inferred, implementation chosen. Its call is the hot path.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/op_abi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/op/conversions.h"
#include "registry/op/infer.h"
#include "registry/op/inplace.h"
#include "registry/op/layouts.h"
#include "registry/op/measured.h"
#include "registry/op/op_registry.h"
#include "registry/resources/ref.h"
#include "registry/resources/turn.h"

namespace tarsia::registry {

/// Counted. Keeps its op's library, so a replaced op works on until its bound ops are gone.
class BoundOp : public Counted<BoundOp> {
 public:
  /// Binds as the request says, save for a measured choice, which registry/measure makes and hands over here
  /// as `measured`. Throws ArgumentError, OpError, Unsupported (no implementation for the device).
  BoundOp(Ref<OpEntry> entry, const tarsia_op_request& request, MeasuredPasses measured = {});

  /// With the metas of the caller's tensors.
  const BoundInfo& bound() const { return m_bound; }
  bool has_backward() const { return implementation(TARSIA_BACKWARD) != nullptr; }

  /// The implementation of a pass; null if it has none, which a forward never is.
  const tarsia_implementation* implementation(tarsia_pass pass) const {
    return m_passes[pass].implementation;
  }
  /// What people call it: its name, or "cpu #2", the second of its device and pass; "" if there is none.
  const std::string& implementation_name(tarsia_pass pass) const { return m_passes[pass].name; }
  /// The pairs by which it may share memory: the op's, if it is a forward, and its own.
  std::span<const tarsia_inplace> inplace(tarsia_pass pass) const { return m_passes[pass].pairs.pairs(); }
  /// The most bytes of scratch that it says it takes; 0 if it says nothing.
  std::uint64_t workspace(tarsia_pass pass) const { return m_passes[pass].workspace; }
  /// The bytes of scratch that its calls take for dense tensors in the place of sparse ones.
  std::uint64_t converted_bytes(tarsia_pass pass) const { return m_passes[pass].converted_bytes; }
  /// For each tensor that it takes, whether it needs it; empty: all.
  std::span<const std::uint8_t> needs(tarsia_pass pass) const { return m_passes[pass].needs; }
  /// What is converted for it, as in "input 'x': csr -> dense".
  const std::vector<std::string>& conversions(tarsia_pass pass) const { return m_passes[pass].conversions; }
  std::span<const char* const> conversion_texts(tarsia_pass pass) const {
    return m_passes[pass].conversion_texts;
  }
  /// The layouts in which its implementation takes tensors.
  const PassLayouts& layouts(tarsia_pass pass) const { return m_passes[pass].layouts; }
  /// Those that are not row-major, as in "input 'x': axes (0, 2, 3, 1)".
  std::span<const char* const> layout_texts(tarsia_pass pass) const { return m_passes[pass].layout_texts; }
  /// What was measured of the implementations of a pass.
  const Measured& measured(tarsia_pass pass) const { return m_measured[pass]; }
  std::span<const tarsia_measured_time> measured_times(tarsia_pass pass) const {
    return m_measured_times[pass];
  }
  /// What its state function made; null if there is none.
  void* state() const { return m_state; }
  /// Whether its op says that it draws random numbers.
  bool draws_random() const;
  /// Whether its op, and what runs in the pass, are of compiled libraries: not defined by a program, as
  /// Python does.
  bool is_compiled(tarsia_pass pass) const;
  /// Whether the op changes input i where it lies.
  bool changes_input(std::uint32_t i) const;
  /// Whether input i was given and has a gradient.
  bool has_gradient(std::uint32_t i) const;

  /// Runs the op on tensors that match its metas. Returns 0, or a code with the last error set. Neither
  /// allocates nor locks if the implementation honours the requests. Threads that run one bound op with
  /// state take turns. A run within a run of the same thread goes on with the state as it is. Turns that
  /// would wait for each other for ever are an error. So is a state that another thread had when the
  /// process was forked.
  std::int32_t call(const tarsia_op_call& call) noexcept;

  /// Throws ArgumentError unless numbers, dtypes, shapes, devices and contiguity fit. A tensor for which the
  /// implementation declares a layout may lie in it, or row-major.
  void check(const tarsia_op_call& call) const;

 private:
  bool fits_plainly(const tarsia_op_call& call) const noexcept;
  friend class Counted<BoundOp>;
  ~BoundOp();
  void destroy() { delete this; }

  /// What runs in forward or backward.
  struct Pass {
    const tarsia_implementation* implementation = nullptr;
    const tarsia_bind_info* info = nullptr;  ///< what it sees
    bool is_dense = false;                   ///< it gets dense tensors in place of the sparse ones
    bool is_as_given = false;                ///< it gets all tensors as the caller gives them
    bool is_alone = false;                   ///< threads take turns
    std::uint32_t n_inputs = 0;
    std::uint32_t n_outputs = 0;
    /// How many inputs a call has that gets here without further ado; no call has so many if there is no
    /// implementation, or if it does not get all.
    std::uint32_t n_plain_inputs = 0xffffffff;
    std::vector<std::uint8_t> needs;
    InplacePairs pairs;
    std::uint64_t workspace = 0, converted_bytes = 0;
    std::string name;
    std::vector<std::string> conversions;
    std::vector<const char*> conversion_texts;  ///< of `conversions`
    PassLayouts layouts;
    std::vector<std::string> layout_lines;
    std::vector<const char*> layout_texts;  ///< of `layout_lines`
  };

  Pass plan(tarsia_pass pass) const;
  /// Calls with no more than the pass needs, or refuses.
  std::int32_t call_slowly(const Pass& pass, const tarsia_op_call& call) noexcept;
  /// Refuses a call that has no implementation, or not its numbers of tensors.
  std::int32_t refuse(const tarsia_op_call& call) noexcept;
  std::int32_t call(const Pass& pass, const tarsia_op_call& call) noexcept;
  std::int32_t call_on_gpu(const Pass& pass, const tarsia_op_call& call, tarsia_op_context& context,
                           bool is_plain) noexcept;
  std::int32_t run(const Pass& pass, const tarsia_op_context& context) noexcept;
  std::int32_t run_in_turn(const tarsia_implementation& implementation,
                           const tarsia_op_context& context) noexcept;
  /// Runs with other tensors than the caller's: dense in place of sparse ones, in the layouts that the
  /// implementation takes, and copies in place of outputs.
  std::int32_t run_converted(const Pass& pass, tarsia_op_context& context) noexcept;
  std::int32_t run_in_layouts(const Pass& pass, tarsia_op_context& context) noexcept;
  std::int32_t run_with_copies(const Pass& pass, tarsia_op_context& context) noexcept;
  std::int32_t fail(const tarsia_implementation& implementation, std::int32_t code) noexcept;
  std::int32_t check_launches(const tarsia_implementation& implementation) noexcept;

  Ref<OpEntry> m_entry;
  BoundInfo m_bound;
  std::unique_ptr<DenseInfo> m_dense;  ///< null: every tensor is dense
  MeasuredPasses m_measured;
  std::array<std::vector<tarsia_measured_time>, 2> m_measured_times;  ///< of `m_measured`
  std::array<Pass, 2> m_passes;                                       ///< by tarsia_pass
  std::vector<std::uint8_t> m_write;                                  ///< "write" for every output
  std::vector<std::uint8_t> m_write_gradients;  ///< "write" for every input that has a gradient, else "null"
  void* m_state = nullptr;
  Turn m_state_turn;  ///< of the state: its author's code sees one thread at a time
};

/// Says which implementations an op would be bound to, and why it would not be to each other. Throws what
/// binding throws, except that none applies.
std::string explain(const tarsia_op& op, const tarsia_op_request& request,
                    const MeasuredPasses& measured = {});

}  // namespace tarsia::registry
