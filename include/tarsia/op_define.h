// TARSIA_OP: declares an op and registers it when its library is loaded.
//
// A declaration fills the plain structs of op_abi.h and leaves the rest to libtarsia. It uses no std header
// and instantiates next to nothing, so that an inline source with ops compiles as fast as one without.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/op_attributes.h>
#include <tarsia/detail/op_declaration.h>
#include <tarsia/detail/op_parts.h>
#include <tarsia/detail/plain_list.h>
#include <tarsia/export.h>
#include <tarsia/op_context.h>

// Declarations run once, when the library is loaded. Optimising them would take longer than compiling the
// rest of a small inline source.
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {

/// The declaration of an op. Each function returns the same object, so that calls can be chained. Some
/// functions qualify the input, output, attribute or implementation that was declared last (`describe`,
/// `range`, `priority`). The first mistake in a declaration, such as a null function or a qualifier before
/// anything that it can qualify, makes the load of the library fail with a LoadError that names the op and
/// its place. Texts (names, descriptions, choices) are kept as pointers: pass literals.
class OpDefinition : private detail::OpParts {
 public:
  /// Adds a definition to this library's ops. TARSIA_OP calls this. The library owns the definition.
  TARSIA_DETAIL_SUPPORT static OpDefinition& add(const char* name_, const char* location_) {
    if (all().ops)
      throw ValueError(Message("op '") << name_ << "' (" << location_
                                       << ") is declared after its library's ops were registered: declare it "
                                          "at namespace scope, with TARSIA_OP");
    OpDefinition* d_ = new OpDefinition();
    d_->m_op.size = sizeof(tarsia_op);
    d_->m_op.name = name_;
    d_->m_op.location = location_;
    d_->m_op.description = "";
    tarsia_module_ops = &list;
    return *(all().definitions.add() = d_);
  }
  /// Adds implementations to an op that another library declares. TARSIA_IMPLEMENTATION calls this.
  TARSIA_DETAIL_SUPPORT static OpDefinition& extend(const char* name_, const char* location_) {
    OpDefinition& d_ = add(name_, location_);
    d_.m_op.flags |= TARSIA_OP_EXTENDS;
    return d_;
  }
  OpDefinition(const OpDefinition&) = delete;

  /// Sets the number of inputs for an op that declares none: 0 to 4. One is called "x"; more are called "a",
  /// "b", "c", "d".
  TARSIA_DETAIL_SUPPORT OpDefinition& default_inputs(int n_) {
    if (n_ < 0 || n_ > 4) fault(Message("has .default_inputs(") << static_cast<long long>(n_) << "): 0 to 4");
    m_default_inputs = m_fault ? 0 : n_;
    m_last = 0;
    return *this;
  }
  /// Describes the input, output or attribute that was declared last, or else the op.
  TARSIA_DETAIL_SUPPORT OpDefinition& describe(const char* text_) {
    (m_last == 'i'   ? m_inputs.last().description
     : m_last == 'o' ? m_outputs.last().description
     : m_last == 'a' ? m_attributes.last().description
                     : m_op.description) = text_ ? text_ : "";
    return *this;
  }

  /// Declares an input. `flags` are the TARSIA_PORT_… flags; the functions below set them by name.
  TARSIA_DETAIL_SUPPORT OpDefinition& input(const char* name_, unsigned flags_ = 0) {
    add_port(m_inputs, 'i', name_, flags_);
    return *this;
  }
  /// Declares an output. An op that declares none has one, "y".
  TARSIA_DETAIL_SUPPORT OpDefinition& output(const char* name_, unsigned flags_ = 0) {
    add_port(m_outputs, 'o', name_, flags_);
    return *this;
  }
  /// Declares an input that callers may omit.
  TARSIA_DETAIL_SUPPORT OpDefinition& optional_input(const char* name_) {
    return input(name_, TARSIA_PORT_OPTIONAL);
  }
  /// Declares an input that the op changes: auxiliary state, which has no gradient.
  TARSIA_DETAIL_SUPPORT OpDefinition& mutable_input(const char* name_) {
    return input(name_, TARSIA_PORT_MUTABLE);
  }
  /// Declares that the last input has no gradient.
  TARSIA_DETAIL_SUPPORT OpDefinition& no_gradient() {
    if (follows(m_inputs.n, "no_gradient", "any .input(…)")) m_inputs.last().flags |= TARSIA_PORT_NO_GRADIENT;
    return *this;
  }
  /// Hides the last output: callers do not get it. In backward, it and its gradient may be absent.
  TARSIA_DETAIL_SUPPORT OpDefinition& hidden() {
    if (follows(m_outputs.n, "hidden", "any .output(…)")) m_outputs.last().flags |= TARSIA_PORT_HIDDEN;
    return *this;
  }
  /// Declares that any number of inputs follows the others.
  TARSIA_DETAIL_SUPPORT OpDefinition& variadic_input(const char* name_) {
    return input(name_, TARSIA_PORT_VARIADIC);
  }

  /// Declares an attribute of type T without a default. Callers must give it unless T is a std::optional.
  template <class T_>
  OpDefinition& attribute(const char* name_) {
    add_attribute(name_, detail::attribute_type<T_>::describe(), nullptr,
                  detail::attribute_type<T_>::check());
    return *this;
  }
  /// Declares an attribute with a default. A type of the author's own needs `operator<<` for the default.
  template <class T_>
  OpDefinition& attribute(const char* name_, T_ default_) {
    add_attribute(name_, detail::attribute_type<T_>::describe(),
                  detail::new_value(detail::attribute_type<T_>::default_of(default_)),
                  detail::attribute_type<T_>::check());
    return *this;
  }
  /// Declares an attribute that sets a member of the op's struct of parameters, P. The default is that of the
  /// member in `P()`.
  template <class P_, class M_>
  OpDefinition& attribute(const char* name_, M_ P_::* member_) {
    if (!member_) {
      null_member(name_);
      add_attribute(name_, detail::attribute_type<M_>::describe(), nullptr, nullptr);
      return *this;
    }
    const P_& defaults_ = detail::default_params<P_>();
    add_attribute(name_, detail::attribute_type<M_>::describe(),
                  detail::default_of_member<M_>(defaults_.*member_, 0), detail::attribute_type<M_>::check());
    m_attributes.last().flags &= ~static_cast<uint32_t>(TARSIA_ATTRIBUTE_REQUIRED);
    m_attributes.last().set = &detail::set_member<M_>;
    m_attributes.last().offset = static_cast<uint64_t>(reinterpret_cast<const char*>(&(defaults_.*member_)) -
                                                       reinterpret_cast<const char*>(&defaults_));
    if (!m_op.create_params) return params<P_>();
    check_struct(name_, detail::type_name_of<P_>());
    return *this;
  }
  /// Sets the op's struct of parameters, if the first attribute with a member does not name it. Each bound op
  /// has its own, which Context::params returns.
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
    m_op.params_type = detail::type_name_of<P_>();
    return *this;
  }
  /// Declares that callers must give the last attribute.
  TARSIA_DETAIL_SUPPORT OpDefinition& required() {
    if (!follows_attribute("required")) return *this;
    if (m_attributes.last().default_value && !m_attributes.last().set)
      fault(Message("has attribute '")
            << m_attributes.last().name
            << "' with a default and .required(), with which nobody gets the default: "
               "leave one of them out");
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_REQUIRED;
    m_attributes.drop_default();
    return *this;
  }
  /// Bounds the value of the last attribute, both ends included.
  TARSIA_DETAIL_SUPPORT OpDefinition& range(double min_, double max_) {
    return follows_attribute("range") ? at_least(min_).at_most(max_) : *this;
  }
  /// Sets the least value of the last attribute.
  TARSIA_DETAIL_SUPPORT OpDefinition& at_least(double min_) {
    if (!follows_attribute("at_least")) return *this;
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_MIN;
    m_attributes.last().min = min_;
    return *this;
  }
  /// Sets the greatest value of the last attribute.
  TARSIA_DETAIL_SUPPORT OpDefinition& at_most(double max_) {
    if (!follows_attribute("at_most")) return *this;
    m_attributes.last().flags |= TARSIA_ATTRIBUTE_MAX;
    m_attributes.last().max = max_;
    return *this;
  }
  /// Lists the texts that callers may give for the last attribute. An attribute of an enumeration gets the
  /// index of the text.
  TARSIA_DETAIL_SUPPORT OpDefinition& choices(std::initializer_list<const char*> list_) {
    if (!follows_attribute("choices")) return *this;
    if (!list_.size())
      fault(Message("has attribute '")
            << m_attributes.last().name << "' with .choices({}), which no value fits: list at least one");
    const char** copy_ = new const char*[list_.size() + 1];
    uint32_t n_ = 0;
    for (const char* text_ : list_) {
      if (!text_)
        fault(Message("has attribute '") << m_attributes.last().name << "' with a choice whose text is null");
      copy_[n_++] = text_ ? text_ : "";
    }
    delete[] m_attributes.last().choices;
    m_attributes.last().choices = copy_;
    m_attributes.last().n_choices = n_;
    return *this;
  }
  /// Allows undeclared attributes. The op gets them as strings.
  TARSIA_DETAIL_SUPPORT OpDefinition& any_attributes() {
    m_op.flags |= TARSIA_OP_ANY_ATTRIBUTES;
    return *this;
  }

  /// Declares that the op draws random numbers. Frameworks then neither merge two calls nor repeat one.
  TARSIA_DETAIL_SUPPORT OpDefinition& random() {
    m_op.flags |= TARSIA_OP_RANDOM;
    return *this;
  }

  /// Sets the inference: `void f(tarsia::BindInfo&)`. It sets the unknown shapes and dtypes of the outputs,
  /// and of the inputs if it can. An op without inference has one shape and dtype for all inputs and outputs.
  /// May be called from several threads at once, as all functions that a declaration gets, and may throw.
  template <class F_>
  OpDefinition& infer(F_ f_) {
    static_assert(detail::CanCall<F_, BindInfo&>::value,
                  "tarsia: .infer takes a function `void f(tarsia::BindInfo&)`");
    require("infer", f_);
    once("infer", m_infer);
    m_infer = detail::keep(m_kept, new F_(f_));
    m_op.infer = [](void* self_, const tarsia_bind_info* c_) -> int32_t {
      try {
        BindInfo info_(c_);
        (*static_cast<F_*>(static_cast<OpParts*>(self_)->m_infer))(info_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  /// Sets a function that computes the numbers of inputs and outputs from the attributes:
  /// `void f(const BindInfo&, int* n_in, int* n_out)`.
  template <class F_>
  OpDefinition& arity(F_ f_) {
    static_assert(detail::CanCall<F_, BindInfo, int*, int*>::value,
                  "tarsia: .arity takes a function `void f(const tarsia::BindInfo&, int* n_in, int* n_out)`");
    require("arity", f_);
    once("arity", m_arity);
    m_arity = detail::keep(m_kept, new F_(f_));
    m_op.arity = [](void* self_, const tarsia_bind_info* c_, uint32_t* in_, uint32_t* out_) -> int32_t {
      try {
        int a_ = int(*in_), b_ = int(*out_);
        (*static_cast<F_*>(static_cast<OpParts*>(self_)->m_arity))(BindInfo(c_, true), &a_, &b_);
        if (a_ < 0 || b_ < 0) throw ValueError("there cannot be fewer than no inputs or outputs");
        *in_ = uint32_t(a_), *out_ = uint32_t(b_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  /// Sets a function that makes the state of each bound op: `S* f(const BindInfo&)`. The bound op deletes it.
  /// Calls of one bound op with state do not overlap.
  template <class F_>
  OpDefinition& state(F_ f_) {
    static_assert(detail::CanCall<F_, BindInfo>::value,
                  "tarsia: .state takes a function `S* f(const tarsia::BindInfo&)`");
    require("state", f_);
    once("state", m_state);
    m_state = detail::keep(m_kept, new F_(f_));
    m_op.create_state = [](void* self_, const tarsia_bind_info* c_, void** state_) -> int32_t {
      try {
        *state_ = (*static_cast<F_*>(static_cast<OpParts*>(self_)->m_state))(BindInfo(c_, true));
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    using Pointer = decltype(f_(*static_cast<const BindInfo*>(nullptr)));
    m_op.destroy_state = [](void*, void* state_) { delete static_cast<Pointer>(state_); };
    m_op.state_type = detail::type_name_of<decltype(**static_cast<Pointer*>(nullptr))>();
    return *this;
  }

  /// Adds an implementation for the device "cpu" or "gpu": `void f(tarsia::Context&)`. If it throws, the call
  /// fails with that error.
  template <class F_>
  OpDefinition& forward(const char* device_, F_ f_) {
    return implementation(TARSIA_FORWARD, device_, f_);
  }
  /// Adds an implementation of the gradient for a device. It takes the output gradients, the inputs and the
  /// outputs, and writes the input gradients: Context::out_grad, forward_input, forward_output, in_grad.
  template <class F_>
  OpDefinition& backward(const char* device_, F_ f_) {
    return implementation(TARSIA_BACKWARD, device_, f_);
  }
  /// Restricts the last implementation to ops for which `bool f(const BindInfo&)` returns true. If it throws,
  /// binding fails.
  template <class F_>
  OpDefinition& when(F_ f_) {
    static_assert(detail::CanCall<F_, BindInfo>::value,
                  "tarsia: .when takes a function `bool f(const tarsia::BindInfo&)`");
    require("when", f_);
    if (!follows_implementation("when")) return *this;
    m_implementations.last().applies_user = detail::keep(m_kept, new F_(f_));
    m_implementations.last().applies = [](void* user_, const tarsia_bind_info* info_) -> int32_t {
      try {
        return (*static_cast<F_*>(user_))(BindInfo(info_, true)) ? 1 : 0;
      } catch (...) {
        return detail::host()->capture_exception(), -1;
      }
    };
    return *this;
  }
  /// Sets the priority of the last implementation, 0 by default. Of those that apply, the highest is chosen.
  TARSIA_DETAIL_SUPPORT OpDefinition& priority(int priority_) {
    if (follows_implementation("priority")) m_implementations.last().priority = priority_;
    return *this;
  }
  /// Declares that the last implementation takes sparse tensors: Context::sparse_input and sparse_output. If
  /// no implementation does, the op gets dense tensors in place of sparse ones.
  TARSIA_DETAIL_SUPPORT OpDefinition& sparse() {
    if (follows_implementation("sparse")) m_implementations.last().storage_any = 1;
    m_op.flags |= TARSIA_OP_INFERS_STORAGE;
    return *this;
  }
  /// Declares that the last implementation honours every write request itself. Without this, it always
  /// overwrites its outputs, and Tarsia serves the other requests through a copy.
  TARSIA_DETAIL_SUPPORT OpDefinition& honours_requests() {
    if (follows_implementation("honours_requests")) m_implementations.last().requests = 15;
    return *this;
  }
  /// Names the last implementation, for people and for BindInfo::choose.
  TARSIA_DETAIL_SUPPORT OpDefinition& named(const char* name_) {
    if (follows_implementation("named")) m_implementations.last().name = name_ ? name_ : "";
    return *this;
  }
  /// Allows output `output_` of the last implementation, a forward, to share the memory of input `input_`.
  /// Both are counted from 0.
  TARSIA_DETAIL_SUPPORT OpDefinition& forward_inplace(unsigned input_, unsigned output_) {
    add_pair("forward_inplace", TARSIA_FORWARD, input_, output_);
    return *this;
  }
  /// Allows input gradient `output_` of the last implementation, a backward, to share the memory of what
  /// backward takes at `input_`: output gradients, inputs and outputs are counted in one row, from 0.
  TARSIA_DETAIL_SUPPORT OpDefinition& backward_inplace(unsigned input_, unsigned output_) {
    add_pair("backward_inplace", TARSIA_BACKWARD, input_, output_);
    return *this;
  }
  /// Lets the last implementation take a tensor in another layout than row-major: `axes_` lists its axes from
  /// the outermost in memory to the innermost, as {0, 2, 3, 1} for images of axes (batch, channel, row,
  /// column) whose channels lie together. `name_` is an input or output; of a backward also "d" and the name
  /// of one, for its gradient. The implementation sees the op's axes in their order, with strides:
  /// Tensor::at and Tensor::strided_data follow them. Tensors with another number of dimensions stay
  /// row-major. A caller's row-major tensors are copied; graphs keep values in the layout from one node to
  /// the next.
  TARSIA_DETAIL_SUPPORT OpDefinition& layout(const char* name_, std::initializer_list<int> axes_) {
    add_layout(name_, axes_.begin(), static_cast<uint32_t>(axes_.size()));
    return *this;
  }
  /// Declares that the last implementation does the same to each element wherever it lies, as elementwise
  /// arithmetic. A graph then gives it tensors of one shape in the layout that they have, as if they were
  /// row-major.
  TARSIA_DETAIL_SUPPORT OpDefinition& any_layout() {
    if (follows_implementation("any_layout")) m_implementations.last().takes_any |= TARSIA_TAKES_ANY_LAYOUT;
    return *this;
  }
  /// Declares that the last implementation reads its inputs by their strides, whatever these are:
  /// Tensor::at and Tensor::strided_data follow them. Callers may then pass tensors that are not contiguous;
  /// they are not copied. Outputs are contiguous, and so are inputs that the op changes.
  TARSIA_DETAIL_SUPPORT OpDefinition& any_strides() {
    if (follows_implementation("any_strides")) m_implementations.last().takes_any |= TARSIA_TAKES_ANY_STRIDES;
    return *this;
  }
  /// Tells how many bytes of scratch the last implementation takes at most: `int64_t f(const BindInfo&)`.
  template <class F_>
  OpDefinition& workspace(F_ f_) {
    static_assert(detail::CanCall<F_, BindInfo>::value,
                  "tarsia: .workspace takes a function `int64_t f(const tarsia::BindInfo&)`");
    require("workspace", f_);
    if (!follows_implementation("workspace")) return *this;
    m_implementations.last().workspace_user = detail::keep(m_kept, new F_(f_));
    m_implementations.last().workspace = [](void* user_, const tarsia_bind_info* info_) -> int64_t {
      try {
        const int64_t bytes_ = static_cast<int64_t>((*static_cast<F_*>(user_))(BindInfo(info_, true)));
        if (bytes_ < 0) throw ValueError("there cannot be fewer than no bytes of scratch");
        return bytes_;
      } catch (...) {
        return detail::host()->capture_exception(), -1;
      }
    };
    return *this;
  }
  /// Declares what backward needs, by name: inputs, outputs, and "d" and the name of an output for its
  /// gradient, as in `.backward_needs({"dy", "y"})`. Backward gets nothing else: the rest is absent there.
  /// Callers need not keep it, so frameworks save less between the passes. By default, backward gets all.
  TARSIA_DETAIL_SUPPORT OpDefinition& backward_needs(std::initializer_list<const char*> names_) {
    if (m_op.backward_needs) {
      once("backward_needs", m_op.backward_needs);
      return *this;
    }
    const char** copy_ = new const char*[names_.size() + 1];
    for (const char* name_ : names_) copy_[m_op.n_backward_needs++] = name_ ? name_ : "";
    m_op.backward_needs = copy_;
    return *this;
  }
  /// The same where attributes, shapes or dtypes decide: `void f(const BindInfo&, unsigned char* needs)` sets
  /// needs[i] to 0 for what backward does without. Output gradients, inputs and outputs are counted in one
  /// row.
  template <class F_>
  OpDefinition& backward_needs(F_ f_) {
    static_assert(
        detail::CanCall<F_, BindInfo, unsigned char*>::value,
        "tarsia: .backward_needs takes names in braces, or a function `void f(const tarsia::BindInfo&, "
        "unsigned char* needs)`");
    require("backward_needs", f_);
    once("backward_needs", m_needs);
    m_needs = detail::keep(m_kept, new F_(f_));
    m_op.needs = [](void* self_, const tarsia_bind_info* info_, uint8_t* needs_) -> int32_t {
      try {
        (*static_cast<F_*>(static_cast<OpParts*>(self_)->m_needs))(BindInfo(info_, true), needs_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    return *this;
  }
  /// Allows output `output_` of every forward to share the memory of input `input_`. Both are counted from 0.
  TARSIA_DETAIL_SUPPORT OpDefinition& inplace(unsigned input_, unsigned output_) {
    tarsia_inplace& p_ = m_inplace.add();
    p_.input = input_;
    p_.output = output_;
    return *this;
  }

 private:
  TARSIA_DETAIL_SUPPORT void null_member(const char* name_) {
    fault(Message("has attribute '") << name_ << "' with a null member: pass one, as &Params::name");
  }
  /// Notes the mistake if the op's struct of parameters is of another type.
  TARSIA_DETAIL_SUPPORT void check_struct(const char* name_, const char* type_) {
    if (!detail::are_other_types(m_op.params_type, type_)) return;
    const detail::TypeText is_(m_op.params_type), other_(type_);
    fault(Message("has attribute '") << name_ << "' in " << other_.get()
                                     << ", and its struct of parameters is " << is_.get()
                                     << ": one struct holds all");
  }
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
  TARSIA_DETAIL_SUPPORT ~OpDefinition() {}

  template <class F_>
  OpDefinition& implementation(tarsia_pass pass_, const char* device_, F_ f_) {
    static_assert(
        detail::CanCall<F_, Context&>::value,
        "tarsia: .forward and .backward take a function `void f(tarsia::Context& c)`, which asks c for "
        "its tensors, as in c.input(0).data<const float>()");
    require(pass_ == TARSIA_FORWARD ? "forward" : "backward", f_);
    tarsia_implementation& i_ = add_implementation(pass_, device_);
    i_.run_user = detail::keep(m_kept, new F_(f_));
    i_.run = &detail::run_implementation<F_>;
    return *this;
  }
};

}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>

/// Declares an op. Stands at namespace scope, with the op's name without quotes. Calls of OpDefinition
/// follow:
///   TARSIA_OP(relu).input("x").output("y").forward("cpu", relu_cpu).forward("gpu", relu_gpu);
#define TARSIA_OP(...)                                                                             \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::OpDefinition::add(TARSIA_DETAIL_OP_NAME(#__VA_ARGS__),                             \
                                  __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__))

/// Adds implementations to an op that another library has registered. Stands at namespace scope, with the
/// op's name without quotes. OpDefinition::forward, backward and what qualifies them follow:
///   TARSIA_IMPLEMENTATION(relu).forward("cpu", fast_relu).named("fast").priority(10);
/// They go when their library is unloaded. The load fails with a LoadError if no such op is registered.
#define TARSIA_IMPLEMENTATION(...)                                                                 \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::OpDefinition::extend(TARSIA_DETAIL_OP_NAME(#__VA_ARGS__),                          \
                                     __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__))
