"""PoolVecEnv over dm_env environments returns what DummyVecEnv returns over their adapters."""

from __future__ import annotations

from functools import partial

import pytest
from dm_env import specs
from stable_baselines3.common.vec_env import DummyVecEnv

from parallel_pool.compat.dm_env import DMEnvAdapter
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support.dm_envs import Fixed, Vector
from tests.support.sb3_process_cases import made, run_both

pytestmark = pytest.mark.usefixtures("alarm")


def test_the_same_as_dummy_vec_env() -> None:
    theirs = DummyVecEnv([lambda: DMEnvAdapter(Vector())] * 4)
    with made([Vector] * 4, num_workers=2) as ours:
        assert ours.observation_space == theirs.observation_space
        run_both(theirs, ours, 60)
        assert ours.get_attr("level") == [1] * 4
        ours.set_attr("level", 2, [1])
        assert ours.get_attr("level") == [1, 2, 1, 1]
    theirs.close()


@pytest.mark.slow
def test_wrong_functions_are_refused() -> None:
    env = Vector()
    with pytest.raises(ValueError, match="return the same environment"):
        PoolVecEnv([lambda: env] * 2, num_workers=1)
    with pytest.raises(TypeError, match=r"observation_spec.* is StringArray"):
        PoolVecEnv([partial(Fixed, observation_spec=specs.StringArray(()))])
