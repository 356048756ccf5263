//! Errors of this crate: their class, and what libtarsia says about them.
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use crate::ffi::{tarsia_diagnostic, Api};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $code:literal $class:literal,)*) => {
        /// The class of an [`Error`], the same in C, C++ and Python.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$about])* $name,)*
            /// A class that a newer libtarsia has; its code.
            Unknown(i32),
        }

        impl ErrorKind {
            pub(crate) fn from_code(code: i32) -> ErrorKind {
                match code { $($code => ErrorKind::$name,)* other => ErrorKind::Unknown(other) }
            }
            /// The code of the class in C: `TARSIA_ERROR` is 1, and so on.
            pub fn code(self) -> i32 {
                match self { $(ErrorKind::$name => $code,)* ErrorKind::Unknown(code) => code }
            }
            /// The name of the class that Python raises: "CompileError".
            pub fn name(self) -> &'static str {
                match self { $(ErrorKind::$name => $class,)* ErrorKind::Unknown(_) => "Error" }
            }
        }

        #[cfg(test)]
        const ROWS: &[(i32, &str)] = &[$(($code, $class)),*];
    };
}

// The rows of include/tarsia/detail/error_rows.h.
kinds! {
    /// None of the others.
    Other = 1 "Error",
    /// The source does not compile or link. [`Error::diagnostics`] has the messages one by one.
    Compile = 2 "CompileError",
    /// The compiler died under this source.
    CompilerCrashed = 3 "CompilerCrashed",
    /// The compile took longer than it may.
    CompileTimeout = 4 "CompileTimeout",
    /// The compile wanted more memory than it may have.
    ResourceLimit = 5 "ResourceLimit",
    /// A source with a NUL, or one that is too large.
    InvalidSource = 6 "InvalidSource",
    /// A file that cannot be loaded as a library, or no libtarsia.
    Load = 7 "LoadError",
    /// A wrong type or number of arguments, another dtype.
    ArgumentType = 8 "ArgumentTypeError",
    /// The right type and an unfit value: range, shape, contiguity, device, attribute.
    ArgumentValue = 9 "ArgumentValueError",
    /// No GPU, no driver, or an error that CUDA reported.
    Cuda = 10 "CudaError",
    /// No such op, function, kernel.
    NotFound = 11 "NotFound",
    /// This build, machine or op cannot do that.
    Unsupported = 12 "Unsupported",
    /// The author's code threw; the next three say what kind.
    Op = 13 "OpError",
    /// The author's code threw `std::invalid_argument` or `std::domain_error`.
    OpValue = 14 "OpValueError",
    /// The author's code threw `std::out_of_range` or `std::length_error`.
    OpIndex = 15 "OpIndexError",
    /// The author's code threw `tarsia::TypeError` or `std::bad_cast`.
    OpType = 16 "OpTypeError",
    /// `std::bad_alloc`, or device memory is spent.
    OutOfMemory = 17 "OutOfMemory",
    /// [`Options::interrupted`](crate::Options::interrupted) said so.
    Interrupted = 18 "Interrupted",
    /// Code with `debug(DebugMode::Undefined)` did what C++ leaves undefined.
    UndefinedBehaviour = 19 "UndefinedBehaviour",
    /// A source or kernel is not in the cache, and no compile may start now.
    CompileForbidden = 20 "CompileForbidden",
}

/// A message of the compiler about a place in the author's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file's name; "" for a source that is one text.
    pub file: String,
    /// From 1; 0: no place.
    pub line: u32,
    /// From 1, in bytes; 0: unknown.
    pub column: u32,
    /// "note", "warning", "error" or "fatal error".
    pub severity: String,
    /// What the compiler says.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}: {}", self.file, self.line, self.column, self.severity, self.message)
    }
}

/// What went wrong: the class, the place and the remedy.
///
/// ```
/// use tarsia::{ErrorKind, Options};
/// # fn main() -> tarsia::Result<()> {
/// // SAFETY: the source does not compile.
/// let error = unsafe { tarsia::load_inline("int f() { return oops; }", &Options::new()) }.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Compile);
/// assert_eq!(error.diagnostics()[0].line, 1);
/// assert!(error.to_string().contains("oops"));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Error(Box<Details>);

#[derive(Clone)]
struct Details {
    kind: ErrorKind,
    stage: String,
    message: String,
    log: String,
    diagnostics: Vec<Diagnostic>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, stage: &str, message: impl Into<String>) -> Error {
        Error(Box::new(Details {
            kind,
            stage: stage.to_string(),
            message: message.into(),
            log: String::new(),
            diagnostics: Vec::new(),
        }))
    }
    pub(crate) fn value(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::ArgumentValue, "call", message)
    }
    pub(crate) fn wrong_type(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::ArgumentType, "call", message)
    }

    /// The class.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// Where it happened: "source", "host", "split", "device", "link", "worker", "load" or "call".
    pub fn stage(&self) -> &str {
        &self.0.stage
    }
    /// What went wrong; it names the place and the remedy.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Further text for people; may be "".
    pub fn log(&self) -> &str {
        &self.0.log
    }
    /// The compiler's messages, for errors of compiling.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.name(), self.0.message)?;
        if !self.0.log.is_empty() {
            write!(f, "\n{}", self.0.log)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// A copy of a C string; "" for null.
///
/// # Safety
///
/// `text` is null or a C string.
pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// A slice of what C gives as an address and a number. Null is an empty one.
///
/// # Safety
///
/// `items` is null, or points to `n` items that live as long as 'a.
pub(crate) unsafe fn items_of<'a, T>(items: *const T, n: u64) -> &'a [T] {
    if items.is_null() || n == 0 {
        return &[];
    }
    std::slice::from_raw_parts(items, n as usize)
}

/// Copies of diagnostics.
///
/// # Safety
///
/// `items` is null, or points to `n` diagnostics.
pub(crate) unsafe fn diagnostics_of(items: *const tarsia_diagnostic, n: u64) -> Vec<Diagnostic> {
    items_of(items, n)
        .iter()
        .map(|item| Diagnostic {
            file: text_of(item.file),
            line: item.line.max(0) as u32,
            column: item.column.max(0) as u32,
            severity: text_of(item.severity),
            message: text_of(item.message),
        })
        .collect()
}

impl Api {
    /// Makes an error of a code other than 0 that a function of this thread has just returned.
    pub(crate) fn check(&self, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the error is never null, and valid until this thread's next call that fails.
        unsafe {
            let error = &*(self.tarsia_last_error)();
            Err(Error(Box::new(Details {
                kind: ErrorKind::from_code(code),
                stage: text_of(error.stage),
                message: text_of(error.message),
                log: text_of(error.log),
                diagnostics: diagnostics_of(error.diagnostics, error.n_diagnostics),
            })))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_the_rows_of_the_header() {
        let header = include_str!("../../../include/tarsia/detail/error_rows.h");
        let mut rows = Vec::new();
        for line in header.lines().filter(|line| line.trim_start().starts_with("X(TARSIA_")) {
            let cells: Vec<&str> = line.split(&['(', ')', ','][..]).map(str::trim).collect();
            rows.push((cells[2].parse::<i32>().unwrap(), cells[5]));
        }
        assert!(rows.len() >= 19);
        assert_eq!(rows, ROWS);
        for &(code, class) in ROWS {
            assert_eq!(ErrorKind::from_code(code).code(), code);
            assert_eq!(ErrorKind::from_code(code).name(), class);
        }
        assert_eq!(ErrorKind::from_code(1000), ErrorKind::Unknown(1000));
    }

    #[test]
    fn an_error_goes_to_other_threads_and_into_boxes() {
        fn takes<T: std::error::Error + Send + Sync + 'static>(_: &T) {}
        let error = Error::value("too long");
        takes(&error);
        assert_eq!(error.to_string(), "too long");
        assert_eq!(format!("{:?}", error), "ArgumentValueError: too long");
    }
}
