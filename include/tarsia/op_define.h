// TARSIA_OP: declares an op and registers it when its library is loaded.
//
// A declaration fills the plain structs of op_abi.h and leaves the rest to libtarsia. It uses no std header
// and instantiates next to nothing, so that an inline source with ops compiles as fast as one without. Texts
// (names, descriptions) are kept as pointers: give literals.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/export.h>
#include <tarsia/op_attributes.h>
#include <tarsia/op_context.h>

// Declarations run once, when the library is loaded. Optimising them would take longer than all the rest of a
// small inline source.
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {

namespace detail {

/// A list that grows by doubling; items are plain structs.
template <class T_>
struct PlainList {
  T_* items = nullptr;
  uint32_t n = 0;

  T_& add() {
    if ((n & (n + 1)) == 0) {  // full at 0, 1, 3, 7, …
      T_* more_ = new T_[2 * n + 1];
      for (uint32_t i_ = 0; i_ < n; ++i_) more_[i_] = items[i_];
      delete[] items;
      items = more_;
    }
    items[n] = T_();
    return items[n++];
  }
  T_& last() { return items[n - 1]; }
};

/// Frees what the declarations made when the library is unloaded.
struct Keeper {
  void* object;
  void (*destroy)(void*);
};
TARSIA_DETAIL_SUPPORT void keep(PlainList<Keeper>& list_, void* object_, void (*destroy_)(void*)) {
  Keeper& k_ = list_.add();
  k_.object = object_;
  k_.destroy = destroy_;
}
template <class T_>
T_* keep(PlainList<Keeper>& list_, T_* object_) {
  keep(list_, object_, [](void* p_) { delete static_cast<T_*>(p_); });
  return object_;
}

}  // namespace detail

/// An op being declared. Each function returns the same object, so calls can be chained. Qualifiers
/// (`describe`, `range`, …) apply to what was declared last.
class OpDefinition {
 public:
  /// Registers a new definition for this library.
  TARSIA_DETAIL_SUPPORT static OpDefinition& add(const char* name_, const char* location_) {
    OpDefinition* d_ = new OpDefinition();
    d_->m_op.size = sizeof(tarsia_op);
    d_->m_op.name = name_;
    d_->m_op.location = location_;
    d_->m_op.description = "";
    tarsia_module_ops = &list;
    return *(all().definitions.add() = d_);
  }
  OpDefinition(const OpDefinition&) = delete;

  /// The number of inputs if none are declared; at most four.
  TARSIA_DETAIL_SUPPORT OpDefinition& default_inputs(int n_) {
    m_default_inputs = n_;
    m_last = 0;
    return *this;
  }
  /// Describes the op, or the port or attribute declared last.
  TARSIA_DETAIL_SUPPORT OpDefinition& describe(const char* text_) {
    (m_last == 'i'   ? m_inputs.last().description
     : m_last == 'o' ? m_outputs.last().description
     : m_last == 'a' ? m_attributes.last().description
                     : m_op.description) = text_;
    return *this;
  }

  TARSIA_DETAIL_SUPPORT OpDefinition& input(const char* name_, unsigned flags_ = 0) {
    return port(m_inputs, 'i', name_, flags_);
  }
  TARSIA_DETAIL_SUPPORT OpDefinition& output(const char* name_, unsigned flags_ = 0) {
    return port(m_outputs, 'o', name_, flags_);
  }
  /// An input that callers may omit.
  TARSIA_DETAIL_SUPPORT OpDefinition& optional_input(const char* name_) {
    return input(name_, TARSIA_PORT_OPTIONAL);
  }
  /// An input that the op changes: auxiliary state, which has no gradient.
  TARSIA_DETAIL_SUPPORT OpDefinition& mutable_input(const char* name_) {
    return input(name_, TARSIA_PORT_MUTABLE);
  }
  /// The input declared last has no gradient.
  TARSIA_DETAIL_SUPPORT OpDefinition& no_gradient() {
    m_inputs.last().flags |= TARSIA_PORT_NO_GRADIENT;
    return *this;
  }
  /// Callers do not get the output declared last.
  TARSIA_DETAIL_SUPPORT OpDefinition& hidden() {
    m_outputs.last().flags |= TARSIA_PORT_HIDDEN;
    return *this;
  }
  /// Any number of inputs, after the others.
  TARSIA_DETAIL_SUPPORT OpDefinition& variadic_input(const char* name_) {
    return input(name_, TARSIA_PORT_VARIADIC);
  }

  /// A required attribute, unless T is a std::optional.
  template <class T_>
  OpDefinition& attribute(const char* name_) {
    return add_attribute(name_, detail::attribute_type<T_>::describe(), nullptr,
                         detail::attribute_type<T_>::check());
  }
  /// An attribute with a default. A type of the author's own needs operator<< for it.
  template <class T_>
  OpDefinition& attribute(const char* name_, T_ default_) {
    return add_attribute(name_, detail::attribute_type<T_>::describe(),
                         new_value(detail::attribute_type<T_>::default_of(default_)),
                         detail::attribute_type<T_>::check());
  }
  /// An attribute that sets a member of the op's struct of parameters, P, whose default is the member's own.
  template <class P_, class M_>
  OpDefinition& attribute(const char* name_, M_ P_::* member_) {
    const P_& defaults_ = detail::default_params<P_>();
    add_attribute(name_, detail::attribute_type<M_>::describe(), default_of<M_>(defaults_.*member_, 0),
                  detail::attribute_type<M_>::check());
    m_attributes.last().flags &= ~static_cast<uint32_t>(TARSIA_ATTRIBUTE_REQUIRED);
    m_attributes.last().set = &detail::set_member<M_>;
    m_attributes.last().offset = static_cast<uint64_t>(reinterpret_cast<const char*>(&(defaults_.*member_)) -
                                                       reinterpret_cast<const char*>(&defaults_));
    return m_op.create_params ? *this : params<P_>();
  }
  /// The op's struct of parameters, if it is not that of the first member that is declared.
  template <class P_>
  OpDefinition& params() {
    m_op.create_params = [](void*, const tarsia_bind_info*, void** params_) -> int32_t {
      try {
        *params_ = new P_();
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    m_op.destroy_params = [](void*, void* params_) { delete static_cast<P_*>(params_); };
    return *this;
  }
  /// Callers have to give the attribute declared last.
  TARSIA_DETAIL_SUPPORT OpDefinition& required() {
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_REQUIRED;
    drop_default(m_attributes.last());
    return *this;
  }
  /// The least and the greatest value of the attribute declared last.
  TARSIA_DETAIL_SUPPORT OpDefinition& range(double min_, double max_) { return at_least(min_).at_most(max_); }
  TARSIA_DETAIL_SUPPORT OpDefinition& at_least(double min_) {
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_MIN;
    m_attributes.last().min = min_;
    return *this;
  }
  TARSIA_DETAIL_SUPPORT OpDefinition& at_most(double max_) {
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_MAX;
    m_attributes.last().max = max_;
    return *this;
  }
  /// The texts that callers may give for it. An attribute of an enumeration gets the index.
  TARSIA_DETAIL_SUPPORT OpDefinition& choices(std::initializer_list<const char*> list_) {
    const char** copy_ = new const char*[list_.size() + 1];
    uint32_t n_ = 0;
    for (const char* text_ : list_) copy_[n_++] = text_;
    delete[] m_attributes.last().choices;
    m_attributes.last().choices = copy_;
    m_attributes.last().n_choices = n_;
    return *this;
  }
  /// Undeclared attributes are allowed, as strings.
  TARSIA_DETAIL_SUPPORT OpDefinition& any_attributes() {
    m_op.flags |= TARSIA_OP_ANY_ATTRIBUTES;
    return *this;
  }

  /// It draws random numbers: frameworks may neither merge two calls nor repeat one.
  TARSIA_DETAIL_SUPPORT OpDefinition& random() {
    m_op.flags |= TARSIA_OP_RANDOM;
    return *this;
  }

  /// Inference: `void f(tarsia::BindInfo&)` sets what is unknown of outputs, and of inputs if it can.
  /// Without it all inputs and outputs have one shape and dtype.
  template <class F_>
  OpDefinition& infer(F_ f_) {
    m_infer = detail::keep(m_kept, new F_(f_));
    m_op.infer = [](void* self_, const tarsia_bind_info* c_) -> int32_t {
      try {
        BindInfo info_(c_);
        (*static_cast<F_*>(static_cast<OpDefinition*>(self_)->m_infer))(info_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  /// The attributes decide how many inputs and outputs there are: `void f(const BindInfo&, int* n_in, int*
  /// n_out)`.
  template <class F_>
  OpDefinition& arity(F_ f_) {
    m_arity = detail::keep(m_kept, new F_(f_));
    m_op.arity = [](void* self_, const tarsia_bind_info* c_, uint32_t* in_, uint32_t* out_) -> int32_t {
      try {
        int a_ = int(*in_), b_ = int(*out_);
        (*static_cast<F_*>(static_cast<OpDefinition*>(self_)->m_arity))(BindInfo(c_), &a_, &b_);
        *in_ = uint32_t(a_), *out_ = uint32_t(b_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  /// State of each bound op: `S* f(const BindInfo&)`, deleted with it.
  template <class F_>
  OpDefinition& state(F_ f_) {
    m_state = detail::keep(m_kept, new F_(f_));
    m_op.create_state = [](void* self_, const tarsia_bind_info* c_, void** state_) -> int32_t {
      try {
        *state_ = (*static_cast<F_*>(static_cast<OpDefinition*>(self_)->m_state))(BindInfo(c_));
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    m_op.destroy_state = [](void*, void* state_) {
      delete static_cast<decltype(f_(*static_cast<const BindInfo*>(nullptr)))>(state_);
    };
    return *this;
  }

  /// An implementation for "cpu" or "gpu": `void f(tarsia::Context&)`.
  template <class F_>
  OpDefinition& forward(const char* device_, F_ f_) {
    return implementation(TARSIA_FORWARD, device_, f_);
  }
  /// The gradient: inputs are output gradients, inputs, outputs; outputs are input gradients.
  template <class F_>
  OpDefinition& backward(const char* device_, F_ f_) {
    return implementation(TARSIA_BACKWARD, device_, f_);
  }
  /// The implementation declared last runs only if `bool f(const BindInfo&)` returns true.
  template <class F_>
  OpDefinition& when(F_ f_) {
    m_implementations.last().applies_user = detail::keep(m_kept, new F_(f_));
    m_implementations.last().applies = [](void* user_, const tarsia_bind_info* info_) -> int32_t {
      try {
        return (*static_cast<F_*>(user_))(BindInfo(info_)) ? 1 : 0;
      } catch (...) {
        return detail::host()->capture_exception(), 0;
      }
    };
    return *this;
  }
  /// The implementation declared last is preferred to those of lower priority.
  TARSIA_DETAIL_SUPPORT OpDefinition& priority(int priority_) {
    m_implementations.last().priority = priority_;
    return *this;
  }
  /// It takes sparse tensors: Context::sparse_input and sparse_output. If no implementation does, all
  /// tensors of the op are dense.
  TARSIA_DETAIL_SUPPORT OpDefinition& sparse() {
    m_implementations.last().storage_any = 1;
    m_op.flags |= TARSIA_OP_INFERS_STORAGE;
    return *this;
  }
  /// It honours every write request itself.
  TARSIA_DETAIL_SUPPORT OpDefinition& honours_requests() {
    m_implementations.last().requests = 15;
    return *this;
  }
  /// A name for people.
  TARSIA_DETAIL_SUPPORT OpDefinition& named(const char* name_) {
    m_implementations.last().name = name_;
    return *this;
  }
  /// Output `output_` may share the memory of input `input_`.
  TARSIA_DETAIL_SUPPORT OpDefinition& inplace(unsigned input_, unsigned output_) {
    tarsia_inplace& p_ = m_inplace.add();
    p_.input = input_;
    p_.output = output_;
    return *this;
  }

 private:
  /// The definitions of this library.
  struct All {
    detail::PlainList<OpDefinition*> definitions;
    const tarsia_op** ops = nullptr;
    TARSIA_DETAIL_SUPPORT ~All() {
      for (uint32_t i_ = 0; i_ < definitions.n; ++i_) delete definitions.items[i_];
      delete[] definitions.items;
      delete[] ops;
    }
  };
  TARSIA_DETAIL_SUPPORT static All& all() {
    static All all_;
    return all_;
  }
  TARSIA_DETAIL_SUPPORT static const tarsia_op* const* list(uint64_t* n_) {
    All& a_ = all();
    if (!a_.ops) {
      a_.ops = new const tarsia_op*[a_.definitions.n];
      for (uint32_t i_ = 0; i_ < a_.definitions.n; ++i_) a_.ops[i_] = a_.definitions.items[i_]->finish();
    }
    *n_ = a_.definitions.n;
    return a_.ops;
  }

  TARSIA_DETAIL_SUPPORT OpDefinition() {}
  TARSIA_DETAIL_SUPPORT ~OpDefinition() {
    for (uint32_t i_ = m_kept.n; i_-- > 0;) m_kept.items[i_].destroy(m_kept.items[i_].object);
    for (uint32_t i_ = 0; i_ < m_attributes.n; ++i_) {
      drop_default(m_attributes.items[i_]);
      delete[] m_attributes.items[i_].choices;
    }
    delete[] m_kept.items;
    delete[] m_inputs.items;
    delete[] m_outputs.items;
    delete[] m_attributes.items;
    delete[] m_implementations.items;
    delete[] m_inplace.items;
  }

  TARSIA_DETAIL_SUPPORT OpDefinition& port(detail::PlainList<tarsia_port>& list_, char last_,
                                           const char* name_, unsigned flags_) {
    tarsia_port& p_ = list_.add();
    p_.name = name_;
    p_.description = "";
    p_.flags = flags_;
    m_last = last_;
    return *this;
  }
  TARSIA_DETAIL_SUPPORT static void drop_default(tarsia_attribute& attribute_) {
    if (attribute_.default_value) detail::free_value(*attribute_.default_value);
    delete attribute_.default_value;
    attribute_.default_value = nullptr;
  }
  TARSIA_DETAIL_SUPPORT static tarsia_value* new_value(tarsia_value v_) { return new tarsia_value(v_); }
  /// The default of a member; of a type that the author reads it stays in the struct.
  template <class M_>
  static decltype(detail::attribute_type<M_>::read_by_author(), static_cast<tarsia_value*>(nullptr))
  default_of(const M_&, int) {
    return nullptr;
  }
  template <class M_>
  static tarsia_value* default_of(const M_& x_, long) {
    return new_value(detail::attribute_type<M_>::default_of(x_));
  }
  TARSIA_DETAIL_SUPPORT OpDefinition& add_attribute(const char* name_, tarsia_type type_,
                                                    const tarsia_value* default_,
                                                    int32_t (*check_)(void*, const char*)) {
    tarsia_attribute& a_ = m_attributes.add();
    a_.size = sizeof(tarsia_attribute);
    a_.name = name_;
    a_.description = "";
    a_.type = type_;
    a_.default_value = default_;
    a_.check = check_;
    if (check_) a_.flags |= TARSIA_ATTRIBUTE_CUSTOM;
    if (!default_ && !(type_.flags & TARSIA_TYPE_OPTIONAL)) a_.flags |= TARSIA_ATTRIBUTE_REQUIRED;
    m_last = 'a';
    return *this;
  }
  template <class F_>
  OpDefinition& implementation(tarsia_pass pass_, const char* device_, F_ f_) {
    tarsia_implementation& i_ = add_implementation(pass_, device_);
    i_.run_user = detail::keep(m_kept, new F_(f_));
    i_.run = [](void* user_, const tarsia_op_context* c_) -> int32_t {
      try {
        Context context_(c_);
        (*static_cast<F_*>(user_))(context_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  TARSIA_DETAIL_SUPPORT tarsia_implementation& add_implementation(tarsia_pass pass_, const char* device_) {
    tarsia_implementation& i_ = m_implementations.add();
    i_.size = sizeof(tarsia_implementation);
    i_.pass = pass_;
    i_.device_type = !__builtin_strcmp(device_, "cpu")   ? static_cast<int32_t>(TARSIA_CPU)
                     : !__builtin_strcmp(device_, "gpu") ? static_cast<int32_t>(TARSIA_GPU)
                                                         : 0;
    i_.requests = 1 << TARSIA_REQUEST_WRITE;
    i_.name = "";
    m_last = 0;
    return i_;
  }

  TARSIA_DETAIL_SUPPORT const tarsia_op* finish() {
    static const char* const names_[] = {"a", "b", "c", "d"};
    for (int i_ = 0, n_ = m_inputs.n ? 0 : m_default_inputs; i_ < n_; ++i_) input(n_ == 1 ? "x" : names_[i_]);
    if (!m_outputs.n) output("y");
    m_op.inputs = m_inputs.items, m_op.n_inputs = m_inputs.n;
    m_op.outputs = m_outputs.items, m_op.n_outputs = m_outputs.n;
    m_op.attributes = m_attributes.items, m_op.n_attributes = m_attributes.n;
    m_op.implementations = m_implementations.items, m_op.n_implementations = m_implementations.n;
    m_op.inplace = m_inplace.items, m_op.n_inplace = m_inplace.n;
    m_op.user = this;
    return &m_op;
  }

  tarsia_op m_op = tarsia_op();
  int m_default_inputs = 1;
  char m_last = 0;  ///< what was declared last: 'i', 'o', 'a', or the op itself
  detail::PlainList<tarsia_port> m_inputs, m_outputs;
  detail::PlainList<tarsia_attribute> m_attributes;
  detail::PlainList<tarsia_implementation> m_implementations;
  detail::PlainList<tarsia_inplace> m_inplace;
  detail::PlainList<detail::Keeper> m_kept;
  void* m_infer = nullptr;
  void* m_arity = nullptr;
  void* m_state = nullptr;
};

}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>

/// Declares the op `name`, at namespace scope:
///   TARSIA_OP(relu).input("x").output("y").forward("cpu", relu_cpu).forward("gpu", relu_gpu);
#define TARSIA_OP(...)                                                                             \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::OpDefinition::add(#__VA_ARGS__, __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__))
