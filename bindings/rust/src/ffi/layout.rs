//! Holds the declarations of this crate against the C headers: Tarsia compiles the headers with assertions of every
//! size, offset, field's type, constant and function's type.
use std::fmt::Write;
use std::os::raw::c_void;

use super::structs::*;
use super::*;

/// A type as C++ spells it.
pub(crate) trait CType {
    fn c() -> String;
}

/// A field of a struct.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) c: String,
}

pub(crate) trait CStruct: CType + Sized {
    fn fields() -> Vec<Field>;
}

macro_rules! spelled {
    ($($type:ty => $c:expr),* $(,)?) => { $(impl CType for $type { fn c() -> String { $c.to_string() } })* };
}
// i8 is c_char, which the interface has; it has no int8_t.
spelled! {
    i8 => "char", u8 => "uint8_t", u16 => "uint16_t", i32 => "int32_t", u32 => "uint32_t", i64 => "int64_t",
    u64 => "uint64_t", f64 => "double", c_void => "void", () => "void", tarsia_value => "tarsia_value",
}
impl<T: CType> CType for *const T {
    fn c() -> String {
        format!("{} const*", T::c())
    }
}
impl<T: CType> CType for *mut T {
    fn c() -> String {
        format!("{}*", T::c())
    }
}
impl<T: CType, const N: usize> CType for [T; N] {
    fn c() -> String {
        format!("std::type_identity_t<{}[{}]>", T::c(), N)
    }
}
macro_rules! functions_spelled {
    ($(($($argument:ident)*))*) => {
        $(impl<R: CType $(, $argument: CType)*> CType for Option<unsafe extern "C" fn($($argument),*) -> R> {
            fn c() -> String {
                let arguments: Vec<String> = vec![$($argument::c()),*];
                format!("std::type_identity_t<{}({})>*", R::c(), arguments.join(", "))
            }
        })*
    };
}
functions_spelled! { () (A) (A B) (A B C) (A B C D) (A B C D E) }

/// Assertions about a struct. `all` is false for one of which only the first fields are declared here.
fn assert_struct<T: CStruct>(text: &mut String, all: bool) {
    let name = T::c();
    if all {
        writeln!(text, "static_assert(sizeof({0}) == {1}, \"{0}\");", name, std::mem::size_of::<T>())
            .unwrap();
        writeln!(text, "static_assert(alignof({0}) == {1}, \"{0}\");", name, std::mem::align_of::<T>())
            .unwrap();
    }
    for field in T::fields() {
        let member = field.name.trim_end_matches('_'); // `type` is a word of Rust's
        writeln!(text, "static_assert(offsetof({0}, {1}) == {2}, \"{0}.{1}\");", name, member, field.offset)
            .unwrap();
        writeln!(
            text,
            "static_assert(std::is_same_v<decltype({0}::{1}), {2}>, \"{0}.{1}\");",
            name, member, field.c
        )
        .unwrap();
    }
}

/// A source that compiles if the declarations are those of the headers.
fn source() -> String {
    let mut text = String::from(
        "#include <tarsia/c_api.h>\n#include <cstddef>\n#include <type_traits>\nint answer() { return 42; }\n",
    );
    macro_rules! structs {
        ($($name:ident)*) => { $(assert_struct::<$name>(&mut text, true);)* };
    }
    structs! {
        tarsia_device tarsia_dtype tarsia_tensor tarsia_storage tarsia_type tarsia_param tarsia_function tarsia_kernel
        tarsia_skipped tarsia_diagnostic tarsia_error tarsia_file tarsia_define tarsia_options tarsia_call_context
        tarsia_launch tarsia_kernel_attributes tarsia_occupancy tarsia_meta tarsia_port tarsia_attribute tarsia_inplace
        tarsia_op_request tarsia_op_call tarsia_measured_time
    }
    assert_struct::<tarsia_op>(&mut text, false);
    // The pointer to the implementation's description is not followed: its type is left open.
    assert_eq!(std::mem::size_of::<tarsia_bound_pass>(), 112);
    for field in tarsia_bound_pass::fields() {
        writeln!(text, "static_assert(offsetof(tarsia_bound_pass, {}) == {});", field.name, field.offset)
            .unwrap();
    }
    text.push_str("static_assert(sizeof(tarsia_bound_pass) == 112);\n");
    let value = tarsia_value::NONE;
    let start = std::ptr::addr_of!(value) as usize;
    for (member, offset) in [
        ("i", std::ptr::addr_of!(value.payload) as usize),
        ("v", std::ptr::addr_of!(value.payload) as usize),
        ("kind", std::ptr::addr_of!(value.kind) as usize),
        ("size", std::ptr::addr_of!(value.size) as usize),
    ] {
        writeln!(text, "static_assert(offsetof(tarsia_value, {}) == {});", member, offset - start).unwrap();
    }
    for (member, c) in [
        ("i", i64::c()),
        ("u", u64::c()),
        ("f", f64::c()),
        ("s", <*const i8>::c()),
        ("p", <*mut c_void>::c()),
        ("t", <*const tarsia_tensor>::c()),
        ("storage", <*mut tarsia_storage>::c()),
        ("v", <*mut tarsia_value>::c()),
    ] {
        writeln!(text, "static_assert(std::is_same_v<decltype(tarsia_value::{}), {}>);", member, c).unwrap();
    }
    writeln!(text, "static_assert(sizeof(tarsia_value) == {});", std::mem::size_of::<tarsia_value>())
        .unwrap();
    for (name, value) in constants() {
        writeln!(text, "static_assert({0} == {1}, \"{0}\");", name, value).unwrap();
    }
    writeln!(text, "static_assert(TARSIA_ABI_VERSION == {});", ABI_VERSION).unwrap();
    for (name, c) in functions::declared() {
        writeln!(text, "static_assert(std::is_same_v<decltype(&{0}), {1}>, \"{0}\");", name, c).unwrap();
    }
    text
}

fn compile(text: &str) -> crate::Result<i32> {
    // SAFETY: `answer` takes nothing and touches no memory.
    let library = unsafe { crate::load_inline(text, &crate::Options::new())? };
    library.function("answer")?.call(())
}

#[test]
fn the_declarations_are_those_of_the_headers() {
    let text = source();
    assert!(text.matches("static_assert").count() > 500);
    assert_eq!(compile(&text).unwrap(), 42);
}

#[test]
fn a_declaration_that_differs_is_found() {
    for (right, wrong) in [
        ("offsetof(tarsia_error, log) == 24", "offsetof(tarsia_error, log) == 16"),
        ("decltype(tarsia_meta::flags), uint16_t", "decltype(tarsia_meta::flags), uint32_t"),
        ("TARSIA_KIND_LIST == 8", "TARSIA_KIND_LIST == 9"),
    ] {
        let text = source();
        assert!(text.contains(right), "{}", right);
        let error = compile(&text.replace(right, wrong)).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Compile);
        assert_eq!(error.diagnostics().iter().filter(|d| d.severity == "error").count(), 1, "{}", error);
    }
}
