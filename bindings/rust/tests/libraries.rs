//! Libraries: compiling, loading, looking up, unloading; options; errors of the compiler.
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use support::{load, unique, Folder};
use tarsia::{DebugMode, DeviceCompiler, ErrorKind, HostHeaders, Options, Source, Undefined};

fn compiled(source: &str, options: &Options) -> tarsia::Result<tarsia::Library> {
    // SAFETY: the sources only compute.
    unsafe { tarsia::load_inline(source, options) }
}

#[test]
fn a_library_tells_what_it_holds() {
    let library = load(
        "#include <string>\n\
         namespace a { int f(int x, int y = 2) { return x + y; } double g(double x) { return x; } }\n\
         namespace b { double g(double x) { return 2 * x; } }\n\
         int f(std::string) { return 3; }\n\
         struct Odd {}; void odd(Odd) {}\n\
         int forgotten() { }",
    );
    let functions = library.functions();
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["a::f", "a::g", "b::g", "f", "forgotten"]);
    assert_eq!(functions[0].parameters, ["x", "y"]);
    assert_eq!(functions[0].required, 1);
    assert!(functions[0].signature.starts_with("int a::f(int x, int y"), "{}", functions[0].signature);
    assert!(functions[0].location.ends_with(":2"), "{}", functions[0].location);
    assert_eq!(library.skipped()[0].name, "odd");
    assert!(!library.skipped()[0].reason.is_empty());
    assert_eq!(library.warnings()[0].line, 6);
    assert_eq!(library.warnings()[0].severity, "warning");
    assert!(library.kernels().is_empty() && library.ops().is_empty() && library.symbols().is_empty());

    assert_eq!(library.function("a::f").unwrap().call::<i32>((1,)).unwrap(), 3);
    assert_eq!(library.function("f").unwrap().call::<i32>(("x",)).unwrap(), 3);
    let several = library.function("g").unwrap_err();
    assert_eq!(several.kind(), ErrorKind::NotFound);
    assert!(several.to_string().contains("several function g; it has a::f, a::g, b::g"), "{}", several);
    assert!(library.function("h").unwrap_err().to_string().contains("has no function h"));
    assert!(library.kernel("f").unwrap_err().to_string().contains("it has none"));
}

#[test]
fn the_cache_has_what_was_compiled() {
    let source = format!("int f_{}() {{ return 1; }}", unique());
    let refused = compiled(&source, &Options::new().cached_only(true)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CompileForbidden);
    let first = compiled(&source, &Options::new().name("twice")).unwrap();
    assert_eq!((first.origin().as_str(), first.name().as_str()), ("compiled", "twice"));
    let again = compiled(&source, &Options::new().name("twice").cached_only(true)).unwrap();
    assert_eq!(again.origin(), "memory");
}

#[test]
fn errors_of_the_compiler_have_places() {
    let error = compiled("int f() {\n  return oops;\n}\n", &Options::new()).unwrap_err();
    assert_eq!(
        (error.kind(), error.kind().name(), error.stage()),
        (ErrorKind::Compile, "CompileError", "host")
    );
    let first = &error.diagnostics()[0];
    assert_eq!((first.line, first.column, first.severity.as_str()), (2, 10, "error"));
    assert!(first.message.contains("oops"));
    assert!(first.to_string().contains(":2:10: error: "));
    assert_eq!(compiled("int f();\0", &Options::new()).unwrap_err().kind(), ErrorKind::InvalidSource);
    let files = Source::files([("a\0b.cc", "int f() { return 1; }")]);
    // SAFETY: it is not compiled.
    assert_eq!(
        unsafe { tarsia::load_inline(files, &Options::new()) }.unwrap_err().kind(),
        ErrorKind::ArgumentValue
    );
}

#[test]
fn every_option_reaches_the_compiler() {
    let folder = Folder::new("options");
    std::fs::create_dir_all(folder.0.join("include")).unwrap();
    std::fs::write(folder.0.join("include/on_disk.h"), "#define ON_DISK 7\n").unwrap();
    let options = Options::new()
        .functions(["f"])
        .functions(vec!["g".to_string()])
        .headers([("virtual.h", "#define VIRTUAL 30\n")])
        .include_dirs([folder.0.join("include")])
        .defines([("VALUE", "100")])
        .define("SET")
        .libraries(["m"])
        .library_dirs(["/usr/lib"])
        .std("c++17")
        .opt(1)
        .arch(["sm_90"])
        .ptx(true)
        .fast_math(true)
        .debug(DebugMode::On)
        .lineinfo(true)
        .host_headers(HostHeaders::Own)
        .timeout(Duration::from_secs(100))
        .march("x86-64")
        .openmp(true)
        .dev(false)
        .cflags(["-Wall"])
        .undefined(Undefined::Load)
        .exports(["shown"])
        .device_compiler(DeviceCompiler::Auto)
        .maxrregcount(64);
    let library = compiled(
        "#include \"virtual.h\"\n#include <on_disk.h>\n\
         #if __cplusplus != 201703L || !defined(SET) || !defined(_OPENMP) || !defined(__FAST_MATH__)\n#error\n#endif\n\
         extern int nowhere();\n\
         int f(bool call) { return call ? nowhere() : VIRTUAL + ON_DISK + VALUE; }\n\
         int g() { return 1; }\n\
         int h() { return 2; }\n\
         int shown() { return 3; }\n",
        &options.clone().undefined(Undefined::Error),
    );
    assert!(library.unwrap_err().to_string().contains("nowhere"));
    let library = compiled(
        "#include \"virtual.h\"\n#include <on_disk.h>\n\
         #if __cplusplus != 201703L || !defined(SET) || !defined(_OPENMP) || !defined(__FAST_MATH__)\n#error\n#endif\n\
         int f() { return VIRTUAL + ON_DISK + VALUE; }\n\
         int g() { return 1; }\n\
         int h() { return 2; }\n\
         int shown() { return 3; }\n",
        &options,
    )
    .unwrap_or_else(|error| panic!("{:?}", error));
    let names: Vec<String> = library.functions().into_iter().map(|function| function.name).collect();
    assert_eq!(names, ["f", "g"]);
    assert_eq!(library.function("f").unwrap().call::<i32>(()).unwrap(), 137);
    assert!(library.symbols().iter().any(|name| name.contains("shown")), "{:?}", library.symbols());
    assert!(library.symbol(&library.symbols()[0]).is_some());
    assert!(library.symbol("nothing").is_none());
    assert!(format!("{:?}", options).contains("maxrregcount: Some(64)"));
}

#[test]
fn values_that_no_option_has_are_refused() {
    let source = "int f() { return 1; }";
    for (options, word) in [
        (Options::new().std("c++99"), "c++99"),
        (Options::new().opt(7), "opt"),
        (Options::new().cflags(["-fnothing"]), "-fnothing"),
        (Options::new().maxrregcount(-1), "maxrregcount"),
        (Options::new().timeout(Duration::from_secs(u64::MAX)), "timeout"),
        (Options::new().std("c++\0"), "std has a NUL"),
        (Options::new().name("a\0"), "name has a NUL"),
    ] {
        let error = compiled(source, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArgumentValue, "{:?}", error);
        assert!(error.to_string().contains(word), "{}", error);
    }
}

#[test]
fn a_compile_can_be_interrupted() {
    let source =
        format!("#include <regex>\nint f_{}(int x) {{ return std::regex(\"a\").flags() + x; }}", unique());
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let options = Options::new().interrupted(move || counter.fetch_add(1, Ordering::Relaxed) >= 1);
    let error = compiled(&source, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_panic_of_the_question_goes_on_from_the_call() {
    let source =
        format!("#include <regex>\nint f_{}(int x) {{ return std::regex(\"a\").flags() + x; }}", unique());
    let options = Options::new().interrupted(|| panic!("asked"));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compiled(&source, &options)));
    assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "asked");
    compiled("int f() { return 1; }", &Options::new()).unwrap(); // the next compile goes on
}

#[test]
fn what_is_exported_can_be_loaded() {
    let folder = Folder::new("export");
    let file = folder.0.join("exported.so");
    load("int f() { return 5; }").export(&file).unwrap();
    // SAFETY: the file was exported above.
    let library = unsafe { tarsia::load(&file) }.unwrap();
    assert_eq!(
        (library.origin().as_str(), library.function("f").unwrap().call::<i32>(()).unwrap()),
        ("prebuilt", 5)
    );

    let compiled_only = folder.0.join("compiled.so");
    tarsia::compile("int f() { return 6; }", &compiled_only, &Options::new()).unwrap();
    // SAFETY: as above.
    assert_eq!(
        unsafe { tarsia::load(&compiled_only) }.unwrap().function("f").unwrap().call::<i32>(()).unwrap(),
        6
    );

    let none = folder.0.join("none.so");
    // SAFETY: there is no such file.
    assert_eq!(unsafe { tarsia::load(&none) }.unwrap_err().kind(), ErrorKind::Load);
    std::fs::write(&none, "no library").unwrap();
    // SAFETY: the file holds no code.
    assert_eq!(unsafe { tarsia::load(&none) }.unwrap_err().kind(), ErrorKind::Load);
}

#[test]
fn a_function_keeps_its_library() {
    let f = load(&format!("int f_{}() {{ static int calls = 40; return ++calls; }}", unique()));
    let f = f.function(&f.functions()[0].name.clone()).unwrap();
    let copy = f.clone();
    assert_eq!(f.call::<i32>(()).unwrap(), 41);
    drop(f);
    assert_eq!(copy.call::<i32>(()).unwrap(), 42);
}

#[test]
fn libraries_and_functions_go_to_other_threads() {
    fn takes<T: Send + Sync + Clone + 'static>(_: &T) {}
    let library = load("long square(long x) { return x * x; }");
    let square = library.function("square").unwrap();
    takes(&library);
    takes(&square);
    let threads: Vec<_> = (0..4i64)
        .map(|i| {
            let square = square.clone();
            std::thread::spawn(move || (0..1000).map(|k| square.call::<i64>((i * k,)).unwrap()).sum::<i64>())
        })
        .collect();
    drop((library, square));
    for (i, thread) in (0..4i64).zip(threads) {
        assert_eq!(thread.join().unwrap(), i * i * (0..1000i64).map(|k| k * k).sum::<i64>());
    }
}

#[test]
fn errors_of_threads_are_their_own() {
    let f = load("int f(int x) { return x; }").function("f").unwrap();
    std::thread::scope(|scope| {
        for word in ["one", "two", "three"] {
            let f = &f;
            scope.spawn(move || {
                for _ in 0..200 {
                    let error = f.call::<i32>((word,)).unwrap_err();
                    assert!(error.to_string().contains(&format!("'{}'", word)), "{}", error);
                }
            });
        }
    });
}

#[test]
fn the_process_tells_about_itself() {
    assert_eq!(tarsia::version().unwrap(), env!("CARGO_PKG_VERSION"));
    assert!(tarsia::stats().unwrap().starts_with('{'));
    assert!(tarsia::doctor().unwrap().contains("libtarsia"));
    tarsia::seed(1).unwrap();
    tarsia::device_count().unwrap();
}
