"""The trial that shows how the states of an environment grow, in episodes shorter than it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import jax
import numpy as np

import parallel_pool
from parallel_pool.compat.jax import make_gymnax

HEAP = Path(__file__).resolve().parents[3] / "csrc" / "envs" / "test" / "heap.c"
# that environment with another name, whose episodes always end by a time limit of 20 steps
CHANGES = {
    "test/Heap-v0": "own/ShortHeap-v0",
    "pp_env_test_heap_v0": "pp_env_short_heap",
    '.family = "test",': "",
    ".max_episode_steps = 1000": ".max_episode_steps = 20",
    "entry >= 990": "false",
}


def test_a_time_limit_ends_the_trial(tmp_path: Path) -> None:
    text = HEAP.read_text()
    for old, new in CHANGES.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "short_heap.c"
    path.write_text(text)
    (env_id,) = parallel_pool.load_source(path)
    env, params = make_gymnax(env_id, num_envs=1)
    with closing(env):
        key = jax.random.key(0)
        _, state = env.reset(key)
        times = []
        for _ in range(20):
            _, state, *_ = env.step(key, state, 1)
            times.append(int(state.time))
    assert params.max_steps_in_episode == 20 and times == [*range(1, 20), 0]
    assert state.snapshot.shape[0] >= 20 * np.dtype(np.int64).itemsize
