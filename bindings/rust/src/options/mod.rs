//! How a source is compiled.
#[rustfmt::skip] // scripts/options writes it
mod rows;

use std::any::Any;
use std::cell::Cell;
use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

pub use rows::*;

use crate::error::{Error, Result};
use crate::ffi::{tarsia_define, tarsia_file, tarsia_options, Api};
use crate::loader::c_string;

/// How a source is compiled. Each method adds to the options and returns them. docs/options.md explains the options of the
/// table.
///
/// ```
/// use tarsia::Options;
/// # fn main() -> tarsia::Result<()> {
/// let options = Options::new().name("scaled").opt(3).defines([("FACTOR", "3")]);
/// // SAFETY: the function only computes.
/// let library = unsafe { tarsia::load_inline("int scaled(int x) { return FACTOR * x; }", &options)? };
/// assert_eq!(library.function("scaled")?.call::<i32>((14,))?, 42);
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Options {
    name: Option<String>,
    cached_only: bool,
    interrupted: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    rows: Rows,
}

impl Options {
    /// The defaults: C++20, optimisation level 2, Tarsia's own headers, everything exported.
    pub fn new() -> Options {
        Options::default()
    }
    /// The library's name; otherwise one made from the source's hash.
    pub fn name(mut self, name: impl Into<String>) -> Options {
        self.name = Some(name.into());
        self
    }
    /// Refuses a source that is not in the cache, with [`ErrorKind::CompileForbidden`](crate::ErrorKind::CompileForbidden): for callers
    /// that cannot wait for the compiler.
    pub fn cached_only(mut self, on: bool) -> Options {
        self.cached_only = on;
        self
    }
    /// A question that the calling thread asks about every 50 ms while it waits for the compiler. The answer `true` ends the
    /// wait, with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted). A panic of the question ends the wait, too, and
    /// goes on from the call that compiles.
    pub fn interrupted(mut self, question: impl Fn() -> bool + Send + Sync + 'static) -> Options {
        self.interrupted = Some(Arc::new(question));
        self
    }
    /// A macro without a value; [`Options::defines`] takes those with one.
    pub fn define(mut self, name: impl Into<String>) -> Options {
        self.rows.defines.push((name.into(), None));
        self
    }

    /// Calls `f` with these options in the form of C, which live until it returns. What `f` returns is dropped if the
    /// question panicked.
    pub(crate) fn with_raw<R>(&self, api: &Api, f: impl FnOnce(&tarsia_options) -> R) -> Result<R> {
        let mut kept = Kept::default();
        let asked = Asked { question: self.interrupted.as_deref(), panic: Cell::new(None) };
        // SAFETY: zeros are a value of every field, and the function writes the struct of the size that it is told.
        let mut raw: tarsia_options = unsafe { std::mem::zeroed() };
        unsafe { (api.tarsia_options_defaults)(&mut raw, std::mem::size_of::<tarsia_options>() as u32) };
        if let Some(name) = &self.name {
            raw.name = kept.text(name, "the library's name")?;
        }
        raw.cached_only = i32::from(self.cached_only);
        if self.interrupted.is_some() {
            raw.interrupted = Some(ask);
            raw.interrupt_context = &asked as *const Asked<'_> as *mut c_void;
        }
        self.rows.write(&mut raw, &mut kept)?;
        let result = f(&raw);
        if let Some(payload) = asked.panic.take() {
            drop(result);
            panic::resume_unwind(payload);
        }
        Ok(result)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("cached_only", &self.cached_only)
            .field("interrupted", &self.interrupted.is_some())
            .field("rows", &self.rows)
            .finish()
    }
}

/// The question, and the panic that it ended with.
struct Asked<'a> {
    question: Option<&'a (dyn Fn() -> bool + Send + Sync)>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

/// Asks the question. No panic goes through C.
unsafe extern "C" fn ask(context: *mut c_void) -> i32 {
    let asked = &*(context as *const Asked<'_>);
    let question = match asked.question {
        Some(question) => question,
        None => return 0,
    };
    if let Some(payload) = asked.panic.take() {
        asked.panic.set(Some(payload)); // it has panicked, and is not asked again
        return 1;
    }
    match panic::catch_unwind(AssertUnwindSafe(question)) {
        Ok(answer) => i32::from(answer),
        Err(payload) => {
            asked.panic.set(Some(payload));
            1
        }
    }
}

/// What the struct of C borrows.
#[derive(Default)]
pub(crate) struct Kept {
    texts: Vec<CString>,
    lists: Vec<Vec<*const c_char>>,
    files: Vec<Vec<tarsia_file>>,
    defines: Vec<Vec<tarsia_define>>,
}

impl Kept {
    pub(crate) fn text(&mut self, text: impl AsRef<OsStr>, what: &str) -> Result<*const c_char> {
        self.texts.push(c_string(text, what)?);
        Ok(self.texts[self.texts.len() - 1].as_ptr())
    }
    fn list(&mut self, items: &[impl AsRef<OsStr>], what: &str) -> Result<(*const *const c_char, u64)> {
        let list = items.iter().map(|item| self.text(item, what)).collect::<Result<Vec<_>>>()?;
        let found = (list.as_ptr(), list.len() as u64);
        self.lists.push(list);
        Ok(found)
    }
    /// Named texts, which are borrowed from `items`.
    pub(crate) fn files(
        &mut self,
        items: &[(impl AsRef<str>, impl AsRef<str>)],
        what: &str,
    ) -> Result<(*const tarsia_file, u64)> {
        let mut list = Vec::with_capacity(items.len());
        for (name, text) in items {
            let (name, text) = (self.text(name.as_ref(), what)?, text.as_ref());
            list.push(tarsia_file { name, text: text.as_ptr() as *const c_char, bytes: text.len() as u64 });
        }
        let found = (list.as_ptr(), list.len() as u64);
        self.files.push(list);
        Ok(found)
    }
    fn defines(
        &mut self,
        items: &[(String, Option<String>)],
        what: &str,
    ) -> Result<(*const tarsia_define, u64)> {
        let mut list = Vec::with_capacity(items.len());
        for (name, value) in items {
            let name = self.text(name, what)?;
            let value = match value {
                Some(value) => self.text(value, what)?,
                None => std::ptr::null(),
            };
            list.push(tarsia_define { name, value });
        }
        let found = (list.as_ptr(), list.len() as u64);
        self.defines.push(list);
        Ok(found)
    }
}

/// A time in milliseconds, rounded up: a time that is not 0 does not become the default.
fn milliseconds(time: Duration, what: &str) -> Result<u32> {
    let rounded = (time.as_nanos() + 999_999) / 1_000_000;
    u32::try_from(rounded)
        .map_err(|_| Error::value(format!("{} is {:?}, and may be 4294967 s at most", what, time)))
}
