//! Tensors and views: shapes, elements, ownership, DLPack.
mod support;

use std::os::raw::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use support::load;
use tarsia::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use tarsia::{Complex32, DType, Device, ErrorKind, Tensor, TensorView, TensorViewMut, BF16, F16};

#[test]
fn tensors_have_shapes_and_elements() {
    let mut x = Tensor::zeros::<f32>(&[2, 3]).unwrap();
    assert_eq!((x.shape(), x.ndim(), x.numel()), (&[2usize, 3][..], 2, 6));
    assert_eq!((x.strides(), x.dtype(), x.device()), (vec![3, 1], DType::FLOAT32, Device::Cpu));
    assert!(x.is_contiguous() && !x.is_read_only());
    assert_eq!(x.as_slice::<f32>().unwrap(), [0.0; 6]);
    x.as_slice_mut::<f32>().unwrap()[5] = 1.0;
    assert_eq!(x.try_clone().unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(Tensor::filled(true, &[2]).unwrap().as_slice::<bool>().unwrap(), [true, true]);
    assert_eq!(Tensor::from_slice(&[1u64, 2], &[1, 2]).unwrap().to_vec::<u64>().unwrap(), [1, 2]);
    let z = Tensor::from_vec(vec![Complex32 { re: 1.0, im: 2.0 }], &[1]).unwrap();
    assert_eq!((z.dtype(), z.as_slice::<Complex32>().unwrap()[0].im), (DType::COMPLEX64, 2.0));
    assert_eq!(Tensor::from_vec(vec![F16(0x3c00)], &[1]).unwrap().dtype().to_string(), "float16");
    assert_eq!(Tensor::from_vec(vec![BF16(0x3f80)], &[1]).unwrap().dtype().to_string(), "bfloat16");
    assert_eq!(format!("{:?}", z), "Tensor of complex64, shape [1], on Cpu");
}

#[test]
fn elements_of_another_dtype_are_refused() {
    let x = Tensor::zeros::<f32>(&[1]).unwrap();
    let error = x.as_slice::<i32>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ArgumentType);
    assert!(
        error.to_string().contains("holds float32, but its elements are asked for as int32"),
        "{}",
        error
    );
    assert!(x.to_vec::<f64>().is_err());
}

#[test]
fn shapes_hold_their_elements() {
    for error in [
        Tensor::from_vec(vec![1, 2, 3], &[2]).unwrap_err(),
        Tensor::from_slice(&[1, 2, 3], &[2, 2]).unwrap_err(),
        Tensor::zeros::<u8>(&[usize::MAX]).unwrap_err(),
        Tensor::zeros::<u8>(&[usize::MAX / 2, 4]).unwrap_err(),
        Tensor::zeros::<u8>(&[1 << 40, 1 << 40]).unwrap_err(),
        Tensor::zeros::<u8>(&[1; 65]).unwrap_err(),
        TensorView::new(&[1, 2], &[3]).unwrap_err(),
        TensorViewMut::new(&mut [1, 2], &[1]).unwrap_err(),
        TensorView::with_strides(&[1, 2, 3], &[2, 2], &[2, 1]).unwrap_err(),
        TensorView::with_strides(&[1, 2, 3], &[2], &[usize::MAX]).unwrap_err(),
        TensorView::with_strides(&[1, 2, 3], &[2, 2], &[1]).unwrap_err(),
        TensorView::with_strides::<i32>(&[], &[1], &[1]).unwrap_err(),
        Tensor::zeros::<u8>(&[4]).unwrap().view(&[3]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ArgumentValue, "{}", error);
    }
    let huge = Tensor::zeros::<f64>(&[1 << 50]).unwrap_err();
    assert_eq!(huge.kind(), ErrorKind::OutOfMemory, "{}", huge);
    assert_eq!(TensorView::with_strides::<i32>(&[], &[0, 5], &[9, 9]).unwrap().to_vec::<i32>().unwrap(), []);
    assert_eq!(Tensor::from_vec(Vec::<f32>::new(), &[0, 7]).unwrap().as_slice::<f32>().unwrap(), []);
    assert_eq!(Tensor::zeros::<i64>(&[]).unwrap().as_slice::<i64>().unwrap(), [0]);
}

#[test]
fn a_copy_that_no_memory_holds_is_an_error() {
    let one = [1u8];
    let repeated = TensorView::with_strides(&one, &[1 << 58], &[0]).unwrap();
    assert_eq!(repeated.to_vec::<u8>().unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn devices_that_no_machine_has_are_an_error() {
    let x = Tensor::zeros::<f32>(&[2]).unwrap();
    for device in [Device::Gpu(-1), Device::Gpu(i32::MAX), Device::Other(77, 0), Device::Other(-1, -1)] {
        assert!(x.to_device(device).is_err(), "{:?}", device);
    }
}

#[test]
fn a_vector_becomes_a_tensor_without_a_copy() {
    let vector = vec![1i16, 2, 3];
    let address = vector.as_ptr() as *const u8;
    let tensor = Tensor::from_vec(vector, &[3]).unwrap();
    assert_eq!(tensor.as_ptr(), address);
}

#[test]
fn views_see_the_tensors_memory() {
    let mut x = Tensor::from_vec((0..6).collect::<Vec<i32>>(), &[6]).unwrap();
    x.view_mut(&[2, 3]).unwrap().as_slice_mut::<i32>().unwrap()[4] = 40;
    let rows = x.view(&[3, 2]).unwrap();
    assert_eq!(rows.strides(), [2, 1]);
    assert_eq!(rows.as_slice::<i32>().unwrap(), [0, 1, 2, 3, 40, 5]);
    let numbers = [0i32, 1, 2, 3, 4, 5];
    let every_second = TensorView::with_strides(&numbers, &[3], &[2]).unwrap();
    assert!(every_second.as_slice::<i32>().unwrap_err().to_string().contains("not contiguous"));
    assert_eq!(every_second.to_vec::<i32>().unwrap(), [0, 2, 4]);
    let repeated = TensorView::with_strides(&numbers, &[2, 2], &[0, 1]).unwrap();
    assert_eq!(repeated.to_vec::<i32>().unwrap(), [0, 1, 0, 1]);
}

#[test]
fn tensors_and_views_go_to_other_threads() {
    fn takes<T: Send + Sync>(_: &T) {}
    let sum = load("double sum(const double* x, long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }")
        .function("sum")
        .unwrap();
    let x = Arc::new(Tensor::filled(0.5f64, &[100]).unwrap());
    takes(&*x);
    takes(&x.view(&[100]).unwrap());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (x, sum) = (x.clone(), sum.clone());
            std::thread::spawn(move || sum.call::<f64>((&*x, x.numel())).unwrap())
        })
        .collect();
    drop(x);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 50.0);
    }
}

#[test]
fn gpus_that_are_not_there_are_an_error() {
    let x = Tensor::zeros::<f32>(&[2]).unwrap();
    let there = x.to_device(Device::Gpu(0));
    if tarsia::device_count().unwrap() == 0 {
        assert_eq!(there.unwrap_err().kind(), ErrorKind::Cuda);
    } else {
        let there = there.unwrap();
        assert!(there.as_slice::<f32>().is_err());
        assert_eq!(there.to_vec::<f32>().unwrap(), [0.0, 0.0]);
    }
}

/// A producer of DLPack's tensors that counts its deletions.
struct Producer {
    deleted: Arc<AtomicUsize>,
    _memory: Vec<f32>,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
}

fn produced(
    shape: &[i64],
    strides: Option<&[i64]>,
    memory: Vec<f32>,
) -> (DLTensor, *mut c_void, Arc<AtomicUsize>) {
    let deleted = Arc::new(AtomicUsize::new(0));
    let mut producer = Box::new(Producer {
        deleted: deleted.clone(),
        _memory: memory,
        _shape: shape.to_vec(),
        _strides: strides.unwrap_or_default().to_vec(),
    });
    let tensor = DLTensor {
        data: producer._memory.as_mut_ptr() as *mut c_void,
        device: DLDevice { device_type: 1, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
        shape: producer._shape.as_mut_ptr(),
        strides: if strides.is_some() { producer._strides.as_mut_ptr() } else { std::ptr::null_mut() },
        byte_offset: 0,
    };
    (tensor, Box::into_raw(producer) as *mut c_void, deleted)
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    let managed = Box::from_raw(managed);
    Box::from_raw(managed.manager_ctx as *mut Producer).deleted.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn delete_old(managed: *mut DLManagedTensor) {
    let managed = Box::from_raw(managed);
    Box::from_raw(managed.manager_ctx as *mut Producer).deleted.fetch_add(1, Ordering::SeqCst);
}

fn versioned(
    (dl_tensor, manager_ctx, deleted): (DLTensor, *mut c_void, Arc<AtomicUsize>),
    change: impl FnOnce(&mut DLManagedTensorVersioned),
) -> (tarsia::Result<Tensor>, Arc<AtomicUsize>) {
    let version = DLPackVersion { major: 1, minor: 3 };
    let mut managed = Box::new(DLManagedTensorVersioned {
        version,
        manager_ctx,
        deleter: Some(delete),
        flags: 0,
        dl_tensor,
    });
    change(&mut managed);
    // SAFETY: the tensor is new, and handed over.
    (unsafe { Tensor::from_dlpack(Box::into_raw(managed)) }, deleted)
}

#[test]
fn a_tensor_of_dlpack_is_deleted_once() {
    let (tensor, deleted) = versioned(produced(&[2, 2], Some(&[1, 2]), vec![1.0, 2.0, 3.0, 4.0]), |_| ());
    let tensor = tensor.unwrap();
    assert_eq!((tensor.shape(), tensor.strides()), (&[2usize, 2][..], vec![1, 2]));
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.0, 3.0, 2.0, 4.0]);
    assert!(tensor.as_slice::<f32>().is_err());
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(deleted.load(Ordering::SeqCst), 1);

    let (dl_tensor, manager_ctx, deleted) = produced(&[3], None, vec![1.0, 2.0, 3.0]);
    let old = Box::into_raw(Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_old) }));
    // SAFETY: as above.
    let mut tensor = unsafe { Tensor::from_dlpack_unversioned(old) }.unwrap();
    tensor.as_slice_mut::<f32>().unwrap()[0] = 5.0;
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [5.0, 2.0, 3.0]);
    drop(tensor);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
}

#[test]
fn a_read_only_tensor_of_dlpack_is_only_read() {
    let (tensor, _) = versioned(produced(&[2], None, vec![1.0, 2.0]), |managed| managed.flags = 1);
    let mut tensor = tensor.unwrap();
    assert!(tensor.is_read_only());
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert!(tensor.as_slice_mut::<f32>().unwrap_err().to_string().contains("read only"));
    assert!(tensor.view_mut(&[2]).is_err());
    let library = load("void zero(float* x) { *x = 0; }");
    let refused = library.function("zero").unwrap().call::<()>((&mut tensor,)).unwrap_err();
    assert!(refused.to_string().contains("must be writable"), "{}", refused);
    assert!(tensor.try_clone().unwrap().as_slice_mut::<f32>().is_ok());
    // SAFETY: the tensor was handed over above.
    let again = unsafe { Tensor::from_dlpack(tensor.into_dlpack()) }.unwrap();
    assert!(again.is_read_only());
    assert!(again.into_dlpack_unversioned().is_err());
}

#[test]
fn memory_of_other_devices_is_not_touched() {
    let library = load("float first(const float* x) { return *x; }");
    let (tensor, _) = versioned(produced(&[2], None, vec![1.0, 2.0]), |managed| {
        managed.dl_tensor.device.device_type = 10; // ROCm's
    });
    let tensor = tensor.unwrap();
    assert_eq!(tensor.device(), Device::Other(10, 0));
    assert!(tensor.as_slice::<f32>().is_err() && tensor.try_clone().is_err());
    assert!(tensor.to_vec::<f32>().unwrap_err().to_string().contains("device type 10"));
    assert!(tensor.view(&[2]).unwrap().to_vec::<f32>().is_err());
    assert!(library.function("first").unwrap().call::<f32>((&tensor,)).is_err());
}

#[test]
fn odd_tensors_of_dlpack_are_refused_and_deleted() {
    type Change = fn(&mut DLManagedTensorVersioned);
    let changes: [(Change, &str); 6] = [
        (|managed| managed.version.major = 2, "version 2.3"),
        (|managed| managed.dl_tensor.data = std::ptr::null_mut(), "no memory"),
        (|managed| managed.dl_tensor.ndim = -1, "-1 dimensions"),
        (|managed| managed.dl_tensor.shape = std::ptr::null_mut(), "no shape"),
        (|managed| managed.dl_tensor.byte_offset = 2, "not aligned"),
        // SAFETY: the shape has an extent.
        (|managed| unsafe { *managed.dl_tensor.shape = -5 }, "the shape [-5]"),
    ];
    for (change, text) in changes {
        let (tensor, deleted) = versioned(produced(&[2], None, vec![1.0, 2.0]), change);
        let error = tensor.unwrap_err();
        assert!(error.to_string().contains(text), "{}", error);
        assert_eq!(deleted.load(Ordering::SeqCst), 1, "{}", text);
    }
    // SAFETY: null is allowed.
    assert!(unsafe { Tensor::from_dlpack(std::ptr::null_mut()) }.is_err());
}

#[test]
fn tensors_go_out_through_dlpack() {
    let tensor = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let managed = tensor.into_dlpack();
    // SAFETY: the tensor was handed over, and is deleted once.
    unsafe {
        let tensor = &(*managed).dl_tensor;
        assert_eq!((tensor.ndim, tensor.dtype), (2, DLDataType { code: 2, bits: 32, lanes: 1 }));
        assert_eq!(std::slice::from_raw_parts(tensor.shape, 2), [2, 3]);
        assert_eq!(std::slice::from_raw_parts(tensor.strides, 2), [3, 1]);
        assert_eq!(*(tensor.data as *const f32).add(5), 6.0);
        assert_eq!((*managed).version.major, 1);
        let address = managed as usize;
        std::thread::spawn(move || {
            let managed = address as *mut DLManagedTensorVersioned;
            ((*managed).deleter.unwrap())(managed);
        })
        .join()
        .unwrap();

        let old = Tensor::zeros::<u8>(&[3]).unwrap().into_dlpack_unversioned().unwrap();
        assert_eq!((*old).dl_tensor.dtype, DLDataType { code: 1, bits: 8, lanes: 1 });
        let back = Tensor::from_dlpack_unversioned(old).unwrap();
        assert_eq!(back.as_slice::<u8>().unwrap(), [0; 3]);
    }
}
