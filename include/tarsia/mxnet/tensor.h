// Values of MXNet's extension API: dtypes, contexts, tensors, messages.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/device.h>
#include <tarsia/mxnet/std.h>

namespace mxnet {
namespace ext {

/// A device.
struct MXContext {
  /// Makes one: no device, or "cpu" or "gpu" and a number.
  TARSIA_MXNET_SUPPORT MXContext() : dev_type("error"), dev_id(-1) {}
  TARSIA_MXNET_SUPPORT MXContext(std::string dev_type_, int dev_id_)
      : dev_type(std::move(dev_type_)), dev_id(dev_id_) {}
  TARSIA_MXNET_SUPPORT MXContext(const char* dev_type_, int dev_id_) : dev_type(dev_type_), dev_id(dev_id_) {}
  /// The CPU.
  TARSIA_MXNET_SUPPORT static MXContext CPU(int id_ = 0) { return MXContext("cpu", id_); }
  /// A GPU.
  TARSIA_MXNET_SUPPORT static MXContext GPU(int id_ = 0) { return MXContext("gpu", id_); }

  std::string dev_type;  ///< "cpu", "gpu" or "cpu_pinned"
  int dev_id;            ///< its number; 0 for the CPU
};

/// The parts of a sparse tensor. `data_len` is the number of elements: for CSR that of the indices, for
/// row-sparse that of the rows times the trailing extents.
struct MXSparse {
  void* data = nullptr;        ///< the stored elements, or rows
  int64_t data_len = 0;        ///< their number
  int64_t* indices = nullptr;  ///< columns (CSR) or rows
  int64_t indices_len = 0;     ///< their number
  int64_t* indptr = nullptr;   ///< CSR: where each row begins
  int64_t indptr_len = 0;      ///< their number; 0: row-sparse

  /// Sets all parts: those of a CSR tensor, or without `indptr` of a row-sparse one.
  TARSIA_MXNET_SUPPORT void set(void* data_, const int64_t* dims_, int ndims_, void* indices_,
                                int64_t n_indices_, void* indptr_ = nullptr, int64_t n_indptr_ = 0) {
    data = data_;
    indices = static_cast<int64_t*>(indices_);
    indices_len = n_indices_;
    indptr = static_cast<int64_t*>(indptr_);
    indptr_len = n_indptr_;
    data_len = n_indices_;
    for (int i_ = 1; !indptr_ && i_ < ndims_; ++i_) data_len *= dims_[i_];
  }
};

/// A view of a tensor. For a sparse tensor, `data_ptr` points to an MXSparse.
struct MXTensor {
  /// Makes a view: of nothing, or of memory that lives longer than it.
  TARSIA_MXNET_SUPPORT MXTensor()
      : data_ptr(nullptr), dtype(kUNSET), verID(0), ctx("cpu", 0), dltensor(), stype(kDefaultStorage) {}
  TARSIA_MXNET_SUPPORT MXTensor(void* data_, std::vector<int64_t> shape_, MXDType dtype_, size_t version_ = 0,
                                MXContext context_ = MXContext("cpu", 0),
                                MXStorageType stype_ = kDefaultStorage)
      : data_ptr(data_),
        shape(std::move(shape_)),
        dtype(dtype_),
        verID(version_),
        ctx(std::move(context_)),
        stype(stype_) {
    setDLTensor();
  }
  TARSIA_MXNET_SUPPORT MXTensor(const MXTensor& o_)
      : data_ptr(o_.data_ptr),
        shape(o_.shape),
        dtype(o_.dtype),
        verID(o_.verID),
        ctx(o_.ctx),
        stype(o_.stype) {
    setDLTensor();
  }
  TARSIA_MXNET_SUPPORT MXTensor& operator=(const MXTensor& o_) {
    data_ptr = o_.data_ptr;
    shape = o_.shape;
    dtype = o_.dtype;
    verID = o_.verID;
    ctx = o_.ctx;
    stype = o_.stype;
    setDLTensor();
    return *this;
  }

  /// Makes it a view of other memory.
  TARSIA_MXNET_SUPPORT void setTensor(void* data_, MXDType dtype_, const int64_t* dims_, int ndims_,
                                      size_t version_ = 0, MXContext context_ = MXContext("cpu", 0),
                                      MXStorageType stype_ = kDefaultStorage) {
    data_ptr = data_;
    dtype = dtype_;
    verID = version_;
    ctx = std::move(context_);
    stype = stype_;
    shape.assign(dims_, dims_ + ndims_);
    setDLTensor();
  }

  /// Fills `dltensor` from the other members; it points to this tensor's own shape.
  TARSIA_MXNET_SUPPORT void setDLTensor() {
    dltensor.data = data_ptr;
    dltensor.ctx.device_type = ctx.dev_type == "gpu"          ? kDLGPU
                               : ctx.dev_type == "cpu_pinned" ? kDLCPUPinned
                                                              : kDLCPU;
    dltensor.ctx.device_id = ctx.dev_id;
    dltensor.ndim = static_cast<int>(shape.size());
    dltensor.shape = shape.data();
    dltensor.strides = nullptr;
    dltensor.byte_offset = 0;
    dltensor.dtype.lanes = 1;
    dltensor.dtype.code = static_cast<uint8_t>(dtype <= kFloat16 ? kDLFloat
                                               : dtype == kUint8 ? kDLUInt
                                                                 : kDLInt);
    dltensor.dtype.bits = static_cast<uint8_t>(dtype == kFloat64 || dtype == kInt64                      ? 64
                                               : dtype == kFloat32 || dtype == kInt32 || dtype == kUNSET ? 32
                                               : dtype == kFloat16                                       ? 16
                                                                                                         : 8);
  }

  /// The first element, as elements of T. It does not check the dtype.
  template <class T_>
  T_* data() const {
    return reinterpret_cast<T_*>(data_ptr);
  }
  /// `data` under its name from before the first release.
  template <class T_>
  T_* getData() const {
    return data<T_>();
  }

  /// The number of elements.
  int64_t size() const {
    int64_t n_ = 1;
    for (int64_t extent_ : shape) n_ *= extent_;
    return n_;
  }

  /// Whether both refer to the same memory with the same content.
  TARSIA_MXNET_SUPPORT bool isSame(const MXTensor& o_) const {
    return data_ptr == o_.data_ptr && dtype == o_.dtype && verID == o_.verID && stype == o_.stype &&
           ctx.dev_type == o_.ctx.dev_type && ctx.dev_id == o_.ctx.dev_id && shape == o_.shape;
  }

  void* data_ptr;              ///< the first element
  std::vector<int64_t> shape;  ///< its extents
  MXDType dtype;               ///< a dtype
  size_t verID;                ///< a number of the content, which changes with it
  MXContext ctx;               ///< where it is
  DLTensor dltensor;           ///< the same for code that takes DLPack's
  MXStorageType stype;         ///< how it is stored
};

}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
