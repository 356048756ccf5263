//! Notes the folder of libtarsia on this machine, for programs that find none where they run. The crate builds without it.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libtarsia.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["TARSIA_DIR", "tarsia_DIR", "VIRTUAL_ENV"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    if let Some(folder) = found() {
        println!("cargo:rustc-env=TARSIA_BUILD_DIR={}", folder.display());
    }
}

/// The folder that TARSIA_DIR or CMake's tarsia_DIR names, or that of the Python package.
fn found() -> Option<PathBuf> {
    let given = env::var_os("TARSIA_DIR").map(PathBuf::from);
    let of_cmake =
        env::var_os("tarsia_DIR").and_then(|folder| Some(Path::new(&folder).parent()?.to_path_buf()));
    let folder = given.or(of_cmake).or_else(of_python)?;
    folder.join(LIBRARY).is_file().then(|| folder)
}

fn of_python() -> Option<PathBuf> {
    let python = match env::var_os("VIRTUAL_ENV") {
        Some(folder) => Path::new(&folder).join("bin/python"),
        None => PathBuf::from("python3"),
    };
    // The package is looked for, not imported.
    let code = "import importlib.util as u; print(u.find_spec('tarsia').submodule_search_locations[0])";
    let answer = Command::new(python).args(["-c", code]).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| PathBuf::from(text.trim()))
}
