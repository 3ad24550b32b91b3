"""`make_gymnax` with environments of one's own: short episodes, and actions that begin below 0."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.errors import JaxRuntimeError

import parallel_pool
from parallel_pool.compat.jax import make_gymnax

HEAP = Path(__file__).resolve().parents[3] / "csrc" / "envs" / "test" / "heap.c"


def loaded(folder: Path, name: str, **changes: str) -> str:
    """Returns the id of that environment with another name, without random numbers or ends."""
    text = HEAP.read_text()
    changes |= {
        "test/Heap-v0": f"own/{name}-v0",
        "pp_env_test_heap_v0": f"pp_env_{name}",
        '.family = "test",': "",
        " + pp_rng_integers(env->rng, 0, MAX_RANDOM + 1)": " + 1",
        "entry >= 990": "false",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.c"
    path.write_text(text)
    (task_id,) = parallel_pool.load_source(path)
    return task_id


def test_a_time_limit_ends_the_trial(tmp_path: Path) -> None:
    change = {".max_episode_steps = 1000": ".max_episode_steps = 20"}
    env, params = make_gymnax(loaded(tmp_path, "short_heap", **change), num_envs=1)
    with closing(env):
        key = jax.random.key(0)
        _, state = env.reset(key)
        times = []
        for _ in range(20):
            _, state, *_ = env.step(key, state, 1)
            times.append(int(state.time))
    assert params.max_steps_in_episode == 20 and times == [*range(1, 20), 0]
    assert state.snapshot.shape[0] >= 20 * np.dtype(np.int64).itemsize


@pytest.mark.quick(1)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_actions_below_0_are_counted_from_0_in_every_dtype(dtype: str, tmp_path: Path) -> None:
    change = {".n = MAX_ACTION + 1": ".n = MAX_ACTION + 1, .low = -1"}
    task_id = loaded(tmp_path, f"low_heap_{dtype}", **change)
    with jax.enable_x64("64" in dtype):
        env, _ = make_gymnax(task_id, num_envs=1)
        with closing(env):
            key = jax.random.key(0)
            _, state = env.reset(key)
            rewards = [float(env.step(key, state, jnp.asarray(a, dtype))[2]) for a in range(4)]
            # the reward is the environment's own action and 1
            assert rewards == [0.0, 1.0, 2.0, 3.0]
            for wrong in (4, np.iinfo(dtype).max):
                with pytest.raises((JaxRuntimeError, ValueError), match="outside its space"):
                    jax.block_until_ready(env.step(key, state, jnp.asarray(wrong, dtype)))
