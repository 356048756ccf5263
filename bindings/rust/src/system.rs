//! This Tarsia, and this machine.
use std::os::raw::c_char;
use std::ptr;

use crate::error::{text_of, Result};
use crate::loader::api;
use crate::op::taken_text;

/// The version of libtarsia, as in "0.1.0".
pub fn version() -> Result<String> {
    let api = api()?;
    // SAFETY: the text lives forever.
    Ok(unsafe { text_of((api.tarsia_version)()) })
}

/// The number of GPUs; 0 without a driver.
pub fn device_count() -> Result<usize> {
    let api = api()?;
    // SAFETY: takes nothing.
    Ok(unsafe { (api.tarsia_device_count)() }.max(0) as usize)
}

/// Seeds the random states of all devices.
pub fn seed(seed: u64) -> Result<()> {
    let api = api()?;
    // SAFETY: takes a number.
    unsafe { (api.tarsia_seed)(seed) };
    Ok(())
}

/// The counters of the cache, the compiler and conversions, as JSON.
pub fn stats() -> Result<String> {
    let api = api()?;
    json(|text| unsafe { (api.tarsia_stats)(text) })
}

/// What works on this machine, what is missing, and how to get it, as JSON. Compiles a source, and launches a kernel if it can.
pub fn doctor() -> Result<String> {
    let api = api()?;
    json(|text| unsafe { (api.tarsia_doctor)(text) })
}

fn json(f: impl FnOnce(*mut *mut c_char) -> i32) -> Result<String> {
    let api = api()?;
    let mut text = ptr::null_mut();
    api.check(f(&mut text))?;
    // SAFETY: the call handed the text over.
    Ok(unsafe { taken_text(api, text) })
}
