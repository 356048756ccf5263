//! Tensors through DLPack, as <https://dmlc.github.io/dlpack/latest/c_api.html> lays them out: to and from other libraries of
//! the process, without a copy. The structs are those of version 1.0 and of the time before it.
//!
//! ```
//! use tarsia::Tensor;
//! # fn main() -> tarsia::Result<()> {
//! let managed = Tensor::from_vec(vec![1i64, 2, 3], &[3])?.into_dlpack();
//! // SAFETY: the tensor is this program's own, and nobody else has it.
//! let tensor = unsafe { Tensor::from_dlpack(managed)? };
//! assert_eq!(tensor.as_slice::<i64>()?, [1, 2, 3]);
//! # Ok(()) }
//! ```
use std::os::raw::c_void;

use crate::element::{DType, Device};
use crate::error::{Error, Result};
use crate::ffi::{tarsia_device, tarsia_dtype, tarsia_tensor};
use crate::tensor::{own, shape, Tensor};

/// DLPack's DLDevice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// 1 is the CPU, 2 a GPU of CUDA.
    pub device_type: i32,
    /// Which one of its type, from 0.
    pub device_id: i32,
}

/// DLPack's DLDataType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool.
    pub code: u8,
    /// Of one lane.
    pub bits: u8,
    /// 1 for scalars.
    pub lanes: u16,
}

/// DLPack's DLTensor.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// The memory.
    pub data: *mut c_void,
    /// Where it lies.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The extents.
    pub shape: *mut i64,
    /// The strides in elements; null: row-major without gaps.
    pub strides: *mut i64,
    /// Where the first element lies, in bytes from `data`.
    pub byte_offset: u64,
}

/// DLPack's DLPackVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLPackVersion {
    /// Structs of another major version have another layout.
    pub major: u32,
    /// Minor versions add.
    pub minor: u32,
}

/// DLPack's DLManagedTensorVersioned.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The producer's version.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Bit 0: the memory may not be written to.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// DLPack's DLManagedTensor, of the time before version 1.0.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

const MAJOR: u32 = 1;
const READ_ONLY: u64 = 1;

/// What an exported tensor keeps: the tensor, and the strides that DLPack wants told.
struct Exported<M> {
    managed: M,
    strides: Vec<i64>,
    _tensor: Tensor,
}

impl Tensor {
    /// Hands the tensor over. Who gets it calls `deleter` once, on any thread; without that the memory is never freed.
    pub fn into_dlpack(self) -> *mut DLManagedTensorVersioned {
        let flags = if self.is_read_only() { READ_ONLY } else { 0 };
        let managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: MAJOR, minor: 0 },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags,
            dl_tensor: exported(&self),
        };
        let made = export(self, managed);
        // SAFETY: the object is new, and nobody else has its address.
        unsafe {
            (*made).managed.manager_ctx = made as *mut c_void;
            (*made).managed.dl_tensor.strides = (*made).strides.as_mut_ptr();
            std::ptr::addr_of_mut!((*made).managed)
        }
    }

    /// Hands the tensor over in the form of the time before version 1.0, which cannot tell that memory is read only. Errors: a
    /// tensor that is.
    pub fn into_dlpack_unversioned(self) -> Result<*mut DLManagedTensor> {
        if self.is_read_only() {
            return Err(Error::value(
                "a tensor that is read only cannot be handed over in DLPack's old form: take into_dlpack()",
            ));
        }
        let managed = DLManagedTensor {
            dl_tensor: exported(&self),
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_unversioned),
        };
        let made = export(self, managed);
        // SAFETY: as above.
        unsafe {
            (*made).managed.manager_ctx = made as *mut c_void;
            (*made).managed.dl_tensor.strides = (*made).strides.as_mut_ptr();
            Ok(std::ptr::addr_of_mut!((*made).managed))
        }
    }

    /// Takes a tensor over, and calls its deleter when the last reference goes, on any thread; also at once, after an error.
    /// Errors: null, another major version, a tensor without memory or with memory that is not aligned to its elements.
    ///
    /// # Safety
    ///
    /// `managed` is null, or a tensor of DLPack that is the caller's to hand over. Until its deleter is called, nobody else
    /// writes to the memory, and nobody else reads it unless the tensor is read only.
    pub unsafe fn from_dlpack(managed: *mut DLManagedTensorVersioned) -> Result<Tensor> {
        if managed.is_null() {
            return Err(Error::value("there is no tensor: DLPack's pointer is null"));
        }
        let owner =
            Imported { managed, delete: |managed| (*managed).deleter.map_or((), |deleter| deleter(managed)) };
        let version = (*managed).version;
        if version.major != MAJOR {
            return Err(Error::new(
                crate::ErrorKind::Unsupported,
                "call",
                format!(
                    "the tensor has DLPack's version {}.{}, and this crate takes {}.x",
                    version.major, version.minor, MAJOR
                ),
            ));
        }
        import((*managed).dl_tensor, Box::new(owner), (*managed).flags & READ_ONLY != 0)
    }

    /// Takes a tensor over that has the form of the time before version 1.0.
    ///
    /// # Safety
    ///
    /// As for [`Tensor::from_dlpack`]. The memory may be written to.
    pub unsafe fn from_dlpack_unversioned(managed: *mut DLManagedTensor) -> Result<Tensor> {
        if managed.is_null() {
            return Err(Error::value("there is no tensor: DLPack's pointer is null"));
        }
        let owner =
            Imported { managed, delete: |managed| (*managed).deleter.map_or((), |deleter| deleter(managed)) };
        import((*managed).dl_tensor, Box::new(owner), false)
    }
}

fn exported(tensor: &Tensor) -> DLTensor {
    // SAFETY: the tensor lives.
    let raw = unsafe { &*tensor.raw() };
    DLTensor {
        data: raw.data,
        device: DLDevice { device_type: raw.device.type_, device_id: raw.device.id },
        ndim: raw.ndim,
        dtype: DLDataType { code: raw.dtype.code, bits: raw.dtype.bits, lanes: raw.dtype.lanes },
        shape: raw.shape,
        strides: std::ptr::null_mut(),
        byte_offset: raw.byte_offset,
    }
}

fn export<M>(tensor: Tensor, managed: M) -> *mut Exported<M> {
    let strides = tensor.strides().iter().map(|&stride| stride as i64).collect();
    Box::into_raw(Box::new(Exported { managed, strides, _tensor: tensor }))
}

unsafe extern "C" fn delete_versioned(managed: *mut DLManagedTensorVersioned) {
    drop(Box::from_raw((*managed).manager_ctx as *mut Exported<DLManagedTensorVersioned>));
}

unsafe extern "C" fn delete_unversioned(managed: *mut DLManagedTensor) {
    drop(Box::from_raw((*managed).manager_ctx as *mut Exported<DLManagedTensor>));
}

/// A tensor of another library, which is given back when this is dropped.
struct Imported<M> {
    managed: *mut M,
    delete: unsafe fn(*mut M),
}
// SAFETY: DLPack's deleters may be called on any thread.
unsafe impl<M> Send for Imported<M> {}

impl<M> Drop for Imported<M> {
    fn drop(&mut self) {
        // SAFETY: the tensor was handed over, and this is called once.
        unsafe { (self.delete)(self.managed) }
    }
}

/// Makes a tensor of one that `owner` keeps, with its arrays. The struct is copied: `owner` frees it after an error.
unsafe fn import(tensor: DLTensor, owner: Box<dyn Send>, read_only: bool) -> Result<Tensor> {
    let ndim = usize::try_from(tensor.ndim)
        .ok()
        .filter(|&ndim| ndim <= 64 && (ndim == 0 || !tensor.shape.is_null()));
    let extents = match ndim {
        None => {
            return Err(Error::value(format!("DLPack's tensor has {} dimensions, or no shape", tensor.ndim)))
        }
        Some(0) => &[][..],
        Some(ndim) => std::slice::from_raw_parts(tensor.shape, ndim),
    };
    let n = shape::numel_of(extents)
        .filter(|_| extents.iter().all(|&extent| extent >= 0))
        .ok_or_else(|| Error::value(format!("DLPack's tensor has the shape {:?}", extents)))?;
    let dtype = DType { code: tensor.dtype.code, bits: tensor.dtype.bits, lanes: tensor.dtype.lanes };
    let device = tarsia_device { type_: tensor.device.device_type, id: tensor.device.device_id };
    if n != 0 && tensor.data.is_null() {
        return Err(Error::value("DLPack's tensor has elements and no memory"));
    }
    let address = (tensor.data as usize).wrapping_add(tensor.byte_offset as usize);
    let alignment = usize::from(dtype.bits) / 8;
    if n != 0
        && Device::of_raw(device) == Device::Cpu
        && alignment.is_power_of_two()
        && address % alignment != 0
    {
        return Err(Error::value(format!(
            "DLPack's tensor has memory that is not aligned to its elements of {}",
            dtype
        )));
    }
    let raw = tarsia_tensor {
        data: tensor.data,
        device,
        ndim: tensor.ndim,
        dtype: tarsia_dtype { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes },
        shape: tensor.shape,
        strides: tensor.strides,
        byte_offset: tensor.byte_offset,
    };
    Ok(own(raw, None, owner, read_only))
}
