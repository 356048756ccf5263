"""Ops of a string in JAX, trained under jit.

    python examples/jax_ops.py

It runs on the GPU where JAX has one, from the same source.
"""

SOURCE = r"""
#include <tarsia/elementwise.h>
#include <cmath>

// 1. An op with a gradient, for the CPU and for GPUs: y = x * sigmoid(beta * x).
struct Swish {
  double beta = 1;
  template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x / (1 + exp(-T(beta) * x)); }
};
struct SwishGradient : Swish {
  template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T x, T y) const {
    const T s = 1 / (1 + exp(-T(beta) * x));
    return dy * (s + T(beta) * y * (1 - s));
  }
};
TARSIA_ELEMENTWISE(swish, Swish, SwishGradient).attribute("beta", &Swish::beta);
"""

FUNCTIONS = r"""
// 2. A plain function that updates what it is given.
void decay(float* weights, const float* gradients, long n, float rate, float keep) {
  for (long i = 0; i < n; i++) weights[i] = keep * weights[i] - rate * gradients[i];
}
"""


def main():
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return print("JAX is not installed")
    import tarsia.jax

    gpu = jax.default_backend() == "gpu"
    tarsia.load_inline({"ops.cu" if gpu else "ops.cc": SOURCE})

    # 3. The op becomes a function of JAX: XLA calls it without Python.
    swish = tarsia.jax.function(tarsia.op("swish"), vmap="broadcast_all")
    x = jnp.linspace(-2, 2, 5)
    assert jnp.allclose(jax.jit(swish)(x), x * jax.nn.sigmoid(x), atol=1e-6)
    assert jnp.allclose(jax.vmap(jax.grad(swish))(x), jax.vmap(jax.grad(lambda x: x * jax.nn.sigmoid(x)))(x), atol=1e-6)

    # 4. What a function writes to is a result; the array that went in stays as it was.
    decay = tarsia.jax.function(tarsia.load_inline(FUNCTIONS).decay)
    host = jax.devices("cpu")[0]
    weights = jax.device_put(jnp.ones(3), host)
    print(decay(weights, weights, 3, 0.5, 1.0), weights)

    # 5. A model, trained under jit.
    def model(parameters, x):
        (w1, b1), (w2, b2) = parameters
        return swish(x @ w1 + b1, beta=1.5) @ w2 + b2

    def loss(parameters, x, y):
        logits = jax.nn.log_softmax(model(parameters, x))
        return -jnp.take_along_axis(logits, y[:, None], 1).mean()

    @jax.jit
    def step(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return value, jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradients)

    keys = jax.random.split(jax.random.key(0), 3)
    parameters = [(jax.random.normal(keys[0], (2, 32)), jnp.zeros(32)), (jax.random.normal(keys[1], (32, 2)) / 6, jnp.zeros(2))]
    points = jax.random.normal(keys[2], (256, 2))
    inside = (jnp.linalg.norm(points, axis=1) < 1).astype(jnp.int32)
    for _ in range(200):
        value, parameters = step(parameters, points, inside)
    accuracy = (model(parameters, points).argmax(1) == inside).mean()
    print(f"loss {value:.3f}, {accuracy:.0%} right")
    assert accuracy > 0.9
    print("ok")


if __name__ == "__main__":
    main()
