// OpResource: what a running op may ask for. PassResource: named by graph passes, which are not run here.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/adapter.h>
#include <tarsia/detail/exceptions.h>
#include <tarsia/mxnet/tensor.h>
#include <tarsia/op_abi.h>

namespace mxnet {
namespace ext {

#if defined(__NVCC__)
typedef cudaStream_t mx_stream_t;
typedef curandStatePhilox4_32_10_t mx_gpu_rand_t;
#else
typedef void* mx_stream_t;
typedef void* mx_gpu_rand_t;
#endif
typedef std::mt19937 mx_cpu_rand_t;

typedef void* (*xpu_malloc_t)(void*, int);
typedef void (*sparse_malloc_t)(void*, int, int, int, void**, int64_t**, int64_t**);
typedef void (*nd_malloc_t)(const void*, const int64_t*, int, const char*, int, int, const char*, int,
                            void**);

/// Memory lives until the call returns; no two allocations overlap.
class OpResource {
 public:
  explicit OpResource(const tarsia_op_context* context_) : m_context(context_) {}

  TARSIA_MXNET_SUPPORT void* alloc_cpu(int64_t bytes_) const {
    const tarsia_device cpu_ = {TARSIA_CPU, 0};
    return allocate(bytes_, cpu_);
  }
  /// Ordered on the call's stream. Null where the op does not run on a GPU.
  TARSIA_MXNET_SUPPORT void* alloc_gpu(int64_t bytes_) const {
    return m_context->device.type == TARSIA_GPU ? allocate(bytes_, m_context->device) : nullptr;
  }
  void* alloc(int64_t bytes_) const { return alloc_cpu(bytes_); }

  /// The caller's stream.
  mx_stream_t get_cuda_stream() const { return static_cast<mx_stream_t>(m_context->stream); }

  /// Gives output `index_` room for its elements; without `n_indptr_` it is row-sparse.
  TARSIA_MXNET_SUPPORT void alloc_sparse(MXSparse* sparse_, int index_, int64_t n_indices_,
                                         int64_t n_indptr_ = 0) const {
    if (m_context->allocate_sparse(m_context, static_cast<uint32_t>(index_), n_indices_, n_indptr_))
      ::tarsia::detail::throw_last(::tarsia::detail::host());
    const tarsia_sparse* made_ = reinterpret_cast<const tarsia_sparse*>(m_context->outputs[index_]);
    sparse_->set(made_->values.data, made_->whole.shape, made_->whole.ndim, made_->indices.data, n_indices_,
                 n_indptr_ ? made_->indptr.data : nullptr, n_indptr_);
  }

  /// MX_NUM_CPU_RANDOM_STATES of them.
  mx_cpu_rand_t* get_cpu_rand_states() const {
    const tarsia_device cpu_ = {TARSIA_CPU, 0};
    return static_cast<mx_cpu_rand_t*>(states(cpu_, TARSIA_RANDOM_MT19937));
  }
  /// MX_NUM_GPU_RANDOM_STATES of them on the op's GPU; null where it runs on the CPU.
  mx_gpu_rand_t* get_gpu_rand_states() const {
    if (m_context->device.type != TARSIA_GPU) return nullptr;
    return static_cast<mx_gpu_rand_t*>(states(m_context->device, TARSIA_RANDOM_PHILOX));
  }

 private:
  TARSIA_MXNET_SUPPORT static void* allocate(int64_t bytes_, tarsia_device device_) {
    if (bytes_ < 0) throw std::invalid_argument("memory of a negative size was asked for");
    void* memory_ = ::tarsia::detail::host()->scratch(static_cast<uint64_t>(bytes_), device_);
    if (!memory_) ::tarsia::detail::throw_last(::tarsia::detail::host());
    return memory_;
  }
  TARSIA_MXNET_SUPPORT static void* states(tarsia_device device_, int kind_) {
    uint32_t n_ = 0;
    void* states_ = ::tarsia::detail::host()->random_states(device_, kind_, &n_);
    if (!states_) ::tarsia::detail::throw_last(::tarsia::detail::host());
    return states_;
  }

  const tarsia_op_context* m_context;
};

class PassResource {
 public:
  TARSIA_MXNET_SUPPORT PassResource(std::unordered_map<std::string, MXTensor>* args_,
                                    std::unordered_map<std::string, MXTensor>* aux_, nd_malloc_t malloc_,
                                    const void* self_)
      : m_args(args_), m_aux(aux_), m_malloc(malloc_), m_self(self_) {}
  TARSIA_MXNET_SUPPORT MXTensor* alloc_arg(const std::string& name_, const std::vector<int64_t>& shape_,
                                           const MXContext& context_, MXDType dtype_) const {
    return allocate(m_args, name_, shape_, context_, dtype_, 1);
  }
  TARSIA_MXNET_SUPPORT MXTensor* alloc_aux(const std::string& name_, const std::vector<int64_t>& shape_,
                                           const MXContext& context_, MXDType dtype_) const {
    return allocate(m_aux, name_, shape_, context_, dtype_, 0);
  }

 private:
  TARSIA_MXNET_SUPPORT MXTensor* allocate(std::unordered_map<std::string, MXTensor>* into_,
                                          const std::string& name_, const std::vector<int64_t>& shape_,
                                          const MXContext& context_, MXDType dtype_, int is_arg_) const {
    void* data_ = nullptr;
    m_malloc(m_self, shape_.data(), static_cast<int>(shape_.size()), context_.dev_type.c_str(),
             context_.dev_id, dtype_, name_.c_str(), is_arg_, &data_);
    return &((*into_)[name_] = MXTensor(data_, shape_, dtype_, 0, context_));
  }
  std::unordered_map<std::string, MXTensor>* m_args;
  std::unordered_map<std::string, MXTensor>* m_aux;
  nd_malloc_t m_malloc;
  const void* m_self;
};

}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
