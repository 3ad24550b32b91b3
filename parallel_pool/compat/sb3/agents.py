"""Agents: the backend of `AgentVecEnv`, the agents of parallel environments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool.arguments import named
from parallel_pool.compat.pettingzoo import row_infos
from parallel_pool.compat.pettingzoo.agent_vector_env import AgentVectorEnv
from parallel_pool.compat.sb3 import in_worker
from parallel_pool.compat.sb3.action_masks import METHOD, ActionMasks
from parallel_pool.compat.sb3.infos import TRUNCATED
from parallel_pool.errors import BusyError, StateError
from parallel_pool.workers.process_pool import ProcessPool

if TYPE_CHECKING:
    from parallel_pool.buffers import Array
    from parallel_pool.compat.pettingzoo.agent_rows import Policy
    from parallel_pool.compat.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool.compat.sb3.backend import Options, Step

RESTARTED = ("worker_restarted", "restart_seed")


class Agents:
    """Steps n environments with k agents as n * k rows; see `Backend` for the methods.

    Ids of environments are rows here: row env * k + i is agent i of environment env.

    Attributes:
        vector_env: the `AgentVectorEnv` underneath.
        pool: its pool.
        num_envs: rows.
        observation_space, action_space: of one row.
        metadata, render_mode: of the first environment.
        reset_infos: the infos of each row's last reset; a list that is changed in place.
    """

    def __init__(
        self, envs: PoolParallelEnv, agents: Sequence[Any] | None, others: Policy | None
    ) -> None:
        """Chooses the agents; for the arguments see `AgentVectorEnv`."""
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f"autoreset_mode={envs.autoreset_mode.name}, and Stable-Baselines3 expects the"
                " first observation of the next episode in the step that ends one: give"
                " PoolParallelEnv(..., autoreset_mode=AutoresetMode.SAME_STEP)"
            )
        self.vector_env = AgentVectorEnv(envs, agents, others)
        self.pool: Any = envs.pool
        self.num_envs = self.vector_env.num_envs
        self.agents = len(self.vector_env.agents)
        self.observation_space = self.vector_env.single_observation_space
        self.action_space = self.vector_env.single_action_space
        self.metadata = envs.metadata
        self.render_mode = envs.render_mode
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._masks = ActionMasks(self.observation_space, self.action_space, self.num_envs)
        # the actions that the next `receive` steps with
        self._actions: Any = None

    # ------------------------------------------------------------------------------ stepping --

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        if isinstance(options, list):
            if any(each != options[0] for each in options):
                raise ValueError(
                    "the options of rows differ, but all environments are reset together: give one"
                    " dict for all"
                )
            options = options[0]
        of_envs = list(seeds[:: self.agents])
        observations, infos = self.vector_env.reset(
            seed=None if all(seed is None for seed in of_envs) else of_envs,
            options=dict(options) or None,
        )
        self._actions = None
        self.reset_infos[:] = self._rows_of(infos)
        self._masks.take(observations, self.reset_infos)
        return observations

    def send(self, actions: Any) -> None:
        if self._actions is not None:
            raise StateError("a step is in flight: call step_wait() for its results, or reset()")
        self.pool.check_idle()
        self._actions = copy.deepcopy(actions)

    def receive(self) -> Step:
        if self._actions is None:
            raise StateError("no step is in flight: call step_async(actions) first")
        observations, rewards, terminations, truncations, infos = self._step()
        dones = terminations | truncations
        finals, of_ends = infos.pop("final_obs", None), infos.pop("final_info", {})
        live = infos["live"].tolist()
        found = self._rows_of(infos)
        self._masks.take(observations, found)
        restarted = np.repeat(self.vector_env.restarted, self.agents)
        for row in np.flatnonzero(restarted).tolist():
            self.reset_infos[row] = found[row]
            found[row] = {name: found[row][name] for name in RESTARTED if name in found[row]}
        if dones.any():
            ends = row_infos.rows_of(of_ends, self.num_envs)
            for row in np.flatnonzero(dones).tolist():
                found[row] |= ends[row]
                found[row]["terminal_observation"] = finals[row]
        truncated = (truncations & ~terminations).tolist()
        for info, is_live, is_truncated in zip(found, live, truncated, strict=True):
            info["live"] = is_live
            info[TRUNCATED] = is_truncated
        return observations, rewards.astype(np.float32), dones, found

    def _step(self) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        try:
            results = self.vector_env.step(self._actions)
        except BusyError:
            # the step is still to come
            raise
        except BaseException:
            self._actions = None
            raise
        self._actions = None
        return results

    def _rows_of(self, infos: dict[str, Any]) -> list[dict[Any, Any]]:
        """Returns a dict of infos for each row, without those that `AgentVectorEnv` adds."""
        own = {key: value for key, value in infos.items() if key != "live"}
        return row_infos.rows_of(own, self.num_envs)

    def close(self, timeout: float | None = None) -> None:
        self.vector_env.close(timeout=timeout)

    # ------------------------------------------------------------------- single environments --

    def render(self) -> Sequence[Any]:
        """Draws every environment, once for all of its rows."""
        return self.vector_env.envs.render()

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        found = self.vector_env.get_attr(name) if env_ids else ()
        return [copy.deepcopy(found[row]) for row in env_ids]

    def has_attr(self, name: str) -> bool:
        if name == METHOD and self._masks.are_known:
            return True
        if isinstance(self.pool, ProcessPool):
            return all(self.pool.apply(in_worker.HasAttribute(name)))
        try:
            self.get_attr(name, [0])
        except AttributeError:
            return False
        return True

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets an attribute of the parallel environments of these rows."""
        if not isinstance(self.pool, ProcessPool):
            raise AttributeError(
                f"{named(name)}: attributes of native environments are fixed when they are made:"
                f" give {named(name)}=... to AgentVecEnv if it is an option"
            )
        self._apply(in_worker.SetWrapperAttribute(name, value), env_ids)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method once for each environment of these rows, which share its result.

        `action_masks` is answered here, for each row its own.
        """
        if name == METHOD and self._masks.are_known:
            return list(self._masks.of(env_ids))
        if isinstance(self.pool, ProcessPool):
            return self._apply(in_worker.CallMethod(name, tuple(args), dict(kwargs)), env_ids)
        found = self.vector_env.call(name, *args, **kwargs)
        return [found[row] for row in env_ids]

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Returns for these rows whether their parallel environment has this wrapper."""
        if not isinstance(self.pool, ProcessPool):
            return [False] * len(env_ids)
        question = in_worker.IsParallelWrapped(wrapper_class.__module__, wrapper_class.__qualname__)
        return self._apply(question, env_ids)

    def _apply(self, function: Callable[[Any], Any], rows: Sequence[int]) -> list[Any]:
        """Returns for each row the result of a function of its environment."""
        of_rows = [row // self.agents for row in rows]
        env_ids = sorted(set(of_rows))
        found = dict(zip(env_ids, self.pool.apply(function, env_ids) if rows else (), strict=True))
        return [found[env_id] for env_id in of_rows]
