/* Loops over the elements of TH's tensors: TH_TENSOR_APPLY and its kin. Valid C and C++. */
#ifndef TARSIA_TH_APPLY_H
#define TARSIA_TH_APPLY_H

#include <tarsia/th/general.h>

#define TARSIA_TH_MOST_DIMS 32

/* Where a loop is in a tensor. */
typedef struct tarsia_th_cursor {
  const long* size;
  const long* stride;
  int ndim;
  ptrdiff_t left; /* the elements from here on */
  long index[TARSIA_TH_MOST_DIMS];
} tarsia_th_cursor;

static inline tarsia_th_cursor tarsia_th_start(const long* size_, const long* stride_, int ndim_) {
  tarsia_th_cursor c_;
  int i_;
  if (ndim_ > TARSIA_TH_MOST_DIMS) THError("a tensor of more than 32 dimensions");
  c_.size = size_;
  c_.stride = stride_;
  c_.ndim = ndim_;
  c_.left = ndim_ ? 1 : 0; /* a tensor without dimensions is empty */
  for (i_ = 0; i_ < ndim_; ++i_) {
    c_.index[i_] = 0;
    c_.left *= size_[i_];
  }
  return c_;
}
/* How far the next element lies from this one, in row-major order. */
static inline ptrdiff_t tarsia_th_step(tarsia_th_cursor* c_) {
  ptrdiff_t by_ = 0;
  int i_;
  if (--c_->left <= 0) return 0;
  for (i_ = c_->ndim - 1; i_ >= 0; --i_) {
    if (++c_->index[i_] < c_->size[i_]) return by_ + c_->stride[i_];
    by_ -= c_->stride[i_] * (c_->size[i_] - 1);
    c_->index[i_] = 0;
  }
  return by_;
}

#define TARSIA_TH_START(type_, tensor_)                                           \
  tarsia_th_cursor tarsia_th_of_##tensor_ =                                       \
      tarsia_th_start((tensor_)->size, (tensor_)->stride, (tensor_)->nDimension); \
  type_* tensor_##_data =                                                         \
      tarsia_th_of_##tensor_.left ? (tensor_)->storage->data + (tensor_)->storageOffset : (type_*)0;
#define TARSIA_TH_STEP(tensor_) tensor_##_data += tarsia_th_step(&tarsia_th_of_##tensor_)
#define TARSIA_TH_ARE_ALIKE(a_, b_)                     \
  if (tarsia_th_of_##a_.left != tarsia_th_of_##b_.left) \
    THError("%s and %s have other numbers of elements", #a_, #b_);

/* Runs code for each element, to which TENSOR_data points. `break` ends the loop. */
#define TH_TENSOR_APPLY(type_, tensor_, ...)                           \
  {                                                                    \
    TARSIA_TH_START(type_, tensor_)                                    \
    for (; tarsia_th_of_##tensor_.left > 0; TARSIA_TH_STEP(tensor_)) { \
      __VA_ARGS__                                                      \
    }                                                                  \
  }
/* The same over tensors of as many elements, whatever their shapes. */
#define TH_TENSOR_APPLY2(type_a_, a_, type_b_, b_, ...)                          \
  {                                                                              \
    TARSIA_TH_START(type_a_, a_)                                                 \
    TARSIA_TH_START(type_b_, b_)                                                 \
    TARSIA_TH_ARE_ALIKE(a_, b_)                                                  \
    for (; tarsia_th_of_##a_.left > 0; TARSIA_TH_STEP(a_), TARSIA_TH_STEP(b_)) { \
      __VA_ARGS__                                                                \
    }                                                                            \
  }
#define TH_TENSOR_APPLY3(type_a_, a_, type_b_, b_, type_c_, c_, ...)                                 \
  {                                                                                                  \
    TARSIA_TH_START(type_a_, a_)                                                                     \
    TARSIA_TH_START(type_b_, b_)                                                                     \
    TARSIA_TH_START(type_c_, c_)                                                                     \
    TARSIA_TH_ARE_ALIKE(a_, b_)                                                                      \
    TARSIA_TH_ARE_ALIKE(a_, c_)                                                                      \
    for (; tarsia_th_of_##a_.left > 0; TARSIA_TH_STEP(a_), TARSIA_TH_STEP(b_), TARSIA_TH_STEP(c_)) { \
      __VA_ARGS__                                                                                    \
    }                                                                                                \
  }

#endif
