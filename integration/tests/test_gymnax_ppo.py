"""PPO for gymnax's form learns on our environments, and agents under `vmap` are agents alone."""

from __future__ import annotations

import jax
import numpy as np

from integration.training import gymnax_ppo
from integration.training.jax_ppo import Settings


def test_agents_learn_together() -> None:
    means, *_ = gymnax_ppo.run("parallel_pool", 2, Settings())
    assert min(means) > 300


def test_agents_that_train_together_play_as_those_alone() -> None:
    """In the first update, before the sums of XLA's batches differ."""
    env, params = gymnax_ppo.make("parallel_pool", "CartPole-v1")
    train = gymnax_ppo.make_train(env, params, Settings(updates=1))
    keys = jax.random.split(jax.random.key(1), 2)
    _, (returned, ended) = jax.jit(jax.vmap(train))(keys)
    for i, key in enumerate(keys):
        _, (own_returned, own_ended) = jax.jit(train)(key)
        np.testing.assert_array_equal(returned[i], own_returned)
        np.testing.assert_array_equal(ended[i], own_ended)
    env.close()
