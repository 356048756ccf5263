//! Libraries: compiling, loading, and what they hold.
use std::borrow::Cow;
use std::fmt;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::error::{diagnostics_of, items_of, text_of, Diagnostic, Error, ErrorKind, Result};
use crate::ffi::{tarsia_file, tarsia_function, tarsia_kernel, tarsia_library, Api};
use crate::function::Function;
use crate::kernel::Kernel;
use crate::loader::{api, c_string};
use crate::options::{Kept, Options};
use crate::value::Address;

/// What is compiled: a text of C++ and CUDA, or several files.
#[derive(Clone, Debug)]
pub struct Source<'a>(Text<'a>);

#[derive(Clone, Debug)]
enum Text<'a> {
    One(Cow<'a, str>),
    Files(Vec<(String, String)>),
}

impl<'a> Source<'a> {
    /// Files, by their names and texts. The suffixes of the names decide the language.
    ///
    /// ```
    /// use tarsia::{Options, Source};
    /// # fn main() -> tarsia::Result<()> {
    /// let source = Source::files([("half.h", "inline int half(int x) { return x / 2; }"),
    ///                             ("main.cc", "#include \"half.h\"\nint f(int x) { return half(x); }")]);
    /// // SAFETY: the functions only compute.
    /// let library = unsafe { tarsia::load_inline(source, &Options::new())? };
    /// assert_eq!(library.function("f")?.call::<i32>((8,))?, 4);
    /// # Ok(()) }
    /// ```
    pub fn files(files: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Source<'static> {
        Source(Text::Files(files.into_iter().map(|(name, text)| (name.into(), text.into())).collect()))
    }

    fn with_raw<R>(&self, f: impl FnOnce(*const tarsia_file, u64) -> R) -> Result<R> {
        let mut kept = Kept::default();
        let one;
        let (files, n) = match &self.0 {
            Text::One(text) => {
                let bytes = text.len() as u64;
                one = tarsia_file { name: ptr::null(), text: text.as_ptr() as *const c_char, bytes };
                (&one as *const tarsia_file, 1)
            }
            Text::Files(files) => kept.files(files, "the name of a file")?,
        };
        Ok(f(files, n))
    }
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(text: &'a str) -> Source<'a> {
        Source(Text::One(Cow::Borrowed(text)))
    }
}
impl<'a> From<&'a String> for Source<'a> {
    fn from(text: &'a String) -> Source<'a> {
        Source(Text::One(Cow::Borrowed(text)))
    }
}
impl From<String> for Source<'static> {
    fn from(text: String) -> Source<'static> {
        Source(Text::One(Cow::Owned(text)))
    }
}

/// Compiles a source of C++ and CUDA, or takes it from the cache, and loads it.
///
/// ```
/// use tarsia::Options;
/// # fn main() -> tarsia::Result<()> {
/// let source = "void axpy(float a, const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] += a * x[i]; }";
/// // SAFETY: axpy reads and writes n elements, and every call here passes the number of both slices.
/// let library = unsafe { tarsia::load_inline(source, &Options::new())? };
/// let (x, mut y) = ([1.0f32, 2.0], [10.0f32, 20.0]);
/// library.function("axpy")?.call::<()>((2.0, &x, &mut y, x.len()))?;
/// assert_eq!(y, [12.0, 24.0]);
/// # Ok(()) }
/// ```
///
/// Errors: [`ErrorKind::Compile`] with diagnostics, [`ErrorKind::InvalidSource`], [`ErrorKind::Load`], and the other kinds of
/// the compiler.
///
/// # Safety
///
/// C++ code comes into the program here, and no compiler checks what it does. Who writes `unsafe` vouches for the source, for
/// as long as the library lives:
///
/// * Loading it does nothing that is undefined: initialisers run.
/// * Its functions and ops do nothing that is undefined with the arguments that the program passes them. The crate checks
///   the kinds, ranges, dtypes, devices and mutability of arguments by their C++ types, but not what those do not say: that `n`
///   is the number of elements behind a pointer.
/// * They write only through what is not const, ops only to outputs and to inputs that they declare mutable, and only values of
///   the elements' type: 0 or 1 to a `bool`.
/// * They write all elements of the tensors that they return, and ops of their outputs.
/// * They keep no address of an argument. When they return, work that they started has ended with memory of the CPU.
/// * Two tensors that they return have no memory in common, unless they are one `tarsia::Tensor`. Code that keeps a reference
///   to what it returned writes to it only while the program does not read it.
/// * They can be called from several threads at once, or the program does not do so.
pub unsafe fn load_inline<'a>(source: impl Into<Source<'a>>, options: &Options) -> Result<Library> {
    let (api, source) = (api()?, source.into());
    let mut library = ptr::null_mut();
    let code = source.with_raw(|files, n| {
        options.with_raw(api, |options| (api.tarsia_load_inline)(files, n, options, &mut library))
    })??;
    api.check(code)?;
    Library::own(api, library)
}

/// Loads a library that was built ahead of time, from a private copy of the file. Error: [`ErrorKind::Load`].
///
/// # Safety
///
/// As for [`load_inline`].
pub unsafe fn load(path: impl AsRef<Path>) -> Result<Library> {
    let api = api()?;
    let path = c_string(path.as_ref(), "the path")?;
    let mut library = ptr::null_mut();
    api.check((api.tarsia_load)(path.as_ptr(), &mut library))?;
    Library::own(api, library)
}

/// Compiles a source as [`load_inline`] does, and writes the shared library to the file `output`. Loads nothing.
pub fn compile<'a>(source: impl Into<Source<'a>>, output: impl AsRef<Path>, options: &Options) -> Result<()> {
    let (api, source) = (api()?, source.into());
    let output = c_string(output.as_ref(), "the path")?;
    let code = source.with_raw(|files, n| {
        // SAFETY: the arrays live until the call returns.
        options.with_raw(api, |options| unsafe { (api.tarsia_compile)(files, n, options, output.as_ptr()) })
    })??;
    api.check(code)
}

/// What a library tells of a function or a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The qualified name: "ns::f", of a kernel "ns::scale<float>".
    pub name: String,
    /// For people: "float ns::f(const float *x, int n)".
    pub signature: String,
    /// "file:line" in the author's text, or "".
    pub location: String,
    /// The names of the parameters; "" for one without.
    pub parameters: Vec<String>,
    /// How many of them a call must have.
    pub required: usize,
}

/// A function of a source that was not exported, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The function's name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A loaded library. Clones share it. It is unloaded when nothing holds it any more: no library object, function, kernel or
/// op.
pub struct Library {
    library: NonNull<tarsia_library>,
    api: &'static Api,
}

// SAFETY: every function of libtarsia may be called from any thread, and references are counted atomically.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

impl Library {
    /// Takes over one reference.
    ///
    /// # Safety
    ///
    /// The reference is the caller's.
    unsafe fn own(api: &'static Api, library: *mut tarsia_library) -> Result<Library> {
        let library = NonNull::new(library).ok_or_else(|| {
            Error::new(ErrorKind::Other, "load", "libtarsia loaded no library and gave no error")
        })?;
        Ok(Library { library, api })
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.api
    }

    /// The name: [`Options::name`], or one made from the source's hash.
    pub fn name(&self) -> String {
        // SAFETY: the text lives as long as the library.
        unsafe { text_of((self.api.tarsia_library_name)(self.library.as_ptr())) }
    }
    /// Where it came from: "compiled", "memory", "disk", "remote" (a shared store) or "prebuilt".
    pub fn origin(&self) -> String {
        // SAFETY: as above.
        unsafe { text_of((self.api.tarsia_library_origin)(self.library.as_ptr())) }
    }
    /// The exported functions, overloads one by one.
    pub fn functions(&self) -> Vec<Signature> {
        // SAFETY: descriptors live as long as the library.
        self.raw_functions().iter().map(|&function| unsafe { signature_of(function) }).collect()
    }
    /// The kernels; none for libraries that were built ahead of time.
    pub fn kernels(&self) -> Vec<Signature> {
        // SAFETY: as above. Their first fields are those of a function's description.
        let of = |&kernel: &*const tarsia_kernel| unsafe {
            let params = items_of((*kernel).params, u64::from((*kernel).n_params));
            Signature {
                name: text_of((*kernel).name),
                signature: text_of((*kernel).signature),
                location: text_of((*kernel).location),
                parameters: params.iter().map(|param| text_of(param.name)).collect(),
                required: params.len(),
            }
        };
        self.raw_kernels().iter().map(of).collect()
    }
    /// The names of the ops that it registered.
    pub fn ops(&self) -> Vec<String> {
        self.texts(self.api.tarsia_library_ops)
    }
    /// The functions of the source that were not exported, each with the reason.
    pub fn skipped(&self) -> Vec<Skipped> {
        // SAFETY: what the getter returns lives as long as the library.
        unsafe {
            let mut n = 0;
            let items = (self.api.tarsia_library_skipped)(self.library.as_ptr(), &mut n);
            let of = |item: &crate::ffi::tarsia_skipped| Skipped {
                name: text_of(item.name),
                reason: text_of(item.reason),
            };
            items_of(items, n).iter().map(of).collect()
        }
    }
    /// The warnings of compiling and loading.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        // SAFETY: as above.
        unsafe {
            let mut n = 0;
            let items = (self.api.tarsia_library_warnings)(self.library.as_ptr(), &mut n);
            diagnostics_of(items, n)
        }
    }

    /// The function of a qualified name, or of the last part of a name if only one has it, with all its overloads. Error:
    /// [`ErrorKind::NotFound`], which names those that there are.
    pub fn function(&self, name: &str) -> Result<Function> {
        // SAFETY: descriptors live as long as the library.
        let found = self
            .find(self.raw_functions(), name, "function", |function| unsafe { text_of((*function).name) })?;
        Ok(Function::new(self.clone(), found))
    }
    /// The kernel of a name, which is looked up as for functions. Error: [`ErrorKind::NotFound`].
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        // SAFETY: as above.
        let found =
            self.find(self.raw_kernels(), name, "kernel", |kernel| unsafe { text_of((*kernel).name) })?;
        Ok(Kernel::new(self.clone(), found[0]))
    }

    /// The names of the symbols that it shows to others: those of [`Options::exports`], and those that the source marks with
    /// `__attribute__((visibility("default")))`.
    pub fn symbols(&self) -> Vec<String> {
        self.texts(self.api.tarsia_library_symbols)
    }
    /// The address of such a symbol, valid as long as the library.
    pub fn symbol(&self, name: &str) -> Option<Address> {
        let name = c_string(name, "the name").ok()?;
        // SAFETY: the name is a C string.
        let address = unsafe { (self.api.tarsia_library_symbol)(self.library.as_ptr(), name.as_ptr()) };
        (!address.is_null()).then(|| address as Address)
    }

    /// Writes the shared library to a file, which [`load`] takes.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_string(path.as_ref(), "the path")?;
        // SAFETY: the path is a C string.
        self.api.check(unsafe { (self.api.tarsia_library_export)(self.library.as_ptr(), path.as_ptr()) })
    }
    /// Takes its ops out of the registry. Its code stays as long as something holds the library.
    pub fn unload(&self) -> Result<()> {
        // SAFETY: the handle is valid.
        self.api.check(unsafe { (self.api.tarsia_library_unload)(self.library.as_ptr()) })
    }

    fn raw_functions(&self) -> &[*const tarsia_function] {
        // SAFETY: the array lives as long as the library.
        unsafe {
            let mut n = 0;
            let items = (self.api.tarsia_library_functions)(self.library.as_ptr(), &mut n);
            items_of(items, n)
        }
    }
    fn raw_kernels(&self) -> &[*const tarsia_kernel] {
        // SAFETY: as above.
        unsafe {
            let mut n = 0;
            let items = (self.api.tarsia_library_kernels)(self.library.as_ptr(), &mut n);
            items_of(items, n)
        }
    }
    fn texts(
        &self,
        query: unsafe extern "C" fn(*const tarsia_library, *mut u64) -> *const *const c_char,
    ) -> Vec<String> {
        // SAFETY: as above.
        unsafe {
            let mut n = 0;
            let items = query(self.library.as_ptr(), &mut n);
            items_of(items, n).iter().map(|&text| text_of(text)).collect()
        }
    }

    fn find<T>(
        &self,
        items: &[*const T],
        name: &str,
        what: &str,
        name_of: impl Fn(*const T) -> String,
    ) -> Result<Vec<*const T>> {
        let named: Vec<(String, *const T)> = items.iter().map(|&item| (name_of(item), item)).collect();
        let exact: Vec<*const T> =
            named.iter().filter(|(full, _)| full == name).map(|&(_, item)| item).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let ending = format!("::{}", name);
        let last: Vec<&(String, *const T)> =
            named.iter().filter(|(full, _)| full.ends_with(&ending)).collect();
        let is_one = last.iter().all(|(full, _)| *full == last[0].0);
        if is_one && !last.is_empty() {
            return Ok(last.iter().map(|&&(_, item)| item).collect());
        }
        let names: Vec<&str> = named.iter().map(|(full, _)| full.as_str()).collect();
        Err(Error::new(
            ErrorKind::NotFound,
            "call",
            format!(
                "library {} has {} {} {}; it has {}",
                self.name(),
                if last.is_empty() { "no" } else { "several" },
                what,
                name,
                if names.is_empty() { "none".to_string() } else { names.join(", ") }
            ),
        ))
    }
}

/// # Safety
///
/// The function's library lives.
pub(crate) unsafe fn signature_of(function: *const tarsia_function) -> Signature {
    let params = items_of((*function).params, u64::from((*function).n_params));
    Signature {
        name: text_of((*function).name),
        signature: text_of((*function).signature),
        location: text_of((*function).location),
        parameters: params.iter().map(|param| text_of(param.name)).collect(),
        required: (*function).n_required as usize,
    }
}

impl Clone for Library {
    fn clone(&self) -> Library {
        // SAFETY: the handle is valid; a reference is added.
        unsafe { (self.api.tarsia_library_retain)(self.library.as_ptr()) };
        Library { ..*self }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the object's reference is given back.
        unsafe { (self.api.tarsia_library_release)(self.library.as_ptr()) }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({})", self.name())
    }
}
