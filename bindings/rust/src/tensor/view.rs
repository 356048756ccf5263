//! Tensors over borrowed memory.
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;

use super::shape::{numel_of, shape_for, shape_of, Described};
use crate::element::{DType, Device, Element};
use crate::error::{Error, Result};
use crate::ffi::tarsia_tensor;

/// What both views are: an address, a type and a shape.
struct View {
    data: *mut u8,
    device: Device,
    dtype: DType,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
}

impl View {
    fn described(&self) -> Described<'_> {
        Described {
            data: self.data,
            device: self.device,
            dtype: self.dtype,
            shape: &self.shape,
            strides: self.strides.as_deref(),
        }
    }

    /// The view in C's form. It borrows the arrays, which C only reads.
    fn raw(&self) -> tarsia_tensor {
        tarsia_tensor {
            data: self.data as *mut c_void,
            device: self.device.raw(),
            ndim: self.shape.len() as i32,
            dtype: self.dtype.raw(),
            shape: self.shape.as_ptr() as *mut i64,
            strides: self
                .strides
                .as_ref()
                .map_or(std::ptr::null_mut(), |strides| strides.as_ptr() as *mut i64),
            byte_offset: 0,
        }
    }
}

/// The strides, if all elements that they reach lie among `n`.
fn strides_within(shape: &[i64], strides: &[usize], n: usize) -> Result<Vec<i64>> {
    let refuse = || {
        Error::value(format!(
            "a tensor of shape {:?} with the strides {:?} reaches elements beyond the {} that there are",
            shape, strides, n
        ))
    };
    if strides.len() != shape.len() {
        return Err(Error::value(format!(
            "{} strides are given for {} dimensions",
            strides.len(),
            shape.len()
        )));
    }
    let mut last = 0usize;
    for (&extent, &stride) in shape.iter().zip(strides) {
        let reach = (extent.max(1) as usize - 1).checked_mul(stride).ok_or_else(refuse)?;
        last = last.checked_add(reach).ok_or_else(refuse)?;
    }
    if numel_of(shape) != Some(0) && last >= n {
        return Err(refuse());
    }
    strides.iter().map(|&stride| i64::try_from(stride).map_err(|_| refuse())).collect()
}

/// A tensor over memory that is borrowed and only read.
///
/// ```
/// use tarsia::TensorView;
/// # fn main() -> tarsia::Result<()> {
/// let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = TensorView::new(&numbers, &[2, 3])?;
/// let columns = TensorView::with_strides(&numbers, &[3, 2], &[1, 3])?; // the transposed
/// assert_eq!(rows.as_slice::<f32>()?, numbers);
/// assert_eq!(columns.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(()) }
/// ```
///
/// It cannot outlive the memory:
///
/// ```compile_fail,E0505
/// let numbers = vec![1.0f32, 2.0];
/// let view = tarsia::TensorView::new(&numbers, &[2]).unwrap();
/// drop(numbers);
/// view.numel();
/// ```
pub struct TensorView<'a> {
    view: View,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: as with &[T] of plain data.
unsafe impl Send for TensorView<'_> {}
unsafe impl Sync for TensorView<'_> {}

impl<'a> TensorView<'a> {
    /// A view of elements in row-major order. Errors: a shape that does not hold as many.
    pub fn new<T: Element>(elements: &'a [T], shape: &[usize]) -> Result<TensorView<'a>> {
        let shape = shape_for(shape, elements.len())?;
        Ok(TensorView { view: view_of(elements.as_ptr() as *mut T, shape, None), memory: PhantomData })
    }

    /// A view with strides, which count elements. Errors: elements that lie outside of the slice.
    pub fn with_strides<T: Element>(
        elements: &'a [T],
        shape: &[usize],
        strides: &[usize],
    ) -> Result<TensorView<'a>> {
        let shape = shape_of(shape)?;
        let strides = strides_within(&shape, strides, elements.len())?;
        Ok(TensorView {
            view: view_of(elements.as_ptr() as *mut T, shape, Some(strides)),
            memory: PhantomData,
        })
    }

    /// # Safety
    ///
    /// The memory lives as long as 'a, is not written to, and holds the shape.
    pub(super) unsafe fn of(
        memory: Described<'_>,
        shape: Vec<i64>,
        strides: Option<Vec<i64>>,
    ) -> TensorView<'a> {
        let view = View { data: memory.data, device: memory.device, dtype: memory.dtype, shape, strides };
        TensorView { view, memory: PhantomData }
    }

    pub(crate) fn described(&self) -> Described<'_> {
        self.view.described()
    }
    pub(crate) fn raw(&self) -> tarsia_tensor {
        self.view.raw()
    }

    describing_methods!();

    /// The elements of a contiguous view, in row-major order. Errors: those of [`Tensor::as_slice`](crate::Tensor::as_slice).
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        // SAFETY: the memory is borrowed for 'a.
        unsafe { self.described().as_slice() }
    }
    /// A copy of the elements in row-major order, whatever the strides. Errors: another dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        // SAFETY: as above.
        unsafe { self.described().to_vec() }
    }
}

/// A tensor over memory that is borrowed and may be written to.
///
/// ```
/// use tarsia::TensorViewMut;
/// # fn main() -> tarsia::Result<()> {
/// let mut numbers = vec![0i32; 4];
/// let mut view = TensorViewMut::new(&mut numbers, &[2, 2])?;
/// view.as_slice_mut::<i32>()?[3] = 5;
/// assert_eq!(numbers, [0, 0, 0, 5]);
/// # Ok(()) }
/// ```
///
/// While it lives, nobody else reaches the memory:
///
/// ```compile_fail,E0502
/// let mut numbers = vec![0i32; 4];
/// let mut view = tarsia::TensorViewMut::new(&mut numbers, &[4]).unwrap();
/// let first = numbers[0];
/// view.as_slice_mut::<i32>().unwrap()[0] = first;
/// ```
pub struct TensorViewMut<'a> {
    view: View,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: as with &mut [T] of plain data.
unsafe impl Send for TensorViewMut<'_> {}
unsafe impl Sync for TensorViewMut<'_> {}

impl<'a> TensorViewMut<'a> {
    /// A view of elements in row-major order. Errors: a shape that does not hold as many.
    pub fn new<T: Element>(elements: &'a mut [T], shape: &[usize]) -> Result<TensorViewMut<'a>> {
        let shape = shape_for(shape, elements.len())?;
        Ok(TensorViewMut { view: view_of(elements.as_mut_ptr(), shape, None), memory: PhantomData })
    }

    /// A view with strides, which count elements. Errors: elements that lie outside of the slice.
    pub fn with_strides<T: Element>(
        elements: &'a mut [T],
        shape: &[usize],
        strides: &[usize],
    ) -> Result<TensorViewMut<'a>> {
        let shape = shape_of(shape)?;
        let strides = strides_within(&shape, strides, elements.len())?;
        Ok(TensorViewMut { view: view_of(elements.as_mut_ptr(), shape, Some(strides)), memory: PhantomData })
    }

    /// # Safety
    ///
    /// The memory lives as long as 'a, nobody else reaches it, and it holds the shape.
    pub(super) unsafe fn of(
        memory: Described<'_>,
        shape: Vec<i64>,
        strides: Option<Vec<i64>>,
    ) -> TensorViewMut<'a> {
        let view = View { data: memory.data, device: memory.device, dtype: memory.dtype, shape, strides };
        TensorViewMut { view, memory: PhantomData }
    }

    pub(crate) fn described(&self) -> Described<'_> {
        self.view.described()
    }
    pub(crate) fn raw(&self) -> tarsia_tensor {
        self.view.raw()
    }

    describing_methods!();

    /// The elements of a contiguous view, in row-major order. Errors: those of [`Tensor::as_slice`](crate::Tensor::as_slice).
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        // SAFETY: the memory is borrowed for 'a, through this object alone.
        unsafe { self.described().as_slice() }
    }
    /// The elements to write to. Errors: those of [`TensorViewMut::as_slice`].
    pub fn as_slice_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        // SAFETY: as above.
        unsafe { self.described().as_slice_mut() }
    }
    /// A copy of the elements in row-major order, whatever the strides. Errors: another dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        // SAFETY: as above.
        unsafe { self.described().to_vec() }
    }
}

fn view_of<T: Element>(data: *mut T, shape: Vec<i64>, strides: Option<Vec<i64>>) -> View {
    View { data: data as *mut u8, device: Device::Cpu, dtype: T::DTYPE, shape, strides }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.described().debug("TensorView", f)
    }
}

impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.described().debug("TensorViewMut", f)
    }
}
