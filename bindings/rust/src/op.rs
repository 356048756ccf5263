//! Registered ops.
use std::fmt;
use std::os::raw::c_char;
use std::ptr::{self, NonNull};

use crate::argument::{Arg, IntoArgs};
use crate::bound_op::BoundOp;
use crate::element::{DType, Device};
use crate::error::{items_of, text_of, Error, ErrorKind, Result};
use crate::ffi::{
    attribute, choice, code, device, limit, port, storage, tarsia_meta, tarsia_op, tarsia_op_handle,
    tarsia_op_request, tarsia_port, tarsia_tensor, tarsia_value, Api,
};
use crate::loader::{api, c_string};
use crate::tensor::Tensor;

/// The attributes of an op: names and values. A text is parsed as the op declares the attribute.
///
/// ```
/// use tarsia::{Arg, Attributes};
/// let attributes = Attributes::new().set("factor", 3.0).set("kernel", Arg::list([3, 3])).set("mode", "same");
/// assert_eq!(format!("{:?}", attributes), r#"{"factor": 3.0, "kernel": [3, 3], "mode": "same"}"#);
/// ```
#[derive(Default)]
pub struct Attributes<'a>(Vec<(String, Arg<'a>)>);

impl<'a> Attributes<'a> {
    /// No attributes: the defaults.
    pub fn new() -> Attributes<'a> {
        Attributes::default()
    }
    /// Adds an attribute.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<Arg<'a>>) -> Attributes<'a> {
        self.0.push((name.into(), value.into()));
        self
    }
}

impl fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, value)| (name, value))).finish()
    }
}

/// How one is chosen of several implementations that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// As `TARSIA_IMPLEMENTATION` in the environment says.
    OfProcess,
    /// The highest priority.
    Priority,
    /// The fastest, timed once on this machine.
    Measure,
}

/// An input or output of an op, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// Its name.
    pub name: String,
    /// What the author says about it.
    pub description: String,
    /// Of an input: it may be absent.
    pub optional: bool,
    /// The last port: any number of tensors.
    pub variadic: bool,
    /// Of an input: the op changes it. Pass it as `&mut`.
    pub mutable: bool,
    /// Of an output: Python does not give it to the caller. [`BoundOp::call`] returns all outputs, since backward takes them.
    pub hidden: bool,
}

/// An attribute of an op, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeInfo {
    /// Its name.
    pub name: String,
    /// What the author says about it.
    pub description: String,
    /// Whether it has no default.
    pub required: bool,
    /// The texts that it takes; none: any.
    pub choices: Vec<String>,
}

/// The shape and dtype of an input or output of a bound op.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// The extents.
    pub shape: Vec<usize>,
    /// The type of the elements.
    pub dtype: DType,
    /// False for an optional input that was not given.
    pub present: bool,
}

/// A registered op as it was when it was looked up. Clones share it. Keeps its library. May be used from several threads at
/// once.
///
/// ```
/// use tarsia::{Attributes, Op, Options, Tensor};
/// # fn main() -> tarsia::Result<()> {
/// let source = r#"
///     #include <tarsia/op.h>
///     static void run(tarsia::Context& context) {
///       tarsia::Tensor x = context.input(0), y = context.output(0);
///       const float factor = context.attribute<float>("factor");
///       for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = factor * x.data<float>()[i];
///     }
///     TARSIA_OP(rust_scale).input("x").output("y").attribute<float>("factor", 2.0f).forward("cpu", run);
/// "#;
/// // SAFETY: the op writes all elements of its output, and no others.
/// let _library = unsafe { tarsia::load_inline(source, &Options::new())? };
/// let scale = Op::find("rust_scale")?;
/// let x = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
/// let y = scale.call((&x,), Attributes::new().set("factor", 10))?;
/// assert_eq!(y[0].as_slice::<f32>()?, [10.0, 20.0]);
/// # Ok(()) }
/// ```
pub struct Op {
    op: NonNull<tarsia_op_handle>,
    api: &'static Api,
}

// SAFETY: every function of libtarsia may be called from any thread, and references are counted atomically.
unsafe impl Send for Op {}
unsafe impl Sync for Op {}

impl Op {
    /// Looks up an op by its name. If no op has the name of one of `<tarsia/math/ops.h>`, that is compiled and
    /// registered. Errors: [`ErrorKind::NotFound`], those of [`load_inline`](crate::load_inline).
    pub fn find(name: &str) -> Result<Op> {
        let api = api()?;
        let name = c_string(name, "the op's name")?;
        let mut op = ptr::null_mut();
        // SAFETY: the name is a C string.
        api.check(unsafe { (api.tarsia_op_load)(name.as_ptr(), &mut op) })?;
        let op =
            NonNull::new(op).ok_or_else(|| Error::new(ErrorKind::NotFound, "call", "there is no such op"))?;
        Ok(Op { op, api })
    }

    fn declared(&self) -> *const tarsia_op {
        // SAFETY: the handle is valid.
        unsafe { (self.api.tarsia_op_describe)(self.op.as_ptr()) }
    }

    /// The op's name.
    pub fn name(&self) -> String {
        // SAFETY: the description lives as long as the op.
        unsafe { text_of((*self.declared()).name) }
    }
    /// What the author says about it.
    pub fn description(&self) -> String {
        // SAFETY: as above.
        unsafe { text_of((*self.declared()).description) }
    }
    /// The declared inputs.
    pub fn inputs(&self) -> Vec<Port> {
        self.raw_inputs().iter().map(port_of).collect()
    }
    /// The declared outputs.
    pub fn outputs(&self) -> Vec<Port> {
        // SAFETY: as above.
        let ports = unsafe { items_of((*self.declared()).outputs, u64::from((*self.declared()).n_outputs)) };
        ports.iter().map(port_of).collect()
    }
    /// The declared attributes.
    pub fn attributes(&self) -> Vec<AttributeInfo> {
        // SAFETY: as above.
        unsafe {
            let op = self.declared();
            let of = |item: &crate::ffi::tarsia_attribute| AttributeInfo {
                name: text_of(item.name),
                description: text_of(item.description),
                required: item.flags & attribute::REQUIRED != 0,
                choices: items_of(item.choices, u64::from(item.n_choices))
                    .iter()
                    .map(|&text| text_of(text))
                    .collect(),
            };
            items_of((*op).attributes, u64::from((*op).n_attributes)).iter().map(of).collect()
        }
    }

    fn raw_inputs(&self) -> &[tarsia_port] {
        // SAFETY: the description lives as long as the op.
        unsafe { items_of((*self.declared()).inputs, u64::from((*self.declared()).n_inputs)) }
    }

    /// Parses the attributes, infers shapes and dtypes, and chooses the implementation for the tensors' device. Errors:
    /// [`ArgumentType`](ErrorKind::ArgumentType), [`ArgumentValue`](ErrorKind::ArgumentValue),
    /// [`Unsupported`](ErrorKind::Unsupported), also for sparse tensors, and what the op throws.
    pub fn bind<'a>(&self, inputs: impl IntoArgs<'a>, attributes: Attributes<'_>) -> Result<BoundOp> {
        self.bind_by(Choice::OfProcess, inputs, attributes)
    }

    /// The same with a choice of its own.
    pub fn bind_by<'a>(
        &self,
        choice: Choice,
        inputs: impl IntoArgs<'a>,
        attributes: Attributes<'_>,
    ) -> Result<BoundOp> {
        let mut bound = ptr::null_mut();
        self.request(inputs, attributes, choice, |request| {
            // SAFETY: the request's arrays live until the call returns.
            self.api.check(unsafe { (self.api.tarsia_op_bind)(self.op.as_ptr(), request, &mut bound) })
        })?;
        let bound = NonNull::new(bound)
            .ok_or_else(|| Error::new(ErrorKind::Other, "call", "libtarsia bound no op and gave no error"))?;
        // SAFETY: the call handed over a reference.
        unsafe { BoundOp::own(self.api, bound, self.mutable_inputs()) }
    }

    /// Says which implementation [`Op::bind`] would choose, and why it would not choose each other.
    pub fn explain<'a>(&self, inputs: impl IntoArgs<'a>, attributes: Attributes<'_>) -> Result<String> {
        let mut text = ptr::null_mut();
        self.request(inputs, attributes, Choice::OfProcess, |request| {
            // SAFETY: as above.
            self.api.check(unsafe { (self.api.tarsia_op_explain)(self.op.as_ptr(), request, &mut text) })
        })?;
        // SAFETY: the call handed the text over.
        Ok(unsafe { taken_text(self.api, text) })
    }

    /// Binds the op and runs it.
    pub fn call<'a>(&self, inputs: impl IntoArgs<'a>, attributes: Attributes<'_>) -> Result<Vec<Tensor>> {
        let mut inputs = inputs.into_args();
        let mut bound = ptr::null_mut();
        self.request_of(&mut inputs, attributes, Choice::OfProcess, |request| {
            // SAFETY: as above.
            self.api.check(unsafe { (self.api.tarsia_op_bind)(self.op.as_ptr(), request, &mut bound) })
        })?;
        let bound = NonNull::new(bound)
            .ok_or_else(|| Error::new(ErrorKind::Other, "call", "libtarsia bound no op and gave no error"))?;
        // SAFETY: as above.
        unsafe { BoundOp::own(self.api, bound, self.mutable_inputs())? }.call(inputs)
    }

    /// Which of the declared inputs the op changes, and whether further ones are like the last.
    fn mutable_inputs(&self) -> (Vec<bool>, bool) {
        let flags: Vec<u32> = self.raw_inputs().iter().map(|port| port.flags).collect();
        let more = flags.last().map_or(false, |last| last & port::VARIADIC != 0 && last & port::MUTABLE != 0);
        (flags.iter().map(|flags| flags & port::MUTABLE != 0).collect(), more)
    }

    fn request<'a>(
        &self,
        inputs: impl IntoArgs<'a>,
        attributes: Attributes<'_>,
        choice: Choice,
        f: impl FnOnce(&tarsia_op_request) -> Result<()>,
    ) -> Result<()> {
        self.request_of(&mut inputs.into_args(), attributes, choice, f)
    }

    fn request_of(
        &self,
        inputs: &mut [Arg<'_>],
        attributes: Attributes<'_>,
        choice: Choice,
        f: impl FnOnce(&tarsia_op_request) -> Result<()>,
    ) -> Result<()> {
        let mut metas = Vec::with_capacity(inputs.len());
        let mut samples: Vec<*const tarsia_tensor> = Vec::with_capacity(inputs.len());
        let mut place = Device::Cpu.raw();
        for input in inputs.iter_mut() {
            let tensor = input.lower_tensor()?.map_or(ptr::null(), |(tensor, _)| tensor);
            samples.push(tensor);
            // SAFETY: null, or a tensor that the argument borrows.
            let tensor = unsafe { tensor.as_ref() };
            if let Some(tensor) =
                tensor.filter(|tensor| tensor.device.type_ == device::GPU && place.type_ != device::GPU)
            {
                place = tensor.device;
            }
            metas.push(meta_of(tensor)?);
        }
        let mut attributes = attributes.0;
        let names = attributes
            .iter()
            .map(|(name, _)| c_string(name, "an attribute's name"))
            .collect::<Result<Vec<_>>>()?;
        let name_addresses: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let values =
            attributes.iter_mut().map(|(_, value)| value.lower()).collect::<Result<Vec<tarsia_value>>>()?;
        let choice = match choice {
            Choice::OfProcess => choice::OF_PROCESS,
            Choice::Priority => choice::PRIORITY,
            Choice::Measure => choice::MEASURE,
        };
        f(&tarsia_op_request {
            size: std::mem::size_of::<tarsia_op_request>() as u32,
            n_inputs: metas.len() as u32,
            n_outputs: 0,
            n_attributes: values.len() as u32,
            inputs: metas.as_ptr(),
            outputs: ptr::null(),
            attribute_names: name_addresses.as_ptr(),
            attributes: values.as_ptr(),
            device: place,
            choice,
            reserved: 0,
            samples: samples.as_ptr(),
        })
    }
}

impl Clone for Op {
    fn clone(&self) -> Op {
        // SAFETY: the handle is valid; a reference is added.
        unsafe { (self.api.tarsia_op_retain)(self.op.as_ptr()) };
        Op { ..*self }
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        // SAFETY: the object's reference is given back.
        unsafe { (self.api.tarsia_op_release)(self.op.as_ptr()) }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op({})", self.name())
    }
}

/// The names of all registered ops, sorted.
pub fn op_names() -> Result<Vec<String>> {
    let api = api()?;
    let (mut names, mut n) = (ptr::null_mut(), 0);
    // SAFETY: the call hands over one block, which is freed once it is copied.
    unsafe {
        api.check((api.tarsia_op_names)(&mut names, &mut n))?;
        let copied = items_of(names as *const *const c_char, n).iter().map(|&name| text_of(name)).collect();
        (api.tarsia_free)(names as *mut _);
        Ok(copied)
    }
}

fn meta_of(tensor: Option<&tarsia_tensor>) -> Result<tarsia_meta> {
    let mut meta = tarsia_meta {
        ndim: -1,
        dtype: DType { code: code::ANY, bits: 0, lanes: 0 }.raw(),
        storage: storage::DENSE,
        present: u8::from(tensor.is_some()),
        flags: 0,
        reserved: 0,
        shape: [0; limit::MAX_NDIM as usize],
    };
    if let Some(tensor) = tensor {
        if tensor.ndim > limit::MAX_NDIM {
            return Err(Error::value(format!(
                "an op's tensor has {} dimensions, and may have {}",
                tensor.ndim,
                limit::MAX_NDIM
            )));
        }
        meta.ndim = tensor.ndim;
        meta.dtype = tensor.dtype;
        // SAFETY: a tensor's shape has as many extents.
        let shape = unsafe { items_of(tensor.shape as *const i64, tensor.ndim as u64) };
        meta.shape[..shape.len()].copy_from_slice(shape);
    }
    Ok(meta)
}

fn port_of(raw: &tarsia_port) -> Port {
    // SAFETY: a port's texts live as long as it.
    let (name, description) = unsafe { (text_of(raw.name), text_of(raw.description)) };
    Port {
        name,
        description,
        optional: raw.flags & port::OPTIONAL != 0,
        variadic: raw.flags & port::VARIADIC != 0,
        mutable: raw.flags & port::MUTABLE != 0,
        hidden: raw.flags & port::HIDDEN != 0,
    }
}

/// A text that libtarsia handed over.
///
/// # Safety
///
/// The text is null or the caller's.
pub(crate) unsafe fn taken_text(api: &Api, text: *mut c_char) -> String {
    let copied = text_of(text);
    (api.tarsia_free)(text as *mut _);
    copied
}
