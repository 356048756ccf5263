// OpResource: memory, streams and random states for a running op. PassResource: a name in graph passes, which
// do not run here.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/adapter.h>
#include <tarsia/detail/exceptions.h>
#include <tarsia/mxnet/table.h>
#include <tarsia/mxnet/tensor.h>

namespace mxnet {
namespace ext {

#if defined(__NVCC__)
typedef cudaStream_t mx_stream_t;
typedef curandStatePhilox4_32_10_t mx_gpu_rand_t;
#else
/// The stream of a call, which CUDA's functions take.
typedef void* mx_stream_t;
/// A random state on a GPU, cuRAND's Philox.
typedef void* mx_gpu_rand_t;
#endif
/// A random state of the CPU.
typedef std::mt19937 mx_cpu_rand_t;

typedef void* (*xpu_malloc_t)(void*, int);
typedef void (*sparse_malloc_t)(void*, int, int, int, void**, int64_t**, int64_t**);
typedef void (*nd_malloc_t)(const void*, const int64_t*, int, const char*, int, int, const char*, int,
                            void**);

/// Memory lives until the call returns; no two allocations overlap.
class OpResource {
 public:
  /// Made by Tarsia for each call.
  explicit OpResource(const tarsia_mxnet_run* run_) : m_run(run_) {}

  /// Memory on the CPU. Throws if there is none left.
  TARSIA_MXNET_SUPPORT void* alloc_cpu(int64_t bytes_) const { return allocate(bytes_, 0); }
  /// Memory on the op's GPU, ordered on the call's stream. Null if the op does not run on a GPU.
  TARSIA_MXNET_SUPPORT void* alloc_gpu(int64_t bytes_) const { return allocate(bytes_, 1); }
  /// alloc_cpu() under its name of older releases.
  void* alloc(int64_t bytes_) const { return alloc_cpu(bytes_); }

  /// The caller's stream.
  mx_stream_t get_cuda_stream() const { return static_cast<mx_stream_t>(m_run->stream); }

  /// Makes room for the elements of sparse output `index_`; it is row-sparse if `n_indptr_` is 0.
  TARSIA_MXNET_SUPPORT void alloc_sparse(MXSparse* sparse_, int index_, int64_t n_indices_,
                                         int64_t n_indptr_ = 0) const {
    const tarsia_sparse* made_ = nullptr;
    succeed(m_run->allocate_sparse(m_run, index_, n_indices_, n_indptr_, &made_));
    sparse_->set(made_->values.data, made_->whole.shape, made_->whole.ndim, made_->indices.data, n_indices_,
                 n_indptr_ ? made_->indptr.data : nullptr, n_indptr_);
  }

  /// Returns MX_NUM_CPU_RANDOM_STATES random states of the CPU.
  mx_cpu_rand_t* get_cpu_rand_states() const { return static_cast<mx_cpu_rand_t*>(states(0)); }
  /// Returns MX_NUM_GPU_RANDOM_STATES random states on the op's GPU; null if the op runs on the CPU.
  mx_gpu_rand_t* get_gpu_rand_states() const { return static_cast<mx_gpu_rand_t*>(states(1)); }

 private:
  static void succeed(int32_t code_) {
    if (code_) ::tarsia::detail::throw_last(::tarsia::detail::host());
  }
  TARSIA_MXNET_SUPPORT void* allocate(int64_t bytes_, uint32_t on_gpu_) const {
    void* memory_ = nullptr;
    succeed(m_run->allocate(m_run, bytes_, on_gpu_, &memory_));
    return memory_;
  }
  TARSIA_MXNET_SUPPORT void* states(uint32_t on_gpu_) const {
    void* states_ = nullptr;
    succeed(m_run->random_states(m_run, on_gpu_, &states_));
    return states_;
  }

  const tarsia_mxnet_run* m_run;
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
