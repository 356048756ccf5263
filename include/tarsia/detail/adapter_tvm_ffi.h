// The parts of adapter.h on tvm-ffi's types. A TensorView is the caller's tensor of the call. A Tensor, which
// the function may keep, shares the caller's memory. A Tensor that comes back goes to the caller by DLPack.
// Generated text includes this if an exported function has such a type and <tvm/ffi/container/tensor.h> was
// included, which brings all of the types below. It includes nothing of tvm-ffi itself: generated text sees
// none of the user's macros.
#if !defined(TARSIA_ADAPTER_TVM_FFI_H)
#define TARSIA_ADAPTER_TVM_FFI_H

extern "C" {
// As <tvm/ffi/extra/c_env_api.h> declares them: the surroundings of a call, of one thread.
__attribute__((visibility("default"))) int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id,
                                                              void* stream, void** original);
__attribute__((visibility("default"))) int TVMFFIEnvSetDLPackManagedTensorAllocator(
    DLPackManagedTensorAllocator allocator, int write_to_global_context,
    DLPackManagedTensorAllocator* original);
}

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

static_assert(sizeof(DLTensor) == sizeof(tarsia_tensor), "tarsia: DLPack's tensor has another layout");

/// The thread's last error as an exception of tvm-ffi.
[[noreturn]] inline void throw_last_by_tvm_ffi() {
  const char* text_ = "";
  const int32_t code_ = host()->last_error(&text_);
  throw tvm::ffi::Error(code_ == TARSIA_OP_TYPE_ERROR ? "TypeError" : "RuntimeError", text_, "");
}

/// DLPack's tensor of an argument. Code for tvm-ffi counts on strides, and on an address without an offset.
inline DLTensor dlpack_tensor(const tarsia_tensor& t_) {
  DLTensor view_;
  __builtin_memcpy(&view_, &t_, sizeof view_);
  view_.data = static_cast<char*>(view_.data) + view_.byte_offset;
  view_.byte_offset = 0;
  return view_;
}

/// The surroundings that tvm-ffi's own calls have: its current stream is that of the call, and tensors that
/// functions make come from the caller's framework.
class tvm_ffi_scope {
 public:
  tvm_ffi_scope() : m_device(host()->call_device()) {
    TVMFFIEnvSetDLPackManagedTensorAllocator(&allocate, 0, &m_allocator);
    if (m_device.type == TARSIA_GPU)
      TVMFFIEnvSetStream(m_device.type, m_device.id, host()->current_stream(m_device.id), &m_stream);
  }
  ~tvm_ffi_scope() {
    if (m_device.type == TARSIA_GPU) TVMFFIEnvSetStream(m_device.type, m_device.id, m_stream, nullptr);
    TVMFFIEnvSetDLPackManagedTensorAllocator(m_allocator, 0, nullptr);
  }
  tvm_ffi_scope(const tvm_ffi_scope&) = delete;
  tvm_ffi_scope& operator=(const tvm_ffi_scope&) = delete;

 private:
  static void release(DLManagedTensorVersioned* made_) {
    host()->release(static_cast<tarsia_storage*>(made_->manager_ctx));
    delete made_;
  }
  static int allocate(DLTensor* wanted_, DLManagedTensorVersioned** made_, void* context_,
                      void (*set_error_)(void*, const char*, const char*)) {
    const tarsia_tensor& t_ = *reinterpret_cast<const tarsia_tensor*>(wanted_);
    tarsia_storage* storage_ = host()->empty(t_.shape, t_.ndim, t_.dtype, t_.device);
    if (!storage_) {
      const char* text_ = "";
      const bool is_memory_ = host()->last_error(&text_) == TARSIA_OUT_OF_MEMORY;
      set_error_(context_, is_memory_ ? "MemoryError" : "RuntimeError", text_);
      return -1;
    }
    *made_ = new DLManagedTensorVersioned();
    (*made_)->version.major = 1;
    (*made_)->dl_tensor = dlpack_tensor(*storage_->tensor);
    (*made_)->manager_ctx = storage_;
    (*made_)->deleter = &release;
    return 0;
  }

  tarsia_device m_device;
  DLPackManagedTensorAllocator m_allocator = nullptr;
  void* m_stream = nullptr;
};

template <>
struct arg<tvm::ffi::TensorView, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_TENSOR, tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1}, TARSIA_TYPE_STRIDED);
  }
  static tvm::ffi::TensorView get(const tarsia_value& v_) {
    DLTensor view_ = dlpack_tensor(*v_.t);
    if (!view_.strides && view_.ndim) fill_strides(view_);
    return tvm::ffi::TensorView(&view_);
  }

 private:
  static void fill_strides(DLTensor& view_) {
    const tarsia_device cpu_ = {TARSIA_CPU, 0};
    view_.strides = static_cast<int64_t*>(host()->scratch(sizeof(int64_t) * uint64_t(view_.ndim), cpu_));
    if (!view_.strides) throw_last_by_tvm_ffi();
    int64_t stride_ = 1;
    for (int32_t i_ = view_.ndim - 1; i_ >= 0; --i_) view_.strides[i_] = stride_, stride_ *= view_.shape[i_];
  }
};
template <>
struct arg<const tvm::ffi::TensorView&, k_unsupported> : arg<tvm::ffi::TensorView> {
  static constexpr tarsia_type describe() {
    return add_flags(arg<tvm::ffi::TensorView>::describe(), TARSIA_TYPE_CONST);
  }
};

template <>
struct arg<tvm::ffi::Tensor, k_unsupported> {
  static constexpr tarsia_type describe() { return arg<tvm::ffi::TensorView>::describe(); }
  static tvm::ffi::Tensor get(const tarsia_value& v_) {
    tarsia_storage* storage_ = host()->share(v_.t);
    if (!storage_) throw_last_by_tvm_ffi();
    DLManagedTensor* shared_ = new DLManagedTensor();
    shared_->dl_tensor = dlpack_tensor(*storage_->tensor);
    shared_->manager_ctx = storage_;
    shared_->deleter = &release;
    return tvm::ffi::Tensor::FromDLPack(shared_);
  }

 private:
  static void release(DLManagedTensor* shared_) {
    host()->release(static_cast<tarsia_storage*>(shared_->manager_ctx));
    delete shared_;
  }
};
template <>
struct arg<const tvm::ffi::Tensor&, k_unsupported> : arg<tvm::ffi::Tensor> {
  static constexpr tarsia_type describe() { return arg<const tvm::ffi::TensorView&>::describe(); }
};
template <>
struct arg<tvm::ffi::Tensor&, k_unsupported> : handle_reference<tvm::ffi::Tensor> {};
template <class A_>
struct arg<std::vector<tvm::ffi::Tensor, A_>&, k_unsupported>
    : handle_reference<std::vector<tvm::ffi::Tensor, A_>> {};
template <>
struct result<tvm::ffi::Tensor, k_unsupported> : arg<tvm::ffi::Tensor> {
  /// An undefined tensor is none.
  static int32_t put(tarsia_value* r_, tvm::ffi::Tensor x_) {
    if (!x_.defined()) return r_->kind = TARSIA_KIND_NONE, 0;
    const tarsia_tensor* tensor_ = reinterpret_cast<const tarsia_tensor*>(x_.GetDLTensorPtr());
    void* object_ = unsafe::MoveObjectRefToTVMFFIObjectPtr(static_cast<tvm::ffi::Tensor&&>(x_));
    tarsia_storage* storage_ = host()->adopt(tensor_, object_, &release);
    if (!storage_) return release(object_), int32_t(TARSIA_OUT_OF_MEMORY);
    return r_->storage = storage_, r_->kind = TARSIA_KIND_TENSOR, 0;
  }

 private:
  typedef tvm::ffi::detail::ObjectUnsafe unsafe;
  static void release(void* object_) { unsafe::DecRefObjectHandle(object_); }
};

template <>
struct arg<tvm::ffi::String, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STRING); }
  static tvm::ffi::String get(const tarsia_value& v_) { return tvm::ffi::String(v_.s, v_.size); }
};
template <>
struct result<tvm::ffi::String, k_unsupported> : arg<tvm::ffi::String> {
  static int32_t put(tarsia_value* r_, const tvm::ffi::String& x_) {
    return host()->result_string(r_, x_.data(), x_.size());
  }
};

template <class T_>
struct arg<tvm::ffi::Optional<T_>, k_unsupported> : optional_arg<tvm::ffi::Optional<T_>, T_> {};
template <class T_>
struct arg<const tvm::ffi::Optional<T_>&, k_unsupported>
    : optional_reference_arg<tvm::ffi::Optional<T_>, T_> {};
template <class T_>
struct result<tvm::ffi::Optional<T_>, k_unsupported> : optional_result<tvm::ffi::Optional<T_>, T_> {};

template <class T_>
struct arg<tvm::ffi::Array<T_>, k_unsupported> : list_arg<tvm::ffi::Array<T_>, T_> {};
template <class T_>
struct arg<const tvm::ffi::Array<T_>&, k_unsupported> : list_reference_arg<tvm::ffi::Array<T_>, T_> {};
/// An array's items, which it gives as const copies, as values that may be moved.
template <class T_>
struct given_items {
  given_items(tvm::ffi::Array<T_> array_) : array(static_cast<tvm::ffi::Array<T_>&&>(array_)) {}
  uint64_t size() const { return array.size(); }
  T_ operator[](uint32_t i_) const { return array[i_]; }
  tvm::ffi::Array<T_> array;
};
template <class T_>
struct result<tvm::ffi::Array<T_>, k_unsupported> : list_result<given_items<T_>, T_> {};

template <>
struct scope_of<tvm::ffi::TensorView> {
  typedef tvm_ffi_scope type;
};
template <>
struct scope_of<tvm::ffi::Tensor> {
  typedef tvm_ffi_scope type;
};
template <class T_>
struct scope_of<tvm::ffi::Optional<T_>> : scope_of<T_> {};
template <class T_>
struct scope_of<tvm::ffi::Array<T_>> : scope_of<T_> {};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#endif
