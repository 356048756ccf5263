"""Functions of JAX: what stands behind tarsia.jax."""
