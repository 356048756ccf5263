//! Functions of libraries.
use std::fmt;

use crate::argument::{IntoArgs, Lowered};
use crate::call::within;
use crate::error::Result;
use crate::ffi::{tarsia_function, tarsia_value};
use crate::library::{signature_of, Library, Signature};
use crate::value::{take, FromValue};

/// An exported function with all its overloads. Keeps its library. May be called from several threads at once.
#[derive(Clone)]
pub struct Function {
    library: Library,
    overloads: Vec<*const tarsia_function>,
}

// SAFETY: descriptors are constant, and live as long as the library, which the object keeps. Functions may be called from any
// thread.
unsafe impl Send for Function {}
unsafe impl Sync for Function {}

impl Function {
    /// `overloads` are the library's, and there is at least one.
    pub(crate) fn new(library: Library, overloads: Vec<*const tarsia_function>) -> Function {
        Function { library, overloads }
    }

    /// The qualified name, as in "ns::f".
    pub fn name(&self) -> String {
        self.overloads()[0].name.clone()
    }
    /// What the library tells of the overloads, in the source's order.
    pub fn overloads(&self) -> Vec<Signature> {
        // SAFETY: the object keeps the library.
        self.overloads.iter().map(|&function| unsafe { signature_of(function) }).collect()
    }

    /// Calls the first overload that takes the arguments exactly, or else the first that takes them converted, and returns the
    /// result as an R.
    ///
    /// ```
    /// use tarsia::{Arg, Options, Tensor, Value};
    /// # fn main() -> tarsia::Result<()> {
    /// let source = r#"
    ///     #include <tarsia/op.h>
    ///     #include <string>
    ///     #include <utility>
    ///     #include <vector>
    ///     std::pair<std::string, double> describe(const tarsia::Tensor& x, const std::vector<int>& weights) {
    ///       double sum = 0;
    ///       for (long i = 0; i < x.numel() && i < (long)weights.size(); i++) sum += weights[i] * x.data<const float>()[i];
    ///       return {std::to_string(x.numel()) + " elements", sum};
    ///     }
    /// "#;
    /// // SAFETY: the function reads what there is.
    /// let library = unsafe { tarsia::load_inline(source, &Options::new())? };
    /// let describe = library.function("describe")?;
    /// let x = Tensor::from_vec(vec![0.5f32, 2.0], &[2])?;
    /// let (text, sum) = describe.call::<(String, f64)>((&x, Arg::list([2, 3])))?;
    /// assert_eq!((text.as_str(), sum), ("2 elements", 7.0));
    /// match describe.call::<Value>(vec![Arg::from(&x), Arg::list([1])])? {
    ///     Value::Tuple(both) => assert_eq!(both.len(), 2),
    ///     other => panic!("{:?}", other),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Memory that is borrowed with `&` goes to const parameters alone:
    ///
    /// ```
    /// # fn main() -> tarsia::Result<()> {
    /// # let options = tarsia::Options::new();
    /// // SAFETY: the function writes one element, and the slice has one.
    /// let library = unsafe { tarsia::load_inline("void set(float* x) { *x = 1; }", &options)? };
    /// let mut x = [0.0f32];
    /// let error = library.function("set")?.call::<()>((&x,)).unwrap_err();
    /// assert!(error.to_string().contains("must be writable"));
    /// library.function("set")?.call::<()>((&mut x,))?;
    /// assert_eq!(x, [1.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// Errors: [`ArgumentType`](crate::ErrorKind::ArgumentType), [`ArgumentValue`](crate::ErrorKind::ArgumentValue), also for a
    /// result that is no R; [`Cuda`](crate::ErrorKind::Cuda); what the function throws, [`Op`](crate::ErrorKind::Op) and its
    /// kinds.
    pub fn call<'a, R: FromValue>(&self, args: impl IntoArgs<'a>) -> Result<R> {
        let api = self.library.api();
        let args = Lowered::new(args)?;
        let value = within(api, || {
            let mut result = tarsia_value::NONE;
            let values = args.values();
            // SAFETY: the overloads are of a library that lives, the arguments live until the call returns, and a context is
            // entered. What the function does, load_inline's caller has vouched for.
            unsafe {
                let code = (api.tarsia_call)(
                    self.overloads.as_ptr(),
                    self.overloads.len() as u64,
                    values.as_ptr(),
                    values.len() as u32,
                    &mut result,
                );
                api.check(code)?;
                take(&result, &args)
            }
        })?;
        R::from_value(value)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.overloads()[0].signature).finish()
    }
}
