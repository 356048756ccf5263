// What an op asks for: random numbers, and memory for one call.
#pragma once

#include <memory>

#include <mxnet/base.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
namespace mxnet {

struct ResourceRequest {
  enum Type { kRandom, kTempSpace, kParallelRandom };
  Type type = kTempSpace;
  ResourceRequest() {}
  ResourceRequest(Type of) : type(of) {}
};

/// A resource of the call under way.
struct Resource {
  ResourceRequest req;
  int32_t id = 0;
  void* ptr_ = nullptr;

  Resource() {}
  Resource(ResourceRequest request, const Context& context)
      : req(request), m_context(context), m_state(std::make_shared<State>()) {}

  /// Draws numbers of the device. `stream` is that of the call.
  template <class xpu, class DType>
  mshadow::Random<xpu, DType>* get_random(mshadow::Stream<xpu>*) const {
    CHECK_EQ(static_cast<int>(req.type), static_cast<int>(ResourceRequest::kRandom))
        << "get_random() of a resource that was not requested as kRandom";
    if (!m_state->random) m_state->random = std::make_shared<mshadow::Random<xpu, DType>>(m_context.dev_id);
    return static_cast<mshadow::Random<xpu, DType>*>(m_state->random.get());
  }
  /// Memory that lives until the call returns, and that the next get_space() of this resource may give again.
  template <class xpu, int ndim>
  mshadow::Tensor<xpu, ndim, real_t> get_space(mshadow::Shape<ndim> shape,
                                               mshadow::Stream<xpu>* stream) const {
    return get_space_typed<xpu, ndim, real_t>(shape, stream);
  }
  template <int ndim>
  mshadow::Tensor<cpu, ndim, real_t> get_host_space(mshadow::Shape<ndim> shape) const {
    return get_host_space_typed<ndim, real_t>(shape);
  }
  template <class xpu, int ndim, class DType>
  mshadow::Tensor<xpu, ndim, DType> get_space_typed(mshadow::Shape<ndim> shape,
                                                    mshadow::Stream<xpu>* stream) const {
    CHECK_EQ(static_cast<int>(req.type), static_cast<int>(ResourceRequest::kTempSpace))
        << "get_space() of a resource that was not requested as kTempSpace";
    return mshadow::Tensor<xpu, ndim, DType>(
        static_cast<DType*>(get_space_internal(shape.Size() * sizeof(DType))), shape, shape[ndim - 1],
        stream);
  }
  template <int ndim, class DType>
  mshadow::Tensor<cpu, ndim, DType> get_host_space_typed(mshadow::Shape<ndim> shape) const {
    return mshadow::Tensor<cpu, ndim, DType>(
        static_cast<DType*>(get_host_space_internal(shape.Size() * sizeof(DType))), shape, shape[ndim - 1],
        nullptr);
  }
  void* get_space_internal(size_t bytes) const {
    return grown(m_state->space, bytes, m_context.dev_mask() == gpu::kDevMask);
  }
  void* get_host_space_internal(size_t bytes) const { return grown(m_state->host_space, bytes, false); }

 private:
  struct Space {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  struct State {
    Space space, host_space;
    std::shared_ptr<void> random;
  };
  void* grown(Space& space, size_t bytes, bool is_gpu) const {
    if (space.memory && bytes <= space.bytes) return space.memory;
    space.memory = tarsia_detail::scratch(bytes ? bytes : 1, is_gpu, m_context.dev_id);
    space.bytes = bytes;
    return space.memory;
  }
  Context m_context;
  std::shared_ptr<State> m_state;
};

}  // namespace mxnet
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif
