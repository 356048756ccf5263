// The binary interface between a module (inline or prebuilt) and libtarsia: plain C structs only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <tarsia/detail/macros_push.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bumped whenever a struct below changes in a way that old modules cannot survive. Structs that may
/// grow carry their size, so that a newer libtarsia reads older modules.
#define TARSIA_ABI_VERSION 1

/// Device types and dtype codes are DLPack's (https://dmlc.github.io/dlpack/latest/c_api.html).
typedef enum tarsia_device_type {
  TARSIA_CPU = 1,
  TARSIA_GPU = 2,
  TARSIA_GPU_HOST = 3,
  TARSIA_GPU_MANAGED = 13
} tarsia_device_type;

typedef enum tarsia_dtype_code {
  TARSIA_INT = 0,
  TARSIA_UINT = 1,
  TARSIA_FLOAT = 2,
  TARSIA_BFLOAT = 4,
  TARSIA_COMPLEX = 5,
  TARSIA_BOOL = 6,
  TARSIA_ANY_DTYPE = 255 /* a `void*` parameter: elements of any dtype */
} tarsia_dtype_code;

/// What went wrong: the class of an error, the same at every face.
typedef enum tarsia_code {
  TARSIA_OK = 0,
  TARSIA_ERROR = 1,            /* none of the classes below */
  TARSIA_COMPILE_ERROR = 2,    /* the source does not compile or link; has diagnostics */
  TARSIA_COMPILER_CRASHED = 3, /* the compiler died under this source */
  TARSIA_COMPILE_TIMEOUT = 4,  /* the compile took longer than it may */
  TARSIA_RESOURCE_LIMIT = 5,   /* the compile wanted more memory than it may have */
  TARSIA_INVALID_SOURCE = 6,   /* NUL byte, not UTF-8, too large, no file */
  TARSIA_LOAD_ERROR = 7,       /* a file that cannot be loaded as a library */
  TARSIA_ARGUMENT_TYPE = 8,    /* a wrong type or number of arguments, dtype, device */
  TARSIA_ARGUMENT_VALUE = 9,   /* right type, unfit value: range, shape, contiguity, attribute */
  TARSIA_CUDA_ERROR = 10,      /* no GPU, no driver, or CUDA reported an error */
  TARSIA_NOT_FOUND = 11,       /* no such op, function, kernel */
  TARSIA_UNSUPPORTED = 12,     /* this build, machine or op cannot do that */
  TARSIA_OP_ERROR = 13,        /* the author's code threw; the four below say what kind */
  TARSIA_OP_VALUE_ERROR = 14,  /* std::invalid_argument, std::domain_error */
  TARSIA_OP_INDEX_ERROR = 15,  /* std::out_of_range, std::length_error */
  TARSIA_OP_TYPE_ERROR = 16,   /* tarsia::TypeError, std::bad_cast */
  TARSIA_OUT_OF_MEMORY = 17,   /* std::bad_alloc, or device memory is spent */
  TARSIA_INTERRUPTED = 18      /* tarsia_options.interrupted said so */
} tarsia_code;

typedef struct tarsia_device {
  int32_t type; /* tarsia_device_type */
  int32_t id;
} tarsia_device;

typedef struct tarsia_dtype {
  uint8_t code; /* tarsia_dtype_code */
  uint8_t bits;
  uint16_t lanes;
} tarsia_dtype;

/// A view of a tensor; the layout is that of DLPack's DLTensor. Strides are in elements; null strides
/// mean row-major contiguous. The first element lies at (char*)data + byte_offset.
typedef struct tarsia_tensor {
  void* data;
  tarsia_device device;
  int32_t ndim;
  tarsia_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tarsia_tensor;

/// An owned tensor. `refs` is changed atomically; whoever takes it to zero calls `release`.
typedef struct tarsia_storage {
  const tarsia_tensor* tensor;
  int32_t refs;
  int32_t framework; /* who made it: 0 Tarsia, else the number the face that made the call gave */
  void* context;     /* the framework's own handle, DLManagedTensorVersioned* for DLPack speakers */
  void (*release)(struct tarsia_storage*);
} tarsia_storage;

typedef enum tarsia_kind {
  TARSIA_KIND_NONE = 0,     /* void result, empty optional */
  TARSIA_KIND_BOOL = 1,     /* .i */
  TARSIA_KIND_INT = 2,      /* .i, or .u for uint64_t */
  TARSIA_KIND_FLOAT = 3,    /* .f */
  TARSIA_KIND_STRING = 4,   /* .s, .size bytes; NUL-terminated */
  TARSIA_KIND_TENSOR = 5,   /* argument: .t borrowed; result: .storage, one reference handed over */
  TARSIA_KIND_POINTER = 6,  /* argument only: .p, address of the first element of a checked tensor */
  TARSIA_KIND_STREAM = 7,   /* argument only: .p, a cudaStream_t */
  TARSIA_KIND_LIST = 8,     /* .v, .size values */
  TARSIA_KIND_TUPLE = 9,    /* result only: .v, .size values */
  TARSIA_KIND_ARGUMENT = 10 /* result only: .t is one of this call's argument views, returned as it came */
} tarsia_kind;

/// One argument or result. 16 bytes.
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

enum {                           /* tarsia_type.flags */
       TARSIA_TYPE_OPTIONAL = 1, /* may be absent: kind is then TARSIA_KIND_NONE */
       TARSIA_TYPE_CONST = 2,    /* the callee does not write through it */
       TARSIA_TYPE_CPU = 4,      /* declared to be on the CPU (tarsia::cpu<T>) */
       TARSIA_TYPE_GPU = 8,      /* declared to be on a GPU (tarsia::gpu<T>) */
       TARSIA_TYPE_NO_NUL = 16,  /* a string that ends at its first NUL (const char*) */
       /* Of kernels' parameters that nothing outside of the source can give: */
       TARSIA_TYPE_NOT_COPYABLE = 32, /* a class with a copy constructor or destructor of its own */
       TARSIA_TYPE_REFERENCE = 64
};

/// The type of a parameter or result.
typedef struct tarsia_type {
  uint8_t kind; /* tarsia_kind */
  uint8_t flags;
  uint16_t n_elements;                /* tuple: number of elements; list: 1 */
  tarsia_dtype dtype;                 /* pointer: element type; int, float: width for the range check */
  const struct tarsia_type* elements; /* tuple, list */
} tarsia_type;

typedef struct tarsia_param {
  const char* name; /* may be "" */
  tarsia_type type;
} tarsia_param;

/// Calls the function. `args` has n values that already match the descriptor (kinds, dtypes, devices,
/// ranges checked by the caller); n_required <= n <= n_params. Returns 0, or an error code after the
/// C++ exception was handed to tarsia_host.capture_exception.
typedef int32_t (*tarsia_adapter)(const tarsia_value* args, uint32_t n, tarsia_value* result);

enum { /* tarsia_function.flags */
       TARSIA_FUNCTION_SOURCE_HAS_CUDA = 1,
       TARSIA_FUNCTION_TAKES_STREAM = 2,
       TARSIA_FUNCTION_MAIN = 4 /* int main(...): takes one list of strings, argv[0] first; gives an int */
};

/// An exported function.
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

/// A kernel of an inline module. Fields from `param_aligns` on are missing where `size` says so.
typedef struct tarsia_kernel {
  uint32_t size;
  const char* name; /* as in the source: "ns::scale<float>" */
  const char* signature;
  const char* location;
  const void* stub; /* the address that stands for it in the CUDA runtime; null: *stub_slot does */
  uint32_t n_params;
  const tarsia_param* params; /* kind TARSIA_KIND_NONE: bytes of param_sizes[i], given as they are; the dtype
                                 is that of the elements if they all have one (float4, complex) */
  const uint32_t* param_sizes;
  const uint32_t* param_aligns;
  const void* const* stub_slot;
  const char* symbol; /* its name in the device code; "": it has none there */
  const char* file;   /* that of the images that hold it */
} tarsia_kernel;

/// A variable in device memory, __device__, __constant__ or __managed__.
typedef struct tarsia_global {
  uint32_t size;
  uint32_t flags;   /* TARSIA_GLOBAL_… */
  const char* name; /* qualified: "ns::table" */
  const char* type; /* for people: "float [256]" */
  const char* location;
  const void* const* shadow_slot; /* *shadow_slot: the address that stands for it in the CUDA runtime; null if
                                     the device code does not have it */
  uint64_t bytes;
  tarsia_dtype dtype; /* of its elements; uint8 for structs */
  int32_t ndim;
  const int64_t* shape;
} tarsia_global;

enum { /* tarsia_template_param.kind */
       TARSIA_TEMPLATE_TYPE = 0,
       TARSIA_TEMPLATE_VALUE = 1,
       TARSIA_TEMPLATE_TEMPLATE = 2,
       TARSIA_TEMPLATE_PACK = 3
};

typedef struct tarsia_template_param {
  const char* name;
  uint32_t kind;
  uint32_t has_default;
  const char* default_text; /* as the names of instantiations have it, where it is that simple; else "" */
} tarsia_template_param;

/// A parameter of a kernel template's function.
typedef struct tarsia_deducible {
  const char* name;
  int32_t deduces; /* the template parameter whose type it has, or points to; -1: none alone */
  uint32_t is_pointer;
} tarsia_deducible;

/// A template of kernels, which the source's compiler instantiates when asked to (tarsia_options.kernels).
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

enum {                             /* tarsia_global.flags */
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
} tarsia_image;

/// A function of the source that was not exported, and why.
typedef struct tarsia_skipped {
  const char* name;
  const char* reason;
} tarsia_skipped;

struct tarsia_op; /* <tarsia/op_abi.h> */

/// What a library adds whose ops were written for another interface: MXNet's, <lib_api.h>.
typedef struct tarsia_extension {
  uint32_t size; /* sizeof(tarsia_extension) */
  uint32_t reserved;
  /// Called first, once, with the interface's version of the host; `found` is an exported function
  /// initialize(int), or null. 0, or a code with the last error set: the library refuses.
  int32_t (*initialize)(int32_t (*found)(int32_t), int32_t version);
  /// Lists the ops, n of them. 0, or a code with the last error set.
  int32_t (*ops)(const struct tarsia_op* const** ops, uint64_t* n);
  /// What else is registered, and ignored: "pass 'x'".
  const char* const* (*ignored)(uint64_t* n);
} tarsia_extension;

/// What a module holds. Arrays of pointers may contain nulls, which are stepped over.
typedef struct tarsia_module {
  uint32_t abi_version; /* TARSIA_ABI_VERSION */
  uint32_t size;        /* sizeof(tarsia_module) */
  const tarsia_function* const* functions;
  const tarsia_function* const* functions_end;
  const struct tarsia_op* const* ops; /* walked at attach */
  const struct tarsia_op* const* ops_end;
  const tarsia_kernel* const* kernels;
  const tarsia_kernel* const* kernels_end;
  const tarsia_image* images; /* null for prebuilt libraries */
  uint64_t n_images;
  const tarsia_skipped* skipped;
  uint64_t n_skipped;
  const tarsia_extension* extension; /* null: none */
  /// Gives the cudaError_t of this thread's last launch that failed, and forgets it; 0: none. Null: not
  /// known.
  int32_t (*take_launch_error)(void);
  const tarsia_global* const* globals;
  const tarsia_global* const* globals_end;
  /// What a managed variable's slot (its shadow) points to, once its code is loaded; null without device
  /// code.
  void* (*managed_pointer)(void** slot);
  const tarsia_kernel_template* const* templates;
  const tarsia_kernel_template* const* templates_end;
} tarsia_module;

struct tarsia_host; /* <tarsia/host.h>: what libtarsia gives to a module */

/// The one symbol that every Tarsia module exports, inline or prebuilt: keeps `host` for the module's
/// own use and returns its description, which lives as long as the module is mapped.
typedef const tarsia_module* (*tarsia_module_attach_fn)(const struct tarsia_host* host);
#define TARSIA_MODULE_SYMBOL "tarsia_module_attach"

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>
