// The table of error classes. From its rows follow tarsia_code (abi.h), the exceptions that C++ programs
// catch (errors.h), ErrorCode and its classes (base/error.h), and the classes that Python raises.
//
// A new class is a row at the end. The build then fails until its C++ classes exist, and
// tests/python/package/test_errors.py until python/tarsia/_errors.py and docs/ have it, and those of the Rust
// crate until bindings/rust/src/error.rs has it. A row keeps its number, because built modules contain it.
//
// The columns of X(code, number, enumerator, cpp, python):
//   code        in C
//   number      its value
//   enumerator  in Tarsia's own sources
//   cpp         the class that C++ programs catch, and the result of tarsia_error_name()
//   python      the class that Python raises
#pragma once

// clang-format off
#define TARSIA_DETAIL_ERROR_ROWS(X) \
  X(TARSIA_ERROR,            1,  unknown,          Error,           Error)             /* none of the others */ \
  X(TARSIA_COMPILE_ERROR,    2,  compile,          CompileError,    CompileError)      /* the source does not compile or link; has diagnostics */ \
  X(TARSIA_COMPILER_CRASHED, 3,  compiler_crashed, CompilerCrashed, CompilerCrashed)   /* the compiler died under this source */ \
  X(TARSIA_COMPILE_TIMEOUT,  4,  compile_timeout,  CompileTimeout,  CompileTimeout)    /* the compile took longer than it may */ \
  X(TARSIA_RESOURCE_LIMIT,   5,  resource_limit,   ResourceLimit,   ResourceLimit)     /* the compile wanted more memory than it may have */ \
  X(TARSIA_INVALID_SOURCE,   6,  invalid_source,   InvalidSource,   InvalidSource)     /* NUL byte, not UTF-8, too large, no file */ \
  X(TARSIA_LOAD_ERROR,       7,  load,             LoadError,       LoadError)         /* a file that cannot be loaded as a library */ \
  X(TARSIA_ARGUMENT_TYPE,    8,  argument_type,    ArgumentError,   ArgumentTypeError) /* a wrong type or number of arguments, dtype */ \
  X(TARSIA_ARGUMENT_VALUE,   9,  argument_value,   ArgumentError,   ArgumentValueError)/* right type, unfit value: range, shape, contiguity, device, attribute */ \
  X(TARSIA_CUDA_ERROR,       10, cuda,             CudaError,       CudaError)         /* no GPU, no driver, or CUDA reported an error */ \
  X(TARSIA_NOT_FOUND,        11, not_found,        NotFound,        NotFound)          /* no such op, function, kernel */ \
  X(TARSIA_UNSUPPORTED,      12, unsupported,      Unsupported,     Unsupported)       /* this build, machine or op cannot do that */ \
  X(TARSIA_OP_ERROR,         13, op,               OpError,         OpError)           /* the author's code threw; the next three say what kind */ \
  X(TARSIA_OP_VALUE_ERROR,   14, op_value,         OpError,         OpValueError)      /* std::invalid_argument, std::domain_error */ \
  X(TARSIA_OP_INDEX_ERROR,   15, op_index,         OpError,         OpIndexError)      /* std::out_of_range, std::length_error */ \
  X(TARSIA_OP_TYPE_ERROR,    16, op_type,          OpError,         OpTypeError)       /* tarsia::TypeError, std::bad_cast */ \
  X(TARSIA_OUT_OF_MEMORY,    17, out_of_memory,    OutOfMemory,     OutOfMemory)       /* std::bad_alloc, or device memory is spent */ \
  X(TARSIA_INTERRUPTED,      18, interrupted,      Interrupted,     Interrupted)       /* tarsia_options.interrupted said so */ \
  X(TARSIA_UNDEFINED_BEHAVIOUR, 19, undefined_behaviour, UndefinedBehaviour, UndefinedBehaviour) /* code with debug="undefined" did what C++ leaves undefined */ \
  X(TARSIA_COMPILE_FORBIDDEN, 20, compile_forbidden, CompileForbidden, CompileForbidden) /* not in the cache, and no compile may start now */
// clang-format on
