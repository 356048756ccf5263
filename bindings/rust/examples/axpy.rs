//! Compiles a function and calls it on slices.
//!
//!     cargo run --example axpy
use tarsia::Options;

const SOURCE: &str = "
void axpy(float a, const float* x, float* y, long n) {
  for (long i = 0; i < n; i++) y[i] += a * x[i];
}
";

fn main() -> tarsia::Result<()> {
    // SAFETY: axpy reads and writes n elements; it is called with the number that both slices have.
    let library = unsafe { tarsia::load_inline(SOURCE, &Options::new())? };
    let axpy = library.function("axpy")?;
    let (x, mut y) = (vec![1.0f32; 4], vec![0.0f32; 4]);
    axpy.call::<()>((2.0, &x, &mut y, x.len()))?;
    println!("{:?}", y); // [2.0, 2.0, 2.0, 2.0]
    Ok(())
}
