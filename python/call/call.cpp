// Assigns arguments to parameters; tells libtarsia who makes tensors and which stream is current.
#include "python/call/call.h"

#include <optional>

#include "python/tensor/stream.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

/// Spreads positional arguments over the parameters. Streams may be left out: one is stepped over if what
/// stands in its place is no stream, unless there are enough arguments for all parameters.
bool assign_positional(const Plan& plan, const Arguments& arguments, PyObject** given, Mismatch& mismatch) {
  const uint32_t n_names = arguments.names ? static_cast<uint32_t>(PyTuple_Size(arguments.names)) : 0;
  const bool all_but_streams = arguments.n_positional + n_names + plan.n_streams <= plan.n_params;
  uint32_t next = 0;
  for (uint32_t i = 0; i < plan.n_params && next < arguments.n_positional; ++i) {
    PyObject* object = arguments.items[next];
    const bool stream = plan.params[i].type.kind == TARSIA_KIND_STREAM;
    if (stream && all_but_streams && object != Py_None && !is_stream(object)) continue;
    given[i] = object;
    ++next;
  }
  if (next == arguments.n_positional) return true;
  mismatch.count = Mismatch::Count::too_many;
  mismatch.n_given = arguments.n_positional;
  return false;
}

bool assign_by_name(const Plan& plan, const Arguments& arguments, PyObject** given, Mismatch& mismatch) {
  const Py_ssize_t n = arguments.names ? PyTuple_Size(arguments.names) : 0;
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* name = PyTuple_GetItem(arguments.names, k);
    const int i = find_param(plan, name);
    if (i < 0) {
      mismatch.count = Mismatch::Count::unknown_keyword;
      mismatch.keyword = name;
      return false;
    }
    if (given[i]) {
      mismatch.count = Mismatch::Count::twice;
      mismatch.param = i;
      return false;
    }
    given[i] = arguments.items[arguments.n_positional + k];
  }
  return true;
}

/// How many parameters the adapter gets: those up to the last one given, and streams as long as there is no
/// gap before them.
bool count_values(const Plan& plan, PyObject* const* given, uint32_t& n_values, Mismatch& mismatch) {
  n_values = 0;
  while (n_values < plan.n_params &&
         (given[n_values] || plan.params[n_values].type.kind == TARSIA_KIND_STREAM))
    ++n_values;
  if (n_values < plan.n_required) {
    mismatch.count = Mismatch::Count::missing;
    mismatch.param = n_values;
    return false;
  }
  for (uint32_t i = n_values; i < plan.n_params; ++i)
    if (given[i]) {
      mismatch.count = Mismatch::Count::gap;
      mismatch.param = n_values;
      return false;
    }
  return true;
}

/// Gives streams that were left out the current one. One behind a default argument that was left out cannot
/// be given, which is fine only if the current one is CUDA's default.
bool fill_streams(Frame& frame, const Plan& plan, uint32_t n_values, tarsia_value* values,
                  Mismatch& mismatch) {
  for (uint32_t i = 0; i < plan.n_params; ++i) {
    if (plan.params[i].type.kind != TARSIA_KIND_STREAM) continue;
    if (frame.given[i] && frame.given[i] != Py_None) continue;
    void* stream = stream_of_call(frame);
    if (i < n_values) {
      values[i].p = stream;
      values[i].kind = TARSIA_KIND_STREAM;
      values[i].size = 0;
    } else if (stream) {
      mismatch.count = Mismatch::Count::gap_before_stream;
      mismatch.param = n_values;
      return false;
    }
  }
  return true;
}

/// main(argc, argv): all arguments in one list, the library's name first.
bool match_main(Frame& frame, const Plan& plan, const Arguments& arguments, tarsia_value* values,
                uint32_t& n_values, Mismatch& mismatch) {
  if (arguments.names && PyTuple_Size(arguments.names) > 0) {
    mismatch.count = Mismatch::Count::unknown_keyword;
    mismatch.keyword = PyTuple_GetItem(arguments.names, 0);
    return false;
  }
  PyObject* words = PyTuple_New(arguments.n_positional + 1);
  if (!words) {
    mismatch.why = Why::failed;
    return false;
  }
  frame.keep(words);
  PyTuple_SetItem(words, 0, PyUnicode_DecodeFSDefault(plan.library_name));
  for (uint32_t i = 0; i < arguments.n_positional; ++i)
    PyTuple_SetItem(words, i + 1, Ref::borrow(arguments.items[i]).release());
  mismatch.object = words;
  n_values = 1;
  mismatch.why = convert(frame, plan.params[0], Fit::any, words, values[0]);
  return mismatch.why == Why::fits;
}

void set_error_of_host(void*, const char*, const char* message) {
  tarsia_get_host()->set_error(TARSIA_OUT_OF_MEMORY, message);
}

}  // namespace

bool match(Frame& frame, const Plan& plan, Fit fit, const Arguments& arguments, tarsia_value* values,
           uint32_t& n_values, Mismatch& mismatch) {
  if (plan.function->flags & TARSIA_FUNCTION_MAIN)
    return match_main(frame, plan, arguments, values, n_values, mismatch);
  auto** given = frame.room_for<PyObject*>(plan.n_params);
  for (uint32_t i = 0; i < plan.n_params; ++i) given[i] = nullptr;
  if (!assign_positional(plan, arguments, given, mismatch)) return false;
  if (!assign_by_name(plan, arguments, given, mismatch)) return false;
  if (!count_values(plan, given, n_values, mismatch)) return false;
  frame.given = given;
  frame.n_given = plan.n_params;
  for (uint32_t i = 0; i < n_values; ++i) {
    const Param& param = plan.params[i];
    if (param.type.kind == TARSIA_KIND_STREAM && (!given[i] || given[i] == Py_None)) continue;
    mismatch.why = convert(frame, param, fit, given[i], values[i]);
    if (mismatch.why == Why::fits) continue;
    mismatch.param = i;
    mismatch.object = given[i];
    return false;
  }
  return !plan.n_streams || fill_streams(frame, plan, n_values, values, mismatch);
}

tarsia_storage* Call::empty_by_exchange(void* user, const int64_t* shape, int32_t ndim, tarsia_dtype dtype,
                                        tarsia_device device) {
  const auto* frame = static_cast<const Frame*>(user);
  tarsia_tensor prototype{nullptr, device, ndim, dtype, const_cast<int64_t*>(shape), nullptr, 0};
  // The framework's allocator hands memory out, and takes it back, in the order of its current stream.
  std::optional<MadeCurrent> made_current;
  if (device.type == TARSIA_GPU && frame->has_stream && device.id == frame->gpu) {
    void* current = frame->stream;
    const int code = frame->first.exchange->current_stream(TARSIA_GPU, device.id, &current);
    if (code == 0 && current != frame->stream) [[unlikely]] {
      made_current.emplace(device.id, frame->stream);
      if (!made_current->error().empty()) {
        tarsia_get_host()->set_error(TARSIA_CUDA_ERROR, made_current->error().c_str());
        return nullptr;
      }
    }
  }
  dlpack::Managed* managed = nullptr;
  if (frame->first.exchange->allocate(&prototype, &managed, nullptr, set_error_of_host) != 0) return nullptr;
  return storage_over(managed, frame->first.framework);
}

void Call::on_gpu(Frame& frame) {
  m_context.device = {TARSIA_GPU, frame.gpu};
  stream_of_call(frame);
  m_other_device = enter_device(frame.gpu);
}

void* Call::current_stream(void* user, int32_t device) {
  const auto* frame = static_cast<const Frame*>(user);
  if (frame->has_stream && (device < 0 || device == frame->gpu)) return frame->stream;
  void* stream = nullptr;
  if (frame->first.exchange && frame->first.exchange->current_stream(TARSIA_GPU, device, &stream) == 0)
    return stream;
  return tarsia_get_stream(device);
}

}  // namespace tarsia::python
