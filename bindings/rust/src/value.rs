//! Results of calls.
use std::os::raw::c_void;

use crate::argument::Lowered;
use crate::error::{Error, Result};
use crate::ffi::{kind, sign, tarsia_value};
use crate::tensor::Tensor;

/// A result whose type is known only as the program runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Value {
    /// `void`, or an empty `std::optional`.
    None,
    /// A bool.
    Bool(bool),
    /// A number of any integer type but `uint64_t`.
    Int(i64),
    /// A `uint64_t`.
    Uint(u64),
    /// A `float` or `double`.
    Float(f64),
    /// A `std::complex`: its real and its imaginary part.
    Complex(f64, f64),
    /// A `std::string` that is UTF-8.
    Text(String),
    /// A `std::string` that is not.
    Bytes(Vec<u8>),
    /// A plain struct, or what a pointer to one points to: its bytes. [`Plain`](crate::Plain) takes them as a type.
    Struct(Vec<u8>),
    /// A tensor that the function made.
    Tensor(Tensor),
    /// A tensor of the argument at this position, counted from 0. The caller still has it.
    Argument(usize),
    /// A `std::vector` or `std::array`.
    List(Vec<Value>),
    /// A `std::tuple` or `std::pair`.
    Tuple(Vec<Value>),
}

impl Value {
    fn describe(&self) -> String {
        match self {
            Value::None => "nothing".to_string(),
            Value::Bool(value) => format!("the bool {}", value),
            Value::Int(number) => format!("the int {}", number),
            Value::Uint(number) => format!("the int {}", number),
            Value::Float(number) => format!("the float {:?}", number),
            Value::Complex(re, im) => format!("the complex number ({:?}, {:?})", re, im),
            Value::Text(_) => "a string".to_string(),
            Value::Bytes(_) => "a string that is not UTF-8: take a tarsia::Value".to_string(),
            Value::Struct(bytes) => format!("a struct of {} bytes: take a tarsia::Plain", bytes.len()),
            Value::Tensor(_) => "a tensor".to_string(),
            Value::Argument(i) => {
                format!("its argument {}, a tensor that the caller has already: take a tarsia::Value", i + 1)
            }
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Tuple(items) => format!("a tuple of {}", items.len()),
        }
    }

    pub(crate) fn refuse<T>(self, wanted: &str) -> Result<T> {
        Err(Error::wrong_type(format!(
            "the function is asked for {}, and returned {}",
            wanted,
            self.describe()
        )))
    }
}

/// Types that a result can be taken as: numbers, `bool`, `String`, [`Tensor`], [`Plain`](crate::Plain) structs, `Option`, `Vec`, arrays,
/// tuples, [`Value`], and `()`, which drops it.
pub trait FromValue: Sized {
    /// Converts a result. Errors: one of another kind, or a number out of range.
    fn from_value(value: Value) -> Result<Self>;
}

impl FromValue for Value {
    fn from_value(value: Value) -> Result<Value> {
        Ok(value)
    }
}
impl FromValue for () {
    fn from_value(_: Value) -> Result<()> {
        Ok(())
    }
}
impl FromValue for bool {
    fn from_value(value: Value) -> Result<bool> {
        match value {
            Value::Bool(value) => Ok(value),
            other => other.refuse("a bool"),
        }
    }
}
impl FromValue for f64 {
    fn from_value(value: Value) -> Result<f64> {
        match value {
            Value::Float(number) => Ok(number),
            Value::Int(number) => Ok(number as f64),
            Value::Uint(number) => Ok(number as f64),
            other => other.refuse("a number"),
        }
    }
}
impl FromValue for f32 {
    fn from_value(value: Value) -> Result<f32> {
        f64::from_value(value).map(|number| number as f32)
    }
}
macro_rules! integers {
    ($($type:ty)*) => {
        $(impl FromValue for $type {
            fn from_value(value: Value) -> Result<$type> {
                let number = match value {
                    Value::Int(number) => <$type>::try_from(number).ok(),
                    Value::Uint(number) => <$type>::try_from(number).ok(),
                    other => return other.refuse("an integer"),
                };
                match number {
                    Some(number) => Ok(number),
                    None => Err(Error::value(format!(
                        "the function returned {}, which is no {}", value.describe(), stringify!($type)))),
                }
            }
        })*
    };
}
integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }
impl FromValue for String {
    fn from_value(value: Value) -> Result<String> {
        match value {
            Value::Text(text) => Ok(text),
            other => other.refuse("a string"),
        }
    }
}
impl FromValue for Tensor {
    fn from_value(value: Value) -> Result<Tensor> {
        match value {
            Value::Tensor(tensor) => Ok(tensor),
            other => other.refuse("a tensor"),
        }
    }
}
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Option<T>> {
        match value {
            Value::None => Ok(None),
            some => T::from_value(some).map(Some),
        }
    }
}
impl<T: FromValue, const N: usize> FromValue for [T; N] {
    fn from_value(value: Value) -> Result<[T; N]> {
        let items: Vec<T> = Vec::from_value(value)?;
        let n = items.len();
        items.try_into().map_err(|_| {
            Error::wrong_type(format!("the function is asked for a list of {}, and returned one of {}", N, n))
        })
    }
}
impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Vec<T>> {
        match value {
            Value::List(items) => items.into_iter().map(T::from_value).collect(),
            other => other.refuse("a list"),
        }
    }
}
macro_rules! tuples {
    ($($n:literal ($($name:ident)*);)*) => {
        $(impl<$($name: FromValue),*> FromValue for ($($name,)*) {
            fn from_value(value: Value) -> Result<Self> {
                match value {
                    Value::Tuple(items) if items.len() == $n => {
                        let mut items = items.into_iter();
                        Ok(($($name::from_value(items.next().unwrap_or(Value::None))?,)*))
                    }
                    other => other.refuse(concat!("a tuple of ", $n)),
                }
            }
        })*
    };
}
tuples! { 1 (A); 2 (A B); 3 (A B C); 4 (A B C D); 5 (A B C D E); 6 (A B C D E F); 7 (A B C D E F G); 8 (A B C D E F G H); }

/// Copies a result, and takes over its tensors.
///
/// # Safety
///
/// The call of these arguments has just returned this result, and has not been left. Its tensors are taken over once.
pub(crate) unsafe fn take(result: &tarsia_value, args: &Lowered<'_>) -> Result<Value> {
    let items = |result: &tarsia_value| -> Result<Vec<Value>> {
        let mut items = Vec::with_capacity(result.size as usize);
        let mut first_error = None;
        for i in 0..result.size as usize {
            match take(&*result.payload.v.add(i), args) {
                Ok(item) => items.push(item),
                Err(error) => first_error = first_error.or(Some(error)), // the others are taken, so that none is lost
            }
        }
        first_error.map_or(Ok(items), Err)
    };
    let bytes = |result: &tarsia_value| {
        if result.size == 0 {
            return Vec::new();
        }
        std::slice::from_raw_parts(result.payload.s as *const u8, result.size as usize).to_vec()
    };
    Ok(match result.kind {
        kind::NONE => Value::None,
        kind::BOOL => Value::Bool(result.payload.i != 0),
        kind::INT if result.size == sign::UNSIGNED => Value::Uint(result.payload.u),
        kind::INT => Value::Int(result.payload.i),
        kind::FLOAT => Value::Float(result.payload.f),
        kind::STRUCT => Value::Struct(bytes(result)),
        kind::STRING => match String::from_utf8(bytes(result)) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::Bytes(error.into_bytes()),
        },
        kind::TENSOR => Value::Tensor(Tensor::own(result.payload.storage)?),
        kind::ARGUMENT => match args.position_of(result.payload.t) {
            Some(i) => Value::Argument(i),
            None => return Err(Error::wrong_type("the function returned a tensor that ends with the call")),
        },
        kind::LIST => Value::List(items(result)?),
        kind::TUPLE => Value::Tuple(items(result)?),
        kind::COMPLEX => {
            let part = |i: usize| (*result.payload.v.add(i)).payload.f;
            Value::Complex(part(0), part(1))
        }
        kind::OBJECT => {
            drop(Tensor::own(result.payload.storage)?);
            return Err(Error::wrong_type(
                "the function returned an object of a framework, which Rust cannot take",
            ));
        }
        other => {
            return Err(Error::wrong_type(format!(
                "the function returned a value of the unknown kind {}",
                other
            )))
        }
    })
}

/// A pointer that a library shows: nothing is known of what it points to.
pub type Address = *const c_void;
