//! Macros that declare structs and functions of C, and keep what `layout.rs` compares with the headers.

/// Structs of C, which have the fields and the order that the headers give them.
macro_rules! c_structs {
    ($($(#[$about:meta])* struct $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $($(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }

        #[cfg(test)]
        impl $crate::ffi::layout::CType for $name {
            fn c() -> String { stringify!($name).to_string() }
        }

        #[cfg(test)]
        impl $crate::ffi::layout::CStruct for $name {
            fn fields() -> Vec<$crate::ffi::layout::Field> {
                let whole = std::mem::MaybeUninit::<$name>::uninit();
                let start = whole.as_ptr();
                vec![$($crate::ffi::layout::Field {
                    name: stringify!($field),
                    // SAFETY: the address lies within `whole`, and nothing is read from it.
                    offset: unsafe { std::ptr::addr_of!((*start).$field) as usize } - start as usize,
                    c: <$type as $crate::ffi::layout::CType>::c(),
                }),*]
            }
        })*
    };
}

/// Handles whose insides C does not show.
macro_rules! c_handles {
    ($($(#[$about:meta])* $name:ident;)*) => {
        $($(#[$about])*
        #[repr(C)]
        pub(crate) struct $name { _hidden: [u8; 0] }

        #[cfg(test)]
        impl $crate::ffi::layout::CType for $name {
            fn c() -> String { stringify!($name).to_string() }
        })*
    };
}

/// Functions of libtarsia: a table of their addresses, found by name.
macro_rules! c_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// The functions of an open libtarsia.
        pub(crate) struct Api { $(pub(crate) $name: unsafe extern "C" fn($($type),*) $(-> $result)?),* }

        impl Api {
            /// Asks `find` for the address of each function, by its name with a NUL. The error is the name of one that
            /// has none.
            ///
            /// # Safety
            ///
            /// What `find` returns is null, or a function of that name's C declaration.
            pub(crate) unsafe fn resolve(
                find: impl Fn(&'static str) -> *mut std::os::raw::c_void,
            ) -> Result<Api, &'static str> {
                Ok(Api { $($name: {
                    let address = find(concat!(stringify!($name), "\0"));
                    if address.is_null() { return Err(stringify!($name)); }
                    std::mem::transmute::<*mut std::os::raw::c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(
                        address)
                }),* })
            }
        }

        /// The names of the functions, and their types as C++ spells them.
        #[cfg(test)]
        pub(crate) fn declared() -> Vec<(&'static str, String)> {
            vec![$((stringify!($name),
                    <Option<unsafe extern "C" fn($($type),*) $(-> $result)?> as $crate::ffi::layout::CType>::c())),*]
        }
    };
}
