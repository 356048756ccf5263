//! What tensors and views have in common: shapes, strides, and checked access to elements.
use std::slice;

use crate::element::{DType, Device, Element};
use crate::error::{Error, ErrorKind, Result};
use crate::ffi::tarsia_tensor;

// Extents are int64_t in C. They are never negative, so they can be read as usize.
const _: () = assert!(std::mem::size_of::<usize>() == 8);

/// A borrowed description of a tensor. Its owner keeps the arrays.
#[derive(Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) data: *mut u8,
    pub(crate) device: Device,
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [i64],
    pub(crate) strides: Option<&'a [i64]>,
}

impl<'a> Described<'a> {
    /// # Safety
    ///
    /// The tensor's arrays live as long as 'a. Its data is null or the address of its memory.
    pub(crate) unsafe fn of_raw(raw: &'a tarsia_tensor) -> Described<'a> {
        let n = raw.ndim.max(0) as usize;
        let array = |start: *mut i64| if n == 0 { &[][..] } else { slice::from_raw_parts(start, n) };
        Described {
            data: (raw.data as *mut u8).wrapping_add(raw.byte_offset as usize),
            device: Device::of_raw(raw.device),
            dtype: DType::of_raw(raw.dtype),
            shape: array(raw.shape),
            strides: if raw.strides.is_null() { None } else { Some(array(raw.strides)) },
        }
    }

    /// The number of elements; None if it does not fit.
    pub(crate) fn checked_numel(&self) -> Option<usize> {
        numel_of(self.shape)
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        let strides = match self.strides {
            None => return true,
            Some(strides) => strides,
        };
        if self.shape.contains(&0) {
            return true;
        }
        let mut expected: i64 = 1;
        for (&extent, &stride) in self.shape.iter().zip(strides).rev() {
            if extent != 1 {
                if stride != expected {
                    return false;
                }
                expected = expected.saturating_mul(extent);
            }
        }
        true
    }

    pub(crate) fn strides(&self) -> Vec<isize> {
        match self.strides {
            Some(strides) => strides.iter().map(|&stride| stride as isize).collect(),
            None => row_major(self.shape).iter().map(|&stride| stride as isize).collect(),
        }
    }

    /// The address and the number of elements that a slice of T may have.
    pub(crate) fn elements<T: Element>(&self) -> Result<(*mut T, usize)> {
        if self.dtype != T::DTYPE {
            return Err(Error::wrong_type(format!(
                "the tensor holds {}, but its elements are asked for as {}",
                self.dtype,
                T::DTYPE
            )));
        }
        if self.device != Device::Cpu {
            return Err(Error::value(format!(
                "elements of a tensor are read and written on the CPU, and this one is on {:?}: copy it with to_device()",
                self.device
            )));
        }
        if !self.is_contiguous() {
            return Err(Error::value(
                "a slice is asked for of a tensor that is not contiguous: take to_vec(), or strides() and get()",
            ));
        }
        let n = self
            .checked_numel()
            .ok_or_else(|| Error::value("the tensor has more elements than memory has room for"))?;
        if n == 0 {
            return Ok((std::ptr::NonNull::dangling().as_ptr(), 0));
        }
        let data = self.data as *mut T;
        if data.is_null() {
            return Err(Error::value("the tensor has no memory"));
        }
        if data as usize % std::mem::align_of::<T>() != 0 {
            return Err(Error::value(format!(
                "the tensor's memory is not aligned to its elements, {} bytes: take to_vec()",
                std::mem::align_of::<T>()
            )));
        }
        Ok((data, n))
    }

    /// A slice of the elements.
    ///
    /// # Safety
    ///
    /// The memory lives as long as 'b, and nothing writes to it in that time.
    pub(crate) unsafe fn as_slice<'b, T: Element>(&self) -> Result<&'b [T]> {
        let (data, n) = self.elements::<T>()?;
        check_values::<T>(data, n)?;
        Ok(slice::from_raw_parts(data, n))
    }

    /// A slice of the elements that may be written to.
    ///
    /// # Safety
    ///
    /// The memory lives as long as 'b, and nothing else reads or writes it in that time.
    pub(crate) unsafe fn as_slice_mut<'b, T: Element>(&self) -> Result<&'b mut [T]> {
        let (data, n) = self.elements::<T>()?;
        check_values::<T>(data, n)?;
        Ok(slice::from_raw_parts_mut(data, n))
    }

    /// A copy of the elements in row-major order, whatever the strides.
    ///
    /// # Safety
    ///
    /// Nothing writes to the memory meanwhile.
    pub(crate) unsafe fn to_vec<T: Element>(self) -> Result<Vec<T>> {
        let plain = Described {
            strides: None,
            data: std::ptr::NonNull::<u128>::dangling().as_ptr() as *mut u8,
            ..self
        };
        let (_, n) = plain.elements::<T>()?; // the dtype, the device, the number
        if n != 0 && self.data.is_null() {
            return Err(Error::value("the tensor has no memory"));
        }
        let strides = self.strides();
        let mut copy: Vec<T> = Vec::new();
        copy.try_reserve_exact(n).map_err(|_| {
            Error::new(
                ErrorKind::OutOfMemory,
                "call",
                format!("there is no memory for {} elements of {}", n, T::DTYPE),
            )
        })?;
        let mut index = vec![0i64; self.shape.len()];
        for _ in 0..n {
            let offset: isize = index.iter().zip(&strides).map(|(&i, &stride)| i as isize * stride).sum();
            let element = (self.data as *const T).wrapping_offset(offset);
            check_values::<T>(element, 1)?;
            copy.push(element.read_unaligned());
            for (i, &extent) in index.iter_mut().zip(self.shape).rev() {
                *i += 1;
                if *i < extent {
                    break;
                }
                *i = 0;
            }
        }
        Ok(copy)
    }

    pub(crate) fn debug(&self, name: &str, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}, shape {:?}, on {:?}", name, self.dtype, self.shape, self.device)
    }
}

/// Refuses memory that holds other bits than values of T.
unsafe fn check_values<T: Element>(data: *const T, n: usize) -> Result<()> {
    // Elements have no padding, so all of their bytes can be read.
    if T::are_valid(slice::from_raw_parts(data as *const u8, n * std::mem::size_of::<T>())) {
        return Ok(());
    }
    Err(Error::value(format!("the tensor's memory holds what is no {}", T::DTYPE)))
}

/// The number of elements; None if it is negative or their number does not fit.
pub(crate) fn numel_of(shape: &[i64]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &extent| n.checked_mul(usize::try_from(extent).ok()?))
        .filter(|&n| n <= isize::MAX as usize / 16)
}

/// A shape as C has it. Errors: an extent or a number of elements that is too large.
pub(crate) fn shape_of(shape: &[usize]) -> Result<Vec<i64>> {
    let extents: Option<Vec<i64>> = shape.iter().map(|&extent| i64::try_from(extent).ok()).collect();
    match extents {
        Some(extents) if extents.len() <= 64 && numel_of(&extents).is_some() => Ok(extents),
        _ => Err(Error::value(format!(
            "a tensor cannot have the shape {:?}: it has too many elements or dimensions",
            shape
        ))),
    }
}

/// The shape of a number of elements that must fill it.
pub(crate) fn shape_for(shape: &[usize], n: usize) -> Result<Vec<i64>> {
    let extents = shape_of(shape)?;
    if numel_of(&extents) != Some(n) {
        return Err(Error::value(format!("a tensor of shape {:?} does not hold {} elements", shape, n)));
    }
    Ok(extents)
}

/// The strides of row-major elements without gaps.
pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

/// Extents as Rust has them.
pub(crate) fn as_usize(shape: &[i64]) -> &[usize] {
    // SAFETY: the types have the same size and alignment, and all bits are values of usize.
    unsafe { slice::from_raw_parts(shape.as_ptr() as *const usize, shape.len()) }
}

/// The methods that tensors and views have in common. The type has a method `described(&self) -> Described<'_>`.
macro_rules! describing_methods {
    () => {
        /// The extents.
        pub fn shape(&self) -> &[usize] {
            $crate::tensor::shape::as_usize(self.described().shape)
        }
        /// The number of dimensions.
        pub fn ndim(&self) -> usize {
            self.described().shape.len()
        }
        /// The number of elements.
        pub fn numel(&self) -> usize {
            self.described().checked_numel().unwrap_or(usize::MAX)
        }
        /// The strides, in elements.
        pub fn strides(&self) -> Vec<isize> {
            self.described().strides()
        }
        /// The type of the elements.
        pub fn dtype(&self) -> $crate::DType {
            self.described().dtype
        }
        /// The device that holds the elements.
        pub fn device(&self) -> $crate::Device {
            self.described().device
        }
        /// Whether the elements lie in row-major order without gaps.
        pub fn is_contiguous(&self) -> bool {
            self.described().is_contiguous()
        }
        /// The address of the first element, on the tensor's device. Null or dangling if there are no elements.
        pub fn as_ptr(&self) -> *const u8 {
            self.described().data
        }
    };
}
