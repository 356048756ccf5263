//! What the tests share.
#![allow(dead_code)]
use tarsia::{Library, Options};

/// Loads a source of this folder's tests.
pub fn load(source: &str) -> Library {
    // SAFETY: the tests call what they load with arguments that it can take.
    unsafe { tarsia::load_inline(source, &Options::new()) }.unwrap_or_else(|error| panic!("{:?}", error))
}

/// A folder for the files of one test, which is removed with it.
pub struct Folder(pub std::path::PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tarsia-rust-{}-{}", std::process::id(), test));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A text that no run of the tests had before, for sources that are not to be in the cache.
pub fn unique() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{}_{}", std::process::id(), now.as_nanos())
}
