//! Where libtarsia is looked for. Each case runs in a process of its own, which is this program again.
mod support;

use std::env;
use std::process::Command;

use support::Folder;
use tarsia::ErrorKind;

/// Runs `test` in a new process, with variables; None takes one out.
fn again(test: &str, variables: &[(&str, Option<&str>)]) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("TARSIA_RUST_CHILD", test);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{}", said);
}

fn is_child(test: &str) -> bool {
    env::var("TARSIA_RUST_CHILD").map_or(false, |name| name == test)
}

#[test]
fn a_folder_without_libtarsia_is_an_error() {
    let test = "a_folder_without_libtarsia_is_an_error";
    if !is_child(test) {
        return again(test, &[("TARSIA_DIR", Some("/nowhere"))]);
    }
    let error = tarsia::version().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Load);
    assert!(
        error.to_string().contains("TARSIA_DIR") && error.to_string().contains("/nowhere/libtarsia.so"),
        "{}",
        error
    );
}

#[test]
fn a_library_that_is_not_tarsia_is_an_error() {
    let test = "a_library_that_is_not_tarsia_is_an_error";
    if !is_child(test) {
        let folder = Folder::new("other");
        tarsia::compile("int f() { return 1; }", folder.0.join("libtarsia.so"), &tarsia::Options::new())
            .unwrap();
        return again(test, &[("TARSIA_DIR", folder.0.to_str())]);
    }
    let error = tarsia::version().unwrap_err();
    assert!(error.to_string().contains("lacks") || error.to_string().contains("has no tarsia_"), "{}", error);
}

#[test]
fn the_package_of_a_virtual_environment_is_found() {
    let test = "the_package_of_a_virtual_environment_is_found";
    if !is_child(test) {
        let folder = Folder::new("venv");
        let packages = folder.0.join("lib/python3.11/site-packages");
        std::fs::create_dir_all(&packages).unwrap();
        std::os::unix::fs::symlink(env::var("TARSIA_DIR").unwrap(), packages.join("tarsia")).unwrap();
        return again(test, &[("TARSIA_DIR", None), ("VIRTUAL_ENV", folder.0.to_str())]);
    }
    tarsia::version().unwrap();
}

#[test]
fn a_process_has_one_libtarsia() {
    let test = "a_process_has_one_libtarsia";
    if !is_child(test) {
        return again(
            test,
            &[("TARSIA_DIR", None), ("TARSIA_RUST_FOLDER", env::var("TARSIA_DIR").ok().as_deref())],
        );
    }
    let folder = env::var("TARSIA_RUST_FOLDER").unwrap();
    // SAFETY: the folder is Tarsia's; in the other there is nothing.
    unsafe {
        assert_eq!(tarsia::open("/nowhere").unwrap_err().kind(), ErrorKind::Load);
        tarsia::open(&folder).unwrap();
        tarsia::open(&folder).unwrap();
        let error = tarsia::open("/nowhere").unwrap_err();
        assert!(error.to_string().contains("it can have one libtarsia"), "{}", error);
    }
    tarsia::version().unwrap();
}

#[test]
fn what_the_process_has_loaded_is_taken() {
    let test = "what_the_process_has_loaded_is_taken";
    if !is_child(test) {
        let installed = env::var("TARSIA_DIR").unwrap();
        let folder = Folder::new("copy");
        let copy = folder.0.join("libtarsia.so");
        std::fs::copy(format!("{}/libtarsia.so", installed), &copy).unwrap();
        let preload = format!("{}/libtarsia.so", installed);
        for first in ["installed", "copy", "version"] {
            let variables = [
                ("TARSIA_DIR", None),
                ("LD_PRELOAD", Some(preload.as_str())),
                ("TARSIA_RUST_FOLDER", Some(installed.as_str())),
                ("TARSIA_RUST_COPY", folder.0.to_str()),
                ("TARSIA_RUST_FIRST", Some(first)),
            ];
            again(test, &variables);
        }
        return;
    }
    let (installed, copy) = (env::var("TARSIA_RUST_FOLDER").unwrap(), env::var("TARSIA_RUST_COPY").unwrap());
    // SAFETY: both folders hold Tarsia's.
    let (open_installed, open_copy) =
        (|| unsafe { tarsia::open(&installed) }, || unsafe { tarsia::open(&copy) });
    match env::var("TARSIA_RUST_FIRST").unwrap().as_str() {
        "installed" => open_installed().unwrap(),
        "version" => drop(tarsia::version().unwrap()),
        _ => (),
    }
    let error = open_copy().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Load);
    assert!(error.to_string().contains("it can have one libtarsia"), "{}", error);
    open_installed().unwrap();
    tarsia::version().unwrap();
}
