"""ClusterVecEnv: environments on a Ray cluster as a Stable-Baselines3 vector environment."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from parallel_pool._apis.cluster.vector_env import ClusterVectorEnv
from parallel_pool._apis.gymnasium import backends
from parallel_pool._apis.sb3.cluster import ClusterBackend
from parallel_pool._apis.sb3.vec_env import PoolVecEnv
from parallel_pool._lazy import public

# options of `ClusterVectorEnv` that a VecEnv has no use for
REFUSED = {
    "autoreset_mode": "is always SAME_STEP for Stable-Baselines3",
    "batch_workers": "is for recv(), which a VecEnv lacks",
}


@public("compat.sb3")
class ClusterVecEnv(PoolVecEnv):
    """Environments on the machines of a Ray cluster as a `VecEnv`.

    Rows are those of one local `PoolVecEnv`, with the same bits; infos have NumPy's numbers. Rows
    of a lost worker are done, with "TimeLimit.truncated", "worker_restarted" and "restart_seed" in
    their infos and the last observation as "terminal_observation".

    Attributes:
        num_envs: environments.
        observation_space: of one environment.
        action_space: of one environment.
        pool: the `ClusterVectorEnv` underneath.
        backend: "cluster".
        backend_reason: what the workers run.

    Example:
        >>> from parallel_pool.compat.sb3 import ClusterVecEnv
        >>> envs = ClusterVecEnv("CartPole-v1", 4, num_workers=2, seed=1)
        >>> envs.reset().shape
        (4, 4)
        >>> envs.close()
    """

    def __init__(
        self, env: Any, n_envs: int | None = None, *, seed: int | None = None, **options: Any
    ) -> None:
        """Starts the workers and makes the environments.

        Args:
            env: an id, an EnvSpec, a function, or a sequence of functions.
            n_envs: environments; None for 1, or one for each function.
            seed: the first reset seeds environment i with seed + i, and the action space is seeded
                too. None: fresh entropy.
            options: further arguments of `ClusterVectorEnv`.

        Raises:
            TypeError, ValueError: an argument is wrong.
            Exception: what `ClusterVectorEnv` raises.
        """
        for name, why in REFUSED.items():
            if name in options:
                raise TypeError(f"{name} {why}: leave it out")
        envs = ClusterVectorEnv(env, n_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._backend = ClusterBackend(envs)
        self.backend, self.backend_reason = backends.CLUSTER, envs.backend_reason
        try:
            self._adopt(seed)
        except BaseException:
            envs.close()
            raise

    @property
    def pool(self) -> ClusterVectorEnv:  # type: ignore[override]
        """The `ClusterVectorEnv` underneath."""
        pool: ClusterVectorEnv = self._backend.pool
        return pool
