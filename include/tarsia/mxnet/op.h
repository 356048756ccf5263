// REGISTER_OP and the state of stateful ops, of MXNet's extension API; and the registrations of partitioners
// and passes, which are remembered by name alone.
#pragma once

#include <tarsia/detail/macros_push.h>

// nvcc would warn of each state: it overrides the functions of one generation.
#if defined(__NVCC__) && !defined(__clang__)
#pragma nv_diag_suppress 611
#endif

#include <tarsia/mxnet/call.h>
#include <tarsia/mxnet/messages.h>

namespace mxnet {
namespace ext {

/// State of a bound op. Derived classes override the signatures of either generation.
class CustomStatefulOp {
 public:
  CustomStatefulOp() : ignore_warn(false), m_created(false) {}
  TARSIA_MXNET_SUPPORT virtual ~CustomStatefulOp() {}

  template <class T_, class... A_>
  static CustomStatefulOp* create(A_... a_) {
    CustomStatefulOp* op_ = new T_(a_...);
    op_->m_created = true;
    return op_;
  }
  bool wasCreated() { return m_created; }

  TARSIA_MXNET_SUPPORT virtual MXReturnValue Forward(std::vector<MXTensor>* inputs_,
                                                     std::vector<MXTensor>* outputs_,
                                                     const OpResource& resource_) {
    return Forward(*inputs_, *outputs_, resource_);
  }
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Backward(std::vector<MXTensor>* inputs_,
                                                      std::vector<MXTensor>* outputs_,
                                                      const OpResource& resource_) {
    return Backward(*inputs_, *outputs_, resource_);
  }
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Forward(std::vector<MXTensor>, std::vector<MXTensor>,
                                                     OpResource) {
    MX_ERROR_MSG << "the op's state does not define Forward";
    return MX_FAIL;
  }
  TARSIA_MXNET_SUPPORT virtual MXReturnValue Backward(std::vector<MXTensor>, std::vector<MXTensor>,
                                                      OpResource) {
    MX_ERROR_MSG << "the op does not support backward";
    return MX_FAIL;
  }

  bool ignore_warn;  ///< no warning for an object that was not made by create()

 private:
  bool m_created;
};

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(TARSIA_SUPPORT_OBJECT)
#pragma clang optimize off  // as in call.h
#endif
/// An op being registered. A context is "cpu" or "gpu".
class CustomOp {
 public:
  explicit CustomOp(const char* name_, const char* location_ = "")
      : name(name_),
        location(location_),
        isSGop(false),
        warns(false),
        parse(),
        infer_type(),
        infer_storage(),
        infer_shape(),
        mutate() {}
  CustomOp(const CustomOp&) = delete;
  CustomOp& operator=(const CustomOp&) = delete;

  TARSIA_MXNET_SUPPORT CustomOp& setForward(fcomp_t f_, const char* context_ = "cpu") {
    return add_forward(tarsia_detail::compute(f_), context_);
  }
  template <class F_>
  CustomOp& setForward(F_* f_, const char* context_ = "cpu") {
    return add_forward(tarsia_detail::compute(f_), context_);
  }
  TARSIA_MXNET_SUPPORT CustomOp& setBackward(fcomp_t f_, const char* context_ = "cpu") {
    return add_backward(tarsia_detail::compute(f_), context_);
  }
  template <class F_>
  CustomOp& setBackward(F_* f_, const char* context_ = "cpu") {
    return add_backward(tarsia_detail::compute(f_), context_);
  }
  TARSIA_MXNET_SUPPORT CustomOp& setCreateOpState(createOpState_t f_, const char* context_ = "cpu") {
    return add_create(tarsia_detail::create(f_), context_);
  }
  template <class F_>
  CustomOp& setCreateOpState(F_* f_, const char* context_ = "cpu") {
    return add_create(tarsia_detail::create(f_), context_);
  }
  TARSIA_MXNET_SUPPORT CustomOp& setParseAttrs(parseAttrs_t f_) {
    return parse = tarsia_detail::parse(f_), *this;
  }
  template <class F_>
  CustomOp& setParseAttrs(F_* f_) {
    return parse = tarsia_detail::parse(f_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& setInferType(inferType_t f_) {
    return infer_type = tarsia_detail::infer(f_), *this;
  }
  template <class F_>
  CustomOp& setInferType(F_* f_) {
    return infer_type = tarsia_detail::infer(f_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& setInferSType(inferSType_t f_) {
    return infer_storage = tarsia_detail::infer(f_), *this;
  }
  template <class F_>
  CustomOp& setInferSType(F_* f_) {
    return infer_storage = tarsia_detail::infer(f_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& setInferShape(inferShape_t f_) {
    return infer_shape = tarsia_detail::infer_shape(f_), *this;
  }
  template <class F_>
  CustomOp& setInferShape(F_* f_) {
    return infer_shape = tarsia_detail::infer_shape(f_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& setMutateInputs(mutateInputs_t f_) {
    return mutate = tarsia_detail::mutate(f_), *this;
  }
  template <class F_>
  CustomOp& setMutateInputs(F_* f_) {
    return mutate = tarsia_detail::mutate(f_), *this;
  }
  CustomOp& setIsSubgraphOp() { return isSGop = true, *this; }
  /// Names of before the first release.
  template <class F_>
  CustomOp& setFCompute(F_* f_, const char* context_ = "cpu") {
    return setForward(f_, context_);
  }
  template <class F_>
  CustomOp& setGradient(F_* f_, const char* context_ = "cpu") {
    return setBackward(f_, context_);
  }

  template <class T_>
  struct InContext {
    T_ function;
    const char* context;
  };
  const char* name;
  const char* location;
  bool isSGop;
  bool warns;  ///< of a state that was not made by CustomStatefulOp::create
  std::vector<InContext<tarsia_detail::Compute> > forward, backward;
  std::vector<InContext<tarsia_detail::Create> > create;
  tarsia_detail::Parse parse;
  tarsia_detail::Infer infer_type, infer_storage;
  tarsia_detail::InferShape infer_shape;
  tarsia_detail::Mutate mutate;

 private:
  TARSIA_MXNET_SUPPORT CustomOp& add_forward(tarsia_detail::Compute function_, const char* context_) {
    const InContext<tarsia_detail::Compute> entry_ = {function_, context_};
    return forward.push_back(entry_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& add_backward(tarsia_detail::Compute function_, const char* context_) {
    const InContext<tarsia_detail::Compute> entry_ = {function_, context_};
    return backward.push_back(entry_), *this;
  }
  TARSIA_MXNET_SUPPORT CustomOp& add_create(tarsia_detail::Create function_, const char* context_) {
    const InContext<tarsia_detail::Create> entry_ = {function_, context_};
    return create.push_back(entry_), *this;
  }
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

/// Compiles, and is ignored.
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
/// Remembers `what_`, "partitioner 'x'", for the warning that it is ignored.
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
