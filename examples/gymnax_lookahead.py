"""gymnax's form: CartPoles as pure functions. A state is a value, so both actions can be tried.

Run: python examples/gymnax_lookahead.py (needs pip install 'parallel_pool[jax]')
"""

import jax
import jax.numpy as jnp

from parallel_pool.compat.jax import make_gymnax

ENVS, STEPS = 32, 100
env, params = make_gymnax("CartPole-v1", num_envs=2 * ENVS)
step_both = jax.vmap(env.step, in_axes=(None, None, 0, None))


def play(key):
    """Returns after how many episodes an environment is, of which each step is the better one."""

    def step(state, key):
        seen, states, _, done, _ = step_both(key, state, jnp.arange(2), params)
        best = jnp.argmin(abs(seen[:, 2] + seen[:, 3]))  # where the pole is, and goes to
        return jax.tree.map(lambda each: each[best], states), done[best]

    first, *keys = jax.random.split(key, STEPS + 1)
    _, state = env.reset(first, params)
    _, ends = jax.lax.scan(step, state, jnp.stack(keys))
    return ends.sum()


ended = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), ENVS))
print(
    f"{ENVS} environments, {STEPS} steps with a look at the next one: {ended.sum()} episodes ended"
)
