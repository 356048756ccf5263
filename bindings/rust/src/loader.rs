//! Opens libtarsia, once for the process.
//!
//! The library lies in the folder of the Python package, wherever that is on the machine that a program runs on. The linker
//! would write the path of the machine that built it, and only into programs of this crate: Cargo passes no run path on to
//! the programs that depend on a library. So the crate asks the system's loader when libtarsia is first needed. It builds
//! where there is no Tarsia, and a program without one gets an error that says what to do.
use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Mutex;

use crate::error::{Error, ErrorKind, Result};
use crate::ffi::{self, Api};

#[link(name = "dl")]
extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}
const RTLD_NOW: c_int = 2;
const RTLD_NOLOAD: c_int = 4;

const FILE: &str = "libtarsia.so";

static API: AtomicPtr<Api> = AtomicPtr::new(ptr::null_mut());
/// What was opened. Held while something is.
static OPENED: Mutex<Option<Opened>> = Mutex::new(None);

/// A library that the loader has.
struct Opened {
    handle: *mut c_void,
    file: PathBuf,
}
// SAFETY: the loader takes its handles from any thread.
unsafe impl Send for Opened {}

/// The functions of libtarsia, which is opened if it is not yet.
pub(crate) fn api() -> Result<&'static Api> {
    // SAFETY: what is stored there is never freed.
    if let Some(api) = unsafe { API.load(Ordering::Acquire).as_ref() } {
        return Ok(api);
    }
    open_first(None)
}

/// Opens the libtarsia of a folder, that of the Python package or another that holds `libtarsia.so`. Without this call, the
/// crate opens one when it first needs it:
///
/// 1. the one that the process has loaded already, as Python's `tarsia` does;
/// 2. that in the folder that `TARSIA_DIR` names in the environment;
/// 3. that of the Python package in the virtual environment that `VIRTUAL_ENV` names;
/// 4. that which the build of this crate found, by `TARSIA_DIR`, by CMake's `tarsia_DIR` or by asking `python3`;
/// 5. the system's, as `LD_LIBRARY_PATH` and `ldconfig` say.
///
/// Errors: [`ErrorKind::Load`], also if another libtarsia is open: a process has one.
///
/// # Safety
///
/// The file is a libtarsia. Loading it runs its code.
pub unsafe fn open(folder: impl AsRef<Path>) -> Result<()> {
    open_first(Some(folder.as_ref())).map(drop)
}

fn open_first(asked: Option<&Path>) -> Result<&'static Api> {
    let mut opened = OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: what is stored there is never freed.
    if let Some(api) = unsafe { API.load(Ordering::Acquire).as_ref() } {
        return match (asked, opened.as_ref()) {
            (Some(folder), Some(open)) => is_open(&folder.join(FILE), open).map(|()| api),
            _ => Ok(api),
        };
    }
    let found = find(asked)?;
    let api = resolve(found.handle, &found.file)?;
    let api: &'static Api = Box::leak(Box::new(api));
    API.store(api as *const Api as *mut Api, Ordering::Release);
    *opened = Some(found);
    Ok(api)
}

/// Refuses a file that is not the open libtarsia. The loader knows: one file has several paths.
fn is_open(file: &Path, open: &Opened) -> Result<()> {
    match dlopened(file, RTLD_NOW | RTLD_NOLOAD) {
        Ok(found) if found.handle == open.handle => Ok(()),
        _ => Err(load_error(format!(
            "{} cannot be opened: the process has {} open, and it can have one libtarsia",
            file.display(),
            open.file.display()
        ))),
    }
}

/// The libtarsia of a folder, or the first that there is.
fn find(asked: Option<&Path>) -> Result<Opened> {
    let loaded = dlopened(Path::new(FILE), RTLD_NOW | RTLD_NOLOAD);
    match (asked.map(|folder| folder.join(FILE)), loaded) {
        (Some(file), Ok(open)) => return is_open(&file, &open).map(|()| Opened { file, ..open }),
        (Some(file), Err(_)) => return dlopened(&file, RTLD_NOW),
        (None, Ok(open)) => return Ok(open),
        (None, Err(_)) => (),
    }
    if let Some(folder) = env::var_os("TARSIA_DIR").filter(|folder| !folder.is_empty()) {
        return dlopened(&Path::new(&folder).join(FILE), RTLD_NOW).map_err(|error| {
            load_error(format!(
                "TARSIA_DIR names a folder without a libtarsia that can be loaded: {}",
                error.message()
            ))
        });
    }
    let mut tried = Vec::new();
    let of_environment =
        env::var_os("VIRTUAL_ENV").and_then(|folder| in_virtual_environment(Path::new(&folder)));
    let of_build = option_env!("TARSIA_BUILD_DIR").map(|folder| Path::new(folder).join(FILE));
    for file in of_environment.into_iter().chain(of_build).filter(|file| file.is_file()) {
        match dlopened(&file, RTLD_NOW) {
            Ok(found) => return Ok(found),
            Err(error) => tried.push(error.message().to_string()),
        }
    }
    dlopened(Path::new(FILE), RTLD_NOW).map_err(|error| {
        tried.push(error.message().to_string());
        load_error(format!(
            "there is no libtarsia: install Tarsia's wheel (pip install tarsia-*.whl) and let TARSIA_DIR name its folder, which \
             python3 -c 'import tarsia; print(tarsia.__path__[0])' tells. What was tried: {}",
            tried.join("; ")
        ))
    })
}

/// The library of the Python package in a virtual environment.
fn in_virtual_environment(folder: &Path) -> Option<PathBuf> {
    let pythons = folder.join("lib").read_dir().ok()?;
    let mut found: Vec<PathBuf> = pythons
        .filter_map(|python| Some(python.ok()?.path().join("site-packages/tarsia").join(FILE)))
        .filter(|file| file.is_file())
        .collect();
    found.sort();
    found.pop()
}

fn dlopened(path: &Path, flags: c_int) -> Result<Opened> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| load_error(format!("the path {:?} has a NUL", path.as_os_str())))?;
    // SAFETY: `name` is a C string. The file's initialisers run: it is a libtarsia.
    let handle = unsafe { dlopen(name.as_ptr(), flags) };
    if !handle.is_null() {
        return Ok(Opened { handle, file: path.to_path_buf() });
    }
    // SAFETY: dlerror returns null or a C string that lives until this thread's next call.
    let said = unsafe { dlerror() };
    let text = if said.is_null() {
        format!("{} cannot be loaded", path.display())
    } else {
        // SAFETY: as above.
        unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
    };
    Err(load_error(text))
}

fn resolve(handle: *mut c_void, file: &Path) -> Result<Api> {
    let symbol = |name: &'static str| {
        // SAFETY: the handle is open, and `name` ends with a NUL.
        unsafe { dlsym(handle, name.as_ptr() as *const c_char) }
    };
    // SAFETY: libtarsia's functions have the types of its headers, which layout.rs compares with this crate's.
    let api = unsafe { Api::resolve(symbol) }.map_err(|name| {
        load_error(format!(
            "{} has no {}: it is older than this crate; install a newer Tarsia",
            file.display(),
            name
        ))
    })?;
    // SAFETY: takes nothing.
    let version = unsafe { (api.tarsia_abi_version)() };
    if version != ffi::ABI_VERSION {
        return Err(load_error(format!(
            "{} has version {} of Tarsia's binary interface, and this crate is made for version {}: take the crate of the \
             same Tarsia",
            file.display(),
            version,
            ffi::ABI_VERSION
        )));
    }
    Ok(api)
}

fn load_error(message: String) -> Error {
    Error::new(ErrorKind::Load, "load", message)
}

/// A path, text or name as a C string. `what` is the subject of the error if it has a NUL.
pub(crate) fn c_string(text: impl AsRef<OsStr>, what: &str) -> Result<CString> {
    CString::new(text.as_ref().as_bytes()).map_err(|_| {
        Error::new(
            ErrorKind::ArgumentValue,
            "call",
            format!("{} has a NUL in it: {:?}; leave the NUL out", what, text.as_ref()),
        )
    })
}
