// Makes Tarsia's descriptions (op_abi.h) of registered properties. <mxnet/operator.h> includes this.
#pragma once

#include <cctype>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <tarsia/class_op/glue/class_op_run.h>
#include <tarsia/class_op/glue/messages.h>
#include <tarsia/class_op/glue/support.h>

// What describes ops runs once; optimising it would take longer than compiling the rest.
#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace mxnet {
namespace tarsia_detail {

TARSIA_DETAIL_GLUE std::vector<OperatorPropertyReg*>& registered() {
  static std::vector<OperatorPropertyReg*> all;
  return all;
}

typedef std::vector<std::pair<uint32_t, uint32_t>> Pairs;

/// The pairs of tensors that may share memory, numbered as Tarsia does.
inline Pairs forward_pairs(const OperatorProperty& p) {
  const Counts n(p);
  std::vector<char> marks(n.outputs + 1);
  std::vector<void*> outputs;
  for (size_t i = 0; i < n.outputs; ++i) outputs.push_back(&marks[i]);
  Pairs pairs;
  for (const auto& pair : p.ForwardInplaceOption(numbers(n.arguments), outputs))
    pairs.push_back(std::make_pair(static_cast<uint32_t>(pair.first),
                                   static_cast<uint32_t>(static_cast<char*>(pair.second) - marks.data())));
  return pairs;
}
inline Pairs backward_pairs(const OperatorProperty& p) {
  const Counts n(p);
  std::vector<char> marks(n.arguments + 1);
  std::vector<void*> gradients;
  for (size_t i = 0; i < n.arguments; ++i) gradients.push_back(&marks[i]);
  Pairs pairs;
  for (const auto& pair :
       p.BackwardInplaceOption(numbers(n.visible), numbers(n.arguments, n.outputs),
                               numbers(n.outputs, n.outputs + n.arguments + n.auxiliary), gradients))
    pairs.push_back(std::make_pair(static_cast<uint32_t>(pair.first),
                                   static_cast<uint32_t>(static_cast<char*>(pair.second) - marks.data())));
  return pairs;
}

/// What differs between an op's settings, or does not.
struct Outline {
  std::vector<std::string> arguments, auxiliary, outputs;
  size_t visible;
  Pairs forward, backward;
  bool is_random = false;

  explicit Outline(const OperatorProperty& p)
      : arguments(p.ListArguments()),
        auxiliary(p.ListAuxiliaryStates()),
        outputs(p.ListOutputs()),
        visible(static_cast<size_t>(p.NumVisibleOutputs())),
        forward(forward_pairs(p)),
        backward(backward_pairs(p)) {
    outputs.resize(static_cast<size_t>(p.NumOutputs()));
    try {
      const std::vector<TShape> shapes(arguments.size());
      for (const auto& all : {p.ForwardResource(shapes), p.BackwardResource(shapes)})
        for (const ResourceRequest& one : all) is_random |= one.type != ResourceRequest::kTempSpace;
    } catch (const dmlc::Error&) {
      // It looks at shapes, which are unknown here.
    }
  }
};

/// A registered property as an op of Tarsia. It lives as long as the library.
class ClassOp {
 public:
  explicit ClassOp(const OperatorPropertyReg& entry) : m_entry(entry) {
    tarsia_op& d = m_op;
    d.size = sizeof(d);
    d.name = m_entry.name.c_str();
    d.description = m_entry.description.c_str();
    d.location = m_entry.location.c_str();
    d.user = this;
    const Running running(d.name);
    try {
      describe();
    } catch (const std::exception& error) {
      fault(std::string("cannot be described: ") + error.what());
    }
    if (!m_fault.empty()) d.fault = m_fault.c_str();
  }
  ClassOp(const ClassOp&) = delete;
  const tarsia_op* op() const { return &m_op; }

 private:
  typedef std::unique_ptr<OperatorProperty> Property;

  static const ClassOp& self(const void* user) { return *static_cast<const ClassOp*>(user); }
  Property make(const Texts& texts) const {
    Property property(m_entry.body());
    if (!property) LOG(FATAL) << "the registration made no property";
    property->Init(texts);
    return property;
  }
  Property make(const tarsia_bind_info* info) const { return make(counted_texts(info)); }
  /// The parameters, with the number of the call's inputs for the one that counts them if it is not given. If
  /// there is no call yet, that is 1.
  Texts counted_texts(const tarsia_bind_info* info) const {
    Texts texts = texts_of(info, m_own_is_train);
    if (counts_inputs(texts))
      texts.push_back(
          std::make_pair(m_entry.key_var_num_args, std::to_string(info->n_inputs ? info->n_inputs : 1)));
    return texts;
  }
  /// Whether a parameter counts the inputs, and is not among these.
  bool counts_inputs(const Texts& texts) const {
    for (const auto& one : texts)
      if (one.first == m_entry.key_var_num_args) return false;
    return !m_entry.key_var_num_args.empty();
  }
  /// A text that lives as long as the op, once however often it is asked for.
  const char* interned(const std::string& text) const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_interned.insert(text).first->c_str();
  }
  const char* keep(const std::string& text) {
    m_texts.push_back(text);
    return m_texts.back().c_str();
  }
  void fault(const std::string& text) {
    if (m_fault.empty()) m_fault = text;
  }

  void describe() {
    for (const dmlc::ParamFieldInfo& info : m_entry.arguments) {
      const dmlc::parameter::FieldBase* field = info.manager ? info.manager->Find(info.name) : nullptr;
      if (info.manager && !info.manager->fault().empty()) return fault(info.manager->fault());
      if (field) m_fields.push_back(field);
    }
    m_own_is_train = true;
    for (const auto* field : m_fields) m_own_is_train &= field->name() != k_is_train;
    if (m_fields.empty()) m_op.flags |= TARSIA_OP_ANY_ATTRIBUTES;
    Texts base;
    for (const auto* field : m_fields)
      if (!field->has_default()) base.push_back(std::make_pair(field->name(), sample(*field)));
    const Property property = make(base);
    if (m_entry.alias_of.empty() && property->TypeString() != m_entry.name)
      return fault("is registered as '" + m_entry.name + "', and its TypeString() is '" +
                   property->TypeString() + "': give both one name");
    const Outline usual(*property);
    std::vector<Outline> all = {usual};
    for (const auto* field : m_fields)
      for (const std::string& value : variations(*field)) try {
          Texts texts;
          for (const auto& one : base)
            if (one.first != field->name()) texts.push_back(one);
          texts.push_back(std::make_pair(field->name(), value));
          all.push_back(Outline(*make(texts)));
        } catch (const dmlc::Error&) {
          // The settings do not go together.
        }
    add_ports(usual, all);
    add_attributes();
    add_implementations(usual, all);
    m_op.create_params = &create_params;
    m_op.destroy_params = &destroy_params;
    m_op.infer = &infer_op;
    m_op.needs = &needs;
    m_op.create_state = &create_state;
    m_op.destroy_state = &destroy_state;
  }

  /// A value for a parameter without a default, to ask a property with.
  static std::string sample(const dmlc::parameter::FieldBase& field) {
    typedef dmlc::parameter::FieldKind Kind;
    switch (field.kind()) {
      case Kind::boolean:
        return "False";
      case Kind::integer:
      case Kind::floating: {
        const double one = std::fmin(std::fmax(1, field.lower()), field.upper());
        return field.kind() == Kind::integer ? std::to_string(static_cast<long long>(one))
                                             : std::to_string(one);
      }
      case Kind::list:
        return "(1,1)";
      case Kind::choice:
        return field.choices().front();
      default:
        return "";
    }
  }
  /// Values of a parameter with which other tensors may be listed.
  static std::vector<std::string> variations(const dmlc::parameter::FieldBase& field) {
    typedef dmlc::parameter::FieldKind Kind;
    switch (field.kind()) {
      case Kind::boolean:
        return {"True", "False"};
      case Kind::choice:
        return field.choices();
      case Kind::integer:
        return field.has_default() ? std::vector<std::string>() : std::vector<std::string>{"2", "3"};
      default:
        return {};
    }
  }

  void add_ports(const Outline& usual, const std::vector<Outline>& all) {
    // Ports are those that all settings have, in order. If there are more, arity counts them.
    size_t n_in = usual.arguments.size(), n_out = usual.outputs.size();
    bool varies = false, shows_others = false;
    for (const Outline& one : all) {
      n_in = common(usual.arguments, one.arguments, n_in);
      n_out = std::min(n_out, one.outputs.size());
      varies |= one.arguments.size() != usual.arguments.size() || one.auxiliary != usual.auxiliary ||
                one.outputs.size() != usual.outputs.size();
      shows_others |= one.visible != usual.visible || one.outputs.size() != usual.outputs.size();
    }
    const bool same_arguments = n_in == usual.arguments.size() && !varies;
    for (size_t i = 0; i < n_in; ++i) add_port(m_inputs, usual.arguments[i], 0);
    if (same_arguments)
      for (const std::string& name : usual.auxiliary) add_port(m_inputs, name, TARSIA_PORT_MUTABLE);
    for (size_t i = 0; i < n_out; ++i)
      add_port(m_outputs, usual.outputs[i],
               i < usual.visible ? 0u : static_cast<unsigned>(TARSIA_PORT_HIDDEN));
    for (tarsia_port& port : m_inputs)
      for (const dmlc::ParamFieldInfo& info : m_entry.arguments)
        if (info.name == port.name) port.description = info.description.c_str();
    m_op.inputs = m_inputs.data(), m_op.n_inputs = static_cast<uint32_t>(m_inputs.size());
    m_op.outputs = m_outputs.data(), m_op.n_outputs = static_cast<uint32_t>(m_outputs.size());
    if (!same_arguments) m_op.arity = &arity, m_op.name_inputs = &name_inputs;
    if (shows_others) m_op.visible = &visible;
    for (const Outline& one : all)
      if (one.is_random) m_op.flags |= TARSIA_OP_RANDOM;
  }
  static size_t common(const std::vector<std::string>& a, const std::vector<std::string>& b, size_t n) {
    size_t i = 0;
    while (i < n && i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    return i;
  }
  /// A name that callers can write and that no parameter and none of these ports has.
  std::string spelt(std::string name, std::initializer_list<const std::vector<tarsia_port>*> taken) const {
    for (char& c : name)
      if (!isalnum(static_cast<unsigned char>(c))) c = '_';
    if (name.empty() || isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
    const auto is_taken = [&] {
      for (const auto* list : taken)
        for (const tarsia_port& port : *list)
          if (name == port.name) return true;
      for (const auto* field : m_fields)
        if (name == field->name()) return true;
      return name == k_is_train;
    };
    while (is_taken()) name += "_";
    return name;
  }
  void add_port(std::vector<tarsia_port>& ports, const std::string& name, unsigned flags) {
    tarsia_port port = tarsia_port();
    port.name = keep(spelt(name, {&m_inputs, &m_outputs}));
    port.description = "";
    port.flags = flags;
    ports.push_back(port);
  }

  void add_attributes() {
    typedef dmlc::parameter::FieldKind Kind;
    for (const auto* field : m_fields) {
      tarsia_attribute a = tarsia_attribute();
      a.size = sizeof(a);
      a.name = field->name().c_str();
      a.description = field->description().c_str();
      const Kind kind = field->kind();
      a.type.kind = kind == Kind::boolean    ? TARSIA_KIND_BOOL
                    : kind == Kind::integer  ? TARSIA_KIND_INT
                    : kind == Kind::floating ? TARSIA_KIND_FLOAT
                    : kind == Kind::list     ? TARSIA_KIND_LIST
                                             : TARSIA_KIND_STRING;
      if (kind == Kind::list) {
        static const tarsia_type k_integer = number_type(TARSIA_KIND_INT, mshadow::kInt64);
        static const tarsia_type k_float = number_type(TARSIA_KIND_FLOAT, mshadow::kFloat64);
        a.type.elements = field->has_floats() ? &k_float : &k_integer;
        a.type.n_elements = 1;
      }
      if (kind == Kind::integer) a.type = number_type(TARSIA_KIND_INT, mshadow::kInt64);
      if (kind == Kind::integer && field->is_uint64()) a.type.dtype = tarsia_dtype{TARSIA_UINT, 64, 1};
      if (kind == Kind::floating) a.type = number_type(TARSIA_KIND_FLOAT, mshadow::kFloat64);
      if (kind == Kind::choice) {
        m_choices.emplace_back();
        for (const std::string& choice : field->choices()) m_choices.back().push_back(keep(choice));
        a.choices = m_choices.back().data();
        a.n_choices = static_cast<uint32_t>(m_choices.back().size());
      }
      if (std::isfinite(field->lower())) a.flags |= TARSIA_ATTRIBUTE_MIN, a.min = field->lower();
      if (std::isfinite(field->upper())) a.flags |= TARSIA_ATTRIBUTE_MAX, a.max = field->upper();
      if (field->name() == m_entry.key_var_num_args)
        a.type.flags |= TARSIA_TYPE_OPTIONAL;  // the inputs of a call are counted
      else if (!field->has_default())
        a.flags |= TARSIA_ATTRIBUTE_REQUIRED;
      else if (kind == Kind::list || kind == Kind::other || field->is_optional())
        a.type.flags |= TARSIA_TYPE_OPTIONAL;  // its own default is taken
      else
        a.default_text = keep(field->default_text());
      m_attributes.push_back(a);
    }
    if (m_own_is_train) {
      tarsia_attribute a = tarsia_attribute();
      a.size = sizeof(a);
      a.name = k_is_train;
      a.description = "Whether the call trains.";
      a.type.kind = TARSIA_KIND_BOOL;
      a.default_text = "True";
      m_attributes.push_back(a);
    }
    m_op.attributes = m_attributes.data();
    m_op.n_attributes = static_cast<uint32_t>(m_attributes.size());
  }
  static tarsia_type number_type(tarsia_kind kind, int type_flag) {
    tarsia_type type = tarsia_type();
    type.kind = static_cast<uint8_t>(kind);
    type.dtype = dtype_of(type_flag);
    return type;
  }

  struct Implementation {
    const ClassOp* op;
    bool backward;
    Pairs pairs;
    std::vector<tarsia_inplace> inplace;
  };
  /// If the settings decide what may share memory, there is an implementation that may, for the usual
  /// settings, and one that never does.
  void add_implementations(const Outline& usual, const std::vector<Outline>& all) {
    for (bool backward : {false, true}) {
      const Pairs& pairs = backward ? usual.backward : usual.forward;
      bool varies = false;
      for (const Outline& one : all) varies |= (backward ? one.backward : one.forward) != pairs;
      for (int k = 0; k < (varies && !pairs.empty() ? 2 : 1); ++k) {
        m_described.emplace_back();
        Implementation& one = m_described.back();
        one.op = this;
        one.backward = backward;
        if (k == 0 && !(varies && pairs.empty())) one.pairs = pairs;
        for (const auto& pair : one.pairs) one.inplace.push_back({pair.first, pair.second});
        for (int device : {static_cast<int>(TARSIA_CPU), static_cast<int>(TARSIA_GPU)}) {
          if (device == TARSIA_GPU && !m_entry.has_gpu) continue;
          tarsia_implementation i = tarsia_implementation();
          i.size = sizeof(i);
          i.pass = backward ? TARSIA_BACKWARD : TARSIA_FORWARD;
          i.device_type = device;
          i.priority = varies && k == 0 ? 1 : 0;
          i.requests = m_entry.honours ? 15u
                                       : 1u << TARSIA_REQUEST_WRITE |
                                             (one.pairs.empty() ? 0u : 1u << TARSIA_REQUEST_INPLACE) |
                                             (backward ? 0u : 1u << TARSIA_REQUEST_NULL);
          i.name = "";
          if (varies && k == 0 && !pairs.empty()) {
            i.applies = &has_pairs;
            i.applies_user = &one;
          }
          i.run = &run;
          i.run_user = &one;
          i.inplace = one.inplace.data();
          i.n_inplace = static_cast<uint32_t>(one.inplace.size());
          m_implementations.push_back(i);
        }
      }
    }
    m_op.implementations = m_implementations.data();
    m_op.n_implementations = static_cast<uint32_t>(m_implementations.size());
  }

  static int32_t has_pairs(void* user, const tarsia_bind_info* info) {
    const Implementation& one = *static_cast<const Implementation*>(user);
    bool has = false;
    const int32_t code = guarded(one.op->m_op.name, TARSIA_OP_VALUE_ERROR, [&] {
      const Property property = one.op->make(info);
      has = (one.backward ? backward_pairs(*property) : forward_pairs(*property)) == one.pairs;
    });
    return code ? -1 : has;
  }
  static int32_t arity(void* user, const tarsia_bind_info* info, uint32_t* n_in, uint32_t* n_out) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR, [&] {
      const ClassOp& op = self(user);
      const Counts n(*op.make(info));
      *n_in = static_cast<uint32_t>(n.arguments + n.auxiliary);
      if (!op.m_entry.key_var_num_args.empty() && info->n_inputs) op.check_count(info, *n_in);
      *n_out = static_cast<uint32_t>(n.outputs);
    });
  }
  /// Throws if the parameter that counts inputs contradicts the call.
  void check_count(const tarsia_bind_info* info, uint32_t wanted) const {
    if (wanted == info->n_inputs) return;
    const std::string& key = m_entry.key_var_num_args;
    std::string given;
    for (const auto& one : texts_of(info, m_own_is_train))
      if (one.first == key) given = one.second;
    if (given.empty()) return;
    throw dmlc::Error(key + " is " + given + ", for which the op takes " + std::to_string(wanted) +
                      " inputs, and it gets " + std::to_string(info->n_inputs) + " inputs: leave " + key +
                      " out, and they are counted");
  }
  /// Parameters bring inputs, or rename them. Those that all settings have are ports.
  static int32_t name_inputs(void* user, const tarsia_bind_info* info, tarsia_port* inputs, uint32_t n) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR, [&] {
      const ClassOp& op = self(user);
      if (n && !info->n_inputs && op.counts_inputs(texts_of(info, op.m_own_is_train)))
        inputs[n - 1].flags |= TARSIA_PORT_VARIADIC;  // a call may pass more
      if (n <= op.m_op.n_inputs) return;
      const Property property = op.make(info);
      const std::vector<std::string> arguments = property->ListArguments(),
                                     auxiliary = property->ListAuxiliaryStates();
      std::vector<tarsia_port> named(inputs, inputs + op.m_op.n_inputs);
      for (size_t i = named.size(); i < n; ++i) {
        const bool is_argument = i < arguments.size();
        tarsia_port port = tarsia_port();
        port.name = op.interned(op.spelt(is_argument ? arguments[i] : auxiliary.at(i - arguments.size()),
                                         {&named, &op.m_outputs}));
        port.description = "";
        port.flags = is_argument ? 0u : static_cast<unsigned>(TARSIA_PORT_MUTABLE);
        named.push_back(port);
        inputs[i] = port;
      }
    });
  }
  static int32_t visible(void* user, const tarsia_bind_info* info, uint32_t* n) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR,
                   [&] { *n = static_cast<uint32_t>(Counts(*self(user).make(info)).visible); });
  }
  static int32_t create_params(void* user, const tarsia_bind_info* info, void** params) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR, [&] { *params = self(user).make(info).release(); });
  }
  static void destroy_params(void*, void* params) { delete static_cast<OperatorProperty*>(params); }
  static int32_t infer_op(void*, const tarsia_bind_info* info) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR, [&] {
      try {
        infer(*static_cast<const OperatorProperty*>(info->params), info);
      } catch (const dmlc::Error& error) {
        throw dmlc::Error(error.what() + ("; given are " + mshadow::tarsia_detail::inputs_of(info)));
      }
    });
  }
  static int32_t needs(void*, const tarsia_bind_info* info, uint8_t* needs) {
    return guarded(info->op, TARSIA_OP_VALUE_ERROR,
                   [&] { mark_needs(*static_cast<const OperatorProperty*>(info->params), needs); });
  }
  static int32_t create_state(void*, const tarsia_bind_info* info, void** state) {
    return guarded(info->op, TARSIA_OP_ERROR, [&] {
      const RunningCall call(info);
      std::unique_ptr<State> made(new State());
      made->op.reset(create_operator(*static_cast<const OperatorProperty*>(info->params), info));
      *state = made.release();
    });
  }
  static void destroy_state(void*, void* state) { delete static_cast<State*>(state); }
  static int32_t run(void* user, const tarsia_op_context* c) {
    const Implementation& one = *static_cast<const Implementation*>(user);
    return guarded(c->info->op, TARSIA_OP_ERROR, [&] {
      const RunningCall running(c->info);
      Call call(c, one.op->is_train(c->info), one.op->m_entry.honours);
      if (one.backward)
        call.backward();
      else
        call.forward();
    });
  }
  bool is_train(const tarsia_bind_info* info) const {
    for (uint32_t i = 0; i < info->n_attributes; ++i)
      if (std::string(info->attribute_names[i]) == k_is_train) return text_of(info->attributes[i]) == "True";
    return true;
  }

  const OperatorPropertyReg& m_entry;
  tarsia_op m_op = tarsia_op();
  std::string m_fault;
  bool m_own_is_train = true;
  std::vector<const dmlc::parameter::FieldBase*> m_fields;
  std::deque<std::string> m_texts;
  mutable std::mutex m_mutex;
  mutable std::set<std::string> m_interned;
  std::deque<std::vector<const char*>> m_choices;
  std::deque<Implementation> m_described;
  std::vector<tarsia_port> m_inputs, m_outputs;
  std::vector<tarsia_attribute> m_attributes;
  std::vector<tarsia_implementation> m_implementations;
};

/// The class operators of the library.
struct ClassOps {
  std::deque<ClassOp> all;
  std::vector<const tarsia_op*> ops;
  ClassOps() {
    for (const OperatorPropertyReg* entry : registered()) {
      all.emplace_back(*entry);
      ops.push_back(all.back().op());
    }
  }
  ~ClassOps() {
    for (OperatorPropertyReg* entry : registered()) delete entry;
  }
};

inline int32_t list_class_ops(const tarsia_op* const** ops, uint64_t* n) {
  static const ClassOps listed;  // by the first of the threads that load it
  *ops = listed.ops.data();
  *n = listed.ops.size();
  return 0;
}
inline int32_t start_class_ops(int32_t (*)(int32_t), int32_t) {
  return 0;
}
inline const char* const* no_others(uint64_t* n) {
  *n = 0;
  return nullptr;
}
inline const tarsia_extension* class_ops() {
  static const tarsia_extension extension = {sizeof(tarsia_extension), 0, &start_class_ops, &list_class_ops,
                                             &no_others};
  return &extension;
}

TARSIA_DETAIL_GLUE OperatorPropertyReg& register_property(const char* name, const char* location,
                                                          bool has_gpu) {
  tarsia_module_extension = &class_ops;
  registered().push_back(new OperatorPropertyReg());
  OperatorPropertyReg& entry = *registered().back();
  entry.name = name;
  entry.location = location;
  entry.has_gpu = has_gpu;
  return entry;
}

/// Registers a property under another name, too.
TARSIA_DETAIL_GLUE void add_alias(const std::string& name, const std::string& alias) {
  const OperatorPropertyReg* found = nullptr;
  for (const OperatorPropertyReg* entry : registered())
    if (entry->name == name) found = entry;
  if (!found)
    throw dmlc::Error("NNVM_REGISTER_OP(" + name +
                      ") stands before the op's MXNET_REGISTER_OP_PROPERTY, or without it");
  OperatorPropertyReg* other = new OperatorPropertyReg(*found);
  other->name = alias;
  other->alias_of = name;
  registered().push_back(other);
}

}  // namespace tarsia_detail
}  // namespace mxnet
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize on
#endif
