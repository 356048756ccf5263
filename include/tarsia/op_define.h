// TARSIA_OP: declares an op and registers it when its library is loaded.
#pragma once

#include <tarsia/macros_push.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tarsia/export.h>
#include <tarsia/op_context.h>

#pragma GCC visibility push(hidden)
namespace tarsia {

namespace detail {

inline std::string to_text(bool x_) {
  return x_ ? "true" : "false";
}
inline std::string to_text(const std::string& x_) {
  return x_;
}
inline std::string to_text(const char* x_) {
  return x_;
}
template <class T_>
std::string to_text(T_ x_) {
  if (T_(0.5) == T_(0)) return digits(static_cast<long long>(x_));
  char text_[40];
  std::snprintf(text_, sizeof(text_), "%.17g", double(x_));
  return text_;
}
template <class T_>
std::string to_text(const std::vector<T_>& x_) {
  std::string s_ = "(";
  for (const auto& e_ : x_) s_ += (s_.size() > 1 ? ", " : "") + to_text(T_(e_));
  return s_ + ")";
}

template <class T_>
struct attribute_type {
  typedef T_ type;
};
template <>
struct attribute_type<const char*> {
  typedef std::string type;
};

template <class F_>
int32_t guarded(const F_& f_) {
  try {
    f_();
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

}  // namespace detail

/// An op being declared. Each function returns the same object, to be chained. Those that qualify
/// (`describe`, `range`, …) speak of what was declared last.
class OpDefinition {
 public:
  OpDefinition(const char* name_, const char* location_) : m_name(name_), m_location(location_) {}
  OpDefinition(const OpDefinition&) = delete;

  /// Describes the op, or the port or attribute declared last.
  OpDefinition& describe(const char* text_) {
    (m_last ? *m_last : m_description) = text_;
    return *this;
  }

  OpDefinition& input(const char* name_, unsigned flags_ = 0) { return port(m_inputs, name_, flags_); }
  OpDefinition& output(const char* name_, unsigned flags_ = 0) { return port(m_outputs, name_, flags_); }
  /// An input that need not be given.
  OpDefinition& optional_input(const char* name_) { return input(name_, TARSIA_PORT_OPTIONAL); }
  /// An input that the op changes: auxiliary state, which has no gradient.
  OpDefinition& mutable_input(const char* name_) { return input(name_, TARSIA_PORT_MUTABLE); }
  /// Any number of inputs, after the others.
  OpDefinition& variadic_input(const char* name_) { return input(name_, TARSIA_PORT_VARIADIC); }

  /// A required attribute, unless T is a std::optional.
  template <class T_>
  OpDefinition& attribute(const char* name_) {
    Attribute& a_ = add_attribute(name_, detail::arg<T_>::describe());
    if (!(a_.c.type.flags & TARSIA_TYPE_OPTIONAL)) a_.c.flags |= TARSIA_ATTRIBUTE_REQUIRED;
    return *this;
  }
  /// An attribute with a default.
  template <class T_>
  OpDefinition& attribute(const char* name_, T_ default_) {
    typedef typename detail::attribute_type<T_>::type V_;
    Attribute& a_ = add_attribute(name_, detail::arg<V_>::describe());
    a_.default_text = detail::to_text(default_);
    a_.has_default = true;
    return *this;
  }
  /// An attribute that sets a member of the op's struct of parameters, P, whose default is the member's own.
  template <class P_, class M_>
  OpDefinition& attribute(const char* name_, M_ P_::* member_) {
    attribute<M_>(name_, P_().*member_);
    m_new_params = [] { return static_cast<void*>(new P_()); };
    m_delete_params = [](void* p_) { delete static_cast<P_*>(p_); };
    const size_t index_ = m_attributes.size() - 1;
    m_setters.push_back([index_, member_](void* p_, const tarsia_value* v_) {
      static_cast<P_*>(p_)->*member_ = detail::arg<M_>::get(v_[index_]);
    });
    return *this;
  }
  /// The attribute declared last has to be given.
  OpDefinition& required() {
    m_attributes.back()->c.flags |= TARSIA_ATTRIBUTE_REQUIRED;
    m_attributes.back()->has_default = false;
    return *this;
  }
  /// Its least and greatest value.
  OpDefinition& range(double min_, double max_) { return at_least(min_).at_most(max_); }
  OpDefinition& at_least(double min_) {
    m_attributes.back()->c.flags |= TARSIA_ATTRIBUTE_MIN;
    m_attributes.back()->c.min = min_;
    return *this;
  }
  OpDefinition& at_most(double max_) {
    m_attributes.back()->c.flags |= TARSIA_ATTRIBUTE_MAX;
    m_attributes.back()->c.max = max_;
    return *this;
  }
  /// The texts that it may be. An attribute of an enumeration gets the index.
  OpDefinition& choices(std::initializer_list<const char*> list_) {
    m_attributes.back()->choices.assign(list_.begin(), list_.end());
    return *this;
  }
  /// Undeclared attributes are allowed, as strings.
  OpDefinition& any_attributes() {
    m_op.flags |= TARSIA_OP_ANY_ATTRIBUTES;
    return *this;
  }

  /// Inference: `void f(tarsia::BindInfo&)` sets what is unknown of outputs, and of inputs where it can.
  /// Without it all inputs and outputs have one shape and dtype.
  template <class F_>
  OpDefinition& infer(F_ f_) {
    m_infer = [f_](BindInfo& info_) { f_(info_); };
    return *this;
  }
  /// Numbers of inputs and outputs that depend on attributes: `void f(const BindInfo&, int* n_in, int*
  /// n_out)`.
  template <class F_>
  OpDefinition& arity(F_ f_) {
    m_arity = [f_](const BindInfo& info_, int* in_, int* out_) { f_(info_, in_, out_); };
    return *this;
  }
  /// State of each bound op: `S* f(const BindInfo&)`, deleted with it.
  template <class F_>
  OpDefinition& state(F_ f_) {
    typedef typename std::remove_pointer<decltype(f_(*static_cast<const BindInfo*>(nullptr)))>::type S_;
    m_new_state = [f_](const BindInfo& info_) { return static_cast<void*>(f_(info_)); };
    m_delete_state = [](void* s_) { delete static_cast<S_*>(s_); };
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
  /// The implementation declared last runs only where `bool f(const BindInfo&)` says so.
  template <class F_>
  OpDefinition& when(F_ f_) {
    tarsia_implementation& i_ = m_implementations.back();
    std::shared_ptr<F_> held_(new F_(f_));
    m_held.push_back(held_);
    i_.applies_user = held_.get();
    i_.applies = [](void* user_, const tarsia_bind_info* info_) -> int32_t {
      try {
        return (*static_cast<F_*>(user_))(BindInfo(info_)) ? 1 : 0;
      } catch (...) {
        host_error();
        return 0;
      }
    };
    return *this;
  }
  /// It is preferred to those of lower priority.
  OpDefinition& priority(int priority_) {
    m_implementations.back().priority = priority_;
    return *this;
  }
  /// It honours every write request itself.
  OpDefinition& honours_requests() {
    m_implementations.back().requests = 15;
    return *this;
  }
  /// A name for people.
  OpDefinition& named(const char* name_) {
    m_implementations.back().name = name_;
    return *this;
  }
  /// Output `output_` may share the memory of input `input_`.
  OpDefinition& inplace(unsigned input_, unsigned output_) {
    m_inplace.push_back(tarsia_inplace{input_, output_});
    return *this;
  }

  /// Registers a new definition for this library.
  static OpDefinition& add(const char* name_, const char* location_) {
    definitions().emplace_back(new OpDefinition(name_, location_));
    tarsia_module_ops = &list;
    return *definitions().back();
  }

 private:
  struct Port {
    std::string name, description;
    unsigned flags;
  };
  struct Attribute {
    tarsia_attribute c{};
    std::string name, description, default_text;
    bool has_default = false;
    std::vector<const char*> choices;
  };

  static void host_error() { detail::host()->capture_exception(); }
  static std::vector<std::unique_ptr<OpDefinition>>& definitions() {
    static std::vector<std::unique_ptr<OpDefinition>> list_;
    return list_;
  }
  static const tarsia_op* const* list(uint64_t* n_) {
    static std::vector<const tarsia_op*> list_;
    if (list_.empty())
      for (auto& d_ : definitions()) list_.push_back(d_->finish());
    *n_ = list_.size();
    return list_.data();
  }

  OpDefinition& port(std::vector<std::unique_ptr<Port>>& list_, const char* name_, unsigned flags_) {
    list_.emplace_back(new Port{name_, "", flags_});
    m_last = &list_.back()->description;
    return *this;
  }
  Attribute& add_attribute(const char* name_, tarsia_type type_) {
    m_attributes.emplace_back(new Attribute());
    Attribute& a_ = *m_attributes.back();
    a_.name = name_;
    a_.c.size = sizeof(tarsia_attribute);
    a_.c.type = type_;
    m_last = &a_.description;
    return a_;
  }
  template <class F_>
  OpDefinition& implementation(tarsia_pass pass_, const char* device_, F_ f_) {
    std::shared_ptr<F_> held_(new F_(f_));
    m_held.push_back(held_);
    tarsia_implementation i_{};
    i_.size = sizeof(i_);
    i_.pass = pass_;
    i_.device_type = !__builtin_strcmp(device_, "cpu")   ? TARSIA_CPU
                     : !__builtin_strcmp(device_, "gpu") ? TARSIA_GPU
                                                         : 0;
    i_.requests = 1 << TARSIA_REQUEST_WRITE;
    i_.name = "";
    i_.run_user = held_.get();
    i_.run = [](void* user_, const tarsia_op_context* c_) -> int32_t {
      try {
        Context context_(c_);
        (*static_cast<F_*>(user_))(context_);
        return 0;
      } catch (...) {
        return detail::host()->capture_exception();
      }
    };
    m_implementations.push_back(i_);
    m_last = nullptr;
    return *this;
  }

  static OpDefinition& self(void* user_) { return *static_cast<OpDefinition*>(user_); }
  static int32_t run_infer(void* user_, const tarsia_bind_info* c_) {
    return detail::guarded([&] {
      BindInfo info_(c_);
      if (self(user_).m_infer) {
        self(user_).m_infer(info_);
        return;
      }
      for (int pass_ = 0; pass_ < 2; ++pass_) {  // twice: what the last one knows reaches the first
        for (int i_ = 1; i_ < info_.n_inputs(); ++i_)
          if (info_.input(i_).present()) unify(info_.input(0), info_.input(i_));
        for (int i_ = 0; i_ < info_.n_outputs(); ++i_) unify(info_.input(0), info_.output(i_));
      }
    });
  }
  static int32_t run_arity(void* user_, const tarsia_bind_info* c_, uint32_t* in_, uint32_t* out_) {
    return detail::guarded([&] {
      int a_ = int(*in_), b_ = int(*out_);
      self(user_).m_arity(BindInfo(c_), &a_, &b_);
      *in_ = uint32_t(a_), *out_ = uint32_t(b_);
    });
  }
  static int32_t run_new_params(void* user_, const tarsia_bind_info* c_, void** params_) {
    return detail::guarded([&] {
      std::unique_ptr<void, void (*)(void*)> p_(self(user_).m_new_params(), self(user_).m_delete_params);
      for (auto& set_ : self(user_).m_setters) set_(p_.get(), c_->attributes);
      *params_ = p_.release();
    });
  }
  static void run_delete_params(void* user_, void* params_) { self(user_).m_delete_params(params_); }
  static int32_t run_new_state(void* user_, const tarsia_bind_info* c_, void** state_) {
    return detail::guarded([&] { *state_ = self(user_).m_new_state(BindInfo(c_)); });
  }
  static void run_delete_state(void* user_, void* state_) { self(user_).m_delete_state(state_); }

  const tarsia_op* finish() {
    if (m_inputs.empty()) input("x");
    if (m_outputs.empty()) output("y");
    for (auto& p_ : m_inputs) m_c_inputs.push_back({p_->name.c_str(), p_->description.c_str(), p_->flags});
    for (auto& p_ : m_outputs) m_c_outputs.push_back({p_->name.c_str(), p_->description.c_str(), p_->flags});
    for (auto& a_ : m_attributes) {
      a_->c.name = a_->name.c_str();
      a_->c.description = a_->description.c_str();
      a_->c.default_text = a_->has_default ? a_->default_text.c_str() : nullptr;
      a_->c.choices = a_->choices.data();
      a_->c.n_choices = uint32_t(a_->choices.size());
      m_c_attributes.push_back(a_->c);
    }
    m_op.size = sizeof(m_op);
    m_op.name = m_name.c_str();
    m_op.description = m_description.c_str();
    m_op.location = m_location.c_str();
    m_op.n_inputs = uint32_t(m_c_inputs.size());
    m_op.n_outputs = uint32_t(m_c_outputs.size());
    m_op.n_attributes = uint32_t(m_c_attributes.size());
    m_op.n_implementations = uint32_t(m_implementations.size());
    m_op.n_inplace = uint32_t(m_inplace.size());
    m_op.inputs = m_c_inputs.data();
    m_op.outputs = m_c_outputs.data();
    m_op.attributes = m_c_attributes.data();
    m_op.implementations = m_implementations.data();
    m_op.inplace = m_inplace.data();
    m_op.user = this;
    m_op.infer = &run_infer;
    if (m_arity) m_op.arity = &run_arity;
    if (m_new_params) m_op.create_params = &run_new_params, m_op.destroy_params = &run_delete_params;
    if (m_new_state) m_op.create_state = &run_new_state, m_op.destroy_state = &run_delete_state;
    return &m_op;
  }

  std::string m_name, m_location, m_description;
  std::string* m_last = nullptr;
  tarsia_op m_op{};
  std::vector<std::unique_ptr<Port>> m_inputs, m_outputs;
  std::vector<std::unique_ptr<Attribute>> m_attributes;
  std::vector<tarsia_implementation> m_implementations;
  std::vector<tarsia_inplace> m_inplace;
  std::vector<tarsia_port> m_c_inputs, m_c_outputs;
  std::vector<tarsia_attribute> m_c_attributes;
  std::vector<std::shared_ptr<void>> m_held;
  std::function<void(BindInfo&)> m_infer;
  std::function<void(const BindInfo&, int*, int*)> m_arity;
  std::function<void*(const BindInfo&)> m_new_state;
  void (*m_delete_state)(void*) = nullptr;
  void* (*m_new_params)() = nullptr;
  void (*m_delete_params)(void*) = nullptr;
  std::vector<std::function<void(void*, const tarsia_value*)>> m_setters;
};

}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/macros_pop.h>

/// Declares the op `name`, at namespace scope:
///   TARSIA_OP(relu).input("x").output("y").forward("cpu", relu_cpu).forward("gpu", relu_gpu);
#define TARSIA_OP(...)                                                                             \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::OpDefinition::add(#__VA_ARGS__, __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__))
