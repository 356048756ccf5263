//! Kernels: what they tell, and launches, which are an error where there is no GPU.
mod support;

use support::load;
use tarsia::{Arg, Device, ErrorKind, Launch, Stream, Tensor};

const SOURCE: &str = r#"
namespace k {
struct Pair { float factor; int add; };
__global__ void scale(float* x, long n, Pair pair) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * pair.factor + pair.add;
}
}
"#;

fn pair(factor: f32, add: i32) -> Arg<'static> {
    let mut bytes = factor.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&add.to_ne_bytes());
    Arg::bytes(&bytes)
}

#[test]
fn a_kernel_tells_what_it_needs() {
    let library = load(SOURCE);
    assert_eq!(library.kernels()[0].name, "k::scale");
    assert_eq!(library.kernels()[0].parameters, ["x", "n", "pair"]);
    let kernel = library.kernel("scale").unwrap();
    assert_eq!(kernel.name(), "k::scale");
    assert!(kernel.attributes(None).unwrap().registers > 0);
    if tarsia::device_count().unwrap() == 0 {
        assert_eq!(kernel.occupancy(256, 0, None).unwrap_err().kind(), ErrorKind::Cuda);
        assert_eq!(kernel.suggest_block(0, Some(512), None).unwrap_err().kind(), ErrorKind::Cuda);
    } else {
        assert!(kernel.occupancy(256, 0, None).unwrap().blocks > 0);
        assert!(kernel.suggest_block(0, Some(512), None).unwrap() <= 512);
    }
}

#[test]
fn arguments_are_checked_before_a_launch() {
    let kernel = load(SOURCE).kernel("k::scale").unwrap();
    let mut on_cpu = Tensor::zeros::<f32>(&[4]).unwrap();
    let launch = Launch::new(1, 32);
    // SAFETY: none of these is launched.
    unsafe {
        let error = kernel.launch(launch, (&mut on_cpu, 4, pair(1.0, 1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArgumentValue);
        assert!(error.to_string().contains("GPU"), "{}", error);
        assert!(kernel.launch(launch, (&on_cpu, 4, pair(1.0, 1))).is_err());
        let error = kernel.launch(launch, (&mut on_cpu, 4)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArgumentType);
    }
}

#[test]
fn a_launch_runs_or_says_that_there_is_no_gpu() {
    let library = load("__global__ void nothing() {}");
    let kernel = library.kernel("nothing").unwrap();
    drop(library);
    // SAFETY: the kernel touches nothing.
    let launched = unsafe {
        kernel.launch(Launch::new((1, 1), (32, 1, 1)).shared_bytes(16).stream(Stream::DEFAULT), ())
    };
    if tarsia::device_count().unwrap() == 0 {
        assert_eq!(launched.unwrap_err().kind(), ErrorKind::Cuda);
        return;
    }
    launched.unwrap();
    // SAFETY: no thread is launched.
    assert!(unsafe { kernel.launch(Launch::new(0, 32), ()) }.is_err());
    let kernel = load(SOURCE).kernel("scale").unwrap();
    let mut x = Tensor::filled(1.0f32, &[1000]).unwrap().to_device(Device::Gpu(0)).unwrap();
    // SAFETY: the kernel stays within its n elements, and x is read after it.
    unsafe { kernel.launch(Launch::new(4, 256).device(0), (&mut x, 1000, pair(2.0, 3))) }.unwrap();
    Stream::DEFAULT.synchronize(0).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [5.0; 1000]);
    // SAFETY: it is refused.
    let refused = unsafe { kernel.launch(Launch::new(4, 256), (&x, 1000, pair(2.0, 3))) }.unwrap_err();
    assert!(refused.to_string().contains("must be writable, since the kernel writes"), "{}", refused);
}
