//! The options of a compile, made of the table of include/tarsia/compile_options.h.
use std::ffi::OsString;
use std::time::Duration;

use super::{milliseconds, Kept, Options};
use crate::error::Result;
use crate::ffi::tarsia_options;

// scripts/options writes the rest

/// The values of [`Options::debug`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugMode {
    /// `off`.
    Off = 0,
    /// `on`.
    On = 1,
    /// `undefined`.
    Undefined = 2,
    /// `address`.
    Address = 3,
    /// `thread`.
    Thread = 4,
}

/// The values of [`Options::host_headers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostHeaders {
    /// `own`.
    Own = 0,
    /// `system`.
    System = 1,
}

/// The values of [`Options::undefined`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undefined {
    /// `error`.
    Error = 0,
    /// `load`.
    Load = 1,
}

/// The values of [`Options::device_compiler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceCompiler {
    /// `auto`.
    Auto = 0,
    /// `nvrtc`.
    Nvrtc = 1,
    /// `clang`.
    Clang = 2,
}

/// The options of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) functions: Option<Vec<String>>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) include_dirs: Vec<OsString>,
    pub(super) defines: Vec<(String, Option<String>)>,
    pub(super) libraries: Vec<OsString>,
    pub(super) library_dirs: Vec<OsString>,
    pub(super) std: Option<String>,
    pub(super) opt: Option<i32>,
    pub(super) arch: Vec<String>,
    pub(super) ptx: bool,
    pub(super) fast_math: bool,
    pub(super) debug: Option<DebugMode>,
    pub(super) lineinfo: bool,
    pub(super) host_headers: Option<HostHeaders>,
    pub(super) timeout: Option<Duration>,
    pub(super) march: Option<String>,
    pub(super) openmp: bool,
    pub(super) dev: bool,
    pub(super) cflags: Vec<String>,
    pub(super) undefined: Option<Undefined>,
    pub(super) exports: Vec<String>,
    pub(super) device_compiler: Option<DeviceCompiler>,
    pub(super) maxrregcount: Option<i32>,
}

/// The options of the table. A list is added to what the option has.
impl Options {
    /// Export these functions alone; otherwise all that are not static and have supported types.
    pub fn functions(mut self, items: impl IntoIterator<Item = impl Into<String>>) -> Options {
        self.rows.functions.get_or_insert_with(Vec::new).extend(items.into_iter().map(Into::into));
        self
    }
    /// Headers that the source may include: names and texts.
    pub fn headers(mut self, items: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Options {
        self.rows.headers.extend(items.into_iter().map(|(name, text)| (name.into(), text.into())));
        self
    }
    /// Folders to find headers in.
    pub fn include_dirs(mut self, items: impl IntoIterator<Item = impl Into<OsString>>) -> Options {
        self.rows.include_dirs.extend(items.into_iter().map(Into::into));
        self
    }
    /// Macros, with or without a value.
    pub fn defines(mut self, items: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Options {
        self.rows.defines.extend(items.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        self
    }
    /// Libraries to link, by their bare names or paths; those in NVIDIA's wheels are found too.
    pub fn libraries(mut self, items: impl IntoIterator<Item = impl Into<OsString>>) -> Options {
        self.rows.libraries.extend(items.into_iter().map(Into::into));
        self
    }
    /// Folders to find libraries in.
    pub fn library_dirs(mut self, items: impl IntoIterator<Item = impl Into<OsString>>) -> Options {
        self.rows.library_dirs.extend(items.into_iter().map(Into::into));
        self
    }
    /// The C++ standard: `c++11`, `c++14`, `c++17`, `c++20`, `c++23`; `c++20` by default.
    pub fn std(mut self, value: impl Into<String>) -> Options {
        self.rows.std = Some(value.into());
        self
    }
    /// The level of optimisation; from 0 to 3; `2` by default.
    pub fn opt(mut self, value: i32) -> Options {
        self.rows.opt = Some(value);
        self
    }
    /// GPU architectures, as in sm_90; otherwise those of the GPUs present, or sm_90 without any.
    pub fn arch(mut self, items: impl IntoIterator<Item = impl Into<String>>) -> Options {
        self.rows.arch.extend(items.into_iter().map(Into::into));
        self
    }
    /// Add PTX, for newer GPUs.
    pub fn ptx(mut self, on: bool) -> Options {
        self.rows.ptx = on;
        self
    }
    /// Trade exactness of floating-point math for speed, as nvcc's -use_fast_math.
    pub fn fast_math(mut self, on: bool) -> Options {
        self.rows.fast_math = on;
        self
    }
    /// Add debug information, as nvcc's -g and -G; or checks of host code, too: for undefined behaviour, by AddressSanitizer, by ThreadSanitizer: `undefined`, `address`, `thread`.
    pub fn debug(mut self, value: DebugMode) -> Options {
        self.rows.debug = Some(value);
        self
    }
    /// Add line numbers for profilers, as nvcc's -lineinfo.
    pub fn lineinfo(mut self, on: bool) -> Options {
        self.rows.lineinfo = on;
        self
    }
    /// Whose C and C++ headers the source includes, Tarsia's own or the system's: `own`, `system`; `own` by default.
    pub fn host_headers(mut self, value: HostHeaders) -> Options {
        self.rows.host_headers = Some(value);
        self
    }
    /// The most seconds that the compile may take, 300 if it is left out; from 0 to 4294967.
    pub fn timeout(mut self, time: Duration) -> Options {
        self.rows.timeout = Some(time);
        self
    }
    /// The CPU that host code is for, as in x86-64-v3, znver4 or native; otherwise the x86-64 level of this machine.
    pub fn march(mut self, value: impl Into<String>) -> Options {
        self.rows.march = Some(value.into());
        self
    }
    /// Turn OpenMP on for host code; by itself it is on where the source has a pragma of OpenMP's.
    pub fn openmp(mut self, on: bool) -> Options {
        self.rows.openmp = on;
        self
    }
    /// Compile as fast as possible, for code that runs slower: while it is being written.
    pub fn dev(mut self, on: bool) -> Options {
        self.rows.dev = on;
        self
    }
    /// Options as gcc or nvcc spells them, of those that docs/options.md lists.
    pub fn cflags(mut self, items: impl IntoIterator<Item = impl Into<String>>) -> Options {
        self.rows.cflags.extend(items.into_iter().map(Into::into));
        self
    }
    /// What symbols are that neither the source nor a library defines: an error, or left to the loader: `error`, `load`; `error` by default.
    pub fn undefined(mut self, value: Undefined) -> Options {
        self.rows.undefined = Some(value);
        self
    }
    /// Functions and variables whose symbols the library shows to others, by their C or qualified C++ names.
    pub fn exports(mut self, items: impl IntoIterator<Item = impl Into<String>>) -> Options {
        self.rows.exports.extend(items.into_iter().map(Into::into));
        self
    }
    /// What compiles kernels: NVRTC, Clang, or the first of them that can: `auto`, `nvrtc`, `clang`; `auto` by default.
    pub fn device_compiler(mut self, value: DeviceCompiler) -> Options {
        self.rows.device_compiler = Some(value);
        self
    }
    /// The most registers that a thread may have, as nvcc's -maxrregcount; 0 leaves it to the compiler; from 0 to 255.
    pub fn maxrregcount(mut self, value: i32) -> Options {
        self.rows.maxrregcount = Some(value);
        self
    }
}

impl Rows {
    /// Writes the options into the struct of C, which borrows from `kept`.
    pub(super) fn write(&self, options: &mut tarsia_options, kept: &mut Kept) -> Result<()> {
        options.restrict_functions = i32::from(self.functions.is_some());
        let items = kept.list(self.functions.as_deref().unwrap_or_default(), "functions")?;
        options.functions = items.0;
        options.n_functions = items.1;
        let items = kept.files(&self.headers, "headers")?;
        options.headers = items.0;
        options.n_headers = items.1;
        let items = kept.list(&self.include_dirs, "include_dirs")?;
        options.include_dirs = items.0;
        options.n_include_dirs = items.1;
        let items = kept.defines(&self.defines, "defines")?;
        options.defines = items.0;
        options.n_defines = items.1;
        let items = kept.list(&self.libraries, "libraries")?;
        options.libraries = items.0;
        options.n_libraries = items.1;
        let items = kept.list(&self.library_dirs, "library_dirs")?;
        options.library_dirs = items.0;
        options.n_library_dirs = items.1;
        if let Some(value) = &self.std {
            options.std = kept.text(value, "std")?;
        }
        if let Some(value) = self.opt {
            options.opt = value;
        }
        let items = kept.list(&self.arch, "arch")?;
        options.archs = items.0;
        options.n_archs = items.1;
        options.ptx = i32::from(self.ptx);
        options.fast_math = i32::from(self.fast_math);
        if let Some(value) = self.debug {
            options.debug = value as i32;
        }
        options.lineinfo = i32::from(self.lineinfo);
        if let Some(value) = self.host_headers {
            options.host_headers = value as i32;
        }
        if let Some(value) = self.timeout {
            options.timeout_ms = milliseconds(value, "timeout")?;
        }
        if let Some(value) = &self.march {
            options.march = kept.text(value, "march")?;
        }
        options.openmp = i32::from(self.openmp);
        options.dev = i32::from(self.dev);
        let items = kept.list(&self.cflags, "cflags")?;
        options.cflags = items.0;
        options.n_cflags = items.1;
        if let Some(value) = self.undefined {
            options.undefined = value as i32;
        }
        let items = kept.list(&self.exports, "exports")?;
        options.exports = items.0;
        options.n_exports = items.1;
        if let Some(value) = self.device_compiler {
            options.device_compiler = value as i32;
        }
        if let Some(value) = self.maxrregcount {
            options.maxrregcount = value;
        }
        Ok(())
    }
}
