"""BatchBackend: the backend of `BatchVecEnv`, a task in vectorised Python on `mujoco.batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.sb3.vector_backend import VectorBackend

if TYPE_CHECKING:
    from parallel_pool._apis.mujoco_batch.vector_env import BatchVectorEnv
    from parallel_pool._apis.sb3.backend import Options, Step


class BatchBackend(VectorBackend):
    """Steps the worlds of a `BatchVectorEnv`; see `Backend` for the methods.

    Attributes:
        pool: what steps the worlds.
    """

    def __init__(self, envs: BatchVectorEnv) -> None:
        """Takes over worlds with SAME_STEP."""
        super().__init__(envs)
        self.pool: Any = envs.pool

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        seed, own = self._reset_arguments(seeds, options, "worlds")
        return self._vector_env._reset_as(self._first, seed, own)

    def send(self, actions: Any) -> None:
        self._vector_env.step_async(actions)

    def receive(self) -> Step:
        step: Step = self._vector_env._step_wait_as(self._step)
        return step

    # ------------------------------------------------------------------- single environments --

    def render(self) -> list[Any]:
        return list(self._vector_env.render())

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        return self.pool.get_attr(name, env_ids) if env_ids else []

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Always raises AttributeError: worlds have no attributes of their own."""
        self.pool.set_attr(name, [value] * len(env_ids), env_ids)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        return self.pool.call(name, *args, env_ids=env_ids, **kwargs) if env_ids else []
