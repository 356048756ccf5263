// Calls the functions of an op with signatures of any release: attributes by value or reference, as std::map
// or std::unordered_map; tensors by value, reference or pointer; int or MXReturnValue.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/resource.h>

namespace mxnet {
namespace ext {

class CustomStatefulOp;

typedef std::unordered_map<std::string, std::string> tarsia_attributes;
typedef std::vector<std::vector<unsigned int> > tarsia_shapes;

/// The by-pointer signatures, under the names that sources use.
typedef MXReturnValue (*fcomp_t)(const tarsia_attributes&, std::vector<MXTensor>*, std::vector<MXTensor>*,
                                 const OpResource&);
/// Reads the attributes; gives the numbers of inputs and of outputs.
typedef MXReturnValue (*parseAttrs_t)(const tarsia_attributes&, int*, int*);
/// Infers dtypes.
typedef MXReturnValue (*inferType_t)(const tarsia_attributes&, std::vector<int>*, std::vector<int>*);
/// Infers storage types.
typedef MXReturnValue (*inferSType_t)(const tarsia_attributes&, std::vector<int>*, std::vector<int>*);
/// Infers shapes.
typedef MXReturnValue (*inferShape_t)(const tarsia_attributes&, tarsia_shapes*, tarsia_shapes*);
/// Gives the numbers of the inputs that the op changes.
typedef MXReturnValue (*mutateInputs_t)(const tarsia_attributes&, std::vector<int>*);
/// Makes a state, for a device, shapes and dtypes of the inputs.
typedef MXReturnValue (*createOpState_t)(const tarsia_attributes&, const MXContext&, const tarsia_shapes&,
                                         const std::vector<int>, CustomStatefulOp**);

}  // namespace ext
}  // namespace mxnet

#if defined(TARSIA_MXNET_LINKED)
namespace std {
#if !defined(TARSIA_SUPPORT_OBJECT)
TARSIA_MXNET_VECTOR(mxnet::ext::MXTensor)
#endif
TARSIA_MXNET_EXTERN template class vector<mxnet::ext::MXTensor>;
}  // namespace std
#if !defined(TARSIA_SUPPORT_OBJECT)
namespace mxnet {
namespace ext {
namespace tarsia_detail {
__attribute__((gnu_inline, noinline)) inline void instantiate_tensors(const MXTensor& tensor_) {
  instantiate<MXTensor>(std::vector<MXTensor>(3), tensor_);
  tensor_.data<float>()[tensor_.size()] = tensor_.data<double>()[tensor_.shape[0]];
}
}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet
#endif
#endif

namespace mxnet {
namespace ext {

// Code that registers functions and passes arguments moves a few words. Optimising it would take longer than
// compiling the rest.
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(TARSIA_SUPPORT_OBJECT)
#pragma clang optimize off
#endif
namespace tarsia_detail {

/// Converts a part of the call to an argument of type T_.
template <class T_>
struct give;
template <>
struct give<const tarsia_attributes&> {
  static const tarsia_attributes& from(const tarsia_attributes& a_) { return a_; }
};
template <>
struct give<tarsia_attributes> : give<const tarsia_attributes&> {};
template <>
struct give<std::map<std::string, std::string> > {
  static std::map<std::string, std::string> from(const tarsia_attributes& a_) {
    return std::map<std::string, std::string>(a_.begin(), a_.end());
  }
};
template <>
struct give<const std::map<std::string, std::string>&> : give<std::map<std::string, std::string> > {};
template <class T_>
struct give<std::vector<T_>*> {
  static std::vector<T_>* from(std::vector<T_>& v_) { return &v_; }
};
template <class T_>
struct give<std::vector<T_>&> {
  static std::vector<T_>& from(std::vector<T_>& v_) { return v_; }
};
template <class T_>
struct give<const std::vector<T_>&> : give<std::vector<T_>&> {};
template <class T_>
struct give<std::vector<T_> > : give<std::vector<T_>&> {};

/// A function of any signature, and the caller that knows its signature and returns 0 on failure.
typedef void (*any_function)();
typedef int (*Compute)(any_function, const tarsia_attributes&, std::vector<MXTensor>&, std::vector<MXTensor>&,
                       const OpResource&);
typedef int (*Parse)(any_function, const tarsia_attributes&, int*, int*);
typedef int (*Infer)(any_function, const tarsia_attributes&, std::vector<int>&, std::vector<int>&);
typedef int (*InferShape)(any_function, const tarsia_attributes&, tarsia_shapes&, tarsia_shapes&);
typedef int (*Mutate)(any_function, const tarsia_attributes&, std::vector<int>&);
typedef int (*Create)(any_function, const tarsia_attributes&, const MXContext&, const tarsia_shapes&,
                      const std::vector<int>&, CustomStatefulOp**);
TARSIA_MXNET_SUPPORT tarsia_mxnet_function entry(any_function function_, any_function call_) {
  const tarsia_mxnet_function entry_ = {function_, call_, ""};
  return entry_;
}

template <class R_, class A_, class I_, class O_, class Res_>
tarsia_mxnet_function compute(R_ (*f_)(A_, I_, O_, Res_)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Compute>(
                   [](any_function g_, const tarsia_attributes& a_, std::vector<MXTensor>& i_,
                      std::vector<MXTensor>& o_, const OpResource& r_) -> int {
                     return reinterpret_cast<R_ (*)(A_, I_, O_, Res_)>(g_)(
                         give<A_>::from(a_), give<I_>::from(i_), give<O_>::from(o_), r_);
                   })));
}
template <class R_, class A_, class I_, class O_>
tarsia_mxnet_function compute(R_ (*f_)(A_, I_, O_)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Compute>(
                   [](any_function g_, const tarsia_attributes& a_, std::vector<MXTensor>& i_,
                      std::vector<MXTensor>& o_, const OpResource&) -> int {
                     return reinterpret_cast<R_ (*)(A_, I_, O_)>(g_)(give<A_>::from(a_), give<I_>::from(i_),
                                                                     give<O_>::from(o_));
                   })));
}
template <class R_, class A_>
tarsia_mxnet_function parse(R_ (*f_)(A_, int*, int*)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Parse>(
                   [](any_function g_, const tarsia_attributes& a_, int* i_, int* o_) -> int {
                     return reinterpret_cast<R_ (*)(A_, int*, int*)>(g_)(give<A_>::from(a_), i_, o_);
                   })));
}
template <class R_, class A_, class I_, class O_>
tarsia_mxnet_function infer(R_ (*f_)(A_, I_, O_)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(
                   static_cast<Infer>([](any_function g_, const tarsia_attributes& a_, std::vector<int>& i_,
                                         std::vector<int>& o_) -> int {
                     return reinterpret_cast<R_ (*)(A_, I_, O_)>(g_)(give<A_>::from(a_), give<I_>::from(i_),
                                                                     give<O_>::from(o_));
                   })));
}
template <class R_, class A_, class I_, class O_>
tarsia_mxnet_function infer_shape(R_ (*f_)(A_, I_, O_)) {
  return entry(
      reinterpret_cast<any_function>(f_),
      reinterpret_cast<any_function>(static_cast<InferShape>(
          [](any_function g_, const tarsia_attributes& a_, tarsia_shapes& i_, tarsia_shapes& o_) -> int {
            return reinterpret_cast<R_ (*)(A_, I_, O_)>(g_)(give<A_>::from(a_), give<I_>::from(i_),
                                                            give<O_>::from(o_));
          })));
}
template <class R_, class A_, class I_>
tarsia_mxnet_function mutate(R_ (*f_)(A_, I_)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Mutate>(
                   [](any_function g_, const tarsia_attributes& a_, std::vector<int>& i_) -> int {
                     return reinterpret_cast<R_ (*)(A_, I_)>(g_)(give<A_>::from(a_), give<I_>::from(i_));
                   })));
}
template <class R_, class A_, class C_, class S_, class T_>
tarsia_mxnet_function create(R_ (*f_)(A_, C_, S_, T_, CustomStatefulOp**)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Create>(
                   [](any_function g_, const tarsia_attributes& a_, const MXContext& x_,
                      const tarsia_shapes& s_, const std::vector<int>& t_, CustomStatefulOp** state_) -> int {
                     return reinterpret_cast<R_ (*)(A_, C_, S_, T_, CustomStatefulOp**)>(g_)(
                         give<A_>::from(a_), x_, s_, t_, state_);
                   })));
}
template <class R_, class A_>
tarsia_mxnet_function create(R_ (*f_)(A_, CustomStatefulOp**)) {
  return entry(reinterpret_cast<any_function>(f_),
               reinterpret_cast<any_function>(static_cast<Create>(
                   [](any_function g_, const tarsia_attributes& a_, const MXContext&, const tarsia_shapes&,
                      const std::vector<int>&, CustomStatefulOp** state_) -> int {
                     return reinterpret_cast<R_ (*)(A_, CustomStatefulOp**)>(g_)(give<A_>::from(a_), state_);
                   })));
}

}  // namespace tarsia_detail
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(TARSIA_SUPPORT_OBJECT)
#pragma clang optimize on
#endif
}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
