//! The struct of the options, made of the table of include/tarsia/compile_options.h.
use std::os::raw::{c_char, c_void};

use super::structs::{tarsia_define, tarsia_file};

// scripts/options writes the rest
c_structs! {
    struct tarsia_options {
        size: u32,
        name: *const c_char,
        functions: *const *const c_char,
        n_functions: u64,
        restrict_functions: i32,
        host_headers: i32,
        headers: *const tarsia_file,
        n_headers: u64,
        include_dirs: *const *const c_char,
        n_include_dirs: u64,
        defines: *const tarsia_define,
        n_defines: u64,
        libraries: *const *const c_char,
        n_libraries: u64,
        library_dirs: *const *const c_char,
        n_library_dirs: u64,
        std: *const c_char,
        opt: i32,
        ptx: i32,
        archs: *const *const c_char,
        n_archs: u64,
        fast_math: i32,
        debug: i32,
        lineinfo: i32,
        timeout_ms: u32,
        cached_only: i32,
        interrupted: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
        interrupt_context: *mut c_void,
        kernels: *const *const c_char,
        n_kernels: u64,
        kernels_file: *const c_char,
        kernels_to_read: i32,
        caller_file: *const c_char,
        caller_line: u32,
        march: *const c_char,
        openmp: i32,
        dev: i32,
        cflags: *const *const c_char,
        n_cflags: u64,
        undefined: i32,
        exports: *const *const c_char,
        n_exports: u64,
        device_compiler: i32,
        maxrregcount: i32,
    }
}
