//! Arguments of calls.
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_char;

use crate::element::{DType, Device, Element};
use crate::error::{Error, Result};
use crate::ffi::{access, kind, sign, tarsia_tensor, tarsia_value, Payload};
use crate::kernel::Stream;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// An argument of a function, a kernel or an op. Most types of Rust convert to one:
///
/// | of Rust | of C++ |
/// | --- | --- |
/// | integers, `bool`, `f32`, `f64` | numbers and enumerations; libtarsia checks ranges |
/// | `&str`, `&String` | `std::string`, `std::string_view`, `const char*` |
/// | `&Tensor`, `&TensorView`, `&[T]`, `&[T; N]`, `&Vec<T>` | `const T*`, `const tarsia::Tensor&`: memory that is only read |
/// | `&mut Tensor`, `&mut TensorViewMut`, `&mut [T]`, … | the same, and `T*`, `tarsia::Tensor`: memory that may be written to |
/// | [`Arg::list`] | `std::vector`, `std::array` |
/// | [`Arg::complex`] | `std::complex` |
/// | [`Arg::plain`], [`Arg::rows`] | `P`, `const P&`, `const P*`, `std::span<const P>` for a plain struct `P` |
/// | [`Arg::rows_mut`] | the same, and `P*`, `std::span<P>` |
/// | [`Arg::bytes`] | a plain struct that is only read, as its bytes |
/// | [`Stream`] | `cudaStream_t`; without one the current stream |
/// | `Option<T>`, [`Arg::NONE`] | `std::optional`, an optional input |
///
/// A slice is a tensor of one dimension.
pub struct Arg<'a>(Kind<'a>);

enum Kind<'a> {
    Value(tarsia_value),
    Text(Vec<u8>),
    Tensor { tensor: *const tarsia_tensor, writable: bool, memory: PhantomData<&'a mut [u8]> },
    View { tensor: tarsia_tensor, writable: bool },
    Slice { tensor: tarsia_tensor, extent: i64, writable: bool },
    List { items: Vec<Arg<'a>>, values: Vec<tarsia_value> },
    Complex([tarsia_value; 2]),
    Structs { data: *mut u8, n_bytes: usize, writable: bool, memory: PhantomData<&'a mut [u8]> },
}

impl<'a> Arg<'a> {
    /// No argument: for an optional one.
    pub const NONE: Arg<'static> = Arg(Kind::Value(tarsia_value::NONE));

    /// A list, for a `std::vector` or an attribute that is one.
    pub fn list(items: impl IntoIterator<Item = impl Into<Arg<'a>>>) -> Arg<'a> {
        Arg(Kind::List { items: items.into_iter().map(Into::into).collect(), values: Vec::new() })
    }

    /// A complex number.
    pub fn complex(re: f64, im: f64) -> Arg<'static> {
        let part = |f| tarsia_value { payload: Payload { f }, kind: kind::FLOAT, size: 0 };
        Arg(Kind::Complex([part(re), part(im)]))
    }

    /// The bytes of a struct that a function or kernel takes by value or only reads.
    pub fn bytes(bytes: &[u8]) -> Arg<'static> {
        Arg(Kind::Text(with_nul(bytes)))
    }

    /// Memory of structs, which `'a` borrows.
    pub(crate) fn borrowed(data: *mut u8, n_bytes: usize, writable: bool) -> Arg<'a> {
        Arg(Kind::Structs { data, n_bytes, writable, memory: PhantomData })
    }

    /// The value in C's form, which borrows from this argument. Error: a text, list or row of 4 Gi and more.
    pub(crate) fn lower(&mut self) -> Result<tarsia_value> {
        let memory = |tensor: *const tarsia_tensor, writable: bool| tarsia_value {
            payload: Payload { t: tensor },
            kind: kind::TENSOR,
            size: if writable { 0 } else { access::READ_ONLY },
        };
        let size_of = |n: usize| {
            u32::try_from(n).map_err(|_| {
                Error::value(format!("a text, list or row of {} is too long: 4294967295 at most", n))
            })
        };
        Ok(match &mut self.0 {
            Kind::Value(value) => *value,
            Kind::Text(text) => tarsia_value {
                payload: Payload { s: text.as_ptr() as *const c_char },
                kind: kind::STRING,
                size: size_of(text.len() - 1)?,
            },
            Kind::Tensor { tensor, writable, .. } => memory(*tensor, *writable),
            Kind::View { tensor, writable } => memory(tensor, *writable),
            Kind::Slice { tensor, extent, writable } => {
                tensor.shape = extent;
                memory(tensor, *writable)
            }
            Kind::Complex(parts) => {
                tarsia_value { payload: Payload { v: parts.as_mut_ptr() }, kind: kind::COMPLEX, size: 2 }
            }
            Kind::Structs { data, n_bytes, writable, .. } => tarsia_value {
                payload: Payload { p: *data as *mut _ },
                kind: if *writable { kind::STRUCT } else { kind::CONST_STRUCT },
                size: size_of(*n_bytes)?,
            },
            Kind::List { items, values } => {
                *values = items.iter_mut().map(Arg::lower).collect::<Result<_>>()?;
                tarsia_value {
                    payload: Payload { v: values.as_mut_ptr() },
                    kind: kind::LIST,
                    size: size_of(values.len())?,
                }
            }
        })
    }

    /// The tensor of an argument that is one, and whether it may be written to; None for [`Arg::NONE`].
    pub(crate) fn lower_tensor(&mut self) -> Result<Option<(*const tarsia_tensor, bool)>> {
        let value = self.lower()?;
        match value.kind {
            kind::NONE => Ok(None),
            // SAFETY: the kind says which member there is.
            kind::TENSOR => Ok(Some((unsafe { value.payload.t }, value.size != access::READ_ONLY))),
            _ => Err(Error::wrong_type(format!("an op takes tensors, got {:?}", self))),
        }
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // SAFETY: the kind says which member there is.
            Kind::Value(value) => unsafe {
                match value.kind {
                    kind::BOOL => write!(f, "{}", value.payload.i != 0),
                    kind::INT if value.size == sign::UNSIGNED => write!(f, "{}", value.payload.u),
                    kind::INT => write!(f, "{}", value.payload.i),
                    kind::FLOAT => write!(f, "{:?}", value.payload.f),
                    kind::STREAM => write!(f, "Stream({:?})", value.payload.p),
                    _ => f.write_str("NONE"),
                }
            },
            Kind::Text(text) => write!(f, "{:?}", String::from_utf8_lossy(&text[..text.len() - 1])),
            // SAFETY: both are floats.
            Kind::Complex(parts) => unsafe {
                write!(f, "({:?}, {:?})", parts[0].payload.f, parts[1].payload.f)
            },
            Kind::Structs { n_bytes, writable, .. } => {
                write!(f, "{} of {} bytes", if *writable { "&mut structs" } else { "&structs" }, n_bytes)
            }
            Kind::List { items, .. } => f.debug_list().entries(items).finish(),
            Kind::Tensor { writable, .. } | Kind::View { writable, .. } | Kind::Slice { writable, .. } => {
                f.write_str(if *writable { "&mut tensor" } else { "&tensor" })
            }
        }
    }
}

fn with_nul(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 1);
    text.extend_from_slice(bytes);
    text.push(0);
    text
}

fn integer(payload: Payload, size: u32) -> Arg<'static> {
    Arg(Kind::Value(tarsia_value { payload, kind: kind::INT, size }))
}

macro_rules! integers {
    ($($type:ty)* ; $member:ident $wide:ty, $sign:ident) => {
        $(impl From<$type> for Arg<'_> {
            fn from(number: $type) -> Self { integer(Payload { $member: number as $wide }, sign::$sign) }
        })*
    };
}
integers! { i8 i16 i32 i64 isize; i i64, SIGNED }
integers! { u8 u16 u32 u64 usize; u u64, UNSIGNED }

impl From<bool> for Arg<'_> {
    fn from(value: bool) -> Self {
        Arg(Kind::Value(tarsia_value { payload: Payload { i: i64::from(value) }, kind: kind::BOOL, size: 0 }))
    }
}
impl From<f64> for Arg<'_> {
    fn from(number: f64) -> Self {
        Arg(Kind::Value(tarsia_value { payload: Payload { f: number }, kind: kind::FLOAT, size: 0 }))
    }
}
impl From<f32> for Arg<'_> {
    fn from(number: f32) -> Self {
        Arg::from(f64::from(number))
    }
}
impl From<&str> for Arg<'_> {
    fn from(text: &str) -> Self {
        Arg(Kind::Text(with_nul(text.as_bytes())))
    }
}
impl From<&String> for Arg<'_> {
    fn from(text: &String) -> Self {
        Arg::from(text.as_str())
    }
}
impl From<Stream> for Arg<'_> {
    fn from(stream: Stream) -> Self {
        Arg(Kind::Value(tarsia_value { payload: Payload { p: stream.raw() }, kind: kind::STREAM, size: 0 }))
    }
}
impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Arg::NONE, Into::into)
    }
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Arg(Kind::Tensor { tensor: tensor.raw(), writable: false, memory: PhantomData })
    }
}
impl<'a> From<&'a mut Tensor> for Arg<'a> {
    fn from(tensor: &'a mut Tensor) -> Self {
        Arg(Kind::Tensor { tensor: tensor.raw(), writable: tensor.is_writable(), memory: PhantomData })
    }
}
impl<'a> From<&'a TensorView<'_>> for Arg<'a> {
    fn from(view: &'a TensorView<'_>) -> Self {
        Arg(Kind::View { tensor: view.raw(), writable: false })
    }
}
impl<'a> From<&'a TensorViewMut<'_>> for Arg<'a> {
    fn from(view: &'a TensorViewMut<'_>) -> Self {
        Arg(Kind::View { tensor: view.raw(), writable: false })
    }
}
impl<'a> From<&'a mut TensorViewMut<'_>> for Arg<'a> {
    fn from(view: &'a mut TensorViewMut<'_>) -> Self {
        Arg(Kind::View { tensor: view.raw(), writable: true })
    }
}

fn slice<'a>(data: *mut u8, n: usize, dtype: DType, writable: bool) -> Arg<'a> {
    let tensor = tarsia_tensor {
        data: data as *mut _,
        device: Device::Cpu.raw(),
        ndim: 1,
        dtype: dtype.raw(),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    Arg(Kind::Slice { tensor, extent: n as i64, writable })
}
impl<'a, T: Element> From<&'a [T]> for Arg<'a> {
    fn from(elements: &'a [T]) -> Self {
        slice(elements.as_ptr() as *mut u8, elements.len(), T::DTYPE, false)
    }
}
impl<'a, T: Element> From<&'a mut [T]> for Arg<'a> {
    fn from(elements: &'a mut [T]) -> Self {
        slice(elements.as_mut_ptr() as *mut u8, elements.len(), T::DTYPE, true)
    }
}
macro_rules! like_slices {
    ($([$($generic:tt)*] $type:ty;)*) => {
        $(impl<'a, T: Element, $($generic)*> From<&'a $type> for Arg<'a> {
            fn from(elements: &'a $type) -> Self { Arg::from(&elements[..]) }
        }
        impl<'a, T: Element, $($generic)*> From<&'a mut $type> for Arg<'a> {
            fn from(elements: &'a mut $type) -> Self { Arg::from(&mut elements[..]) }
        })*
    };
}
like_slices! { [] Vec<T>; [const N: usize] [T; N]; }

/// The arguments of a call: a tuple of what converts to [`Arg`], as in `(2.0, &x, &mut y)`; `()` for none; or a `Vec<Arg>`,
/// where their number is known only as the program runs.
pub trait IntoArgs<'a> {
    /// The arguments, in order.
    fn into_args(self) -> Vec<Arg<'a>>;
}

impl<'a> IntoArgs<'a> for Vec<Arg<'a>> {
    fn into_args(self) -> Vec<Arg<'a>> {
        self
    }
}
impl<'a, T: Into<Arg<'a>>, const N: usize> IntoArgs<'a> for [T; N] {
    fn into_args(self) -> Vec<Arg<'a>> {
        self.into_iter().map(Into::into).collect()
    }
}
impl<'a> IntoArgs<'a> for () {
    fn into_args(self) -> Vec<Arg<'a>> {
        Vec::new()
    }
}
macro_rules! tuples {
    ($(($($name:ident)*))*) => {
        $(impl<'a, $($name: Into<Arg<'a>>),*> IntoArgs<'a> for ($($name,)*) {
            #[allow(non_snake_case)]
            fn into_args(self) -> Vec<Arg<'a>> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        })*
    };
}
tuples! {
    (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I)
    (A B C D E F G H I J) (A B C D E F G H I J K) (A B C D E F G H I J K L) (A B C D E F G H I J K L M)
    (A B C D E F G H I J K L M N) (A B C D E F G H I J K L M N O) (A B C D E F G H I J K L M N O P)
}

/// Arguments in C's form.
pub(crate) struct Lowered<'a> {
    values: Vec<tarsia_value>,
    _args: Vec<Arg<'a>>,
}

impl<'a> Lowered<'a> {
    pub(crate) fn new(args: impl IntoArgs<'a>) -> Result<Lowered<'a>> {
        let mut args = args.into_args();
        let values = args.iter_mut().map(Arg::lower).collect::<Result<_>>()?;
        Ok(Lowered { values, _args: args })
    }
    pub(crate) fn values(&self) -> &[tarsia_value] {
        &self.values
    }

    /// The position of the argument in which a tensor stands.
    pub(crate) fn position_of(&self, tensor: *const tarsia_tensor) -> Option<usize> {
        fn holds(value: &tarsia_value, tensor: *const tarsia_tensor) -> bool {
            // SAFETY: the kind says which member there is, and a list has `size` values.
            unsafe {
                match value.kind {
                    kind::TENSOR => std::ptr::eq(value.payload.t, tensor),
                    kind::LIST => (0..value.size as usize).any(|i| holds(&*value.payload.v.add(i), tensor)),
                    _ => false,
                }
            }
        }
        self.values.iter().position(|value| holds(value, tensor))
    }
}
