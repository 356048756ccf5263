// What an op's declaration has collected, and what is wrong with it. op_define.h gives authors the words to
// fill it.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/op_attributes.h>
#include <tarsia/detail/op_declaration.h>
#include <tarsia/detail/plain_list.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

/// The base of OpDefinition, whose authors do not see it. It owns all that it points to, texts excepted.
struct OpParts {
  TARSIA_DETAIL_SUPPORT OpParts() {}
  TARSIA_DETAIL_SUPPORT ~OpParts() {
    for (uint32_t i_ = m_kept.n; i_-- > 0;) m_kept.items[i_].destroy(m_kept.items[i_].object);
    for (uint32_t i_ = 0; i_ < m_implementations.n; ++i_) {
      const tarsia_implementation& one_ = m_implementations.items[i_];
      delete[] one_.inplace;
      for (uint32_t k_ = 0; k_ < one_.n_layouts; ++k_) delete[] one_.layouts[k_].axes;
      delete[] one_.layouts;
    }
    delete[] m_op.backward_needs;
    delete[] m_kept.items;
    delete[] m_inputs.items;
    delete[] m_outputs.items;
    delete[] m_implementations.items;
    delete[] m_inplace.items;
  }

  OpParts(const OpParts&) = delete;

  TARSIA_DETAIL_SUPPORT void add_port(PlainList<tarsia_port>& list_, char last_, const char* name_,
                                      unsigned flags_) {
    if (!name_ || !*name_)
      fault(Message(last_ == 'i' ? "has an input without a name" : "has an output without a name"));
    tarsia_port& p_ = list_.add();
    p_.name = name_ ? name_ : "";
    p_.description = "";
    p_.flags = flags_;
    m_last = last_;
  }
  TARSIA_DETAIL_SUPPORT void add_attribute(const char* name_, tarsia_type type_, const tarsia_value* default_,
                                           int32_t (*check_)(void*, const char*)) {
    if (!name_ || !*name_) fault(Message("has an attribute without a name"));
    m_attributes.add(name_ ? name_ : "", type_, default_, check_);
    m_last = 'a';
  }
  TARSIA_DETAIL_SUPPORT tarsia_implementation& add_implementation(tarsia_pass pass_, const char* device_) {
    tarsia_implementation& i_ = m_implementations.add();
    i_.size = sizeof(tarsia_implementation);
    i_.pass = pass_;
    if (!device_) device_ = "";  // an unknown device
    i_.device_type = !__builtin_strcmp(device_, "cpu")   ? static_cast<int32_t>(TARSIA_CPU)
                     : !__builtin_strcmp(device_, "gpu") ? static_cast<int32_t>(TARSIA_GPU)
                                                         : 0;
    i_.requests = 1 << TARSIA_REQUEST_WRITE;
    i_.name = "";
    m_last = 0;
    return i_;
  }

  TARSIA_DETAIL_SUPPORT void add_pair(const char* function_, tarsia_pass pass_, unsigned input_,
                                      unsigned output_) {
    if (!follows_implementation(function_)) return;
    tarsia_implementation& i_ = m_implementations.last();
    if (i_.pass != static_cast<uint32_t>(pass_))
      fault(Message("has .") << function_ << "(…) after a "
                             << (pass_ == TARSIA_FORWARD ? ".backward(…): write .backward_inplace"
                                                         : ".forward(…): write .forward_inplace")
                             << "(…), or put it behind the implementation that it is about");
    tarsia_inplace* more_ = new tarsia_inplace[i_.n_inplace + 1];
    for (uint32_t k_ = 0; k_ < i_.n_inplace; ++k_) more_[k_] = i_.inplace[k_];
    more_[i_.n_inplace].input = input_;
    more_[i_.n_inplace++].output = output_;
    delete[] i_.inplace;
    i_.inplace = more_;
  }

  TARSIA_DETAIL_SUPPORT void add_layout(const char* name_, const int* axes_, uint32_t n_) {
    if (!follows_implementation("layout")) return;
    tarsia_implementation& i_ = m_implementations.last();
    tarsia_layout* more_ = new tarsia_layout[i_.n_layouts + 1];
    for (uint32_t k_ = 0; k_ < i_.n_layouts; ++k_) more_[k_] = i_.layouts[k_];
    uint8_t* copy_ = new uint8_t[n_ + 1];
    for (uint32_t k_ = 0; k_ < n_; ++k_)
      copy_[k_] = axes_[k_] < 0 || axes_[k_] > 254 ? uint8_t(255) : static_cast<uint8_t>(axes_[k_]);
    tarsia_layout& last_ = more_[i_.n_layouts++];
    last_ = tarsia_layout();
    last_.name = name_ ? name_ : "";
    last_.axes = copy_;
    last_.n_axes = n_;
    delete[] i_.layouts;
    i_.layouts = more_;
  }

  TARSIA_DETAIL_SUPPORT const tarsia_op* finish() {
    if (m_op.flags & TARSIA_OP_EXTENDS) {
      extends();
    } else {
      static const char* const names_[] = {"a", "b", "c", "d"};
      for (int i_ = 0, n_ = m_inputs.n ? 0 : m_default_inputs; i_ < n_; ++i_)
        add_port(m_inputs, 'i', n_ == 1 ? "x" : names_[i_], 0);
      if (!m_outputs.n) add_port(m_outputs, 'o', "y", 0);
    }
    m_op.inputs = m_inputs.items, m_op.n_inputs = m_inputs.n;
    m_op.outputs = m_outputs.items, m_op.n_outputs = m_outputs.n;
    m_op.attributes = m_attributes.items, m_op.n_attributes = m_attributes.n;
    m_op.implementations = m_implementations.items, m_op.n_implementations = m_implementations.n;
    m_op.inplace = m_inplace.items, m_op.n_inplace = m_inplace.n;
    m_op.user = this;
    m_op.fault = m_fault ? m_fault->text() : nullptr;
    return &m_op;
  }

  /// Notes the mistake if an extension declares what belongs to the op itself.
  TARSIA_DETAIL_SUPPORT void extends() {
    const char* what_ = m_inputs.n                              ? ".input"
                        : m_outputs.n                           ? ".output"
                        : m_attributes.n                        ? ".attribute"
                        : m_infer                               ? ".infer"
                        : m_arity                               ? ".arity"
                        : m_state                               ? ".state"
                        : m_op.create_params                    ? ".params"
                        : m_op.flags & TARSIA_OP_RANDOM         ? ".random"
                        : m_inplace.n                           ? ".inplace"
                        : m_op.backward_needs || m_needs        ? ".backward_needs"
                        : m_op.flags & TARSIA_OP_ANY_ATTRIBUTES ? ".any_attributes"
                                                                : nullptr;
    if (what_)
      fault(Message("has ") << what_
                            << "(…), which is for the op's own declaration: an added implementation has "
                               ".forward(…), .backward(…) and what qualifies them");
  }
  /// Keeps the first mistake of the declaration, for which the library is refused when it is loaded.
  TARSIA_DETAIL_SUPPORT void fault(const Message& text_) {
    if (!m_fault) m_fault = keep(m_kept, new Message(text_));
  }
  /// Notes the mistake if the function of this name got nothing to call.
  template <class F_>
  void require(const char* function_, const F_& f_) {
    if (is_nothing(f_, 0)) lacks(function_);
  }
  TARSIA_DETAIL_SUPPORT void lacks(const char* function_) {
    fault(Message("has .") << function_ << "(…) with a null function: pass one that is defined");
  }
  /// Notes the mistake if the function of this name was called before.
  TARSIA_DETAIL_SUPPORT void once(const char* function_, const void* before_) {
    if (before_)
      fault(Message("has two .") << function_
                                 << "(…), of which only one would be called: leave one of them out");
  }
  /// Returns whether something that a function of this name qualifies was declared before it; notes the
  /// mistake otherwise.
  TARSIA_DETAIL_SUPPORT bool follows(uint32_t n_, const char* function_, const char* what_) {
    if (!n_)
      fault(Message("has .") << function_ << "(…) before " << what_ << ": it is about the one declared last");
    return n_ != 0;
  }
  TARSIA_DETAIL_SUPPORT bool follows_attribute(const char* function_) {
    return follows(m_attributes.n, function_, "any .attribute(…)");
  }
  TARSIA_DETAIL_SUPPORT bool follows_implementation(const char* function_) {
    return follows(m_implementations.n, function_, "any .forward(…) or .backward(…)");
  }

  tarsia_op m_op = tarsia_op();
  Message* m_fault = nullptr;
  int m_default_inputs = 1;
  char m_last = 0;  ///< what was declared last: 'i', 'o', 'a', or the op itself
  PlainList<tarsia_port> m_inputs, m_outputs;
  AttributeList m_attributes;
  PlainList<tarsia_implementation> m_implementations;
  PlainList<tarsia_inplace> m_inplace;
  PlainList<Keeper> m_kept;
  void* m_infer = nullptr;
  void* m_arity = nullptr;
  void* m_state = nullptr;
  void* m_needs = nullptr;
};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>
