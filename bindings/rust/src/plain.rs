//! Plain structs, which go in and out as their bytes.
use crate::argument::Arg;
use crate::error::{Error, Result};
use crate::value::{FromValue, Value};

/// A type of Rust that has the layout of a plain struct of C++, so that [`Arg::plain`], [`Arg::rows`] and [`Arg::rows_mut`]
/// give it to functions, and [`Plain`] takes it as a result.
///
/// ```
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// // SAFETY: #[repr(C)], two floats, as in C++.
/// unsafe impl tarsia::PlainStruct for Point {}
/// ```
///
/// # Safety
///
/// The type is `#[repr(C)]`, and any bytes of its size are a value of it: its fields are numbers, raw pointers, and arrays and
/// structs of these. It holds no `bool`, enumeration or reference. Libtarsia checks the size of the struct, and nothing else about it.
pub unsafe trait PlainStruct: Copy + 'static {}

/// A result that is a plain struct, or a pointer to one: `let Plain(p) = f.call::<Plain<Point>>(())?`. It is a copy. A pointer that may
/// be null is an `Option<Plain<P>>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<P>(pub P);

impl<P: PlainStruct> FromValue for Plain<P> {
    fn from_value(value: Value) -> Result<Plain<P>> {
        let size = std::mem::size_of::<P>();
        match value {
            Value::Struct(bytes) if bytes.len() == size => {
                // SAFETY: there are the bytes of one P, at any alignment, and any bytes are a P.
                Ok(Plain(unsafe { std::ptr::read_unaligned(bytes.as_ptr() as *const P) }))
            }
            Value::Struct(bytes) => Err(Error::wrong_type(format!(
                "the function is asked for a struct of {} bytes, {}, and returned one of {}: give it the fields of C++",
                size,
                std::any::type_name::<P>(),
                bytes.len()
            ))),
            other => other.refuse("a plain struct"),
        }
    }
}

impl<'a> Arg<'a> {
    /// A plain struct, by value, or for a pointer to one that is only read.
    pub fn plain<P: PlainStruct>(value: &'a P) -> Arg<'a> {
        Arg::rows(std::slice::from_ref(value))
    }

    /// Plain structs in a row, for a `const P*` or a `std::span<const P>`.
    pub fn rows<P: PlainStruct>(rows: &'a [P]) -> Arg<'a> {
        Arg::borrowed(rows.as_ptr() as *mut u8, std::mem::size_of_val(rows), false)
    }

    /// Plain structs in a row that a function may write to, for a `P*` or a `std::span<P>`; [`std::slice::from_mut`] makes one
    /// struct a row.
    pub fn rows_mut<P: PlainStruct>(rows: &'a mut [P]) -> Arg<'a> {
        Arg::borrowed(rows.as_mut_ptr() as *mut u8, std::mem::size_of_val(rows), true)
    }
}
