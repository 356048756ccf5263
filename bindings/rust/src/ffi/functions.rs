//! The functions of `<tarsia/c_api.h>`, whose comments describe them.
use std::os::raw::{c_char, c_void};

use super::option_fields::tarsia_options;
use super::structs::*;

c_functions! {
    fn tarsia_last_error() -> *const tarsia_error;
    fn tarsia_options_defaults(options: *mut tarsia_options, size: u32);
    fn tarsia_load_inline(
        files: *const tarsia_file, n_files: u64, options: *const tarsia_options, library: *mut *mut tarsia_library,
    ) -> i32;
    fn tarsia_load(path: *const c_char, library: *mut *mut tarsia_library) -> i32;
    fn tarsia_compile(
        files: *const tarsia_file, n_files: u64, options: *const tarsia_options, output: *const c_char,
    ) -> i32;
    fn tarsia_library_retain(library: *mut tarsia_library);
    fn tarsia_library_release(library: *mut tarsia_library);
    fn tarsia_library_unload(library: *mut tarsia_library) -> i32;
    fn tarsia_library_name(library: *const tarsia_library) -> *const c_char;
    fn tarsia_library_origin(library: *const tarsia_library) -> *const c_char;
    fn tarsia_library_functions(library: *const tarsia_library, n: *mut u64) -> *const *const tarsia_function;
    fn tarsia_library_kernels(library: *const tarsia_library, n: *mut u64) -> *const *const tarsia_kernel;
    fn tarsia_library_symbols(library: *const tarsia_library, n: *mut u64) -> *const *const c_char;
    fn tarsia_library_symbol(library: *const tarsia_library, name: *const c_char) -> *mut c_void;
    fn tarsia_library_ops(library: *const tarsia_library, n: *mut u64) -> *const *const c_char;
    fn tarsia_library_skipped(library: *const tarsia_library, n: *mut u64) -> *const tarsia_skipped;
    fn tarsia_library_warnings(library: *const tarsia_library, n: *mut u64) -> *const tarsia_diagnostic;
    fn tarsia_library_export(library: *const tarsia_library, path: *const c_char) -> i32;
    fn tarsia_call_slot() -> *mut *mut tarsia_call_context;
    fn tarsia_free_resources(context: *mut tarsia_call_context);
    fn tarsia_call(
        functions: *const *const tarsia_function, n_functions: u64, args: *const tarsia_value, n_args: u32,
        result: *mut tarsia_value,
    ) -> i32;
    fn tarsia_kernel_launch(
        kernel: *const tarsia_kernel, launch: *const tarsia_launch, args: *const tarsia_value, n_args: u32,
    ) -> i32;
    fn tarsia_kernel_get_attributes(
        kernel: *const tarsia_kernel, device: i32, attributes: *mut tarsia_kernel_attributes,
    ) -> i32;
    fn tarsia_kernel_occupancy(
        kernel: *const tarsia_kernel, device: i32, threads: u32, shared_bytes: u32, occupancy: *mut tarsia_occupancy,
    ) -> i32;
    fn tarsia_kernel_suggest_block(
        kernel: *const tarsia_kernel, device: i32, shared_bytes: u32, limit: u32, threads: *mut u32,
    ) -> i32;
    fn tarsia_op_names(names: *mut *mut *mut c_char, n: *mut u64) -> i32;
    fn tarsia_op_load(name: *const c_char, op: *mut *mut tarsia_op_handle) -> i32;
    fn tarsia_op_retain(op: *mut tarsia_op_handle);
    fn tarsia_op_release(op: *mut tarsia_op_handle);
    fn tarsia_op_describe(op: *const tarsia_op_handle) -> *const tarsia_op;
    fn tarsia_op_bind(
        op: *mut tarsia_op_handle, request: *const tarsia_op_request, bound: *mut *mut tarsia_bound_op,
    ) -> i32;
    fn tarsia_op_explain(op: *mut tarsia_op_handle, request: *const tarsia_op_request, text: *mut *mut c_char) -> i32;
    fn tarsia_bound_retain(bound: *mut tarsia_bound_op);
    fn tarsia_bound_release(bound: *mut tarsia_bound_op);
    fn tarsia_bound_inputs(bound: *const tarsia_bound_op, n: *mut u32) -> *const tarsia_meta;
    fn tarsia_bound_outputs(bound: *const tarsia_bound_op, n: *mut u32) -> *const tarsia_meta;
    fn tarsia_bound_has_backward(bound: *const tarsia_bound_op) -> i32;
    fn tarsia_bound_has_gradient(bound: *const tarsia_bound_op, i: u32) -> i32;
    fn tarsia_bound_describe(bound: *const tarsia_bound_op, pass: u32, description: *mut tarsia_bound_pass) -> i32;
    fn tarsia_bound_call(bound: *mut tarsia_bound_op, call: *const tarsia_op_call) -> i32;
    fn tarsia_bound_check(bound: *const tarsia_bound_op, call: *const tarsia_op_call) -> i32;
    fn tarsia_empty(
        shape: *const i64, ndim: i32, dtype: tarsia_dtype, device: tarsia_device, storage: *mut *mut tarsia_storage,
    ) -> i32;
    fn tarsia_copy(to: *const tarsia_tensor, from: *const tarsia_tensor, stream: *mut c_void) -> i32;
    fn tarsia_device_count() -> i32;
    fn tarsia_synchronize(device: i32, stream: *mut c_void) -> i32;
    fn tarsia_seed(seed: u64);
    fn tarsia_version() -> *const c_char;
    fn tarsia_abi_version() -> u32;
    fn tarsia_stats(json: *mut *mut c_char) -> i32;
    fn tarsia_doctor(json: *mut *mut c_char) -> i32;
    fn tarsia_free(memory: *mut c_void);
}
