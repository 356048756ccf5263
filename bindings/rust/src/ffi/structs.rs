//! Structs of `<tarsia/abi.h>`, `<tarsia/op_abi.h>` and `<tarsia/c_api.h>`, whose comments describe them.
use std::os::raw::{c_char, c_void};

c_handles! {
    tarsia_library;
    tarsia_op_handle;
    tarsia_bound_op;
    tarsia_op_context;
}

/// The first member of tarsia_value, which has no name in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Payload {
    pub(crate) i: i64,
    pub(crate) u: u64,
    pub(crate) f: f64,
    pub(crate) s: *const c_char,
    pub(crate) p: *mut c_void,
    pub(crate) t: *const tarsia_tensor,
    pub(crate) storage: *mut tarsia_storage,
    pub(crate) v: *mut tarsia_value,
}

/// One argument or result.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct tarsia_value {
    pub(crate) payload: Payload,
    pub(crate) kind: u32,
    pub(crate) size: u32,
}

impl tarsia_value {
    /// The value of kind TARSIA_KIND_NONE.
    pub(crate) const NONE: tarsia_value = tarsia_value { payload: Payload { u: 0 }, kind: 0, size: 0 };
}

c_structs! {
    struct tarsia_device { type_: i32, id: i32 }
    struct tarsia_dtype { code: u8, bits: u8, lanes: u16 }
    struct tarsia_tensor {
        data: *mut c_void,
        device: tarsia_device,
        ndim: i32,
        dtype: tarsia_dtype,
        shape: *mut i64,
        strides: *mut i64,
        byte_offset: u64,
    }
    struct tarsia_storage {
        tensor: *const tarsia_tensor,
        refs: i32,
        framework: i32,
        context: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut tarsia_storage)>,
    }
    struct tarsia_type {
        kind: u8,
        flags: u8,
        n_elements: u16,
        dtype: tarsia_dtype,
        elements: *const tarsia_type,
    }
    struct tarsia_param { name: *const c_char, type_: tarsia_type }
    struct tarsia_function {
        size: u32,
        flags: u32,
        name: *const c_char,
        signature: *const c_char,
        location: *const c_char,
        n_params: u32,
        n_required: u32,
        params: *const tarsia_param,
        result: tarsia_type,
        call: Option<unsafe extern "C" fn(*const tarsia_value, u32, *mut tarsia_value) -> i32>,
    }
    struct tarsia_kernel {
        size: u32,
        name: *const c_char,
        signature: *const c_char,
        location: *const c_char,
        stub: *const c_void,
        n_params: u32,
        params: *const tarsia_param,
        param_sizes: *const u32,
        param_aligns: *const u32,
        stub_slot: *const *const c_void,
        symbol: *const c_char,
        file: *const c_char,
    }
    struct tarsia_skipped { name: *const c_char, reason: *const c_char }
    struct tarsia_diagnostic {
        file: *const c_char,
        line: i32,
        column: i32,
        severity: *const c_char,
        message: *const c_char,
    }
    struct tarsia_error {
        size: u32,
        code: i32,
        stage: *const c_char,
        message: *const c_char,
        log: *const c_char,
        diagnostics: *const tarsia_diagnostic,
        n_diagnostics: u64,
    }
    struct tarsia_file { name: *const c_char, text: *const c_char, bytes: u64 }
    struct tarsia_define { name: *const c_char, value: *const c_char }
    struct tarsia_call_context {
        size: u32,
        framework: u32,
        device: tarsia_device,
        user: *mut c_void,
        empty: Option<
            unsafe extern "C" fn(*mut c_void, *const i64, i32, tarsia_dtype, tarsia_device) -> *mut tarsia_storage,
        >,
        current_stream: Option<unsafe extern "C" fn(*mut c_void, i32) -> *mut c_void>,
        outer: *mut tarsia_call_context,
        resources: *mut c_void,
        interrupted: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
        function: *const tarsia_function,
        args: *const tarsia_value,
        n_args: u64,
        tensor_at: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> *const tarsia_tensor>,
        op: *const tarsia_op,
        op_call: *const tarsia_op_context,
        interrupt_ns: u64,
        share: Option<unsafe extern "C" fn(*mut c_void, *const tarsia_tensor) -> *mut tarsia_storage>,
        resize: Option<unsafe extern "C" fn(*mut c_void, *const tarsia_tensor, *const i64, i32) -> i32>,
    }
    struct tarsia_launch {
        size: u32,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        device: i32,
        has_stream: u32,
        stream: *mut c_void,
        cluster: [u32; 3],
        cooperative: u32,
    }
    struct tarsia_kernel_attributes {
        size: u32,
        registers: i32,
        shared_bytes: i32,
        local_bytes: i32,
        constant_bytes: i32,
        max_threads: i32,
        ptx_version: i32,
        binary_version: i32,
    }
    struct tarsia_occupancy { size: u32, blocks: u32, grid: u32, fraction: f64 }
    struct tarsia_meta {
        ndim: i32,
        dtype: tarsia_dtype,
        storage: u8,
        present: u8,
        flags: u16,
        reserved: u32,
        shape: [i64; 32],
    }
    struct tarsia_port { name: *const c_char, description: *const c_char, flags: u32 }
    struct tarsia_attribute {
        size: u32,
        flags: u32,
        name: *const c_char,
        description: *const c_char,
        type_: tarsia_type,
        default_text: *const c_char,
        default_value: *const tarsia_value,
        min: f64,
        max: f64,
        choices: *const *const c_char,
        n_choices: u32,
        check: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> i32>,
        user: *mut c_void,
        set: Option<unsafe extern "C" fn(*mut c_void, *const tarsia_value) -> i32>,
        offset: u64,
    }
    struct tarsia_inplace { input: u32, output: u32 }
    /// The fields that every version has. An op is read through its address; it may have more fields.
    struct tarsia_op {
        size: u32,
        flags: u32,
        name: *const c_char,
        description: *const c_char,
        location: *const c_char,
        n_inputs: u32,
        n_outputs: u32,
        n_attributes: u32,
        n_implementations: u32,
        n_inplace: u32,
        reserved: u32,
        inputs: *const tarsia_port,
        outputs: *const tarsia_port,
        attributes: *const tarsia_attribute,
    }
    struct tarsia_op_request {
        size: u32,
        n_inputs: u32,
        n_outputs: u32,
        n_attributes: u32,
        inputs: *const tarsia_meta,
        outputs: *const tarsia_meta,
        attribute_names: *const *const c_char,
        attributes: *const tarsia_value,
        device: tarsia_device,
        choice: u32,
        reserved: u32,
        samples: *const *const tarsia_tensor,
    }
    struct tarsia_op_call {
        size: u32,
        n_inputs: u32,
        n_outputs: u32,
        reserved: u32,
        inputs: *const *const tarsia_tensor,
        outputs: *const *const tarsia_tensor,
        requests: *const u8,
        stream: *mut c_void,
        has_stream: u32,
        pass: u32,
    }
    struct tarsia_measured_time { name: *const c_char, seconds: f64 }
    struct tarsia_bound_pass {
        size: u32,
        n_inplace: u32,
        implementation: *const c_void,
        name: *const c_char,
        inplace: *const tarsia_inplace,
        workspace: u64,
        conversions: *const *const c_char,
        n_conversions: u64,
        needs: *const u8,
        n_needs: u64,
        measured: *const tarsia_measured_time,
        n_measured: u64,
        not_measured: *const c_char,
        layouts: *const *const c_char,
        n_layouts: u64,
    }
}
