//! Ops: binding, calls, requests, gradients, attributes, inputs that change.
mod support;

use support::load;
use tarsia::{
    op_names, Arg, Attributes, Choice, DType, ErrorKind, Library, Op, Pass, Request, Stream, Tensor,
};

const HEAD: &str = r#"
#include <tarsia/op.h>
#include <string>
#include <vector>
"#;

fn affine(name: &str) -> Library {
    load(&format!(
        r#"{HEAD}
static void run(tarsia::Context& c) {{
  tarsia::Tensor x = c.input(0), y = c.output(0);
  const float a = c.attribute<float>("a");
  const tarsia::Tensor b = c.input(1);
  for (long i = 0; i < x.numel(); i++)
    y.data<float>()[i] = a * x.data<float>()[i] + (b ? b.data<float>()[i] : 0);
}}
static void back(tarsia::Context& c) {{
  tarsia::Tensor dy = c.input(0);
  const float a = c.attribute<float>("a");
  for (long i = 0; i < dy.numel(); i++) {{
    if (c.output(0)) c.output(0).data<float>()[i] = a * dy.data<float>()[i];
    if (c.output(1)) c.output(1).data<float>()[i] = dy.data<float>()[i];
  }}
}}
TARSIA_OP({name}).describe("a * x + b").input("x").optional_input("b").output("y")
    .attribute<float>("a", 2.0f).forward("cpu", run).backward("cpu", back);
"#,
        HEAD = HEAD,
        name = name
    ))
}

#[test]
fn an_op_is_bound_once_and_called_often() {
    let _library = affine("rust_bound");
    let op = Op::find("rust_bound").unwrap();
    assert!(op_names().unwrap().contains(&"rust_bound".to_string()));
    assert_eq!((op.name().as_str(), op.description().as_str()), ("rust_bound", "a * x + b"));
    assert_eq!(op.inputs()[0].name, "x");
    assert!(op.inputs()[1].optional && !op.inputs()[1].mutable);
    assert_eq!(op.outputs()[0].name, "y");
    assert_eq!(op.attributes()[0].name, "a");
    assert!(!op.attributes()[0].required);

    let x = Tensor::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let bound = op.bind((&x,), Attributes::new().set("a", "3")).unwrap();
    drop(op);
    assert_eq!(
        (bound.outputs()[0].shape.as_slice(), bound.outputs()[0].dtype),
        (&[2usize][..], DType::FLOAT32)
    );
    assert!(bound.inputs()[0].present && !bound.inputs()[1].present);
    assert!(!bound.implementation(Pass::Forward).unwrap().is_empty());
    for i in 1..4 {
        let x = [i as f32, 0.0];
        let y = bound.call((&x,)).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), [3.0 * i as f32, 0.0]);
    }
    let wrong = bound.call((&[1.0f32; 3],)).unwrap_err();
    assert!(wrong.to_string().contains("bind it again"), "{}", wrong);
    assert_eq!(bound.call(("x",)).unwrap_err().kind(), ErrorKind::ArgumentType);
    assert_eq!(bound.call((Arg::NONE,)).unwrap_err().kind(), ErrorKind::ArgumentType);
}

#[test]
fn outputs_are_written_as_they_are_requested() {
    let _library = affine("rust_requests");
    let x = [1.0f32, 2.0];
    let bound = Op::find("rust_requests").unwrap().bind((&x, &x), Attributes::new()).unwrap();
    let mut y = vec![10.0f32, 10.0];
    bound.run((&x, &x), (&mut y,), &[]).unwrap();
    assert_eq!(y, [3.0, 6.0]);
    bound.run((&x, &x), (&mut y,), &[Request::Add]).unwrap();
    assert_eq!(y, [6.0, 12.0]);
    bound.run((&x, &x), (Arg::NONE,), &[Request::Null]).unwrap();
    let read_only = bound.run((&x, &x), (&y,), &[]).unwrap_err();
    assert!(read_only.to_string().contains("output 1 of 1 is written to"), "{}", read_only);
    assert!(bound.run((&x, &x), (&mut y,), &[Request::Write; 2]).is_err());
    assert!(bound.run((&x, &x), (&mut [0.0f64; 2],), &[]).is_err());
    assert!(bound.run((&x, &x), (Arg::NONE,), &[]).is_err());
    assert!(bound.run((&x, &x), (), &[]).is_err());
}

#[test]
fn gradients_are_those_of_the_op() {
    let _library = affine("rust_gradients");
    let (x, dy) = ([1.0f32, 2.0], [1.0f32, 10.0]);
    let op = Op::find("rust_gradients").unwrap();
    let bound = op.bind((&x, &x), Attributes::new().set("a", 4.0)).unwrap();
    assert!(bound.has_backward() && bound.has_gradient(0) && bound.has_gradient(1) && !bound.has_gradient(2));
    assert!(bound.backward_needs(0).unwrap());
    let y = bound.call((&x, &x)).unwrap();
    let gradients = bound.backward((&dy,), (&x, &x), (&y[0],)).unwrap();
    assert_eq!(gradients[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [4.0, 40.0]);
    assert_eq!(gradients[1].as_ref().unwrap().as_slice::<f32>().unwrap(), [1.0, 10.0]);

    let mut dx = vec![100.0f32, 100.0];
    let gradients = (&mut dx, Arg::NONE);
    bound.run_backward((&dy,), (&x, &x), (&y[0],), gradients, &[Request::Add, Request::Null]).unwrap();
    assert_eq!(dx, [104.0, 140.0]);

    let without = op.bind((&x,), Attributes::new()).unwrap();
    let gradients = without.backward((&dy,), (&x,), (&y[0],)).unwrap();
    assert_eq!(gradients[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [2.0, 20.0]);
    assert!(gradients[1].is_none());
}

#[test]
fn attributes_have_every_type() {
    let _library = load(&format!(
        r#"{HEAD}
static void run(tarsia::Context& c) {{
  double sum = c.attribute<bool>("flag") + c.attribute<long>("count") + c.attribute<double>("scale");
  for (int i : c.attribute<std::vector<int>>("list")) sum += i;
  c.output(0).data<double>()[0] = sum + c.attribute<std::string>("text").size();
}}
TARSIA_OP(rust_attributes).input("x").output("y").attribute<bool>("flag").attribute<long>("count", 0)
    .attribute<double>("scale", 0.0).attribute<std::vector<int>>("list", {{}}).attribute<std::string>("text", "").forward("cpu", run);
"#,
        HEAD = HEAD
    ));
    let op = Op::find("rust_attributes").unwrap();
    let x = [0.0f64];
    let all = Attributes::new()
        .set("flag", true)
        .set("count", 10)
        .set("scale", 0.5)
        .set("list", Arg::list([100, 200]))
        .set("text", "four");
    assert_eq!(op.call((&x,), all).unwrap()[0].as_slice::<f64>().unwrap(), [315.5]);
    let texts = Attributes::new().set("flag", "false").set("list", "(1, 2)");
    assert_eq!(op.call((&x,), texts).unwrap()[0].as_slice::<f64>().unwrap(), [3.0]);
    for (attributes, text) in [
        (Attributes::new(), "flag"),
        (Attributes::new().set("flag", true).set("count", 0.5), "count"),
        (Attributes::new().set("flag", true).set("other", 1), "other"),
        (Attributes::new().set("flag", true).set("a\0b", 1), "NUL"),
    ] {
        let error = op.bind((&x,), attributes).unwrap_err();
        assert!(error.to_string().contains(text), "{}", error);
    }
    assert!(op.attributes()[0].required);
    for value in [Arg::from(&x), Stream::DEFAULT.into(), Arg::list([&x]), Arg::NONE] {
        let error = op.bind((&x,), Attributes::new().set("flag", value)).unwrap_err();
        assert!(error.to_string().contains("flag"), "{}", error);
    }
    let flag = Attributes::new().set("flag", 1);
    assert!(op.explain((&x,), flag).unwrap().contains("cpu"));
    let measured = op.bind_by(Choice::Measure, (&x,), Attributes::new().set("flag", 1)).unwrap();
    assert_eq!(measured.call((&x,)).unwrap().len(), 1);
}

#[test]
fn an_input_that_the_op_changes_is_lent_with_mut() {
    let _library = load(&format!(
        r#"{HEAD}
static void run(tarsia::Context& c) {{
  c.input(1).data<float>()[0] += 1;
  c.output(0).data<float>()[0] = c.input(0).data<float>()[0] + c.input(1).data<float>()[0];
}}
TARSIA_OP(rust_counter).input("x").mutable_input("state").output("y")
    .forward("cpu", run);
"#,
        HEAD = HEAD
    ));
    let op = Op::find("rust_counter").unwrap();
    assert!(op.inputs()[1].mutable);
    let x = [0.0f32];
    let mut state = [0.0f32];
    let bound = op.bind((&x, &state), Attributes::new()).unwrap();
    assert_eq!(bound.call((&x, &mut state)).unwrap()[0].as_slice::<f32>().unwrap(), [1.0]);
    let refused = bound.call((&x, &state)).unwrap_err();
    assert!(refused.to_string().contains("the op changes its input 2"), "{}", refused);
    assert!(op.call((&x, &state), Attributes::new()).is_err());
    assert_eq!(state, [1.0]);
    op.call((&x, &mut state), Attributes::new()).unwrap();
    assert_eq!(state, [2.0]);
}

#[test]
fn an_input_that_the_gradient_may_change_is_lent_with_mut() {
    let _library = load(&format!(
        r#"{HEAD}
static void run(tarsia::Context& c) {{ c.output(0).data<float>()[0] = c.input(0).data<float>()[0]; }}
static void back(tarsia::Context& c) {{
  c.input(2).data<float>()[0] += 1; // the output gradient and x come first
  c.output(0).data<float>()[0] = c.input(0).data<float>()[0];
}}
TARSIA_OP(rust_backward_state).input("x").mutable_input("state").output("y").forward("cpu", run).backward("cpu", back);
"#,
        HEAD = HEAD
    ));
    let (x, mut state, mut dx) = ([1.0f32], [0.0f32], [0.0f32]);
    let bound = Op::find("rust_backward_state").unwrap().bind((&x, &state), Attributes::new()).unwrap();
    let y = bound.call((&x, &mut state)).unwrap();
    let refused = bound.backward((&x,), (&x, &state), (&y[0],)).unwrap_err();
    assert!(refused.to_string().contains("the op changes its input 2"), "{}", refused);
    let into = (&mut dx, Arg::NONE);
    assert!(bound
        .run_backward((&x,), (&x, &state), (&y[0],), into, &[Request::Write, Request::Null])
        .is_err());
    let parted_otherwise = bound.backward((&x, &x), (&state,), ()).unwrap_err();
    assert!(parted_otherwise.to_string().contains("the op changes its input 2"), "{}", parted_otherwise);
    assert_eq!(state, [0.0]);
    let gradients = bound.backward((&x,), (&x, &mut state), (&y[0],)).unwrap();
    assert_eq!(gradients[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [1.0]);
    assert_eq!(state, [1.0]);
}

#[test]
fn a_bound_op_runs_on_several_threads() {
    fn takes<T: Send + Sync + Clone>(_: &T) {}
    let library = affine("rust_threads");
    let op = Op::find("rust_threads").unwrap();
    let bound = op.bind((&[0.0f32; 8],), Attributes::new()).unwrap();
    takes(&op);
    takes(&bound);
    library.unload().unwrap();
    drop(library);
    assert_eq!(Op::find("rust_threads").unwrap_err().kind(), ErrorKind::NotFound);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let bound = bound.clone();
            scope.spawn(move || {
                for k in 0..200 {
                    let y = bound.call((&[(i * k) as f32; 8],)).unwrap();
                    assert_eq!(y[0].as_slice::<f32>().unwrap(), [2.0 * (i * k) as f32; 8]);
                }
            });
        }
    });
}

#[test]
fn too_many_dimensions_are_told() {
    let _library = affine("rust_dimensions");
    let x = Tensor::from_vec(vec![1.0f32], &[1; 40]).unwrap();
    let error = Op::find("rust_dimensions").unwrap().bind((&x,), Attributes::new()).unwrap_err();
    assert!(error.to_string().contains("40 dimensions, and may have 32"), "{}", error);
    assert_eq!(Op::find("rust_nothing").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(Op::find("logical_xor").unwrap().name(), "logical_xor"); // Tarsia's own, compiled on demand
}
