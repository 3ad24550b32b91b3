"""Each domain of dm_control's suite plays, is saved and restored: for the sanitizers.

`tests/parity/test_control_suite.py` compares results, in a process that no sanitizer sees.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool

IDS = sorted(
    env_id
    for env_id, definition in registry.definitions().items()
    if definition.family == "control_suite" and env_id.startswith("dm_control/")
)


@pytest.mark.skipif(find_spec("dm_control") is None, reason="needs the models of dm_control")
@pytest.mark.quick(2, sanitizers=True)
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_and_snapshots(env_id: str) -> None:
    options = {"frame_stack": 2}
    with Pool(env_id, 3, seed=1, max_episode_steps=7, options=options) as pool:
        space = pool.spec.action_space()
        space.seed(0)
        actions = [np.stack([space.sample() for _ in range(3)]) for _ in range(12)]
        pool.reset()
        for action in actions:
            pool.step(action)
        snapshots = pool.get_state()
        first = [pool.step(action).reward.copy() for action in actions]
        pool.set_state(snapshots)
        again = [pool.step(action).reward.copy() for action in actions]
    assert np.array_equal(first, again)
