//! Tarsia compiles C++ and CUDA source strings while a program runs. A string goes in, a loaded library comes out, and the
//! program calls its functions, kernels and ops.
//!
//! ```
//! use tarsia::{Options, Tensor};
//!
//! fn main() -> tarsia::Result<()> {
//!     let source = r#"
//!         float norm2(const float* x, int n) {
//!           float sum = 0;
//!           for (int i = 0; i < n; i++) sum += x[i] * x[i];
//!           return sum;
//!         }
//!     "#;
//!     // SAFETY: norm2 reads n elements, and is called with the number that there are.
//!     let library = unsafe { tarsia::load_inline(source, &Options::new())? };
//!     let x = Tensor::from_vec(vec![3.0f32, 4.0], &[2])?;
//!     let norm2 = library.function("norm2")?;
//!     assert_eq!(norm2.call::<f32>((&x, x.numel()))?, 25.0);
//!     Ok(())
//! }
//! ```
//!
//! | to | take |
//! | --- | --- |
//! | compile and load | [`load_inline`], [`load`], [`compile`], [`Options`] |
//! | look into a library | [`Library`] |
//! | call | [`Function::call`], with [arguments](Arg) and [results](FromValue) of Rust's types |
//! | hold data | [`Tensor`], [`TensorView`], [`TensorViewMut`]; slices go as they are; [`dlpack`] for other libraries' tensors |
//! | launch kernels | [`Kernel::launch`], [`Launch`] |
//! | run ops | [`Op`], [`BoundOp`] |
//!
//! libtarsia is opened when it is first needed: [`open`] says where it is looked for.
//!
//! # Safety
//!
//! `unsafe` stands where code comes in that Rust does not check, [`load_inline`] and [`load`], and where the GPU works on after
//! a call has returned, [`Kernel::launch`]. Who writes it vouches for the code. All else is safe: a function keeps its library
//! loaded, memory lent with `&` is written to by nobody, and results own what they hold.
#![warn(missing_docs)]

mod argument;
mod bound_op;
mod call;
pub mod dlpack;
mod element;
mod error;
mod ffi;
mod function;
mod kernel;
mod library;
mod loader;
mod op;
mod options;
mod plain;
mod system;
mod tensor;
mod value;

pub use argument::{Arg, IntoArgs};
pub use bound_op::{BoundOp, Pass, Request};
pub use element::{Complex32, Complex64, DType, Device, Element, BF16, F16};
pub use error::{Diagnostic, Error, ErrorKind, Result};
pub use function::Function;
pub use kernel::{Dim3, Kernel, KernelAttributes, Launch, Occupancy, Stream};
pub use library::{compile, load, load_inline, Library, Signature, Skipped, Source};
pub use loader::open;
pub use op::{op_names, AttributeInfo, Attributes, Choice, Meta, Op, Port};
pub use options::{DebugMode, DeviceCompiler, HostHeaders, Options, Undefined};
pub use plain::{Plain, PlainStruct};
pub use system::{device_count, doctor, seed, stats, version};
pub use tensor::{Tensor, TensorView, TensorViewMut};
pub use value::{Address, FromValue, Value};

/// The snippets of the page on Rust.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
