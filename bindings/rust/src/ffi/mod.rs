//! The C interface of libtarsia, as far as this crate uses it. `layout.rs` holds every declaration against the C headers.
#![allow(non_camel_case_types)]

#[macro_use]
mod declare;
mod functions;
#[cfg(test)]
mod layout;
mod option_fields;
mod structs;

pub(crate) use functions::Api;
pub(crate) use option_fields::tarsia_options;
pub(crate) use structs::*;

/// The version of the structs that are declared here: TARSIA_ABI_VERSION.
pub(crate) const ABI_VERSION: u32 = 3;

/// Constants of the C headers. Each module is an enumeration.
macro_rules! constants {
    ($($(#[$about:meta])* $module:ident: $type:ident { $($name:ident = $c:ident = $value:expr),* $(,)? })*) => {
        $($(#[$about])* pub(crate) mod $module {
            $(pub(crate) const $name: $type = $value;)*
        })*
        /// The C names and the values of the constants.
        #[cfg(test)]
        pub(crate) fn constants() -> Vec<(&'static str, i64)> {
            vec![$($((stringify!($c), $value as i64)),*),*]
        }
    };
}

constants! {
    /// Kinds of arguments and results: tarsia_kind.
    kind: u32 {
        NONE = TARSIA_KIND_NONE = 0, BOOL = TARSIA_KIND_BOOL = 1, INT = TARSIA_KIND_INT = 2,
        FLOAT = TARSIA_KIND_FLOAT = 3, STRING = TARSIA_KIND_STRING = 4, TENSOR = TARSIA_KIND_TENSOR = 5,
        STREAM = TARSIA_KIND_STREAM = 7, LIST = TARSIA_KIND_LIST = 8, TUPLE = TARSIA_KIND_TUPLE = 9,
        ARGUMENT = TARSIA_KIND_ARGUMENT = 10, OBJECT = TARSIA_KIND_OBJECT = 11,
        COMPLEX = TARSIA_KIND_COMPLEX = 14, STRUCT = TARSIA_KIND_STRUCT = 15,
        CONST_STRUCT = TARSIA_KIND_CONST_STRUCT = 16,
    }
    /// What the size of an integer says: tarsia_sign.
    sign: u32 { SIGNED = TARSIA_SIGNED = 1, UNSIGNED = TARSIA_UNSIGNED = 2 }
    /// What the size of a tensor argument says.
    access: u32 { READ_ONLY = TARSIA_TENSOR_READ_ONLY = 1 }
    /// Device types: tarsia_device_type.
    device: i32 {
        CPU = TARSIA_CPU = 1, GPU = TARSIA_GPU = 2, GPU_HOST = TARSIA_GPU_HOST = 3,
        GPU_MANAGED = TARSIA_GPU_MANAGED = 13,
    }
    /// Codes of dtypes: tarsia_dtype_code.
    code: u8 {
        INT = TARSIA_INT = 0, UINT = TARSIA_UINT = 1, FLOAT = TARSIA_FLOAT = 2, BFLOAT = TARSIA_BFLOAT = 4,
        COMPLEX = TARSIA_COMPLEX = 5, BOOL = TARSIA_BOOL = 6, ANY = TARSIA_ANY_DTYPE = 255,
    }
    /// Passes of an op: tarsia_pass.
    pass: u32 { FORWARD = TARSIA_FORWARD = 0, BACKWARD = TARSIA_BACKWARD = 1 }
    /// Write requests: tarsia_request.
    request: u8 {
        NULL = TARSIA_REQUEST_NULL = 0, WRITE = TARSIA_REQUEST_WRITE = 1, ADD = TARSIA_REQUEST_ADD = 3,
    }
    /// Storage types: tarsia_storage_type.
    storage: u8 { DENSE = TARSIA_DENSE = 0 }
    /// Flags of ports.
    port: u32 {
        OPTIONAL = TARSIA_PORT_OPTIONAL = 1, VARIADIC = TARSIA_PORT_VARIADIC = 2,
        MUTABLE = TARSIA_PORT_MUTABLE = 4, HIDDEN = TARSIA_PORT_HIDDEN = 16,
    }
    /// Flags of attributes.
    attribute: u32 { REQUIRED = TARSIA_ATTRIBUTE_REQUIRED = 1 }
    /// How implementations are chosen: tarsia_choice.
    choice: u32 {
        OF_PROCESS = TARSIA_CHOICE_OF_PROCESS = 0, PRIORITY = TARSIA_CHOICE_PRIORITY = 1,
        MEASURE = TARSIA_CHOICE_MEASURE = 2,
    }
    /// Limits.
    limit: i32 { MAX_NDIM = TARSIA_MAX_NDIM = 32 }
}
