// The binary interface between a module (inline or prebuilt) and libtarsia: plain C structs only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/error_rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface. It rises when a struct below changes in a way that breaks older modules.
/// Structs that may grow carry their size, so that a newer libtarsia reads older modules.
#define TARSIA_ABI_VERSION 3

/// Device types, those of DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).
typedef enum tarsia_device_type {
  TARSIA_CPU = 1,
  TARSIA_GPU = 2,
  TARSIA_GPU_HOST = 3,
  TARSIA_GPU_MANAGED = 13
} tarsia_device_type;

/// Codes of dtypes, those of DLPack. Further codes of DLPack may occur in tensors.
typedef enum tarsia_dtype_code {
  TARSIA_INT = 0,
  TARSIA_UINT = 1,
  TARSIA_FLOAT = 2,
  TARSIA_BFLOAT = 4,
  TARSIA_COMPLEX = 5,
  TARSIA_BOOL = 6,
  TARSIA_ANY_DTYPE = 255 /* a `void*` parameter: elements of any dtype */
} tarsia_dtype_code;

/// The class of an error, the same in C, C++ and Python. Its values are the rows of detail/error_rows.h:
/// TARSIA_ERROR = 1 and so on.
typedef enum tarsia_code {
  TARSIA_OK = 0
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) , code_ = number_
  TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
} tarsia_code;

/// A device, laid out as DLPack's DLDevice.
typedef struct tarsia_device {
  int32_t type; /* tarsia_device_type */
  int32_t id;   /* which one of its type, from 0 */
} tarsia_device;

/// The type of a tensor's elements, laid out as DLPack's DLDataType.
typedef struct tarsia_dtype {
  uint8_t code;   /* tarsia_dtype_code */
  uint8_t bits;   /* of one lane */
  uint16_t lanes; /* 1 for scalars */
} tarsia_dtype;

/// A view of a tensor, laid out as DLPack's DLTensor. Strides are in elements. Null strides mean row-major
/// and contiguous. The first element lies at `(char*)data + byte_offset`. The view owns nothing.
typedef struct tarsia_tensor {
  void* data;
  tarsia_device device;
  int32_t ndim;
  tarsia_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tarsia_tensor;

/// An owned tensor. References are counted atomically in `refs`. The one who takes `refs` to zero calls
/// `release`, on any thread.
typedef struct tarsia_storage {
  const tarsia_tensor* tensor;
  int32_t refs;
  int32_t framework; /* who made it: 0 for Tarsia, or tarsia_call_context.framework */
  void* context;     /* the framework's own handle, DLManagedTensorVersioned* for DLPack exporters */
  void (*release)(struct tarsia_storage*);
} tarsia_storage;

/// The kinds of arguments and results, and the field of tarsia_value that holds each.
typedef enum tarsia_kind {
  TARSIA_KIND_NONE = 0,      /* void result, empty optional */
  TARSIA_KIND_BOOL = 1,      /* .i */
  TARSIA_KIND_INT = 2,       /* .i, or .u for uint64_t; argument, attribute, result of tarsia_call: .size is a
                                tarsia_sign */
  TARSIA_KIND_FLOAT = 3,     /* .f */
  TARSIA_KIND_STRING = 4,    /* .s, .size bytes; NUL-terminated */
  TARSIA_KIND_TENSOR = 5,    /* argument: .t borrowed; .size is TARSIA_TENSOR_READ_ONLY where the callee gets
                                memory that it may not write to; result: .storage, one reference handed over */
  TARSIA_KIND_POINTER = 6,   /* argument only: .p, address of the first element of a checked tensor */
  TARSIA_KIND_STREAM = 7,    /* argument only: .p, a cudaStream_t */
  TARSIA_KIND_LIST = 8,      /* .v, .size values */
  TARSIA_KIND_TUPLE = 9,     /* result only: .v, .size values */
  TARSIA_KIND_ARGUMENT = 10, /* result only: .t is one of this call's argument views, returned as it came */
  TARSIA_KIND_OBJECT = 11,   /* an object of a framework; the type's dtype.code is its tarsia_object_class.
                                argument: .p its handle, borrowed; result: .storage without a tensor, the handle
                                is its context; one reference handed over */
  TARSIA_KIND_NUMBER = 12,   /* of a type only: a bool, int or float. A value has the kind of what it is */
  TARSIA_KIND_SPAN = 13,     /* argument only: .t borrowed, a tensor that was checked as for a pointer */
  TARSIA_KIND_COMPLEX = 14,  /* .v: two values of kind TARSIA_KIND_FLOAT, the real and the imaginary part */
  TARSIA_KIND_STRUCT = 15, /* .p, .size bytes: plain structs. An argument is borrowed, and may be written to;
                              one of kind TARSIA_KIND_STRING is taken where it is only read */
  TARSIA_KIND_CONST_STRUCT = 16 /* argument only: the same, and the callee may not write to it */
} tarsia_kind;

/// Classes of objects that functions take and return as they are. Only the face of the framework's own
/// language passes them.
typedef enum tarsia_object_class {
  TARSIA_TORCH_TENSOR = 1 /* torch.Tensor; the handle is a c10::TensorImpl* */
} tarsia_object_class;

/// Whether the 64 bits of an integer argument have a sign. -1 does not fit a parameter of type uint64_t;
/// 18446744073709551615, which has the same bits, fits. tarsia_signed and tarsia_unsigned (c_api.h) make such
/// arguments.
typedef enum tarsia_sign {
  TARSIA_SIGN_OF_PARAMETER = 0, /* the caller does not say: they have none if the parameter is a uint64_t */
  TARSIA_SIGNED = 1,            /* .i is the number */
  TARSIA_UNSIGNED = 2           /* .u is the number */
} tarsia_sign;

/// What tarsia_value::size says of a tensor that a function gets.
enum { TARSIA_TENSOR_READ_ONLY = 1 };

/// One argument or result. 16 bytes. Arguments are borrowed for the call; results of kind string, struct,
/// list or tuple live until the call is left.
typedef struct tarsia_value {
  union {
    int64_t i;
    uint64_t u;
    double f;
    const char* s;
    void* p;
    const tarsia_tensor* t;
    tarsia_storage* storage;
    struct tarsia_value* v;
  };
  uint32_t kind; /* tarsia_kind */
  uint32_t size;
} tarsia_value;

/// Flags of tarsia_type.
enum {
  TARSIA_TYPE_OPTIONAL = 1, /* may be absent: the value's kind is then TARSIA_KIND_NONE */
  TARSIA_TYPE_CONST = 2,    /* the callee does not write through it */
  TARSIA_TYPE_CPU = 4,      /* declared to be on the CPU (tarsia::cpu<T>) */
  TARSIA_TYPE_GPU = 8,      /* declared to be on a GPU (tarsia::gpu<T>) */
  TARSIA_TYPE_NO_NUL = 16,  /* a string that ends at its first NUL (const char*) */
  /* The next two mark parameters of kernels for which nothing outside of the source can give a value. */
  TARSIA_TYPE_NOT_COPYABLE = 32, /* a class with a copy constructor or destructor of its own */
  TARSIA_TYPE_REFERENCE = 64,    /* a reference */
  TARSIA_TYPE_STRIDED = 128      /* a tensor with any strides (tarsia::StridedTensor) */
};

/// The type of a parameter or result.
typedef struct tarsia_type {
  uint8_t kind; /* tarsia_kind */
  uint8_t flags;
  uint16_t n_elements; /* tuple: number of elements; list: 1; span: the number of its elements, 0 for any;
                          struct: the bytes of one */
  tarsia_dtype dtype;  /* pointer, span: element type; tensor: the same, no bits for any; int, float, complex:
                          width for the range check; list: lanes is the number of its items, 0 for any; struct:
                          lanes is its alignment, bits the number of structs, 0 for one or more */
  /* Tuple, list. Struct: what one consists of, or null if that is not known: types of kind int, float or bool
     in the order of their places, up to one of kind none. Of each, n_elements is the offset in bytes and
     lanes the number in a row; pointers are unsigned integers. */
  const struct tarsia_type* elements;
} tarsia_type;

/// A parameter of a function or kernel.
typedef struct tarsia_param {
  const char* name; /* may be "" */
  tarsia_type type;
} tarsia_param;

/// Calls an exported function. `args` has n values, n_required <= n <= n_params. The caller has checked that
/// they match the descriptor: kinds, dtypes, devices, ranges. Returns 0, or a tarsia_code after it has passed
/// the C++ exception to tarsia_host.capture_exception. May be called from any thread.
typedef int32_t (*tarsia_adapter)(const tarsia_value* args, uint32_t n, tarsia_value* result);

/// Flags of tarsia_function.
enum {
  TARSIA_FUNCTION_SOURCE_HAS_CUDA = 1, /* its source has CUDA: it may launch kernels */
  TARSIA_FUNCTION_TAKES_STREAM = 2,    /* one of its parameters is a stream */
  TARSIA_FUNCTION_MAIN = 4 /* int main(...): takes one list of strings, argv[0] first; returns an int */
};

/// An exported function. It lives as long as its module is mapped.
typedef struct tarsia_function {
  uint32_t size; /* sizeof(tarsia_function) */
  uint32_t flags;
  const char* name;      /* qualified: "ns::f" */
  const char* signature; /* for people: "float ns::f(const float *x, int n)" */
  const char* location;  /* "file:line" in the author's text, or "" */
  uint32_t n_params;
  uint32_t n_required;
  const tarsia_param* params;
  tarsia_type result;
  tarsia_adapter call;
} tarsia_function;

/// A kernel of an inline module. `size` says which of the fields from `param_aligns` on are there.
typedef struct tarsia_kernel {
  uint32_t size;
  const char* name; /* as in the source: "ns::scale<float>" */
  const char* signature;
  const char* location;
  const void* stub; /* its address for the CUDA runtime; null: *stub_slot is it */
  uint32_t n_params;
  const tarsia_param* params; /* kind TARSIA_KIND_NONE: param_sizes[i] bytes, given as they are; the dtype is
                                 that of the elements if they all have the same (float4, complex) */
  const uint32_t* param_sizes;
  const uint32_t* param_aligns;
  const void* const* stub_slot;
  const char* symbol; /* its name in the device code; "": it is not in there */
  const char* file;   /* the `file` of the images that hold it */
} tarsia_kernel;

/// A variable in device memory: `__device__`, `__constant__` or `__managed__`.
typedef struct tarsia_global {
  uint32_t size;
  uint32_t flags;   /* TARSIA_GLOBAL_… */
  const char* name; /* qualified: "ns::table" */
  const char* type; /* for people: "float [256]" */
  const char* location;
  const void* const* shadow_slot; /* *shadow_slot is its address for the CUDA runtime; null if the device code
                                     does not have it */
  uint64_t bytes;
  tarsia_dtype dtype; /* of its elements; uint8 for structs */
  int32_t ndim;
  const int64_t* shape;
} tarsia_global;

/// Kinds of tarsia_template_param.
enum {
  TARSIA_TEMPLATE_TYPE = 0,
  TARSIA_TEMPLATE_VALUE = 1,
  TARSIA_TEMPLATE_TEMPLATE = 2,
  TARSIA_TEMPLATE_PACK = 3
};

/// A template parameter of a kernel template.
typedef struct tarsia_template_param {
  const char* name;
  uint32_t kind;            /* TARSIA_TEMPLATE_… */
  uint32_t has_default;     /* 1: it has a default argument */
  const char* default_text; /* the default as instantiations spell it; "" if it is not that simple */
} tarsia_template_param;

/// A parameter of the function of a kernel template.
typedef struct tarsia_deducible {
  const char* name;
  int32_t deduces;     /* which template parameter is its type, or the type that it points to; -1: none */
  uint32_t is_pointer; /* 1: it points to that type */
} tarsia_deducible;

/// A template of kernels. tarsia_options.kernels asks the compiler to instantiate it.
typedef struct tarsia_kernel_template {
  uint32_t size;
  uint32_t n_template_params;
  const char* name;
  const char* signature;
  const char* location;
  const char* file; /* of the source that is compiled for it */
  const tarsia_template_param* template_params;
  const tarsia_deducible* params;
  uint32_t n_params;
} tarsia_kernel_template;

/// Flags of tarsia_global.
enum {
  TARSIA_GLOBAL_CONSTANT = 1, /* in constant memory */
  TARSIA_GLOBAL_MANAGED = 2,
  TARSIA_GLOBAL_READ_ONLY = 4 /* declared const */
};

/// Device code of an inline module.
typedef struct tarsia_image {
  const char* file; /* the source file it was made from */
  const char* arch; /* "sm_90", "compute_90" for PTX */
  const void* data;
  uint64_t bytes;
  const char* compiler; /* what made it: "nvrtc", or "clang: " and why NVRTC did not */
} tarsia_image;

/// A function of the source that was not exported, and why.
typedef struct tarsia_skipped {
  const char* name;
  const char* reason;
} tarsia_skipped;

struct tarsia_op; /* <tarsia/op_abi.h> */

/// The part of a library whose ops were written for another interface: MXNet's `<lib_api.h>`.
typedef struct tarsia_extension {
  uint32_t size; /* sizeof(tarsia_extension) */
  uint32_t reserved;
  /// Called first and once, with the version of the interface that the host has. `found` is the exported
  /// function initialize(int), or null. Returns 0, or a code if the library refuses; the last error is set.
  int32_t (*initialize)(int32_t (*found)(int32_t), int32_t version);
  /// Lists the ops and sets `*n`. Returns 0, or a code; the last error is set.
  int32_t (*ops)(const struct tarsia_op* const** ops, uint64_t* n);
  /// Lists registrations of other things, which Tarsia ignores, as in "pass 'x'".
  const char* const* (*ignored)(uint64_t* n);
} tarsia_extension;

/// The contents of a module. Arrays of pointers may contain nulls, which are skipped.
typedef struct tarsia_module {
  uint32_t abi_version; /* TARSIA_ABI_VERSION */
  uint32_t size;        /* sizeof(tarsia_module) */
  const tarsia_function* const* functions;
  const tarsia_function* const* functions_end;
  const struct tarsia_op* const* ops; /* read when the module is attached */
  const struct tarsia_op* const* ops_end;
  const tarsia_kernel* const* kernels;
  const tarsia_kernel* const* kernels_end;
  const tarsia_image* images; /* null for prebuilt libraries */
  uint64_t n_images;
  const tarsia_skipped* skipped;
  uint64_t n_skipped;
  const tarsia_extension* extension; /* null: none */
  /// Returns the cudaError_t of this thread's last launch that failed, and forgets it; 0: none failed. Null:
  /// the module cannot say.
  int32_t (*take_launch_error)(void);
  const tarsia_global* const* globals;
  const tarsia_global* const* globals_end;
  /// Returns what a managed variable's slot (its shadow) points to once its code is loaded. Null: the module
  /// has no device code.
  void* (*managed_pointer)(void** slot);
  const tarsia_kernel_template* const* templates;
  const tarsia_kernel_template* const* templates_end;
} tarsia_module;

struct tarsia_host; /* <tarsia/host.h>: the functions that a module may call */

/// The type of the one function that every Tarsia module exports, inline or prebuilt. It keeps `host` for the
/// module's use and returns the module's description, which lives as long as the module is mapped.
typedef const tarsia_module* (*tarsia_module_attach_fn)(const struct tarsia_host* host);

/// The name of that function.
#define TARSIA_MODULE_SYMBOL "tarsia_module_attach"
/// const char* tarsia_initializer_error(void): what a static initialiser of the module has thrown; null if
/// none has. Only modules that Tarsia's compiler made of sources with such initialisers have it.
#define TARSIA_INITIALIZER_ERROR_SYMBOL "tarsia_initializer_error"
/// Shown by a module that Tarsia's compiler made of a source that does something by being loaded, or that
/// shows symbols of its own. Such a module needs nothing to call.
#define TARSIA_EFFECTS_SYMBOL "tarsia_module_effects"

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
