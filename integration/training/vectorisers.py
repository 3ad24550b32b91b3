"""Vectorisers on which agents are trained: Gymnasium's, ours, EnvPool's and ale-py's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

import parallel_pool  # noqa: F401   adds a mode to make_vec
from integration.training.comparison import ENVPOOL, Env, Player, Task
from parallel_pool._bench.race import lacking


class EnvPoolEnv(VectorEnv[Any, Any, Any]):
    """EnvPool's own pool as a `VectorEnv`, so that wrappers and `ppo.py` take it."""

    def __init__(self, task_id: str, num_envs: int, seed: int, **options: Any) -> None:
        import envpool

        self._pool = envpool.make(
            task_id, env_type="gymnasium", num_envs=num_envs, seed=seed, **options
        )
        self.num_envs = num_envs
        self.single_observation_space = self._pool.observation_space
        self.single_action_space = self._pool.action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._pool.reset()

    def step(self, actions: Any) -> Any:
        kind = np.int32 if actions.dtype == np.int64 else np.float64
        return self._pool.step(actions.astype(kind))

    def close_extras(self, **kwargs: Any) -> None:
        self._pool.close()


def mode(name: str) -> Player:
    """Returns a function that makes environments with this mode of `gymnasium.make_vec`."""
    return lambda task, seed: gymnasium.make_vec(task.task_id, task.num_envs, name, **task.options)


def envpool(task: Task, seed: int) -> Env:
    assert task.envpool_id
    return EnvPoolEnv(task.envpool_id, task.num_envs, seed, **task.envpool_options)


def envpools(spec: str) -> Mapping[str, Player]:
    """Returns EnvPool by its name, if "family:class" can be imported from it here."""
    return {} if lacking(f"envpool.{spec}") else {ENVPOOL: envpool}


def ale(task: Task, seed: int) -> Env:
    """Returns ale-py's own vector environment."""
    from ale_py.vector_env import AtariVectorEnv

    options = {"use_fire_reset": False, "reward_clipping": False}
    return AtariVectorEnv(task.ale_game, task.num_envs, **options)
