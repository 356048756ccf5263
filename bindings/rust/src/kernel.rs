//! Kernels of libraries, and streams.
use std::fmt;
use std::os::raw::c_void;

use crate::argument::{IntoArgs, Lowered};
use crate::call::within;
use crate::error::{text_of, Result};
use crate::ffi::{tarsia_kernel, tarsia_kernel_attributes, tarsia_launch, tarsia_occupancy};
use crate::library::Library;
use crate::loader::api;

/// A CUDA stream, not owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(*mut c_void);

// SAFETY: the address is not followed here, and CUDA takes streams from any thread.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

impl Stream {
    /// CUDA's default stream.
    pub const DEFAULT: Stream = Stream(std::ptr::null_mut());

    /// Refers to a `cudaStream_t`.
    ///
    /// # Safety
    ///
    /// The stream lives as long as this value and what is started on it.
    pub unsafe fn from_raw(stream: *mut c_void) -> Stream {
        Stream(stream)
    }
    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }

    /// Waits until the work on the stream of a GPU is done. Error: [`Cuda`](crate::ErrorKind::Cuda), also for errors of that
    /// work.
    pub fn synchronize(self, gpu: i32) -> Result<()> {
        let api = api()?;
        // SAFETY: the stream is alive.
        api.check(unsafe { (api.tarsia_synchronize)(gpu, self.0) })
    }
}

/// The blocks of a grid or the threads of a block: `256.into()`, `(16, 16).into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// The first extent.
    pub x: u32,
    /// The second.
    pub y: u32,
    /// The third.
    pub z: u32,
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3 { x, y: 1, z: 1 }
    }
}
impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3 { x, y, z: 1 }
    }
}
impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3 { x, y, z }
    }
}

/// How a kernel is launched: `Launch::new(blocks, 256).shared_bytes(1024)`.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    stream: Option<Stream>,
    device: Option<i32>,
    cluster: Option<Dim3>,
    cooperative: bool,
}

impl Launch {
    /// A grid of blocks of threads. No extent is 0.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Launch {
        Launch {
            grid: grid.into(),
            block: block.into(),
            shared_bytes: 0,
            stream: None,
            device: None,
            cluster: None,
            cooperative: false,
        }
    }
    /// Dynamic shared memory of a block.
    pub fn shared_bytes(mut self, bytes: u32) -> Launch {
        self.shared_bytes = bytes;
        self
    }
    /// The stream; otherwise the thread's current one.
    pub fn stream(mut self, stream: Stream) -> Launch {
        self.stream = Some(stream);
        self
    }
    /// The GPU; otherwise that of the tensors, or CUDA's current one.
    pub fn device(mut self, gpu: i32) -> Launch {
        self.device = Some(gpu);
        self
    }
    /// The blocks of a cluster.
    pub fn cluster(mut self, blocks: impl Into<Dim3>) -> Launch {
        self.cluster = Some(blocks.into());
        self
    }
    /// All blocks run at once, so that the grid can be synchronised.
    pub fn cooperative(mut self, on: bool) -> Launch {
        self.cooperative = on;
        self
    }

    fn raw(&self) -> tarsia_launch {
        let extents = |dim: Dim3| [dim.x, dim.y, dim.z];
        tarsia_launch {
            size: std::mem::size_of::<tarsia_launch>() as u32,
            grid: extents(self.grid),
            block: extents(self.block),
            shared_bytes: self.shared_bytes,
            device: self.device.unwrap_or(-1),
            has_stream: u32::from(self.stream.is_some()),
            stream: self.stream.unwrap_or(Stream::DEFAULT).raw(),
            cluster: self.cluster.map_or([0; 3], extents),
            cooperative: u32::from(self.cooperative),
        }
    }
}

/// The resources that a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// Per thread.
    pub registers: i32,
    /// Static, per block.
    pub shared_bytes: i32,
    /// Per thread.
    pub local_bytes: i32,
    /// Constant memory.
    pub constant_bytes: i32,
    /// The most threads that a block can have.
    pub max_threads: i32,
    /// 90 for compute_90.
    pub ptx_version: i32,
    /// 90 for sm_90.
    pub binary_version: i32,
}

/// How many blocks of a kernel run at once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Occupancy {
    /// On one multiprocessor.
    pub blocks: u32,
    /// On the GPU: the largest cooperative grid.
    pub grid: u32,
    /// Of a multiprocessor's threads, from 0 to 1.
    pub fraction: f64,
}

/// A `__global__` function. Keeps its library. May be launched from several threads at once.
#[derive(Clone)]
pub struct Kernel {
    library: Library,
    kernel: *const tarsia_kernel,
}

// SAFETY: the descriptor is constant, and lives as long as the library, which the object keeps. Kernels may be launched from
// any thread.
unsafe impl Send for Kernel {}
unsafe impl Sync for Kernel {}

impl Kernel {
    /// `kernel` is the library's.
    pub(crate) fn new(library: Library, kernel: *const tarsia_kernel) -> Kernel {
        Kernel { library, kernel }
    }

    /// The name as in the source: "ns::scale<float>".
    pub fn name(&self) -> String {
        // SAFETY: the object keeps the library.
        unsafe { text_of((*self.kernel).name) }
    }

    /// Launches the kernel, and does not wait.
    ///
    /// ```no_run
    /// use tarsia::{Device, Launch, Options, Stream, Tensor};
    /// # fn main() -> tarsia::Result<()> {
    /// let source = "__global__ void twice(float* x, long n) { long i = blockIdx.x * 256L + threadIdx.x; if (i < n) x[i] *= 2; }";
    /// // SAFETY: the kernel is launched with the number of its elements.
    /// let kernel = unsafe { tarsia::load_inline(source, &Options::new())? }.kernel("twice")?;
    /// let mut x = Tensor::filled(1.0f32, &[1000])?.to_device(Device::Gpu(0))?;
    /// let n = x.numel();
    /// // SAFETY: as above; x is read after it has been waited for.
    /// unsafe { kernel.launch(Launch::new(4, 256), (&mut x, n))? };
    /// Stream::DEFAULT.synchronize(0)?;
    /// assert_eq!(x.to_vec::<f32>()?[999], 2.0);
    /// # Ok(()) }
    /// ```
    ///
    /// Errors: [`ArgumentType`](crate::ErrorKind::ArgumentType), [`ArgumentValue`](crate::ErrorKind::ArgumentValue),
    /// [`Cuda`](crate::ErrorKind::Cuda). An error of the execution appears in a later call.
    ///
    /// # Safety
    ///
    /// With this grid, the kernel stays within its arguments. It may still run when this returns: until the program has waited
    /// for the stream, it does not touch memory of the arguments that the CPU can reach, pinned or managed.
    pub unsafe fn launch<'a>(&self, how: Launch, args: impl IntoArgs<'a>) -> Result<()> {
        let api = self.library.api();
        let args = Lowered::new(args)?;
        let values = args.values();
        let raw = how.raw();
        let code = within(api, || {
            (api.tarsia_kernel_launch)(self.kernel, &raw, values.as_ptr(), values.len() as u32)
        });
        api.check(code)
    }

    /// What it needs on a GPU (None: the current one). Without any GPU this is read from the code for the newest
    /// architecture.
    pub fn attributes(&self, gpu: Option<i32>) -> Result<KernelAttributes> {
        let api = self.library.api();
        // SAFETY: zeros are a value of every field. The kernel lives.
        let mut found: tarsia_kernel_attributes = unsafe { std::mem::zeroed() };
        found.size = std::mem::size_of::<tarsia_kernel_attributes>() as u32;
        api.check(unsafe { (api.tarsia_kernel_get_attributes)(self.kernel, gpu.unwrap_or(-1), &mut found) })?;
        Ok(KernelAttributes {
            registers: found.registers,
            shared_bytes: found.shared_bytes,
            local_bytes: found.local_bytes,
            constant_bytes: found.constant_bytes,
            max_threads: found.max_threads,
            ptx_version: found.ptx_version,
            binary_version: found.binary_version,
        })
    }

    /// How many blocks of `threads` threads run at once on a GPU (None: the current one). Error:
    /// [`Cuda`](crate::ErrorKind::Cuda) without a GPU.
    pub fn occupancy(&self, threads: u32, shared_bytes: u32, gpu: Option<i32>) -> Result<Occupancy> {
        let api = self.library.api();
        let size = std::mem::size_of::<tarsia_occupancy>() as u32;
        let mut found = tarsia_occupancy { size, blocks: 0, grid: 0, fraction: 0.0 };
        // SAFETY: the kernel lives.
        let code = unsafe {
            (api.tarsia_kernel_occupancy)(self.kernel, gpu.unwrap_or(-1), threads, shared_bytes, &mut found)
        };
        api.check(code)?;
        Ok(Occupancy { blocks: found.blocks, grid: found.grid, fraction: found.fraction })
    }

    /// The block size with which most threads run at once. `limit` is the largest that is allowed. Error:
    /// [`Cuda`](crate::ErrorKind::Cuda) without a GPU.
    pub fn suggest_block(&self, shared_bytes: u32, limit: Option<u32>, gpu: Option<i32>) -> Result<u32> {
        let api = self.library.api();
        let mut threads = 0;
        // SAFETY: the kernel lives.
        let code = unsafe {
            let limit = limit.unwrap_or(0);
            (api.tarsia_kernel_suggest_block)(
                self.kernel,
                gpu.unwrap_or(-1),
                shared_bytes,
                limit,
                &mut threads,
            )
        };
        api.check(code)?;
        Ok(threads)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name())
    }
}
