"""AgentBackend: the backend of `AgentVecEnv`, the agents of parallel environments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common.native_attributes import refuse_set
from parallel_pool._apis.pettingzoo.agent_vector_env import AgentVectorEnv
from parallel_pool._apis.pettingzoo.native_agents import CURE
from parallel_pool._apis.sb3 import in_worker
from parallel_pool._apis.sb3.action_masks import METHOD, ActionMasks
from parallel_pool._apis.sb3.vector_backend import VectorBackend
from parallel_pool._engine.pool_checks import check_idle, check_usable
from parallel_pool._engine.present_states import restores_of
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import BusyError, EnvError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agent_table import Policy
    from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool._apis.sb3.backend import Options, Step
    from parallel_pool._engine.buffers import Array


class AgentBackend(VectorBackend):
    """Steps n environments with k agents as n * k rows; see `Backend` for the methods.

    Ids of environments are rows here: row env * k + i is agent i of environment env.

    Attributes:
        vector_env: the `AgentVectorEnv` underneath.
        pool: its pool.
        num_envs: rows.
        observation_space, action_space: of one row.
        metadata: of the first environment.
        render_mode: of the first environment.
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
        super().__init__(self.vector_env)
        self.pool: Any = envs.pool
        self.agents = len(self.vector_env.agents)
        self.render_mode = envs.render_mode
        self._masks = ActionMasks(self.observation_space, self.action_space, self.num_envs)
        # the calls of the pool's `set_state`, and how many of them the masks know of
        self._restores = restores_of(self.pool)
        self._known_restores = 0
        # the actions that the next `receive` steps with, and as blocks once it has begun
        self._actions: Any = None
        self._blocks: Sequence[Any] | None = None

    # ------------------------------------------------------------------------------ stepping --

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        seed, own = self._reset_arguments(seeds[:: self.agents], options, "rows")
        try:
            observations = self.vector_env._reset_as(self._first, seed, own)
        except Exception:
            if self._blocks is not None and not self.pool.in_flight:
                # it has dropped the step in flight
                self._actions = self._blocks = None
            raise
        except BaseException:
            self._actions = self._blocks = None
            raise
        # no function call from here on: Python handles signals after each
        self._actions = self._blocks = None
        return observations

    def send(self, actions: Any) -> None:
        if self._actions is not None:
            raise StateError("a step is in flight: call step_wait() for its results, or reset()")
        check_idle(self.pool)
        self._actions = copy.deepcopy(actions)

    def receive(self) -> Step:
        if self._actions is None:
            check_usable(self.pool)
            raise StateError("no step is in flight: call step_async(actions) first")
        envs = self.vector_env
        is_sent = self._blocks is not None and self.pool.in_flight > 0
        try:
            if self._blocks is None:
                self._blocks = envs._rows.blocks(self._actions)
            step: Step = envs._step_as(self._vec_env_step, self._blocks, is_sent=is_sent)
        except BusyError:
            # the step is still to come
            if not is_sent:
                self._blocks = None
            raise
        except Exception:
            self._actions = self._blocks = None
            raise
        except BaseException as error:
            # Ctrl-C: the step is in flight, or was not begun, unless an environment has failed
            if not self.pool.in_flight and _has_failed(error):
                self._actions = self._blocks = None
            raise
        # no function call from here on: Python handles signals after each
        self._actions = self._blocks = None
        return step

    def _vec_env_step(self, results: tuple[Any, ...], restarted: Array) -> Step:
        """Returns the results of a step; may be called again for the same ones, after Ctrl-C."""
        step = self._step(results, np.repeat(restarted, self.agents))
        for info, is_live in zip(step[3], results[4]["live"].tolist(), strict=True):
            info["live"] = is_live
        return step

    def _note(self, observations: Any, infos: Sequence[Mapping[Any, Any]]) -> None:
        self._masks.take(observations, infos)
        self._known_restores = self._restores.count

    def _have_masks(self) -> bool:
        """Returns whether there are masks, which are those of the present states."""
        if self._restores.count != self._known_restores:
            observations, infos = self.vector_env._rows.present()
            self._note(observations, self._rows_of(infos))
        return self._masks.are_known

    # ------------------------------------------------------------------- single environments --

    def render(self) -> Sequence[Any]:
        """Draws every environment, once for all of its rows."""
        return self.vector_env.envs.render()

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        found = self.vector_env.get_attr(name) if env_ids else ()
        return [copy.deepcopy(found[row]) for row in env_ids]

    def has_attr(self, name: str) -> bool:
        if name == METHOD and self._have_masks():
            return True
        if isinstance(self.pool, ProcessPool):
            return all(self.pool.apply(in_worker.HasAttribute(name)))
        try:
            return super().has_attr(name)
        except StateError:
            # an option that the first reset draws, unless the pool can't be used
            check_usable(self.pool)
        return True

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets an attribute of the parallel environments of these rows."""
        if not isinstance(self.pool, ProcessPool):
            refuse_set(name, value, "AgentVecEnv", CURE)
        self._apply(in_worker.SetWrapperAttribute(name, value), env_ids)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method once for each environment of these rows, which share its result.

        `action_masks` is answered here, for each row its own.
        """
        if name == METHOD and self._have_masks():
            return list(self._masks.of(env_ids))
        if isinstance(self.pool, ProcessPool):
            return self._apply(in_worker.CallMethod(name, tuple(args), dict(kwargs)), env_ids)
        found = self.vector_env.call(name, *args, **kwargs)
        return [found[row] for row in env_ids]

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Returns for these rows whether their parallel environment has this wrapper."""
        if not isinstance(self.pool, ProcessPool):
            return super().is_wrapped(wrapper_class, env_ids)
        question = in_worker.IsParallelWrapped(wrapper_class.__module__, wrapper_class.__qualname__)
        return self._apply(question, env_ids)

    def _apply(self, function: Callable[[Any], Any], rows: Sequence[int]) -> list[Any]:
        """Returns for each row the result of a function of its environment."""
        of_rows = [row // self.agents for row in rows]
        env_ids = sorted(set(of_rows))
        found = dict(zip(env_ids, self.pool.apply(function, env_ids) if rows else (), strict=True))
        return [found[env_id] for env_id in of_rows]


def _has_failed(error: BaseException) -> bool:
    """Returns whether an exception such as Ctrl-C came as that of an environment was handled."""
    before = error.__context__
    while before is not None:
        if isinstance(before, EnvError):
            return True
        before = before.__cause__ or before.__context__
    return False
