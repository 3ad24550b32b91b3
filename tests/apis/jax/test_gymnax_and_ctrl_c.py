"""`make_gymnax`: Ctrl-C while a program runs, and closing twice."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import closing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from parallel_pool.compat.jax import make_gymnax
from tests.apis.jax.test_gymnax import ERRORS, keys_of, many

ROWS, STEPS = 4, 10


@pytest.mark.slow
def test_ctrl_c_during_a_program() -> None:
    """JAX ends the program first. It is raised once, and the next call has the same results."""
    env, _ = make_gymnax("test/Fault-v0", num_envs=2, sleep_ms=20)
    keys, (reset, step) = keys_of(range(ROWS)), many(env)

    @jax.jit
    def program(state: Any) -> Any:
        def once(state: Any, _: Any) -> Any:
            observations, state, *_ = step(keys, state, jnp.zeros(ROWS, int), None)
            return state, observations

        return lax.scan(once, state, length=STEPS)

    def interrupt() -> None:
        # a quarter of the time that the program sleeps
        time.sleep(0.02 * STEPS * ROWS / 2 / 4)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with closing(env):
        _, state = reset(keys, None)
        expected = jax.block_until_ready(program(state))
        for _ in range(3):
            thread = threading.Thread(target=interrupt)
            with pytest.raises(KeyboardInterrupt):
                thread.start()
                jax.block_until_ready(program(state))
                thread.join()
            thread.join()
            found = jax.block_until_ready(program(state))
            jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_closing_twice() -> None:
    env, _ = make_gymnax("CartPole-v1", num_envs=1)
    for _ in range(2):
        env.close()
        with pytest.raises(ERRORS, match="the pool is closed"):
            jax.block_until_ready(env.reset(jax.random.key(0)))
