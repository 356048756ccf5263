//! Functions: arguments and results of every kind, overloads, errors.
mod support;

use support::load;
use tarsia::{
    Arg, ErrorKind, Function, Plain, PlainStruct, Stream, Tensor, TensorView, TensorViewMut, Value,
};

fn function(source: &str, name: &str) -> Function {
    load(source).function(name).unwrap()
}

#[test]
fn numbers_go_in_and_out_with_their_ranges() {
    let library = load(
        "#include <cstdint>\n\
         double add(double a, float b) { return a + b; }\n\
         int8_t small(int8_t x) { return x; }\n\
         uint64_t large(uint64_t x) { return x; }\n\
         int64_t below(int64_t x) { return -x; }\n\
         bool negate(bool x) { return !x; }\n\
         enum Colour { red, green }; Colour next(Colour x) { return x == red ? green : red; }",
    );
    let f = |name: &str| library.function(name).unwrap();
    assert_eq!(f("add").call::<f64>((1, 0.5f32)).unwrap(), 1.5);
    assert_eq!(f("add").call::<f32>((1.25, 2u8)).unwrap(), 3.25);
    assert_eq!(f("small").call::<i8>((-128,)).unwrap(), -128);
    assert_eq!(f("small").call::<()>((128,)).unwrap_err().kind(), ErrorKind::ArgumentValue);
    assert_eq!(f("large").call::<u64>((u64::MAX,)).unwrap(), u64::MAX);
    assert_eq!(f("large").call::<f64>((u64::MAX,)).unwrap(), 18446744073709551615.0);
    assert_eq!(f("large").call::<()>((-1,)).unwrap_err().kind(), ErrorKind::ArgumentValue);
    assert_eq!(f("below").call::<i64>((1u64,)).unwrap(), -1);
    assert!(f("below").call::<()>((u64::MAX,)).unwrap_err().to_string().contains("18446744073709551615"));
    assert!(f("negate").call::<bool>((false,)).unwrap());
    assert_eq!(f("next").call::<i32>((0usize,)).unwrap(), 1);

    let refused = f("below").call::<u8>((1,)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ArgumentValue);
    assert!(refused.to_string().contains("-1, which is no u8"), "{}", refused);
    let refused = f("large").call::<i64>((u64::MAX,)).unwrap_err();
    assert!(refused.to_string().contains("18446744073709551615, which is no i64"), "{}", refused);
    assert_eq!(f("below").call::<String>((1,)).unwrap_err().kind(), ErrorKind::ArgumentType);
}

#[test]
fn complex_numbers_spans_and_arrays_go_in_and_out() {
    let library = load(
        "#include <array>\n#include <complex>\n#include <span>\n\
         std::complex<double> twice(std::complex<double> z) { return 2.0 * z; }\n\
         std::array<int, 2> swapped(std::array<int, 2> x) { return {x[1], x[0]}; }\n\
         float sum(std::span<const float> x) { float s = 0; for (float one : x) s += one; return s; }\n\
         void fill(std::span<float, 2> x) { x[0] = x[1] = 4; }",
    );
    let f = |name: &str| library.function(name).unwrap();
    match f("twice").call::<Value>((Arg::complex(0.5, -1.0),)).unwrap() {
        Value::Complex(re, im) => assert_eq!((re, im), (1.0, -2.0)),
        other => panic!("{:?}", other),
    }
    assert!(
        matches!(f("twice").call::<Value>((3,)).unwrap(), Value::Complex(re, im) if (re, im) == (6.0, 0.0))
    );
    let refused = f("twice").call::<f64>((Arg::complex(0.5, -1.0),)).unwrap_err();
    assert!(refused.to_string().contains("the complex number (1.0, -2.0)"), "{}", refused);
    assert_eq!(f("swapped").call::<[i32; 2]>((Arg::list([1, 2]),)).unwrap(), [2, 1]);
    assert_eq!(f("swapped").call::<()>((Arg::list([1]),)).unwrap_err().kind(), ErrorKind::ArgumentValue);
    assert!(f("swapped")
        .call::<[i32; 3]>((Arg::list([1, 2]),))
        .unwrap_err()
        .to_string()
        .contains("one of 2"));
    assert_eq!(f("sum").call::<f32>((&[1.0f32, 2.0],)).unwrap(), 3.0);
    let mut x = [0.0f32; 2];
    assert_eq!(f("fill").call::<()>((&x,)).unwrap_err().kind(), ErrorKind::ArgumentValue);
    f("fill").call::<()>((&mut x,)).unwrap();
    assert_eq!(x, [4.0; 2]);
}

#[test]
fn integers_in_lists_and_tuples_keep_their_sign() {
    let library = load(
        "#include <cstdint>\n#include <tuple>\n#include <vector>\n\
         std::vector<uint64_t> list() { return {1, UINT64_MAX}; }\n\
         std::tuple<uint64_t, int, std::vector<int64_t>> both() { return {UINT64_MAX, -1, {-2}}; }\n\
         int64_t one(int64_t x) { return x; }\n\
         uint64_t one(const std::vector<int>&) { return UINT64_MAX; }",
    );
    assert_eq!(library.function("list").unwrap().call::<Vec<u64>>(()).unwrap(), [1, u64::MAX]);
    let both = library.function("both").unwrap().call::<(u64, i32, Vec<i64>)>(()).unwrap();
    assert_eq!(both, (u64::MAX, -1, vec![-2]));
    // Which overload runs, the caller does not know: the result says it.
    let one = library.function("one").unwrap();
    assert_eq!(one.overloads().len(), 2);
    assert!(matches!(one.call::<Value>((-1,)).unwrap(), Value::Int(-1)));
    assert!(matches!(one.call::<Value>((Arg::list([1]),)).unwrap(), Value::Uint(u64::MAX)));
}

#[test]
fn texts_may_hold_anything() {
    let library = load(
        "#include <string>\n#include <string_view>\n#include <cstring>\n\
         std::string twice(const std::string& x) { return x + x; }\n\
         long length(const char* x) { return std::strlen(x); }\n\
         long size(std::string_view x) { return x.size(); }\n\
         std::string bytes() { return \"\\xff\\xfe\"; }",
    );
    let f = |name: &str| library.function(name).unwrap();
    assert_eq!(f("twice").call::<String>(("ab\0ü",)).unwrap(), "ab\0üab\0ü");
    assert_eq!(f("twice").call::<String>((&String::new(),)).unwrap(), "");
    assert_eq!(f("length").call::<i64>((&"abcd"[..2],)).unwrap(), 2); // not NUL-terminated in Rust
    assert_eq!(f("length").call::<i64>(("a\0b",)).unwrap_err().kind(), ErrorKind::ArgumentValue);
    assert_eq!(f("size").call::<i64>(("a\0b",)).unwrap(), 3);
    match f("bytes").call::<Value>(()).unwrap() {
        Value::Bytes(bytes) => assert_eq!(bytes, [0xff, 0xfe]),
        other => panic!("{:?}", other),
    }
    assert!(f("bytes").call::<String>(()).unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn lists_optionals_and_tuples_nest() {
    let library = load(
        "#include <optional>\n#include <string>\n#include <tuple>\n#include <vector>\n\
         std::vector<std::vector<int>> rows(const std::vector<std::vector<int>>& x) { return x; }\n\
         std::optional<double> half(std::optional<double> x) { if (!x) return {}; return *x / 2; }\n\
         std::tuple<std::string, std::optional<int>> pair() { return {\"a\", std::nullopt}; }",
    );
    let rows = library.function("rows").unwrap();
    let given = Arg::list([Arg::list([1, 2]), Arg::list([3; 0]), Arg::list(vec![-4])]);
    assert_eq!(rows.call::<Vec<Vec<i32>>>((given,)).unwrap(), [vec![1, 2], vec![], vec![-4]]);
    let half = library.function("half").unwrap();
    assert_eq!(half.call::<Option<f64>>((Some(3.0),)).unwrap(), Some(1.5));
    assert_eq!(half.call::<Option<f64>>((None::<f64>,)).unwrap(), None);
    assert_eq!(half.call::<Option<f64>>((Arg::NONE,)).unwrap(), None);
    let pair = library.function("pair").unwrap();
    assert_eq!(pair.call::<(String, Option<i32>)>(()).unwrap(), ("a".to_string(), None));
    assert_eq!(pair.call::<(String, i32, i32)>(()).unwrap_err().kind(), ErrorKind::ArgumentType);
}

const FILL: &str =
    "void fill(float* x, long n, float value) { for (long i = 0; i < n; i++) x[i] = value; }\n\
     float sum(const float* x, long n) { float s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }";

#[test]
fn borrowed_memory_is_written_to_only_through_mut() {
    let library = load(FILL);
    let (fill, sum) = (library.function("fill").unwrap(), library.function("sum").unwrap());
    let mut vector = vec![0.0f32; 3];
    let mut array = [0.0f32; 2];
    let mut tensor = Tensor::zeros::<f32>(&[4]).unwrap();
    fill.call::<()>((&mut vector, 3, 1)).unwrap();
    fill.call::<()>((&mut array, 2, 2)).unwrap();
    fill.call::<()>((&mut vector[1..], 2, 5)).unwrap();
    fill.call::<()>((&mut tensor, 4, 3)).unwrap();
    assert_eq!((&vector[..], array), (&[1.0, 5.0, 5.0][..], [2.0, 2.0]));
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [3.0; 4]);
    {
        let mut view = TensorViewMut::new(&mut vector, &[1, 3]).unwrap();
        assert!(fill.call::<()>((&view, 3, 9)).is_err());
        fill.call::<()>((&mut view, 3, 9)).unwrap();
        assert_eq!(view.as_slice::<f32>().unwrap(), [9.0; 3]);
    }

    let view = TensorView::new(&vector, &[3]).unwrap();
    let refused = [
        fill.call::<()>((&vector, 3, 0)),
        fill.call::<()>((&vector[..], 3, 0)),
        fill.call::<()>((&array, 2, 0)),
        fill.call::<()>((&tensor, 4, 0)),
        fill.call::<()>((&view, 3, 0)),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::ArgumentValue);
        assert!(error.to_string().contains("must be writable, since the function writes to it"), "{}", error);
    }
    assert_eq!(sum.call::<f32>((&vector, 3)).unwrap(), 27.0);
    assert_eq!(sum.call::<f32>((&mut tensor, 4)).unwrap(), 12.0);
    assert_eq!(sum.call::<f32>((&view, 3)).unwrap(), 27.0);
}

#[test]
fn tensors_in_lists_are_kept_from_writers_too() {
    let library = load(
        "#include <tarsia/op.h>\n#include <vector>\n\
         void fill(const std::vector<tarsia::Tensor>& list) { for (const tarsia::Tensor& x : list) x.data<float>()[0] = 1; }\n\
         void zero(std::vector<tarsia::Tensor> list) { for (tarsia::Tensor& x : list) x.data<float>()[0] = 1; }",
    );
    let (mut x, y) = (Tensor::zeros::<f32>(&[1]).unwrap(), Tensor::zeros::<f32>(&[1]).unwrap());
    for name in ["fill", "zero"] {
        let f = library.function(name).unwrap();
        let refused = f.call::<()>((Arg::list([Arg::from(&mut x), Arg::from(&y)]),));
        assert!(refused.is_err(), "{}: a tensor that is lent to be read was given to code that writes", name);
        assert_eq!(y.as_slice::<f32>().unwrap(), [0.0]);
    }
}

#[test]
fn wrong_arguments_are_told_with_their_names() {
    let fill = function(FILL, "fill");
    let mut doubles = [0.0f64; 2];
    let mut floats = [0.0f32; 2];
    let cases: [(Vec<Arg<'_>>, &str); 5] = [
        (vec![(&mut doubles).into(), 2.into(), 1.into()], "argument 'x' (1 of 3)"),
        (vec![(&mut floats).into(), 2.into()], "'value'"),
        (Vec::new(), "argument"),
        (vec!["x".into(), 2.into(), 1.into()], "argument 'x' (1 of 3)"),
        (vec![Stream::DEFAULT.into(), 2.into(), 1.into()], "argument 'x' (1 of 3)"),
    ];
    for (args, expected) in cases {
        let error = fill.call::<()>(args).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArgumentType, "{}", error);
        assert!(error.to_string().contains(expected), "{}", error);
    }
}

#[test]
fn strides_count() {
    let library = load(
        "#include <tarsia/op.h>\n\
         float last(const tarsia::StridedTensor& x) { return x.at<const float>(x.size(0) - 1, 0); }\n\
         float first(const tarsia::Tensor& x) { return x.data<const float>()[0]; }",
    );
    let numbers = [1.0f32, 2.0, 3.0, 4.0];
    let columns = TensorView::with_strides(&numbers, &[2, 2], &[1, 2]).unwrap();
    assert_eq!(library.function("last").unwrap().call::<f32>((&columns,)).unwrap(), 2.0);
    let refused = library.function("first").unwrap().call::<f32>((&columns,)).unwrap_err();
    assert!(refused.to_string().contains("contiguous"), "{}", refused);
}

#[test]
fn returned_tensors_own_their_memory() {
    let made = {
        let library = load(
            "#include <tarsia/op.h>\n\
             tarsia::Tensor count(long n) {\n\
               tarsia::Tensor x = tarsia::empty({n}, tarsia::int32, tarsia::cpu_device());\n\
               for (int i = 0; i < n; i++) x.data<int>()[i] = i;\n\
               return x;\n\
             }",
        );
        library.function("count").unwrap().call::<Tensor>((3,)).unwrap()
    }; // the library may be gone
    assert_eq!(made.as_slice::<i32>().unwrap(), [0, 1, 2]);
    assert_eq!(made.shape(), [3]);
}

#[test]
fn a_returned_argument_is_told_by_its_position() {
    let library = load(
        "#include <tarsia/op.h>\n#include <tuple>\n#include <vector>\n\
         tarsia::Tensor second(const tarsia::Tensor&, const tarsia::Tensor& y) { return y; }\n\
         tarsia::Tensor inner(int, const std::vector<tarsia::Tensor>& list) { return list[1]; }\n\
         std::tuple<tarsia::Tensor, int> pair(tarsia::Tensor x) { return {x, 1}; }",
    );
    let (x, mut y) = (Tensor::zeros::<f32>(&[1]).unwrap(), Tensor::zeros::<f32>(&[1]).unwrap());
    assert!(matches!(
        library.function("second").unwrap().call::<Value>((&x, &y)).unwrap(),
        Value::Argument(1)
    ));
    let inner = library.function("inner").unwrap();
    assert!(matches!(inner.call::<Value>((0, Arg::list([&x, &y]))).unwrap(), Value::Argument(1)));
    match library.function("pair").unwrap().call::<Value>((&mut y,)).unwrap() {
        Value::Tuple(items) => assert!(matches!(items[..], [Value::Argument(0), Value::Int(1)])),
        other => panic!("{:?}", other),
    }
    let error = library.function("second").unwrap().call::<Tensor>((&x, &y)).unwrap_err();
    assert!(error.to_string().contains("its argument 2"), "{}", error);
}

#[test]
fn a_tensor_that_cpp_code_keeps_is_no_slice() {
    let library = load(
        "#include <tarsia/op.h>\n\
         static tarsia::Tensor kept;\n\
         tarsia::Tensor share() { kept = tarsia::empty({2}, tarsia::int32, tarsia::cpu_device());\n\
           kept.data<int>()[0] = 1; kept.data<int>()[1] = 2; return kept; }\n\
         void forget() { kept = tarsia::Tensor(); }",
    );
    let mut shared = library.function("share").unwrap().call::<Tensor>(()).unwrap();
    let error = shared.as_slice::<i32>().unwrap_err();
    assert!(error.to_string().contains("C++ code still holds this tensor"), "{}", error);
    assert!(shared.as_slice_mut::<i32>().is_err());
    assert!(shared.view(&[2]).is_err());
    assert_eq!(shared.to_vec::<i32>().unwrap(), [1, 2]);
    library.function("forget").unwrap().call::<()>(()).unwrap();
    assert_eq!(shared.as_slice::<i32>().unwrap(), [1, 2]);
}

#[test]
fn a_tensor_that_was_returned_twice_is_only_read() {
    let library = load(
        "#include <tarsia/op.h>\n#include <utility>\n\
         std::pair<tarsia::Tensor, tarsia::Tensor> twice() {\n\
           tarsia::Tensor x = tarsia::empty({1}, tarsia::int32, tarsia::cpu_device());\n\
           x.data<int>()[0] = 1; return {x, x}; }\n\
         void set(int* x) { *x = 2; }\n\
         int get(const int* x) { return *x; }",
    );
    let (set, get) = (library.function("set").unwrap(), library.function("get").unwrap());
    let (mut a, b) = library.function("twice").unwrap().call::<(Tensor, Tensor)>(()).unwrap();
    assert!(b.as_slice::<i32>().is_err() && a.as_slice_mut::<i32>().is_err() && a.view_mut(&[1]).is_err());
    // Another thread may be reading b.
    let refused = set.call::<()>((&mut a,)).unwrap_err();
    assert!(refused.to_string().contains("must be writable"), "{}", refused);
    assert_eq!((get.call::<i32>((&a,)).unwrap(), b.to_vec::<i32>().unwrap()[0]), (1, 1));
    drop(b);
    set.call::<()>((&mut a,)).unwrap();
    assert_eq!(a.as_slice::<i32>().unwrap(), [2]);
}

#[test]
fn bools_that_are_none_are_not_read() {
    let library = load(
        "#include <tarsia/op.h>\n\
         tarsia::Tensor odd() { tarsia::Tensor x = tarsia::empty({1}, tarsia::bool8, tarsia::cpu_device());\n\
           *static_cast<unsigned char*>(x.data()) = 2; return x; }",
    );
    let odd = library.function("odd").unwrap().call::<Tensor>(()).unwrap();
    assert!(odd.as_slice::<bool>().unwrap_err().to_string().contains("what is no bool"));
    assert!(odd.to_vec::<bool>().is_err());
}

#[test]
fn exceptions_arrive_as_errors() {
    let library = load(
        "#include <stdexcept>\n#include <string>\n\
         int f(int x) {\n\
           if (x == 0) throw std::invalid_argument(\"zero\");\n\
           if (x == 1) throw std::out_of_range(\"one\");\n\
           if (x == 2) throw std::bad_alloc();\n\
           throw std::runtime_error(\"more\");\n\
         }",
    );
    let f = library.function("f").unwrap();
    let expected = [
        (ErrorKind::OpValue, "zero"),
        (ErrorKind::OpIndex, "one"),
        (ErrorKind::OutOfMemory, ""),
        (ErrorKind::Op, "more"),
    ];
    for (x, (kind, text)) in expected.iter().enumerate() {
        let error = f.call::<i32>((x,)).unwrap_err();
        assert_eq!(error.kind(), *kind);
        assert!(error.to_string().contains(text), "{}", error);
    }
}

#[test]
fn empty_slices_and_scalars_are_tensors() {
    let library = load(
        "#include <tarsia/op.h>\n\
         long count(const tarsia::Tensor& x) { return x.numel() * 100 + x.ndim(); }\n\
         long length(const float*, long n) { return n; }",
    );
    let count = library.function("count").unwrap();
    assert_eq!(count.call::<i64>((&[0.0f32; 0],)).unwrap(), 1);
    assert_eq!(count.call::<i64>((&Tensor::from_vec(vec![1u8], &[]).unwrap(),)).unwrap(), 100);
    assert_eq!(count.call::<i64>((&Tensor::zeros::<f64>(&[0, 3]).unwrap(),)).unwrap(), 2);
    assert_eq!(library.function("length").unwrap().call::<i64>((&Vec::<f32>::new(), 0)).unwrap(), 0);
}

#[test]
fn main_takes_words() {
    let main =
        function("int main(int argc, char** argv) { return argc * 10 + (argv[argc - 1][0] - '0'); }", "main");
    assert_eq!(main.call::<i32>(("x", "7")).unwrap(), 37);
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Pair {
    a: f64,
    n: i32,
}
// SAFETY: #[repr(C)], two numbers.
unsafe impl PlainStruct for Pair {}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Small {
    n: i32,
}
// SAFETY: #[repr(C)], a number.
unsafe impl PlainStruct for Small {}

const PAIRS: &str = "#include <span>\n#include <utility>\n\
    struct Pair { double a; int n; };\n\
    double of_pair(Pair p) { return p.a * p.n; }\n\
    double of_reference(const Pair& p) { return p.a * p.n; }\n\
    double of_pairs(const Pair* p, int n) { double sum = 0; while (n--) sum += of_pair(p[n]); return sum; }\n\
    double of_span(std::span<const Pair> p) { return of_pairs(p.data(), int(p.size())); }\n\
    void change(Pair* p) { ++p->n; }\n\
    void change_all(std::span<Pair> p) { for (Pair& one : p) ++one.n; }\n\
    Pair make_pair(double a, int n) { return {a, n}; }\n\
    const Pair* behind(bool is) { static const Pair p{2, 5}; return is ? &p : nullptr; }\n\
    std::pair<int, Pair> two() { return {1, Pair{3, 4}}; }";

#[test]
fn plain_structs_go_in_by_value_reference_pointer_and_span() {
    let library = load(PAIRS);
    let f = |name: &str| library.function(name).unwrap();
    let pair = Pair { a: 1.5, n: 4 };
    let rows = [Pair { a: 1.0, n: 2 }, Pair { a: 3.0, n: 4 }];
    for name in ["of_pair", "of_reference"] {
        assert_eq!(f(name).call::<f64>((Arg::plain(&pair),)).unwrap(), 6.0);
    }
    assert_eq!(f("of_pairs").call::<f64>((Arg::plain(&pair), 1)).unwrap(), 6.0);
    assert_eq!(f("of_pairs").call::<f64>((Arg::rows(&rows), 2)).unwrap(), 14.0);
    assert_eq!(f("of_span").call::<f64>((Arg::rows(&rows),)).unwrap(), 14.0);
    let mut bytes = 2.0f64.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&3i64.to_ne_bytes());
    assert_eq!(f("of_pair").call::<f64>((Arg::bytes(&bytes),)).unwrap(), 6.0);
}

#[test]
fn plain_structs_are_written_to_only_through_mut() {
    let library = load(PAIRS);
    let f = |name: &str| library.function(name).unwrap();
    let mut one = Pair { a: 1.0, n: 1 };
    let mut rows = [one, one];
    f("change").call::<()>((Arg::rows_mut(std::slice::from_mut(&mut one)),)).unwrap();
    f("change").call::<()>((Arg::rows_mut(&mut rows),)).unwrap();
    f("change_all").call::<()>((Arg::rows_mut(&mut rows),)).unwrap();
    assert_eq!((one.n, rows[0].n, rows[1].n), (2, 3, 2));
    assert_eq!(f("of_span").call::<f64>((Arg::rows_mut(&mut rows),)).unwrap(), 5.0);
    for name in ["change", "change_all"] {
        let refused = f(name).call::<()>((Arg::rows(&rows),)).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::ArgumentType | ErrorKind::ArgumentValue), "{}", refused);
        assert!(refused.to_string().contains("'p'"), "{}", refused);
    }
    assert_eq!(rows[0].n, 3);
}

#[test]
fn plain_structs_come_out_as_copies() {
    let library = load(PAIRS);
    let f = |name: &str| library.function(name).unwrap();
    let Plain(made) = f("make_pair").call::<Plain<Pair>>((2.5, 7)).unwrap();
    assert_eq!(made, Pair { a: 2.5, n: 7 });
    assert_eq!(f("behind").call::<Option<Plain<Pair>>>((true,)).unwrap(), Some(Plain(Pair { a: 2.0, n: 5 })));
    assert_eq!(f("behind").call::<Option<Plain<Pair>>>((false,)).unwrap(), None);
    assert_eq!(f("two").call::<(i32, Plain<Pair>)>(()).unwrap(), (1, Plain(Pair { a: 3.0, n: 4 })));
    match f("make_pair").call::<Value>((2.5, 7)).unwrap() {
        Value::Struct(bytes) => assert_eq!((bytes.len(), &bytes[..8]), (16, &2.5f64.to_ne_bytes()[..])),
        other => panic!("{:?}", other),
    }
}

#[test]
fn structs_of_another_size_do_not_fit() {
    let library = load(PAIRS);
    let f = |name: &str| library.function(name).unwrap();
    let small = Small { n: 1 };
    for (name, n) in [("of_pair", 1), ("of_reference", 1), ("of_span", 3)] {
        let refused = f(name).call::<f64>((Arg::rows(&[small; 3][..n]),)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ArgumentValue, "{}", refused);
        assert!(refused.to_string().contains("16 bytes"), "{}", refused);
    }
    assert_eq!(f("of_pair").call::<f64>((1,)).unwrap_err().kind(), ErrorKind::ArgumentType);
    assert!(f("of_span").call::<f64>((Arg::rows::<Pair>(&[]),)).is_err());
    let refused = f("make_pair").call::<Plain<Small>>((2.5, 7)).unwrap_err();
    assert!(refused.to_string().contains("a struct of 4 bytes"), "{}", refused);
    assert!(refused.to_string().contains("returned one of 16"), "{}", refused);
    let refused = f("make_pair").call::<f64>((2.5, 7)).unwrap_err();
    assert!(refused.to_string().contains("take a tarsia::Plain"), "{}", refused);
    assert!(f("of_pair").call::<Plain<Pair>>((Arg::plain(&Pair { a: 1.0, n: 1 }),)).is_err());
}
