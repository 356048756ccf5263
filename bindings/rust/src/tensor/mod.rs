//! Tensors that own their memory.
#[macro_use]
pub(crate) mod shape;
mod view;

use std::fmt;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, Ordering};

pub use view::{TensorView, TensorViewMut};

use crate::element::{DType, Device, Element};
use crate::error::{Error, Result};
use crate::ffi::{tarsia_storage, tarsia_tensor};
use crate::kernel::Stream;
use crate::loader::api;
use shape::{shape_for, shape_of, Described};

/// A tensor that owns its memory: made here, returned by a function or an op, or taken over through [DLPack](crate::dlpack).
///
/// One `Tensor` owns a memory, so a `&Tensor` is only read and a `&mut Tensor` may be written to, as everywhere in Rust.
/// Pass it to calls in these forms; share it as an `Arc<Tensor>`. A function may return one tensor twice, or keep a reference to
/// what it returns. Such a tensor gives no slices, and goes to calls to be read alone, also as `&mut`, until there is one
/// reference left.
///
/// ```
/// use tarsia::Tensor;
/// # fn main() -> tarsia::Result<()> {
/// let mut x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// x.as_slice_mut::<f32>()?[0] = 7.0;
/// assert_eq!(x.shape(), [2, 3]);
/// assert_eq!(x.strides(), [3, 1]);
/// assert_eq!(x.as_slice::<f32>()?[..2], [7.0, 2.0]);
/// assert!(x.as_slice::<f64>().is_err());
/// # Ok(()) }
/// ```
pub struct Tensor {
    storage: NonNull<tarsia_storage>,
    read_only: bool,
}

// SAFETY: references are counted atomically, and whoever drops the last one may do so on any thread. Elements are plain
// data. Through a shared reference they are only read.
unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Tensor {
    /// A tensor of the CPU whose elements are 0. Errors: [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), a shape
    /// that is too large.
    pub fn zeros<T: Element>(shape: &[usize]) -> Result<Tensor> {
        Tensor::filled(T::ZERO, shape)
    }

    /// A tensor of the CPU all of whose elements are `value`.
    pub fn filled<T: Element>(value: T, shape: &[usize]) -> Result<Tensor> {
        let tensor = Tensor::unset(T::DTYPE, Device::Cpu, &shape_of(shape)?)?;
        // SAFETY: the tensor is new, contiguous, and has this dtype.
        unsafe {
            let (data, n) = tensor.described().elements::<T>()?;
            for i in 0..n {
                data.add(i).write(value);
            }
        }
        Ok(tensor)
    }

    /// A tensor of the CPU with a copy of the elements, in row-major order. Errors: a shape that does not hold as many.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[usize]) -> Result<Tensor> {
        let tensor = Tensor::unset(T::DTYPE, Device::Cpu, &shape_for(shape, elements.len())?)?;
        // SAFETY: as above, for as many elements.
        unsafe {
            let (data, n) = tensor.described().elements::<T>()?;
            ptr::copy_nonoverlapping(elements.as_ptr(), data, n);
        }
        Ok(tensor)
    }

    /// A tensor of the CPU over the vector's memory, which is not copied. Errors: a shape that does not hold as many
    /// elements.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[usize]) -> Result<Tensor> {
        let shape = shape_for(shape, elements.len())?;
        let mut parts = Parts::of(elements);
        let data = parts.data() as *mut c_void;
        let tensor = tarsia_tensor {
            data,
            device: Device::Cpu.raw(),
            ndim: shape.len() as i32,
            dtype: T::DTYPE.raw(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        Ok(own(tensor, Some(shape), Box::new(parts), false))
    }

    /// A contiguous tensor whose elements are unset.
    pub(crate) fn unset(dtype: DType, device: Device, shape: &[i64]) -> Result<Tensor> {
        let api = api()?;
        let mut storage = ptr::null_mut();
        // SAFETY: the shape has as many extents.
        let code = unsafe {
            (api.tarsia_empty)(shape.as_ptr(), shape.len() as i32, dtype.raw(), device.raw(), &mut storage)
        };
        api.check(code)?;
        // SAFETY: the call handed over a reference.
        unsafe { Tensor::own(storage) }
    }

    /// Takes over one reference.
    ///
    /// # Safety
    ///
    /// The reference is the caller's.
    pub(crate) unsafe fn own(storage: *mut tarsia_storage) -> Result<Tensor> {
        let storage = NonNull::new(storage).ok_or_else(|| Error::value("there is no tensor"))?;
        Ok(Tensor { storage, read_only: false })
    }

    pub(crate) fn raw(&self) -> *const tarsia_tensor {
        // SAFETY: the storage lives as long as the reference to it.
        unsafe { (*self.storage.as_ptr()).tensor }
    }

    pub(crate) fn described(&self) -> Described<'_> {
        // SAFETY: the tensor's arrays live as long as the storage.
        unsafe { Described::of_raw(&*self.raw()) }
    }

    describing_methods!();

    /// Whether its memory may not be written to. Only tensors that came through DLPack are.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The elements of a contiguous tensor of the CPU, in row-major order. Errors: another dtype, a GPU, gaps, memory that
    /// holds what is no `T` (as 2 is no `bool`), and a tensor that C++ code still shares.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.is_alone()?;
        // SAFETY: the storage keeps the memory. The only other ways to it are those of this object, which is borrowed.
        unsafe { self.described().as_slice() }
    }

    /// The elements to write to. Errors: those of [`Tensor::as_slice`], and memory that is read only.
    pub fn as_slice_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        if self.read_only {
            return Err(Error::value("the tensor's memory is read only: take a copy, with try_clone()"));
        }
        self.is_alone()?;
        // SAFETY: as above; this object is borrowed to be written to.
        unsafe { self.described().as_slice_mut() }
    }

    /// A copy of the elements in row-major order, whatever the strides; from GPUs, too, whose current work is waited for.
    /// Errors: another dtype, a tensor of a GPU that is not contiguous.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        match self.device() {
            // SAFETY: nothing writes to the memory while this object is borrowed.
            Device::Cpu => unsafe { self.described().to_vec() },
            _ if self.dtype() != T::DTYPE => Err(Error::wrong_type(format!(
                "the tensor holds {}, but its elements are asked for as {}",
                self.dtype(),
                T::DTYPE
            ))),
            _ => self.to_device(Device::Cpu)?.to_vec(),
        }
    }

    /// A copy on another device, or on the same. It is ordered on CUDA's default stream, and is complete when this returns if
    /// the CPU takes part. New memory is the CPU's or a GPU's own: a copy for [`Device::Pinned`] is on [`Device::Cpu`]. Errors: a
    /// tensor with gaps, no GPU, another kind of device.
    pub fn to_device(&self, device: Device) -> Result<Tensor> {
        self.to_device_on(device, Stream::DEFAULT)
    }

    /// The same on a stream.
    pub fn to_device_on(&self, device: Device, stream: Stream) -> Result<Tensor> {
        if !self.is_contiguous() {
            return Err(Error::value("a tensor that is not contiguous is not copied to other devices"));
        }
        let api = api()?;
        let copy = Tensor::unset(self.dtype(), device, self.described().shape)?;
        // SAFETY: both tensors are contiguous, of one shape and dtype.
        api.check(unsafe { (api.tarsia_copy)(copy.raw(), self.raw(), stream.raw()) })?;
        Ok(copy)
    }

    /// A copy on the same device.
    pub fn try_clone(&self) -> Result<Tensor> {
        self.to_device(self.device())
    }

    /// A view that is read, of another shape with as many elements. Errors: gaps, another number of elements.
    pub fn view(&self, shape: &[usize]) -> Result<TensorView<'_>> {
        let described = self.reshaped(shape)?;
        // SAFETY: the view borrows this object.
        Ok(unsafe { TensorView::of(described, shape_of(shape)?, None) })
    }

    /// A view that may be written to, of another shape with as many elements. Errors: those of [`Tensor::view`], and memory
    /// that is read only.
    pub fn view_mut(&mut self, shape: &[usize]) -> Result<TensorViewMut<'_>> {
        if self.read_only {
            return Err(Error::value("the tensor's memory is read only: take a copy, with try_clone()"));
        }
        let described = self.reshaped(shape)?;
        // SAFETY: the view borrows this object to be written to.
        Ok(unsafe { TensorViewMut::of(described, shape_of(shape)?, None) })
    }

    fn reshaped(&self, shape: &[usize]) -> Result<Described<'_>> {
        shape_for(shape, self.numel())?;
        self.is_alone()?;
        if !self.is_contiguous() {
            return Err(Error::value("a tensor that is not contiguous cannot be viewed in another shape"));
        }
        Ok(self.described())
    }

    /// Whether calls may write to the memory. Another reference to it may be another `Tensor`, which is being read.
    pub(crate) fn is_writable(&self) -> bool {
        !self.read_only && self.has_one_reference()
    }

    /// Nobody can add a reference but who has one.
    fn has_one_reference(&self) -> bool {
        // SAFETY: the counter lives as long as the storage, and everybody changes it atomically.
        let refs = unsafe { &*(ptr::addr_of!((*self.storage.as_ptr()).refs) as *const AtomicI32) };
        refs.load(Ordering::Acquire) == 1
    }

    /// Refuses a tensor to which there is another reference: C++ code that has one may write to the memory at any time.
    fn is_alone(&self) -> Result<()> {
        if self.has_one_reference() {
            return Ok(());
        }
        Err(Error::value(
            "C++ code still holds this tensor and may write to it, or it was returned twice: take a copy of the elements, \
             with to_vec()",
        ))
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: this gives the object's reference back, as <tarsia/abi.h> describes it.
        unsafe {
            let storage = self.storage.as_ptr();
            let refs = &*(ptr::addr_of!((*storage).refs) as *const AtomicI32);
            if refs.fetch_sub(1, Ordering::AcqRel) == 1 {
                if let Some(release) = (*storage).release {
                    release(storage);
                }
            }
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.described().debug("Tensor", f)
    }
}

/// What a storage that Rust makes holds. The storage comes first: its address is the object's.
#[repr(C)]
struct Owner {
    storage: tarsia_storage,
    tensor: tarsia_tensor,
    shape: Vec<i64>,
    _memory: Box<dyn Send>,
}

/// Makes a tensor that keeps `memory`. With a shape, the tensor's arrays are made of it.
pub(crate) fn own(
    tensor: tarsia_tensor,
    shape: Option<Vec<i64>>,
    memory: Box<dyn Send>,
    read_only: bool,
) -> Tensor {
    let storage = tarsia_storage {
        tensor: ptr::null(),
        refs: 1,
        framework: 0,
        context: ptr::null_mut(),
        release: Some(release),
    };
    let replaced = shape.is_some();
    let owner =
        Box::into_raw(Box::new(Owner { storage, tensor, shape: shape.unwrap_or_default(), _memory: memory }));
    // SAFETY: the object is new, and nobody else has its address.
    unsafe {
        if replaced {
            (*owner).tensor.shape = (*owner).shape.as_mut_ptr();
        }
        (*owner).storage.tensor = ptr::addr_of!((*owner).tensor);
        (*owner).storage.context = owner as *mut c_void;
        Tensor { storage: NonNull::new_unchecked(owner as *mut tarsia_storage), read_only }
    }
}

/// Frees an Owner. Dropping its memory does not panic: it is a vector of plain data, or calls a deleter of DLPack.
unsafe extern "C" fn release(storage: *mut tarsia_storage) {
    drop(Box::from_raw((*storage).context as *mut Owner));
}

/// A vector whose elements C reaches by their address.
struct Parts<T: Element> {
    data: *mut T,
    capacity: usize,
}
// SAFETY: it owns plain data.
unsafe impl<T: Element> Send for Parts<T> {}

impl<T: Element> Parts<T> {
    fn of(elements: Vec<T>) -> Parts<T> {
        let mut elements = ManuallyDrop::new(elements);
        Parts { data: elements.as_mut_ptr(), capacity: elements.capacity() }
    }
    fn data(&mut self) -> *mut T {
        self.data
    }
}

impl<T: Element> Drop for Parts<T> {
    fn drop(&mut self) {
        // SAFETY: these are the parts of a vector; its elements need no drop.
        drop(unsafe { Vec::from_raw_parts(self.data, 0, self.capacity) });
    }
}
