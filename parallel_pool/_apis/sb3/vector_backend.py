"""VectorBackend: a vector environment with SAME_STEP as a VecEnv steps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common import vector_infos
from parallel_pool._apis.common.masks import has_any, rows_in
from parallel_pool._apis.sb3.infos import TRUNCATED
from parallel_pool._workers.data.messages import RESTARTED

if TYPE_CHECKING:
    from parallel_pool._apis.sb3.backend import Options, Step
    from parallel_pool._engine.buffers import Array

# of `AgentVectorEnv`: which rows act
LIVE = ("live", "_live")


class VectorBackend:
    """Base of the backends on a vector environment; see `Backend` for the methods.

    Attributes:
        num_envs: rows.
        observation_space, action_space: of one row.
        metadata: of the environments.
        reset_infos: the infos of each row's last reset; a list that is changed in place.
    """

    def __init__(self, vector_env: Any) -> None:
        self._vector_env = vector_env
        self.num_envs: int = vector_env.num_envs
        self.observation_space = vector_env.single_observation_space
        self.action_space = vector_env.single_action_space
        self.metadata: dict[str, Any] = vector_env.metadata
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]

    def _reset_arguments(
        self, seeds: Sequence[int | None], options: Options, rows: str
    ) -> tuple[list[int | None] | None, dict[str, Any] | None]:
        """Returns the seeds and the options of the vector environment's reset.

        Args:
            seeds: of the environments.
            options: of the rows, which must be equal.
            rows: what the rows are, for the message.
        """
        if isinstance(options, list):
            if any(each != options[0] for each in options):
                raise ValueError(
                    f"the options of {rows} differ, but all environments are reset together: give"
                    " one dict for all"
                )
            options = options[0]
        seed = None if all(seed is None for seed in seeds) else list(seeds)
        return seed, dict(options) or None

    def _first(self, first: tuple[Any, dict[str, Any]]) -> Any:
        """Takes over the infos of a vector environment's reset; returns the observations."""
        observations, infos = first
        self.reset_infos[:] = self._rows_of(infos)
        self._note(observations, self.reset_infos)
        return observations

    def _step(self, results: tuple[Any, ...], restarted: Array | None = None) -> Step:
        """Returns the results of a vector environment's step as those of a VecEnv.

        Args:
            results: of the step.
            restarted: bool (rows,): the rows whose next episode began; None: those that ended.
        """
        observations, rewards, terminated, truncated, infos = results
        dones = terminated | truncated
        finals, of_ends = infos.get("final_obs"), infos.get("final_info", {})
        found = self._rows_of(infos)
        self._note(observations, found)
        for row in rows_in(dones if restarted is None else restarted):
            # what the step returned is of the next episode's reset
            self.reset_infos[row] = found[row]
            found[row] = {name: found[row][name] for name in RESTARTED if name in found[row]}
        if has_any(dones):
            ends = vector_infos.rows_of(of_ends, self.num_envs)
            for row in rows_in(dones):
                found[row] |= ends[row]
                found[row]["terminal_observation"] = finals[row]
        for info, is_truncated in zip(found, (truncated & ~terminated).tolist(), strict=True):
            info[TRUNCATED] = is_truncated
        return observations, rewards.astype(np.float32), dones, found

    def _rows_of(self, infos: Mapping[str, Any]) -> list[dict[Any, Any]]:
        """Returns a dict of infos for each row, without those that a VecEnv has in another form."""
        others = {*vector_infos.FINAL_KEYS, *LIVE}
        own = {key: value for key, value in infos.items() if key not in others}
        return vector_infos.rows_of(own, self.num_envs)

    def _note(self, observations: Any, infos: Sequence[Mapping[Any, Any]]) -> None:
        """Called with the observations and infos of all rows, before a result is made of them."""

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        raise NotImplementedError

    def has_attr(self, name: str) -> bool:
        try:
            self.get_attr(name, [0])
        except AttributeError:
            return False
        return True

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Returns False for each: the environments have no wrappers that could be asked for."""
        return [False] * len(env_ids)

    def close(self, timeout: float | None = None) -> None:
        self._vector_env.close(timeout=timeout)
