//! Bound ops.
use std::fmt;
use std::ptr::{self, NonNull};

use crate::argument::{Arg, IntoArgs};
use crate::element::{DType, Device};
use crate::error::{items_of, text_of, Error, ErrorKind, Result};
use crate::ffi::{
    device, pass, port, request, storage, tarsia_bound_op, tarsia_bound_pass, tarsia_device, tarsia_meta,
    tarsia_op_call, tarsia_tensor, Api,
};
use crate::op::Meta;
use crate::tensor::Tensor;

/// What happens to an output. An output that shares memory with an input, as C++ and Python have it too, needs two references
/// to one memory, which Rust does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Nothing: it is left alone, and may be [`Arg::NONE`].
    Null,
    /// It is overwritten.
    Write,
    /// The result is added to what is there.
    Add,
}

impl Request {
    fn raw(self) -> u8 {
        match self {
            Request::Null => request::NULL,
            Request::Write => request::WRITE,
            Request::Add => request::ADD,
        }
    }
}

/// Whether an op runs, or its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The op.
    Forward,
    /// Its gradient.
    Backward,
}

impl Pass {
    fn raw(self) -> u32 {
        match self {
            Pass::Forward => pass::FORWARD,
            Pass::Backward => pass::BACKWARD,
        }
    }
}

/// An op whose attributes are parsed, whose shapes are inferred and whose implementation is chosen: bound once for each
/// shape, dtype, device and set of attributes, and called often. Clones share it. Keeps its library. May be called from
/// several threads at once; threads take turns if the op has state.
///
/// ```
/// use tarsia::{Attributes, Op, Options, Request, Tensor};
/// # fn main() -> tarsia::Result<()> {
/// # let source = r#"
/// #     #include <tarsia/op.h>
/// #     static void run(tarsia::Context& context) {
/// #       tarsia::Tensor x = context.input(0), y = context.output(0);
/// #       for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = x.data<float>()[i] * x.data<float>()[i];
/// #     }
/// #     static void back(tarsia::Context& context) {
/// #       tarsia::Tensor dy = context.input(0), x = context.input(1), dx = context.output(0);
/// #       for (long i = 0; i < x.numel(); i++) dx.data<float>()[i] = 2 * dy.data<float>()[i] * x.data<float>()[i];
/// #     }
/// #     TARSIA_OP(rust_square).input("x").output("y").forward("cpu", run).backward("cpu", back);
/// # "#;
/// // SAFETY: the op, of which this is the gradient, writes all elements of its output, and no others.
/// # let _library = unsafe { tarsia::load_inline(source, &Options::new())? };
/// let mut x = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
/// let square = Op::find("rust_square")?.bind((&x,), Attributes::new())?;
/// let y = square.call((&x,))?;
///
/// let mut sum = vec![100.0f32, 100.0];
/// square.run((&x,), (&mut sum,), &[Request::Add])?;
/// assert_eq!(sum, [101.0, 104.0]);
///
/// let dy = Tensor::filled(1.0f32, &[2])?;
/// let gradients = square.backward((&dy,), (&x,), (&y[0],))?;
/// assert_eq!(gradients[0].as_ref().unwrap().as_slice::<f32>()?, [2.0, 4.0]);
/// # x.as_slice_mut::<f32>()?[0] = 0.0;
/// # Ok(()) }
/// ```
pub struct BoundOp {
    bound: NonNull<tarsia_bound_op>,
    api: &'static Api,
    mutable: Vec<bool>,
}

// SAFETY: every function of libtarsia may be called from any thread, and references are counted atomically.
unsafe impl Send for BoundOp {}
unsafe impl Sync for BoundOp {}

impl BoundOp {
    /// Takes over one reference. `mutable` tells which of the declared inputs the op changes, and whether further ones are
    /// like the last. Error: sparse tensors, which this crate does not have.
    ///
    /// # Safety
    ///
    /// The reference is the caller's.
    pub(crate) unsafe fn own(
        api: &'static Api,
        bound: NonNull<tarsia_bound_op>,
        mutable: (Vec<bool>, bool),
    ) -> Result<BoundOp> {
        let mut op = BoundOp { bound, api, mutable: Vec::new() };
        let (declared, more) = mutable;
        let all = op.raw_inputs();
        let is_sparse = |meta: &tarsia_meta| meta.present != 0 && meta.storage != storage::DENSE;
        if all.iter().any(is_sparse) || op.raw_outputs().iter().any(|meta| meta.storage != storage::DENSE) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "call",
                "the op is bound to sparse tensors, which Tarsia's crate does not have: use C++ or Python",
            ));
        }
        let changes = |(i, meta): (usize, &tarsia_meta)| {
            *declared.get(i).unwrap_or(&more) || u32::from(meta.flags) & port::MUTABLE != 0
        };
        let mutable = all.iter().enumerate().map(changes).collect();
        op.mutable = mutable;
        Ok(op)
    }

    fn raw_inputs(&self) -> &[tarsia_meta] {
        // SAFETY: the metas live as long as the bound op.
        unsafe {
            let mut n = 0;
            let metas = (self.api.tarsia_bound_inputs)(self.bound.as_ptr(), &mut n);
            items_of(metas, u64::from(n))
        }
    }
    fn raw_outputs(&self) -> &[tarsia_meta] {
        // SAFETY: as above.
        unsafe {
            let mut n = 0;
            let metas = (self.api.tarsia_bound_outputs)(self.bound.as_ptr(), &mut n);
            items_of(metas, u64::from(n))
        }
    }

    /// The shapes and dtypes of the inputs, as they were given or inferred.
    pub fn inputs(&self) -> Vec<Meta> {
        self.raw_inputs().iter().map(meta_of).collect()
    }
    /// The shapes and dtypes of the outputs.
    pub fn outputs(&self) -> Vec<Meta> {
        self.raw_outputs().iter().map(meta_of).collect()
    }

    /// Makes the outputs and runs the op. The tensors have the shapes, dtypes and device that it was bound with. Inputs that the
    /// op changes are given as `&mut`. Optional inputs may be omitted at the end.
    pub fn call<'a>(&self, inputs: impl IntoArgs<'a>) -> Result<Vec<Tensor>> {
        let mut inputs = inputs.into_args();
        let place = device_of(&mut inputs)?;
        let outputs =
            self.raw_outputs().iter().map(|meta| made(meta, place)).collect::<Result<Vec<Tensor>>>()?;
        let addresses: Vec<*const tarsia_tensor> = outputs.iter().map(Tensor::raw).collect();
        self.run_raw(&mut inputs, &addresses, None, Pass::Forward)?;
        Ok(outputs)
    }

    /// Runs the op into existing outputs, which are given as `&mut`. There is a request for each output; without any, all are
    /// overwritten.
    pub fn run<'a, 'b>(
        &self,
        inputs: impl IntoArgs<'a>,
        outputs: impl IntoArgs<'b>,
        requests: &[Request],
    ) -> Result<()> {
        self.run_into(inputs.into_args(), outputs.into_args(), requests, Pass::Forward)
    }

    /// Makes and returns the gradients of the inputs; None for an input that has none. An input that the op changes is given as
    /// `&mut` here, too: some gradients change it. Error: [`ErrorKind::Unsupported`] if the op has no gradient.
    pub fn backward<'a, 'b, 'c>(
        &self,
        out_grads: impl IntoArgs<'a>,
        inputs: impl IntoArgs<'b>,
        outputs: impl IntoArgs<'c>,
    ) -> Result<Vec<Option<Tensor>>> {
        let mut all = self.all(out_grads.into_args(), inputs.into_args(), outputs.into_args());
        let place = device_of(&mut all)?;
        let mut gradients = Vec::new();
        for (i, meta) in self.raw_inputs().iter().enumerate() {
            gradients.push(if self.has_gradient(i) { Some(made(meta, place)?) } else { None });
        }
        let addresses: Vec<*const tarsia_tensor> =
            gradients.iter().map(|gradient| gradient.as_ref().map_or(ptr::null(), Tensor::raw)).collect();
        self.run_raw(&mut all, &addresses, None, Pass::Backward)?;
        Ok(gradients)
    }

    /// Runs the gradient into existing tensors, one for each input; [`Arg::NONE`] with [`Request::Null`] for one that is not
    /// wanted. Inputs are given as to [`BoundOp::backward`].
    pub fn run_backward<'a, 'b, 'c, 'd>(
        &self,
        out_grads: impl IntoArgs<'a>,
        inputs: impl IntoArgs<'b>,
        outputs: impl IntoArgs<'c>,
        gradients: impl IntoArgs<'d>,
        requests: &[Request],
    ) -> Result<()> {
        let all = self.all(out_grads.into_args(), inputs.into_args(), outputs.into_args());
        self.run_into(all, gradients.into_args(), requests, Pass::Backward)
    }

    /// Output gradients, inputs and outputs in one row. Omitted inputs at the end of theirs are filled up.
    fn all<'x, 'a: 'x, 'b: 'x, 'c: 'x>(
        &self,
        out_grads: Vec<Arg<'a>>,
        inputs: Vec<Arg<'b>>,
        outputs: Vec<Arg<'c>>,
    ) -> Vec<Arg<'x>> {
        let missing = self.raw_inputs().len().saturating_sub(inputs.len());
        let mut all: Vec<Arg<'x>> =
            Vec::with_capacity(out_grads.len() + inputs.len() + missing + outputs.len());
        all.extend(out_grads);
        all.extend(inputs);
        all.extend((0..missing).map(|_| Arg::NONE));
        all.extend(outputs);
        all
    }

    fn run_into(
        &self,
        mut inputs: Vec<Arg<'_>>,
        mut outputs: Vec<Arg<'_>>,
        requests: &[Request],
        pass: Pass,
    ) -> Result<()> {
        if !requests.is_empty() && requests.len() != outputs.len() {
            return Err(Error::value(format!(
                "{} requests are given for {} outputs",
                requests.len(),
                outputs.len()
            )));
        }
        let mut addresses = Vec::with_capacity(outputs.len());
        for (i, output) in outputs.iter_mut().enumerate() {
            addresses.push(match output.lower_tensor()? {
                None => ptr::null(),
                Some((tensor, true)) => tensor,
                Some((_, false)) => {
                    return Err(Error::value(format!(
                    "output {} of {} is written to, and memory is given that is only read: pass it as &mut",
                    i + 1,
                    outputs.len()
                )))
                }
            });
        }
        let raw: Vec<u8> = requests.iter().map(|request| request.raw()).collect();
        self.run_raw(
            &mut inputs,
            &addresses,
            Some(&raw).filter(|raw| !raw.is_empty()).map(Vec::as_slice),
            pass,
        )
    }

    /// `inputs` are those of the pass.
    fn run_raw(
        &self,
        inputs: &mut [Arg<'_>],
        outputs: &[*const tarsia_tensor],
        requests: Option<&[u8]>,
        pass: Pass,
    ) -> Result<()> {
        let n_inputs = self.raw_inputs().len();
        // What the op takes decides which are its own inputs, not how the caller has parted them.
        let before = if pass == Pass::Backward { self.raw_outputs().len() } else { 0 };
        let mut addresses = Vec::with_capacity(inputs.len().max(n_inputs));
        for (i, input) in inputs.iter_mut().enumerate() {
            let own = i.checked_sub(before);
            addresses.push(match (input.lower_tensor()?, own) {
                (None, _) => ptr::null(),
                (Some((_, false)), Some(own)) if *self.mutable.get(own).unwrap_or(&false) => {
                    return Err(Error::value(format!(
                        "the op changes its input {}, and memory is given that is only read: pass it as &mut",
                        own + 1
                    )))
                }
                (Some((tensor, _)), _) => tensor,
            });
        }
        if pass == Pass::Forward {
            addresses.resize(addresses.len().max(n_inputs), ptr::null());
        }
        let call = tarsia_op_call {
            size: std::mem::size_of::<tarsia_op_call>() as u32,
            n_inputs: addresses.len() as u32,
            n_outputs: outputs.len() as u32,
            reserved: 0,
            inputs: addresses.as_ptr(),
            outputs: outputs.as_ptr(),
            requests: requests.map_or(ptr::null(), <[u8]>::as_ptr),
            stream: ptr::null_mut(),
            has_stream: 0,
            pass: pass.raw(),
        };
        // SAFETY: the tensors live until the call returns, and are checked against the metas. Outputs and inputs that the op
        // changes are borrowed to be written to. What the op does, load_inline's caller has vouched for.
        unsafe {
            self.api.check((self.api.tarsia_bound_check)(self.bound.as_ptr(), &call))?;
            self.api.check((self.api.tarsia_bound_call)(self.bound.as_ptr(), &call))
        }
    }

    /// Whether the op has a gradient for the device that it is bound to.
    pub fn has_backward(&self) -> bool {
        // SAFETY: the handle is valid.
        unsafe { (self.api.tarsia_bound_has_backward)(self.bound.as_ptr()) != 0 }
    }
    /// Whether input i was given and has a gradient.
    pub fn has_gradient(&self, i: usize) -> bool {
        // SAFETY: as above; the index may be any.
        u32::try_from(i)
            .map_or(false, |i| unsafe { (self.api.tarsia_bound_has_gradient)(self.bound.as_ptr(), i) != 0 })
    }
    /// Whether backward needs output gradient, input or output i, counted in one row. Otherwise [`Arg::NONE`] will do.
    pub fn backward_needs(&self, i: usize) -> Result<bool> {
        let found = self.describe(Pass::Backward)?;
        // SAFETY: what it points to lives as long as the bound op.
        let needs = unsafe { items_of(found.needs, found.n_needs) };
        Ok(needs.get(i).map_or(true, |&need| need != 0))
    }
    /// The name of the implementation of a pass, or "cpu #2", the second of its device and pass; "" if there is none.
    pub fn implementation(&self, pass: Pass) -> Result<String> {
        // SAFETY: as above.
        Ok(unsafe { text_of(self.describe(pass)?.name) })
    }

    /// What the implementation of a pass takes otherwise than row-major, as in "input 'x': axes (0, 2, 3, 1)".
    pub fn layouts(&self, pass: Pass) -> Result<Vec<String>> {
        let found = self.describe(pass)?;
        // SAFETY: what it points to lives as long as the bound op.
        Ok(unsafe { items_of(found.layouts, found.n_layouts).iter().map(|&text| text_of(text)).collect() })
    }

    fn describe(&self, pass: Pass) -> Result<tarsia_bound_pass> {
        // SAFETY: zeros are a value of every field. The call writes no more than the size.
        let mut found: tarsia_bound_pass = unsafe { std::mem::zeroed() };
        found.size = std::mem::size_of::<tarsia_bound_pass>() as u32;
        self.api.check(unsafe {
            (self.api.tarsia_bound_describe)(self.bound.as_ptr(), pass.raw(), &mut found)
        })?;
        Ok(found)
    }
}

impl Clone for BoundOp {
    fn clone(&self) -> BoundOp {
        // SAFETY: the handle is valid; a reference is added.
        unsafe { (self.api.tarsia_bound_retain)(self.bound.as_ptr()) };
        BoundOp { bound: self.bound, api: self.api, mutable: self.mutable.clone() }
    }
}

impl Drop for BoundOp {
    fn drop(&mut self) {
        // SAFETY: the object's reference is given back.
        unsafe { (self.api.tarsia_bound_release)(self.bound.as_ptr()) }
    }
}

impl fmt::Debug for BoundOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundOp").field("inputs", &self.inputs()).field("outputs", &self.outputs()).finish()
    }
}

fn meta_of(raw: &tarsia_meta) -> Meta {
    let ndim = raw.ndim.max(0) as usize;
    Meta {
        shape: raw.shape.iter().take(ndim).map(|&extent| extent.max(0) as usize).collect(),
        dtype: DType::of_raw(raw.dtype),
        present: raw.present != 0,
    }
}

/// Makes an output.
fn made(meta: &tarsia_meta, place: tarsia_device) -> Result<Tensor> {
    let ndim = (meta.ndim.max(0) as usize).min(meta.shape.len());
    Tensor::unset(DType::of_raw(meta.dtype), Device::of_raw(place), &meta.shape[..ndim])
}

/// The device for a call with these tensors: the GPU of the first that lies on one, or the CPU.
fn device_of(tensors: &mut [Arg<'_>]) -> Result<tarsia_device> {
    for tensor in tensors {
        if let Some((tensor, _)) = tensor.lower_tensor()? {
            // SAFETY: the argument borrows the tensor.
            let place = unsafe { (*tensor).device };
            if place.type_ == device::GPU {
                return Ok(place);
            }
        }
    }
    Ok(Device::Cpu.raw())
}
