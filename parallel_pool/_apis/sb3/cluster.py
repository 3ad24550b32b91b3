"""ClusterBackend: the backend of `ClusterVecEnv`, environments on the machines of a Ray cluster."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.sb3.vector_backend import VectorBackend

if TYPE_CHECKING:
    from parallel_pool._apis.cluster.vector_env import ClusterVectorEnv
    from parallel_pool._apis.sb3.backend import Options, Step


class ClusterBackend(VectorBackend):
    """Steps the environments of a `ClusterVectorEnv`; see `Backend` for the methods.

    Attributes:
        pool: the `ClusterVectorEnv`.
        num_envs: environments.
        observation_space: of one environment.
        action_space: of one environment.
        metadata: of the environments.
        reset_infos: the infos of each environment's last reset; a list that is changed in place.
    """

    def __init__(self, envs: ClusterVectorEnv) -> None:
        """Takes over environments with SAME_STEP."""
        super().__init__(envs)
        self.pool: Any = envs

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        seed, own = self._reset_arguments(seeds, options, "environments")
        return self._first(self.pool.reset(seed=seed, options=own))

    def send(self, actions: Any) -> None:
        self.pool.send(copy.copy(actions), np.arange(self.num_envs))

    def receive(self) -> Step:
        step: Step = self.pool._recv_as(self._vec_env_step, None)
        return step

    def _vec_env_step(self, results: tuple[Any, ...]) -> Step:
        """Returns the results of a step; may be called again for the same ones, after Ctrl-C."""
        *others, infos = results
        return self._step((*others, {key: infos[key] for key in infos if key != "env_id"}))

    # ------------------------------------------------------------------- single environments --

    def render(self) -> Sequence[Any]:
        return list(self.pool.render())

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        found = self.pool.get_attr(name) if env_ids else ()
        return [found[env_id] for env_id in env_ids]

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets an attribute of all environments; others than all can't be named."""
        self._check_all(env_ids)
        self.pool.set_attr(name, value)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method of all environments; others than all can't be named."""
        self._check_all(env_ids)
        return list(self.pool.call(name, *args, **kwargs))

    def _check_all(self, env_ids: Sequence[int]) -> None:
        if list(env_ids) != list(range(self.num_envs)):
            raise ValueError(
                f"indices={list(env_ids)}: workers of a cluster are asked for all environments:"
                " leave indices out"
            )
