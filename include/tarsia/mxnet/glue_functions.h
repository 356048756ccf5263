// The functions behind glue.h. They implement the table (table.h) and convert its plain C to the C++ in which
// ops are written. libtarsia has the parts that all libraries for MXNet's extension API share.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/op.h>

#define TARSIA_MXNET_FUNCTION TARSIA_MXNET_SUPPORT TARSIA_MXNET_HIDDEN

namespace mxnet {
namespace ext {
namespace tarsia_detail {

using ::tarsia::detail::host;

/// The registrations of the library.
struct Library {
  std::vector<CustomOp*> ops;
  std::vector<const tarsia_mxnet_op*> descriptions;
  std::vector<const char*> ignored;
  ~Library() {
    for (CustomOp* op_ : ops) delete op_;
  }
};
TARSIA_MXNET_FUNCTION Library& library() {
  static Library library_;
  return library_;
}

/// Collects the messages of a call.
class TARSIA_MXNET_HIDDEN Listening {
 public:
  Listening() : m_outer(MXerrorMsgs::current()) { MXerrorMsgs::current() = &m_messages; }
  ~Listening() { MXerrorMsgs::current() = m_outer; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  /// Returns the code for a function's result. After a failure, the last error has the function's messages.
  int32_t heard(int succeeded_) {
    if (succeeded_) return 0;
    host()->set_error(TARSIA_OP_ERROR, take().c_str());
    return TARSIA_MXNET_FAILED;
  }
  std::string take() { return m_messages.take(); }

 private:
  MXerrorMsgs m_messages;
  MXerrorMsgs* m_outer;
};

TARSIA_MXNET_FUNCTION const tarsia_attributes& as_attributes(const void* attributes_) {
  return *static_cast<const tarsia_attributes*>(attributes_);
}
TARSIA_MXNET_FUNCTION void hand_back(const std::vector<int>& from_, uint32_t list_,
                                     tarsia_mxnet_found* found_) {
  for (size_t i_ = 0; i_ < from_.size(); ++i_) found_->number(found_, list_, i_, from_[i_]);
}
TARSIA_MXNET_FUNCTION void hand_back(const tarsia_shapes& from_, uint32_t list_, tarsia_mxnet_found* found_) {
  for (size_t i_ = 0; i_ < from_.size(); ++i_)
    found_->extents(found_, list_, i_, from_[i_].data(), static_cast<int32_t>(from_[i_].size()));
}
TARSIA_MXNET_FUNCTION void to_shapes(const tarsia_mxnet_shapes& from_, tarsia_shapes& shapes_) {
  shapes_.resize(static_cast<size_t>(from_.n));
  for (int i_ = 0; i_ < from_.n; ++i_)
    for (int k_ = 0; k_ < from_.ndims[i_]; ++k_)
      shapes_[static_cast<size_t>(i_)].push_back(from_.extents[i_][k_]);
}

TARSIA_MXNET_FUNCTION int32_t create_attributes(void*, const tarsia_mxnet_texts* texts_, void** attributes_) {
  try {
    tarsia_attributes all_;
    for (int i_ = 0; i_ < texts_->n; ++i_) all_[texts_->keys[i_]] = texts_->values[i_];
    *attributes_ = new tarsia_attributes(std::move(all_));
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}
TARSIA_MXNET_FUNCTION void destroy_attributes(void*, void* attributes_) {
  delete static_cast<tarsia_attributes*>(attributes_);
}

TARSIA_MXNET_FUNCTION int32_t call_parse(void*, const tarsia_mxnet_function* f_, void* attributes_,
                                         int* n_in_, int* n_out_) {
  try {
    Listening listening_;
    return listening_.heard(
        reinterpret_cast<Parse>(f_->call)(f_->function, as_attributes(attributes_), n_in_, n_out_));
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t call_infer(void*, const tarsia_mxnet_function* f_, void* attributes_,
                                         const int* known_, uint32_t n_in_, uint32_t n_out_,
                                         tarsia_mxnet_found* found_) {
  try {
    std::vector<int> in_(n_in_, -1), out_(n_out_, -1);
    for (uint32_t i_ = 0; i_ < n_in_; ++i_) in_[i_] = known_[i_];
    Listening listening_;
    const int32_t code_ = listening_.heard(
        reinterpret_cast<Infer>(f_->call)(f_->function, as_attributes(attributes_), in_, out_));
    if (!code_) hand_back(in_, 0, found_), hand_back(out_, 1, found_);
    return code_;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t call_infer_shape(void*, const tarsia_mxnet_function* f_, void* attributes_,
                                               const tarsia_mxnet_shapes* known_, uint32_t n_out_,
                                               tarsia_mxnet_found* found_) {
  try {
    tarsia_shapes in_, out_(n_out_);
    to_shapes(*known_, in_);
    Listening listening_;
    const int32_t code_ = listening_.heard(
        reinterpret_cast<InferShape>(f_->call)(f_->function, as_attributes(attributes_), in_, out_));
    if (!code_) hand_back(in_, 0, found_), hand_back(out_, 1, found_);
    return code_;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t call_mutate(void*, const tarsia_mxnet_function* f_, void* attributes_,
                                          tarsia_mxnet_found* found_) {
  try {
    std::vector<int> indices_;
    Listening listening_;
    const int32_t code_ = listening_.heard(
        reinterpret_cast<Mutate>(f_->call)(f_->function, as_attributes(attributes_), indices_));
    if (!code_) hand_back(indices_, 0, found_);
    return code_;
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t call_create(void*, const tarsia_mxnet_function* f_, void* attributes_,
                                          const char* device_type_, int32_t device_id_,
                                          const tarsia_mxnet_shapes* known_, const int* dtypes_,
                                          void** state_, uint32_t* by_new_) {
  try {
    tarsia_shapes shapes_;
    to_shapes(*known_, shapes_);
    std::vector<int> types_;
    for (int i_ = 0; i_ < known_->n; ++i_) types_.push_back(dtypes_[i_]);
    CustomStatefulOp* made_ = nullptr;
    Listening listening_;
    const int32_t code_ = listening_.heard(
        reinterpret_cast<Create>(f_->call)(f_->function, as_attributes(attributes_),
                                           MXContext(device_type_, device_id_), shapes_, types_, &made_));
    if (code_) return code_;
    *by_new_ = made_ && !made_->wasCreated() && !made_->ignore_warn;
    *state_ = made_;
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}
TARSIA_MXNET_FUNCTION void destroy_state(void*, void* state_) {
  try {
    delete static_cast<CustomStatefulOp*>(state_);
  } catch (...) {
    host()->capture_exception();
  }
}

/// The tensors of a run. Sparse tensors point into `parts_`.
TARSIA_MXNET_FUNCTION void view(const tarsia_mxnet_tensors& t_, std::vector<MXTensor>& views_,
                                std::vector<MXSparse>& parts_) {
  const size_t n_ = static_cast<size_t>(t_.n);
  views_.resize(n_);
  for (size_t i_ = 0; i_ < n_; ++i_) {
    void* data_ = t_.data[i_];
    if (t_.storages[i_] != kDefaultStorage) {
      parts_.resize(n_);
      parts_[i_].set(data_, t_.shapes[i_], t_.ndims[i_], t_.indices[i_], t_.n_indices[i_], t_.indptr[i_],
                     t_.n_indptr[i_]);
      data_ = &parts_[i_];
    }
    MXTensor& to_ = views_[i_];
    to_.data_ptr = data_;
    to_.shape.assign(t_.shapes[i_], t_.shapes[i_] + t_.ndims[i_]);
    to_.dtype = static_cast<MXDType>(t_.dtypes[i_]);
    to_.verID = t_.versions[i_];
    to_.ctx.dev_type = t_.device_types[i_];
    to_.ctx.dev_id = t_.device_ids[i_];
    to_.stype = static_cast<MXStorageType>(t_.storages[i_]);
    to_.setDLTensor();
  }
}

TARSIA_MXNET_FUNCTION int32_t call_run(void*, const tarsia_mxnet_run* run_) {
  try {
    std::vector<MXTensor> inputs_, outputs_;
    std::vector<MXSparse> in_parts_, out_parts_;
    view(run_->inputs, inputs_, in_parts_);
    view(run_->outputs, outputs_, out_parts_);
    const OpResource resource_(run_);
    Listening listening_;
    CustomStatefulOp* state_ = static_cast<CustomStatefulOp*>(run_->state);
    return listening_.heard(
        !state_ ? reinterpret_cast<Compute>(run_->function->call)(
                      run_->function->function, as_attributes(run_->attributes), inputs_, outputs_, resource_)
        : run_->backward ? state_->Backward(&inputs_, &outputs_, resource_)
                         : state_->Forward(&inputs_, &outputs_, resource_));
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION int32_t initialize_library(int32_t (*found_)(int32_t), int32_t version_) {
  try {
    Listening listening_;
    if (&tarsia_mxnet_initialize) found_ = &tarsia_mxnet_initialize;
    if (!found_ || found_(version_)) return 0;
    const std::string said_ = listening_.take();
    return host()->set_error(TARSIA_OP_ERROR,
                             ("initialize failed" + (said_.empty() ? "" : ": " + said_)).c_str());
  } catch (...) {
    return host()->capture_exception();
  }
}

TARSIA_MXNET_FUNCTION const char* const* list_ignored(uint64_t* n_) {
  *n_ = library().ignored.size();
  return library().ignored.data();
}

TARSIA_MXNET_FUNCTION const tarsia_mxnet_library* list_ops() {
  static tarsia_mxnet_library table_ = {sizeof(tarsia_mxnet_library),
                                        0,
                                        nullptr,
                                        nullptr,
                                        &create_attributes,
                                        &destroy_attributes,
                                        &call_parse,
                                        &call_infer,
                                        &call_infer_shape,
                                        &call_mutate,
                                        &call_create,
                                        &destroy_state,
                                        &call_run};
  Library& l_ = library();
  for (CustomOp* op_ : l_.ops) op_->describe();
  table_.ops = l_.descriptions.data();
  table_.n_ops = static_cast<uint32_t>(l_.descriptions.size());
  return &table_;
}

TARSIA_MXNET_FUNCTION const tarsia_extension* extension() {
  static const tarsia_mxnet_extension extension_ = {
      {sizeof(tarsia_mxnet_extension), 0, &initialize_library, nullptr, &list_ignored}, &list_ops};
  return &extension_.base;
}

/// A library is one for this API if it registers something or has an initialize().
TARSIA_MXNET_FUNCTION int announce() {
  tarsia_module_extension = &extension;
  return 0;
}
TARSIA_MXNET_FUNCTION CustomOp& register_op(const char* name_, const char* location_, int version_) {
  announce();
  Library& l_ = library();
  l_.ops.push_back(new CustomOp(name_, location_));
  CustomOp& op_ = *l_.ops.back();
  op_.description.warns_of_new = version_ >= 11;
  l_.descriptions.push_back(&op_.description);
  return op_;
}
TARSIA_MXNET_FUNCTION int register_ignored(const char* what_) {
  library().ignored.push_back(what_);
  return announce();
}

}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>
