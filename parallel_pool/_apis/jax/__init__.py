"""JAX: a pool's calls in compiled programs."""
