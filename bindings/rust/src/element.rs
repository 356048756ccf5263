//! Types of elements and devices.
use std::fmt;

use crate::ffi::{code, device, tarsia_device, tarsia_dtype};

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

macro_rules! dtypes {
    ($($name:ident = $code:expr, $bits:literal;)*) => {
        #[allow(missing_docs)]
        impl DType {
            $(pub const $name: DType = DType { code: $code, bits: $bits, lanes: 1 };)*
        }
    };
}
dtypes! {
    BOOL = code::BOOL, 8;
    INT8 = code::INT, 8; INT16 = code::INT, 16; INT32 = code::INT, 32; INT64 = code::INT, 64;
    UINT8 = code::UINT, 8; UINT16 = code::UINT, 16; UINT32 = code::UINT, 32; UINT64 = code::UINT, 64;
    FLOAT16 = code::FLOAT, 16; FLOAT32 = code::FLOAT, 32; FLOAT64 = code::FLOAT, 64;
    BFLOAT16 = code::BFLOAT, 16; COMPLEX64 = code::COMPLEX, 64; COMPLEX128 = code::COMPLEX, 128;
}

impl DType {
    /// The number of bytes of one element.
    pub fn bytes(self) -> usize {
        (usize::from(self.bits) * usize::from(self.lanes) + 7) / 8
    }
    pub(crate) fn raw(self) -> tarsia_dtype {
        tarsia_dtype { code: self.code, bits: self.bits, lanes: self.lanes }
    }
    pub(crate) fn of_raw(raw: tarsia_dtype) -> DType {
        DType { code: raw.code, bits: raw.bits, lanes: raw.lanes }
    }
}

/// The name, as in "float32".
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = match self.code {
            code::INT => "int",
            code::UINT => "uint",
            code::FLOAT => "float",
            code::BFLOAT => "bfloat",
            code::COMPLEX => "complex",
            code::BOOL => return f.write_str("bool"),
            _ => "dtype",
        };
        write!(f, "{}{}", base, self.bits)?;
        if self.lanes > 1 {
            write!(f, "x{}", self.lanes)?;
        }
        Ok(())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The CPU or a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// Memory of the CPU.
    Cpu,
    /// A GPU by its number, from 0.
    Gpu(i32),
    /// Memory of the CPU that GPUs may use.
    Pinned(i32),
    /// Memory that moves between the CPU and GPUs.
    Managed(i32),
    /// A device type of DLPack that Tarsia does not know, and which one.
    Other(i32, i32),
}

impl Device {
    pub(crate) fn raw(self) -> tarsia_device {
        let (type_, id) = match self {
            Device::Cpu => (device::CPU, 0),
            Device::Gpu(id) => (device::GPU, id),
            Device::Pinned(id) => (device::GPU_HOST, id),
            Device::Managed(id) => (device::GPU_MANAGED, id),
            Device::Other(type_, id) => (type_, id),
        };
        tarsia_device { type_, id }
    }
    pub(crate) fn of_raw(raw: tarsia_device) -> Device {
        match raw.type_ {
            device::CPU => Device::Cpu,
            device::GPU => Device::Gpu(raw.id),
            device::GPU_HOST => Device::Pinned(raw.id),
            device::GPU_MANAGED => Device::Managed(raw.id),
            other => Device::Other(other, raw.id),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of elements. It has no padding, and any bits are a value of it, except of `bool`.
pub trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The dtype of tensors of such elements.
    const DTYPE: DType;
    /// The element whose bits are all 0.
    const ZERO: Self;
    /// Whether `bytes`, memory of such elements, holds values of this type alone.
    #[doc(hidden)]
    fn are_valid(_bytes: &[u8]) -> bool {
        true
    }
}

macro_rules! elements {
    ($($type:ty = $dtype:ident, $zero:expr;)*) => {
        $(impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            const ZERO: $type = $zero;
        })*
    };
}
elements! {
    i8 = INT8, 0; i16 = INT16, 0; i32 = INT32, 0; i64 = INT64, 0;
    u8 = UINT8, 0; u16 = UINT16, 0; u32 = UINT32, 0; u64 = UINT64, 0;
    f32 = FLOAT32, 0.0; f64 = FLOAT64, 0.0;
    F16 = FLOAT16, F16(0); BF16 = BFLOAT16, BF16(0);
    Complex32 = COMPLEX64, Complex32 { re: 0.0, im: 0.0 };
    Complex64 = COMPLEX128, Complex64 { re: 0.0, im: 0.0 };
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::BOOL;
    const ZERO: bool = false;
    fn are_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte <= 1)
    }
}

/// The bits of a half-precision number of IEEE 754.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(
    /// The bits.
    pub u16,
);

/// The bits of a bfloat16, the upper half of an `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct BF16(
    /// The bits.
    pub u16,
);

/// A complex number of two `f32`, aligned as its dtype, complex64, is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(8))]
pub struct Complex32 {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

/// A complex number of two `f64`, aligned as its dtype, complex128, is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct Complex64 {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_size_of_their_dtype_and_no_padding() {
        fn check<T: Element>(name: &str) {
            assert_eq!(std::mem::size_of::<T>(), T::DTYPE.bytes(), "{}", name);
            assert_eq!(T::DTYPE.to_string(), name);
        }
        check::<bool>("bool");
        check::<i8>("int8");
        check::<u16>("uint16");
        check::<i64>("int64");
        check::<f64>("float64");
        check::<F16>("float16");
        check::<BF16>("bfloat16");
        check::<Complex32>("complex64");
        check::<Complex64>("complex128");
        assert_eq!(DType { code: 2, bits: 32, lanes: 4 }.to_string(), "float32x4");
    }

    #[test]
    fn devices_are_those_of_dlpack() {
        for device in
            [Device::Cpu, Device::Gpu(3), Device::Pinned(0), Device::Managed(1), Device::Other(10, 2)]
        {
            assert_eq!(Device::of_raw(device.raw()), device);
        }
    }
}
