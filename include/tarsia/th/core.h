// Tensors and storages of TH and THC without their element types: sizes, views, memory. Every struct of
// <tarsia/th/types.h> is laid out like Storage and View here.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/th/types.h>

#include <tarsia/tensor.h>

#include <initializer_list>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace th {

/// Any storage. What an argument of the call under way lies in owns nothing, and ends with the call.
struct __attribute__((may_alias)) Storage {
  char* data;
  ptrdiff_t size;
  int refcount;
  char flag;
  void* allocator;  ///< not null: its memory is one of malloc()
  void* context;    ///< of an argument's: the argument, a tarsia_tensor
  Storage* view;
  int device;
};
/// Any tensor.
struct __attribute__((may_alias)) View {
  long* size;
  long* stride;
  int ndim;
  Storage* storage;
  ptrdiff_t offset;
  int refcount;
  char flag;
  const tarsia_tensor* argument;
};
static_assert(sizeof(View) == sizeof(THFloatTensor) && sizeof(Storage) == sizeof(THFloatStorage),
              "the layouts are those of <tarsia/th/types.h>");

/// What the core knows of a type: the bytes of an element, and where its tensors are.
struct Kind {
  ptrdiff_t bytes;
  bool gpu;
};
template <class T_>
constexpr Kind kind_of(bool gpu_) {
  return {static_cast<ptrdiff_t>(sizeof(T_)), gpu_};
}
template <>
constexpr Kind kind_of<::__half>(bool gpu_) {
  return {2, gpu_};
}

template <class T_>
View* tensor(T_* tensor_) {
  return reinterpret_cast<View*>(const_cast<typename detail::remove_const<T_>::type*>(tensor_));
}
template <class S_>
Storage* storage(S_* storage_) {
  return reinterpret_cast<Storage*>(storage_);
}
template <class T_, class F_>
T_* as(F_* of_) {
  return reinterpret_cast<T_*>(of_);
}

TARSIA_DETAIL_SUPPORT Message& operator<<(Message& text_, const View& v_) {
  text_ << "(";
  for (int i_ = 0; i_ < v_.ndim; ++i_) text_ << (i_ ? ", " : "") << static_cast<long long>(v_.size[i_]);
  return text_ << (v_.ndim == 1 ? ",)" : ")");
}
inline Message& operator<<(Message&& text_, const View& v_) {
  return text_ << v_;
}

// ---- memory ----

inline Device device_of(Kind kind_) {
  if (!kind_.gpu) return cpu_device();
  const Device device_ = detail::attached()->call_device();
  return is_gpu(device_) ? device_ : gpu_device(0);
}
inline Device device_of(const Storage* s_) {
  return s_->device < 0 ? cpu_device() : gpu_device(s_->device);
}

TARSIA_DETAIL_SUPPORT char* allocate(ptrdiff_t bytes_, Device device_) {
  const tarsia_host* host_ = detail::attached();
  void* stream_ = is_gpu(device_) ? host_->current_stream(device_.id) : nullptr;
  void* memory_ = host_->allocate(static_cast<uint64_t>(bytes_ > 0 ? bytes_ : 1), device_, stream_);
  if (!memory_) detail::throw_last(host_);
  return static_cast<char*>(memory_);
}
TARSIA_DETAIL_SUPPORT void deallocate(char* memory_, Device device_) {
  const tarsia_host* host_ = detail::attached();
  if (memory_)
    host_->deallocate(memory_, device_, is_gpu(device_) ? host_->current_stream(device_.id) : nullptr);
}

/// Frees the memory of a storage that owns it.
inline void free_memory(Storage* s_) {
  if (!(s_->flag & TH_STORAGE_FREEMEM)) return;
  if (s_->allocator)
    __builtin_free(s_->data);
  else
    deallocate(s_->data, device_of(s_));
}
/// Gives a storage more elements. They are unset; on the CPU, those that were there stay.
TARSIA_DETAIL_SUPPORT void grow(Storage* s_, Kind kind_, ptrdiff_t n_) {
  if (n_ < 0)
    throw ValueError(Message("a storage of ") << static_cast<long long>(n_) << " elements is asked for");
  if (s_->context) throw ValueError("the storage of a caller's tensor cannot be resized: resize the tensor");
  const Device device_ = device_of(s_);
  char* memory_ = allocate(n_ * kind_.bytes, device_);
  if (s_->device < 0 && s_->data)
    __builtin_memcpy(memory_, s_->data, static_cast<size_t>((n_ < s_->size ? n_ : s_->size) * kind_.bytes));
  free_memory(s_);
  s_->flag |= TH_STORAGE_FREEMEM;
  s_->allocator = nullptr, s_->data = memory_, s_->size = n_;
}
TARSIA_DETAIL_SUPPORT Storage* new_storage(Kind kind_, ptrdiff_t n_) {
  Storage* s_ = new Storage{
      nullptr, 0,       1,       TH_STORAGE_REFCOUNTED | TH_STORAGE_RESIZABLE | TH_STORAGE_FREEMEM,
      nullptr, nullptr, nullptr, -1};
  const Device device_ = device_of(kind_);
  s_->device = is_gpu(device_) ? device_.id : -1;
  if (n_) grow(s_, kind_, n_);
  return s_;
}
/// A storage over memory of malloc(), which it frees.
inline Storage* new_storage_over(void* data_, ptrdiff_t n_) {
  Storage* s_ = new_storage(Kind{1, false}, 0);
  s_->data = static_cast<char*>(data_), s_->size = n_, s_->allocator = s_;
  return s_;
}
inline void retain(Storage* s_) {
  if (s_) __atomic_add_fetch(&s_->refcount, 1, __ATOMIC_RELAXED);
}
TARSIA_DETAIL_SUPPORT void release(Storage* s_) {
  if (!s_ || __atomic_sub_fetch(&s_->refcount, 1, __ATOMIC_ACQ_REL) || s_->context) return;
  free_memory(s_);
  delete s_;
}

// ---- what a tensor is ----

TARSIA_DETAIL_SUPPORT int dimension(const View* v_, int i_) {
  if (i_ < 0 || i_ >= v_->ndim)
    throw IndexError(Message("dimension ")
                     << i_ << " of a tensor of " << v_->ndim << " dimensions is asked for");
  return i_;
}
inline long size(const View* v_, int i_) {
  return v_->size[dimension(v_, i_)];
}
inline long stride(const View* v_, int i_) {
  return v_->stride[dimension(v_, i_)];
}
/// A tensor without dimensions is empty.
inline ptrdiff_t count(const View* v_) {
  ptrdiff_t n_ = v_->ndim ? 1 : 0;
  for (int i_ = 0; i_ < v_->ndim; ++i_) n_ *= v_->size[i_];
  return n_;
}
inline char* data(const View* v_, Kind kind_) {
  return v_->storage ? v_->storage->data + v_->offset * kind_.bytes : nullptr;
}
inline int is_contiguous(const View* v_) {
  long n_ = 1;
  for (int i_ = v_->ndim - 1; i_ >= 0; --i_) {
    if (v_->size[i_] != 1 && v_->stride[i_] != n_) return 0;
    n_ *= v_->size[i_];
  }
  return 1;
}
inline int is_same(int n_, const long* a_, const long* b_) {
  for (int i_ = 0; i_ < n_; ++i_)
    if (a_[i_] != b_[i_]) return 0;
  return 1;
}
inline int is_same_size(const View* a_, const View* b_) {
  return a_->ndim == b_->ndim && is_same(a_->ndim, a_->size, b_->size);
}
inline int has_size(const View* v_, const THLongStorage* size_) {
  return v_->ndim == size_->size && is_same(v_->ndim, v_->size, size_->data);
}
inline int is_set_to(const View* a_, const View* b_) {
  return a_->storage && a_->storage == b_->storage && a_->offset == b_->offset && is_same_size(a_, b_) &&
         is_same(a_->ndim, a_->stride, b_->stride);
}
TARSIA_DETAIL_SUPPORT THLongStorage* numbers(const View* v_, const long* from_) {
  Storage* s_ = new_storage(kind_of<long>(false), v_->ndim);
  for (int i_ = 0; i_ < v_->ndim; ++i_) reinterpret_cast<long*>(s_->data)[i_] = from_[i_];
  return as<THLongStorage>(s_);
}

// ---- tensors of the code's own ----

TARSIA_DETAIL_SUPPORT View* new_tensor() {
  return new View{nullptr, nullptr, 0, nullptr, 0, 1, TH_TENSOR_REFCOUNTED, nullptr};
}
inline void retain(View* v_) {
  if (v_) __atomic_add_fetch(&v_->refcount, 1, __ATOMIC_RELAXED);
}
TARSIA_DETAIL_SUPPORT void release(View* v_) {
  if (!v_ || __atomic_sub_fetch(&v_->refcount, 1, __ATOMIC_ACQ_REL) || v_->argument) return;
  release(v_->storage);
  delete[] v_->size;
  delete v_;
}
TARSIA_DETAIL_SUPPORT void refuse_argument(const View* v_) {
  if (v_->argument)
    throw ValueError(
        "a caller's tensor is to become a view of other memory, which only the caller can give it: make a "
        "new tensor, "
        "or copy into the caller's");
}
/// Sets the sizes. Without strides, or where they are negative, they are those of a contiguous tensor.
TARSIA_DETAIL_SUPPORT void set_sizes(View* v_, int n_, const long* size_, const long* stride_) {
  refuse_argument(v_);
  long* numbers_ = new long[static_cast<size_t>(n_) * 2 + 1];
  long step_ = 1;
  for (int i_ = n_ - 1; i_ >= 0; --i_) {
    numbers_[i_] = size_[i_];
    numbers_[n_ + i_] = stride_ && stride_[i_] >= 0 ? stride_[i_] : step_;
    step_ = numbers_[n_ + i_] * size_[i_];
  }
  delete[] v_->size;
  v_->size = numbers_, v_->stride = numbers_ + n_, v_->ndim = n_;
}
/// Sets the sizes, and strides that may be negative: those of another view of the same memory.
inline void set_view(View* v_, int n_, const long* size_, const long* stride_) {
  set_sizes(v_, n_, size_, nullptr);
  for (int i_ = 0; i_ < n_; ++i_) v_->stride[i_] = stride_[i_];
}
/// The number of elements from the first of a view to the last behind it in memory.
inline ptrdiff_t span_of(int n_, const long* size_, const long* stride_) {
  ptrdiff_t last_ = n_ ? 1 : 0;
  for (int i_ = 0; i_ < n_; ++i_) {
    if (!size_[i_]) return 0;
    if (stride_[i_] > 0) last_ += (size_[i_] - 1) * stride_[i_];
  }
  return last_;
}

/// Reads again what the caller's tensor is. Its sizes lie in memory of the call.
TARSIA_DETAIL_SUPPORT void read_argument(View* v_, Kind kind_) {
  const tarsia_tensor* t_ = v_->argument;
  const Tensor tensor_(t_);
  long* numbers_ =
      static_cast<long*>(scratch((static_cast<uint64_t>(t_->ndim) * 2 + 1) * sizeof(long), cpu_device()));
  for (int i_ = 0; i_ < t_->ndim; ++i_) {
    numbers_[i_] = static_cast<long>(t_->shape[i_]);
    numbers_[t_->ndim + i_] = static_cast<long>(tensor_.stride(i_));
  }
  v_->size = numbers_, v_->stride = numbers_ + t_->ndim, v_->ndim = t_->ndim;
  // Early PyTorch made a tensor of one element of a number, and an empty one of an empty shape.
  if (!t_->ndim)
    v_->size = v_->stride = static_cast<long*>(scratch(sizeof(long), cpu_device())), *v_->size = 1,
    v_->ndim = 1;
  if (t_->ndim == 1 && t_->shape[0] == 0) v_->ndim = 0;
  v_->offset = 0;
  v_->storage->data = static_cast<char*>(tensor_.data());
  v_->storage->size = span_of(v_->ndim, v_->size, v_->stride);
  v_->storage->device = is_gpu(t_->device) ? t_->device.id : kind_.gpu ? device_of(kind_).id : -1;
}

/// Gives a tensor other sizes. Of a caller's tensor, the caller's own gets them.
TARSIA_DETAIL_SUPPORT void resize(View* v_, Kind kind_, int n_, const long* size_, const long* stride_) {
  for (int i_ = 0; i_ < n_; ++i_)
    if (size_[i_] < 0)
      throw ValueError(Message("a tensor cannot be resized to ")
                       << static_cast<long long>(size_[i_]) << " in dimension " << i_);
  if (v_->ndim == n_ && is_same(n_, v_->size, size_) && (!stride_ || is_same(n_, v_->stride, stride_)))
    return;
  if (v_->argument) {
    const tarsia_host* host_ = detail::attached();
    if (stride_) throw ValueError("a caller's tensor cannot be resized to other strides");
    if (!TARSIA_DETAIL_HAS_FIELD(*host_, resize))
      throw ValueError("this libtarsia resizes no tensors of callers: a newer one does");
    const int64_t none_ = 0;  // a tensor without dimensions is empty, and its caller's is a row of nothing
    const int64_t* shape_ = n_ ? reinterpret_cast<const int64_t*>(size_) : &none_;
    if (const int32_t code_ = host_->resize(v_->argument, shape_, n_ ? n_ : 1))
      detail::throw_last(host_, code_);
    return read_argument(v_, kind_);
  }
  set_sizes(v_, n_, size_, stride_);
  const ptrdiff_t needed_ = v_->offset + span_of(n_, v_->size, v_->stride);
  if (!v_->storage) v_->storage = new_storage(kind_, 0);
  if (v_->storage->size < needed_) grow(v_->storage, kind_, needed_);
}
inline void resize(View* v_, Kind kind_, std::initializer_list<long> sizes_) {
  resize(v_, kind_, static_cast<int>(sizes_.size()), sizes_.begin(), nullptr);
}
inline void resize(View* v_, Kind kind_, const THLongStorage* size_, const THLongStorage* stride_) {
  resize(v_, kind_, size_ ? static_cast<int>(size_->size) : 0, size_ ? size_->data : nullptr,
         stride_ ? stride_->data : nullptr);
}
inline void resize_as(View* v_, Kind kind_, const View* like_) {
  if (!is_same_size(v_, like_)) resize(v_, kind_, like_->ndim, like_->size, nullptr);
}

inline View* new_sized(Kind kind_, std::initializer_list<long> sizes_) {
  View* v_ = new_tensor();
  resize(v_, kind_, sizes_);
  return v_;
}
inline View* new_sized(Kind kind_, const THLongStorage* size_, const THLongStorage* stride_) {
  View* v_ = new_tensor();
  resize(v_, kind_, size_, stride_);
  return v_;
}
inline View* new_like(const View* like_, Kind kind_) {
  View* v_ = new_tensor();
  resize_as(v_, kind_, like_);
  return v_;
}

// ---- views ----

/// Makes a tensor of the code's own a view of another's memory. Null: it stays what it is.
TARSIA_DETAIL_SUPPORT View* set(View* v_, View* other_) {
  if (!other_ || other_ == v_) return refuse_argument(v_), v_;
  set_view(v_, other_->ndim, other_->size, other_->stride);
  retain(other_->storage);
  release(v_->storage);
  v_->storage = other_->storage, v_->offset = other_->offset;
  return v_;
}
inline View* new_view(View* other_) {
  return set(new_tensor(), other_);
}
TARSIA_DETAIL_SUPPORT void set_over(View* v_, Kind kind_, Storage* s_, ptrdiff_t offset_,
                                    const THLongStorage* size_, const THLongStorage* stride_) {
  refuse_argument(v_);
  if (offset_ < 0) throw ValueError("a tensor is to begin before its storage");
  retain(s_);
  release(v_->storage);
  v_->storage = s_, v_->offset = offset_;
  set_sizes(v_, 0, nullptr, nullptr);
  if (size_) resize(v_, kind_, size_, stride_);
}
/// The same for a few sizes, each with its stride; a negative one is that of a contiguous tensor.
inline View* set_over(View* v_, Kind kind_, Storage* s_, ptrdiff_t offset_, std::initializer_list<long> size_,
                      std::initializer_list<long> stride_) {
  set_over(v_, kind_, s_, offset_, nullptr, nullptr);
  resize(v_, kind_, static_cast<int>(size_.size()), size_.begin(), stride_.begin());
  return v_;
}
inline View* new_over(Kind kind_, Storage* s_, ptrdiff_t offset_, const THLongStorage* size_,
                      const THLongStorage* stride_) {
  View* v_ = new_tensor();
  set_over(v_, kind_, s_, offset_, size_, stride_);
  return v_;
}
inline View* drop_dimension(View* v_, int i_) {
  for (--v_->ndim; i_ < v_->ndim; ++i_) v_->size[i_] = v_->size[i_ + 1], v_->stride[i_] = v_->stride[i_ + 1];
  return v_;
}
TARSIA_DETAIL_SUPPORT View* narrow(View* v_, int i_, long first_, long n_) {
  dimension(v_, i_);
  if (first_ < 0 || n_ <= 0 || first_ + n_ > v_->size[i_])
    throw IndexError(Message("elements ")
                     << static_cast<long long>(first_) << " to " << static_cast<long long>(first_ + n_)
                     << " of dimension " << i_ << " are asked for of a tensor of shape " << *v_);
  v_->offset += first_ * v_->stride[i_];
  v_->size[i_] = n_;
  return v_;
}
TARSIA_DETAIL_SUPPORT View* select(View* v_, int i_, long index_) {
  if (v_->ndim < 2) throw ValueError("select() is asked for of a tensor of less than two dimensions");
  return drop_dimension(narrow(v_, i_, index_, 1), i_);
}
inline View* transpose(View* v_, int a_, int b_) {
  const long size_ = size(v_, dimension(v_, a_)), stride_ = v_->stride[a_];
  v_->size[a_] = size(v_, b_), v_->stride[a_] = v_->stride[b_];
  v_->size[b_] = size_, v_->stride[b_] = stride_;
  return v_;
}
TARSIA_DETAIL_SUPPORT View* unfold(View* v_, int i_, long n_, long step_) {
  if (n_ > size(v_, i_) || n_ < 1 || step_ < 1)
    throw ValueError(Message("unfold() of dimension ") << i_ << " in parts of " << static_cast<long long>(n_)
                                                       << " is asked for of a tensor of shape " << *v_);
  const int k_ = v_->ndim;
  long* numbers_ = new long[static_cast<size_t>(k_) * 2 + 2];
  for (int j_ = 0; j_ < k_; ++j_) numbers_[j_] = v_->size[j_], numbers_[k_ + 1 + j_] = v_->stride[j_];
  numbers_[k_] = n_, numbers_[2 * k_ + 1] = v_->stride[i_];
  numbers_[i_] = (v_->size[i_] - n_) / step_ + 1, numbers_[k_ + 1 + i_] = step_ * v_->stride[i_];
  delete[] v_->size;
  v_->size = numbers_, v_->stride = numbers_ + k_ + 1, v_->ndim = k_ + 1;
  return v_;
}
inline void squeeze(View* v_) {
  for (int i_ = v_->ndim - 1; i_ >= 0 && v_->ndim > 1; --i_)
    if (v_->size[i_] == 1) drop_dimension(v_, i_);
}
inline void squeeze(View* v_, int i_) {
  if (size(v_, i_) == 1 && v_->ndim > 1) drop_dimension(v_, i_);
}
TARSIA_DETAIL_SUPPORT void unsqueeze(View* v_, int i_) {
  if (i_ < 0 || i_ > v_->ndim)
    throw IndexError(Message("a dimension ") << i_ << " is to be added to a tensor of shape " << *v_);
  const int k_ = v_->ndim + 1;
  long* numbers_ = new long[static_cast<size_t>(k_) * 2];
  for (int j_ = 0; j_ < k_; ++j_) {
    const int from_ = j_ < i_ ? j_ : j_ - 1;
    numbers_[j_] = j_ == i_ ? 1 : v_->size[from_];
    numbers_[k_ + j_] = j_ != i_ ? v_->stride[from_] : i_ < v_->ndim ? v_->size[i_] * v_->stride[i_] : 1;
  }
  delete[] v_->size;
  v_->size = numbers_, v_->stride = numbers_ + k_, v_->ndim = k_;
}
TARSIA_DETAIL_SUPPORT View* new_shaped(View* other_, const THLongStorage* size_) {
  ptrdiff_t n_ = 1, known_ = 1, open_ = -1;
  for (ptrdiff_t i_ = 0; i_ < size_->size; ++i_) size_->data[i_] < 0 ? open_ = i_ : known_ *= size_->data[i_];
  n_ = count(other_);
  if (!is_contiguous(other_) || (open_ < 0 ? known_ != n_ : known_ == 0 || n_ % known_))
    throw ValueError(Message("a view of another shape is asked for of a tensor of shape ")
                     << *other_ << ", which has other elements, or is not contiguous");
  View* v_ = new_view(other_);
  long* sizes_ =
      static_cast<long*>(scratch(static_cast<uint64_t>(size_->size + 1) * sizeof(long), cpu_device()));
  for (ptrdiff_t i_ = 0; i_ < size_->size; ++i_) sizes_[i_] = i_ == open_ ? n_ / known_ : size_->data[i_];
  set_sizes(v_, static_cast<int>(size_->size), sizes_, nullptr);
  return v_;
}
TARSIA_DETAIL_SUPPORT View* new_expanded(View* other_, const THLongStorage* size_) {
  const int n_ = static_cast<int>(size_->size), more_ = n_ - other_->ndim;
  long* strides_ = static_cast<long*>(scratch(static_cast<uint64_t>(n_ + 1) * sizeof(long), cpu_device()));
  for (int i_ = 0; i_ < n_; ++i_) {
    const bool is_new_ = i_ < more_ || other_->size[i_ - more_] == 1;
    if (more_ < 0 || (!is_new_ && other_->size[i_ - more_] != size_->data[i_]))
      throw ValueError(Message("a tensor of shape ") << *other_ << " does not expand to the shape asked for");
    strides_[i_] = is_new_ ? 0 : other_->stride[i_ - more_];
  }
  View* v_ = new_view(other_);
  set_view(v_, n_, size_->data, strides_);
  return v_;
}

TARSIA_DETAIL_SUPPORT View* not_empty(View* v_, const char* what_) {
  if (!count(v_)) throw ValueError(Message(what_) << "() is asked for of an empty tensor");
  return v_;
}
/// Checks the operands of t + a * b, where `a` is a matrix and `b` a matrix or a vector.
TARSIA_DETAIL_SUPPORT void check_product(const View* a_, const View* b_, const View* t_) {
  const bool is_vector_ = b_->ndim == 1;
  if (a_->ndim == 2 && (is_vector_ || b_->ndim == 2) && t_->ndim == b_->ndim && a_->size[1] == b_->size[0] &&
      t_->size[0] == a_->size[0] && (is_vector_ || t_->size[1] == b_->size[1]))
    return;
  throw ValueError(Message("the product of tensors of the shapes ")
                   << *a_ << " and " << *b_ << " does not go with one of shape " << *t_);
}
/// Checks the operands of an elementwise function, and then gives the result, which may be one of them, the
/// size of the first.
TARSIA_DETAIL_SUPPORT void prepare(View* r_, Kind kind_, const View* t_,
                                   std::initializer_list<const View*> others_) {
  for (const View* other_ : others_)
    if (count(other_) != count(t_))
      throw ValueError(Message("tensors of the shapes ")
                       << *t_ << " and " << *other_ << " have other numbers of elements");
  if (r_ != t_) resize_as(r_, kind_, t_);
}

/// A copy of its own, by the copy of the place where the tensor is.
template <class C_>
View* new_clone(View* t_, Kind kind_, C_ copy_) {
  View* v_ = new_like(t_, kind_);
  copy_(v_, t_);
  return v_;
}
/// The tensor itself once more, or a contiguous copy.
template <class C_>
View* new_contiguous(View* t_, Kind kind_, C_ copy_) {
  return is_contiguous(t_) ? retain(t_), t_ : new_clone(t_, kind_, copy_);
}

}  // namespace th
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>
