"""JAX: 256 linear policies play CartPole in one compiled program, one policy in each environment.

Run: python examples/jax_search.py (needs pip install 'parallel_pool[jax]')
"""

import jax
import jax.numpy as jnp

import parallel_pool
from parallel_pool.compat.jax import xla

POLICIES, STEPS = 256, 500
envs = parallel_pool.make_vec("CartPole-v1", POLICIES)
functions = xla(envs)


@jax.jit
def play(handle, weights):
    """Returns how long each policy's first episode lasts."""

    def step(carry, _):
        handle, observations, alive = carry
        actions = ((observations * weights).sum(axis=1) > 0).astype(jnp.int32)
        handle, (observations, _, terminated, _, _) = functions.step(handle, actions)
        return (handle, observations, alive & ~terminated), alive

    handle, (observations, _) = functions.reset(handle, jnp.zeros(POLICIES, jnp.int32))
    carry = (handle, observations, jnp.ones(POLICIES, bool))
    (handle, _, _), alive = jax.lax.scan(step, carry, length=STEPS)
    return handle, alive.sum(axis=0)


weights = jax.random.normal(jax.random.key(0), (POLICIES, 4))
handle, lengths = play(functions.handle, weights)
best = int(lengths.argmax())  # waits for the program, which still steps the environments
envs.close()
print(f"best of {POLICIES} policies: {lengths[best]} steps with weights {weights[best].round(2)}")
