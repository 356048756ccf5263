// REGISTER_OP and the state of stateful ops in MXNet's extension API, and the registrations of partitioners
// and passes, of which only the names are kept.
#pragma once

#include <tarsia/detail/macros_push.h>

// nvcc would warn of each state: it overrides the functions of one generation.
#if defined(__NVCC__) && !defined(__clang__)
#pragma nv_diag_suppress 611
#endif

#include <tarsia/mxnet/call.h>
#include <tarsia/mxnet/messages.h>

/// The name of the function that each library defines, for programs that load one by dlopen.
#define MXLIB_INITIALIZE_STR "initialize"

namespace mxnet {
namespace ext {

/// That function's type: it gets the host's version, major·10000 + minor·100 + patch, and returns 0 to refuse
/// it.
typedef int (*initialize_t)(int version);

/// The state of a bound op. Derived classes override the signatures of any release.
class CustomStatefulOp {
 public:
  /// States of sources for release 1.9 and later are made by create().
  CustomStatefulOp() : ignore_warn(false), m_created(false) {}
  TARSIA_MXNET_SUPPORT virtual ~CustomStatefulOp() {}

  /// Makes a state of class T, for setCreateOpState.
  template <class T_, class... A_>
  static CustomStatefulOp* create(A_... a_) {
    CustomStatefulOp* op_ = new T_(a_...);
    op_->m_created = true;
    return op_;
  }
  /// Whether create() made it.
  bool wasCreated() { return m_created; }

  /// Runs the op: reads the inputs, writes the outputs.
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Forward(std::vector<MXTensor>* inputs_,
                                                     std::vector<MXTensor>* outputs_,
                                                     const OpResource& resource_) {
    return Forward(*inputs_, *outputs_, resource_);
  }
  /// Writes the gradients of the inputs, from the gradients of the outputs, the inputs and the outputs, in
  /// this order.
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Backward(std::vector<MXTensor>* inputs_,
                                                      std::vector<MXTensor>* outputs_,
                                                      const OpResource& resource_) {
    return Backward(*inputs_, *outputs_, resource_);
  }
  /// The same in the releases up to 1.7.
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Forward(std::vector<MXTensor>, std::vector<MXTensor>,
                                                     OpResource) {
    MX_ERROR_MSG << "the op's state does not define Forward";
    return MX_FAIL;
  }
  /// The same in the releases up to 1.7.
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Backward(std::vector<MXTensor>, std::vector<MXTensor>,
                                                      OpResource) {
    MX_ERROR_MSG << "the op does not support backward";
    return MX_FAIL;
  }

  bool ignore_warn;  ///< true: no warning if the object was not made by create()

 private:
  bool m_created;
};

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(TARSIA_SUPPORT_OBJECT)
#pragma clang optimize off  // as in call.h
#endif
/// An op being registered. A context is "cpu" or "gpu".
class CustomOp {
 public:
  /// Made by REGISTER_OP.
  explicit CustomOp(const char* name_, const char* location_ = "") : description() {
    description.name = name_;
    description.location = location_;
  }
  CustomOp(const CustomOp&) = delete;
  CustomOp& operator=(const CustomOp&) = delete;

  /// Sets the function that runs the op on a device, "cpu" or "gpu". An op needs this or setCreateOpState.
  /// Two functions for one device are an error when the library loads.
  TARSIA_MXNET_SUPPORT CustomOp& setForward(fcomp_t f_, const char* context_ = "cpu") {
    return add(tarsia_detail::compute(f_), context_, m_forward);
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setForward(F_* f_, const char* context_ = "cpu") {
    return add(tarsia_detail::compute(f_), context_, m_forward);
  }
  /// Sets the function that computes the gradients of the inputs on a device.
  TARSIA_MXNET_SUPPORT CustomOp& setBackward(fcomp_t f_, const char* context_ = "cpu") {
    return add(tarsia_detail::compute(f_), context_, m_backward);
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setBackward(F_* f_, const char* context_ = "cpu") {
    return add(tarsia_detail::compute(f_), context_, m_backward);
  }
  /// Sets the function that makes the state of a bound op on a device, whose Forward and Backward then run.
  TARSIA_MXNET_SUPPORT CustomOp& setCreateOpState(createOpState_t f_, const char* context_ = "cpu") {
    return add(tarsia_detail::create(f_), context_, m_create);
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setCreateOpState(F_* f_, const char* context_ = "cpu") {
    return add(tarsia_detail::create(f_), context_, m_create);
  }
  /// Sets the function that reads the attributes and gives the numbers of inputs and outputs.
  /// Required, except of ops with a subgraph.
  TARSIA_MXNET_SUPPORT CustomOp& setParseAttrs(parseAttrs_t f_) {
    return description.parse = tarsia_detail::parse(f_), *this;
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setParseAttrs(F_* f_) {
    return description.parse = tarsia_detail::parse(f_), *this;
  }
  /// Sets the function that infers the dtypes: numbers of MXDType, -1 where one is unknown.
  /// Required, except of ops with a subgraph.
  TARSIA_MXNET_SUPPORT CustomOp& setInferType(inferType_t f_) {
    return description.infer_type = tarsia_detail::infer(f_), *this;
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setInferType(F_* f_) {
    return description.infer_type = tarsia_detail::infer(f_), *this;
  }
  /// Sets the function that infers the storage types: numbers of MXStorageType. Without it all are dense.
  TARSIA_MXNET_SUPPORT CustomOp& setInferSType(inferSType_t f_) {
    return description.infer_storage = tarsia_detail::infer(f_), *this;
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setInferSType(F_* f_) {
    return description.infer_storage = tarsia_detail::infer(f_), *this;
  }
  /// Sets the function that infers the shapes; an extent of 0 is unknown. Required, except of ops with a
  /// subgraph.
  TARSIA_MXNET_SUPPORT CustomOp& setInferShape(inferShape_t f_) {
    return description.infer_shape = tarsia_detail::infer_shape(f_), *this;
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setInferShape(F_* f_) {
    return description.infer_shape = tarsia_detail::infer_shape(f_), *this;
  }
  /// Sets the function that says which inputs the op changes, by their numbers.
  TARSIA_MXNET_SUPPORT CustomOp& setMutateInputs(mutateInputs_t f_) {
    return description.mutate = tarsia_detail::mutate(f_), *this;
  }
  /// The same, with a function of any signature that docs/mxnet.md lists.
  template <class F_>
  CustomOp& setMutateInputs(F_* f_) {
    return description.mutate = tarsia_detail::mutate(f_), *this;
  }
  /// Says that the op runs a subgraph, which it gets as an attribute. It needs setCreateOpState.
  CustomOp& setIsSubgraphOp() { return description.is_subgraph = 1, *this; }
  /// Names from before the first release.
  template <class F_>
  CustomOp& setFCompute(F_* f_, const char* context_ = "cpu") {
    return setForward(f_, context_);
  }
  template <class F_>
  CustomOp& setGradient(F_* f_, const char* context_ = "cpu") {
    return setBackward(f_, context_);
  }

  /// The registration for libtarsia, once `describe` has been called.
  tarsia_mxnet_op description;
  void describe() {
    description.forward = m_forward.data();
    description.n_forward = static_cast<uint32_t>(m_forward.size());
    description.backward = m_backward.data();
    description.n_backward = static_cast<uint32_t>(m_backward.size());
    description.create = m_create.data();
    description.n_create = static_cast<uint32_t>(m_create.size());
  }

 private:
  typedef std::vector<tarsia_mxnet_function> Functions;
  TARSIA_MXNET_SUPPORT CustomOp& add(tarsia_mxnet_function function_, const char* context_, Functions& to_) {
    function_.context = context_;
    return to_.push_back(function_), *this;
  }
  Functions m_forward, m_backward, m_create;
};

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(TARSIA_SUPPORT_OBJECT)
#pragma clang optimize on
#endif
// The setters for arguments by value are not compiled with an inline source either.
#if defined(TARSIA_MXNET_LINKED)
#define TARSIA_MXNET_SETTERS(R, A, T, I, S)                                                     \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setForward(R (*)(A, T, T, OpResource), const char*);  \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setBackward(R (*)(A, T, T, OpResource), const char*); \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setParseAttrs(R (*)(A, int*, int*));                  \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setInferType(R (*)(A, I&, I&));                       \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setInferSType(R (*)(A, I&, I&));                      \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setInferShape(R (*)(A, S&, S&));                      \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setMutateInputs(R (*)(A, I&));                        \
  TARSIA_MXNET_MEMBER CustomOp& CustomOp::setCreateOpState(R (*)(A, CustomStatefulOp**), const char*);
typedef std::map<std::string, std::string> tarsia_map;
TARSIA_MXNET_SETTERS(MXReturnValue, tarsia_map, std::vector<MXTensor>, std::vector<int>, tarsia_shapes)
TARSIA_MXNET_SETTERS(int, tarsia_map, std::vector<MXTensor>, std::vector<int>, tarsia_shapes)
TARSIA_MXNET_MEMBER CustomOp& CustomOp::setCreateOpState(MXReturnValue (*)(const tarsia_attributes&,
                                                                           CustomStatefulOp**),
                                                         const char*);
#undef TARSIA_MXNET_SETTERS
#if !defined(TARSIA_SUPPORT_OBJECT)
namespace tarsia_detail {
/// As those of std_extern.h.
template <class R_>
__attribute__((gnu_inline, noinline)) inline void instantiate_setters(CustomOp& op_) {
  typedef std::vector<MXTensor> T_;
  typedef std::vector<int> I_;
  op_.setForward(static_cast<R_ (*)(tarsia_map, T_, T_, OpResource)>(nullptr))
      .setBackward(static_cast<R_ (*)(tarsia_map, T_, T_, OpResource)>(nullptr))
      .setParseAttrs(static_cast<R_ (*)(tarsia_map, int*, int*)>(nullptr))
      .setInferType(static_cast<R_ (*)(tarsia_map, I_&, I_&)>(nullptr))
      .setInferSType(static_cast<R_ (*)(tarsia_map, I_&, I_&)>(nullptr))
      .setInferShape(static_cast<R_ (*)(tarsia_map, tarsia_shapes&, tarsia_shapes&)>(nullptr))
      .setMutateInputs(static_cast<R_ (*)(tarsia_map, I_&)>(nullptr))
      .setCreateOpState(static_cast<R_ (*)(tarsia_map, CustomStatefulOp**)>(nullptr));
}
__attribute__((gnu_inline, noinline)) inline void instantiate_all_setters(CustomOp& op_) {
  instantiate_setters<MXReturnValue>(op_);
  instantiate_setters<int>(op_);
  op_.setCreateOpState(static_cast<MXReturnValue (*)(const tarsia_attributes&, CustomStatefulOp**)>(nullptr));
}
}  // namespace tarsia_detail
#endif
#endif

/// A registration that compiles and is ignored.
class CustomOpSelector {
 public:
  virtual ~CustomOpSelector() {}
  virtual bool Select(int) = 0;
  virtual bool SelectInput(int, int) = 0;
  virtual bool SelectOutput(int, int) = 0;
  virtual void Filter(const std::vector<int>& candidates_, std::vector<int>* keep_) {
    keep_->insert(keep_->end(), candidates_.begin(), candidates_.end());
  }
  virtual void Filter(std::vector<int>& candidates_, std::vector<int>& keep_) {
    keep_.insert(keep_.end(), candidates_.begin(), candidates_.end());
  }
  virtual void Reset() {}
};
class CustomPartitioner {
 public:
  template <class... A_>
  CustomPartitioner& addStrategy(const char*, A_...) {
    return *this;
  }
  template <class F_>
  CustomPartitioner& setSupportedOps(const char*, F_*) {
    return *this;
  }
  template <class F_>
  CustomPartitioner& setCreateSelector(const char*, F_*) {
    return *this;
  }
  template <class F_>
  CustomPartitioner& setReviewSubgraph(const char*, F_*) {
    return *this;
  }
  template <class F_>
  CustomPartitioner& setAcceptSubgraph(const char*, F_*) {
    return *this;
  }
};
class CustomPass {
 public:
  template <class F_>
  CustomPass& setBody(F_*) {
    return *this;
  }
};

namespace tarsia_detail {

TARSIA_MXNET_HIDDEN CustomOp& register_op(const char* name_, const char* location_, int version_);
/// Keeps `what_`, as in "partitioner 'x'", for the warning that it is ignored.
TARSIA_MXNET_HIDDEN int register_ignored(const char* what_);
template <class T_>
T_& ignored() {
  static T_ object_;
  return object_;
}

}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet

#define MX_STRINGIFY(x) #x
#define MX_TOSTRING(x) MX_STRINGIFY(x)
#define MX_STR_CONCAT_(a, b) a##b
#define MX_STR_CONCAT(a, b) MX_STR_CONCAT_(a, b)

/// Registers an op, at namespace scope: REGISTER_OP(name).setForward(f, "cpu").setParseAttrs(…)…;
#define REGISTER_OP(Name)                                                                              \
  __attribute__((unused)) static ::mxnet::ext::CustomOp& MX_STR_CONCAT(MXNet_CustomOp_, __COUNTER__) = \
      ::mxnet::ext::tarsia_detail::register_op(MX_TOSTRING(Name), __FILE__ ":" MX_TOSTRING(__LINE__),  \
                                               MX_LIBRARY_VERSION)
#define REGISTER_PARTITIONER(Name)                                                                    \
  __attribute__((unused)) static ::mxnet::ext::CustomPartitioner& MX_STR_CONCAT(MXNet_CustomSubProp_, \
                                                                                __COUNTER__) =        \
      (::mxnet::ext::tarsia_detail::register_ignored("partitioner '" MX_TOSTRING(Name) "'"),          \
       ::mxnet::ext::tarsia_detail::ignored< ::mxnet::ext::CustomPartitioner>())
#define REGISTER_PASS(Name)                                                                                \
  __attribute__((unused)) static ::mxnet::ext::CustomPass& MX_STR_CONCAT(MXNet_CustomPass_, __COUNTER__) = \
      (::mxnet::ext::tarsia_detail::register_ignored("pass '" MX_TOSTRING(Name) "'"),                      \
       ::mxnet::ext::tarsia_detail::ignored< ::mxnet::ext::CustomPass>())

#include <tarsia/mxnet/glue.h>

#include <tarsia/detail/macros_pop.h>
