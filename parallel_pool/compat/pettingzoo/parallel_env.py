"""PoolParallelEnv: many PettingZoo parallel environments, stepped in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from parallel_pool.actions import check_sequence
from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.compat.pettingzoo.joint_env import LIVE, TERMINATED, TRUNCATED, JointEnv, empty
from parallel_pool.compat.vector_options import VectorOptions

if TYPE_CHECKING:
    from typing import Self

    from gymnasium.spaces import Space

    from parallel_pool import seeds
    from parallel_pool.buffers import Array

    ByAgent = dict[Any, Array]
    Step = tuple[dict[Any, Any], ByAgent, ByAgent, ByAgent, dict[Any, Any]]


class PoolParallelEnv:
    """n PettingZoo parallel environments, with PettingZoo's dicts and an axis of n in each array.

    `reset` and `step` have the form of `pettingzoo.ParallelEnv`'s, but each value is an array of
    all environments' values, with the same bits as from n environments stepped in a loop. All
    environments have the same agents, with the same spaces.

    Every array has all agents at all times: for an agent that an environment returned nothing for,
    the observation is zeros, the reward 0, and it is neither terminated nor truncated. `live` says
    which agents act next. An episode is over when no agent is live.

    An exception of an environment is raised here unchanged; worker processes that die raise
    `parallel_pool.errors.WorkerError`, or are replaced (on_error="restart").

    Attributes:
        num_envs: environments, n.
        possible_agents: a list of all agents.
        autoreset_mode: how episodes start again.
        metadata, render_mode: of the first environment.
        vector_env: the `ProcessVectorEnv` of `JointEnv`s underneath.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        *,
        num_workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        context: str | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
    ) -> None:
        """Starts the worker processes and makes the environments in them.

        Args:
            env_fns: functions that return one `ParallelEnv` each; cloudpickle sends them to
                workers.
            num_workers: processes; None for the cores this process may use.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its actions and
                resets; SAME_STEP: the step that ends an episode returns the first observations of
                the next, and infos hold "final_obs" and "final_info"; DISABLED: the caller resets,
                with options={"reset_mask": ...}.
            context: how processes start: "forkserver", "spawn" or "fork"; None for "forkserver".
            timeout: seconds that one environment's step or reset may take; then its worker is
                killed. None for no limit.
            start_timeout: seconds in which a worker must make its environments, at the start and
                at a restart; None for no limit without `timeout`, and a minute or more with it.
            on_error: "raise", or "restart": environments whose worker died, or that raised, are
                made again with fresh seeds; all their live agents are truncated, with reward 0, and
                infos have "worker_restarted" and "restart_seed".

        Raises:
            TypeError, ValueError: an argument is wrong, or a function returned no parallel
                environment.
            RuntimeError: the environments' agents or spaces differ.
            parallel_pool.errors.WorkerError: a worker died, or can't be started.
            Exception: raised by an environment's function.
        """
        self.autoreset_mode = VectorOptions(autoreset_mode=autoreset_mode).mode()
        carries = self.autoreset_mode is AutoresetMode.SAME_STEP
        if isinstance(env_fns, str):
            raise TypeError(
                f"env_fns={env_fns!r} is a str: give a list of functions that make PettingZoo"
                " parallel environments, such as lambda: pettingzoo.make('parallel', id)"
            )
        if isinstance(env_fns, Iterable):
            env_fns = [partial(JointEnv, fn, carries) if callable(fn) else fn for fn in env_fns]
        self.vector_env = ProcessVectorEnv(
            # raises for anything that is not a sequence of functions
            env_fns,
            context=context,
            autoreset_mode=self.autoreset_mode,
            num_workers=num_workers,
            timeout=timeout,
            start_timeout=start_timeout,
            on_error=on_error,
        )
        self.num_envs = self.vector_env.num_envs
        self.metadata, self.render_mode = self.vector_env.metadata, self.vector_env.render_mode
        single: Any = self.vector_env.single_observation_space
        self._observation_spaces: dict[Any, Space[Any]] = single["observation"].spaces
        act: Any = self.vector_env.single_action_space
        self._action_spaces: dict[Any, Space[Any]] = act.spaces
        try:
            self.possible_agents = self._read_agents()
        except BaseException:
            self.close()
            raise
        # bool (agents, environments)
        self._live: Array = np.zeros((self.max_num_agents, self.num_envs), np.bool_)

    def _read_agents(self) -> list[Any]:
        """Returns the agents; their order, which is that of arrays, must be equal everywhere."""
        lists = [list(agents) for agents in self.get_attr("possible_agents")]
        for i, agents in enumerate(lists):
            if agents != lists[0]:
                raise RuntimeError(
                    f"environment {i} has possible_agents={agents}, and environment 0 {lists[0]}:"
                    " those of all environments must be equal"
                )
        return lists[0]

    # ------------------------------------------------------------------------------ stepping --

    def reset(
        self, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Starts new episodes.

        Args:
            seed: an integer: environment i gets seed + i; a sequence of n integers or Nones: one
                per environment; None: passed to the environments.
            options: the environments' reset options, and "reset_mask" (removed from the dict): a
                bool array (n,) of the environments to reset; the others stay as they are.

        Returns:
            Observations by agent and infos, as `step` returns them.

        Raises:
            TypeError, ValueError: an argument is wrong.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: raised by an environment.
        """
        observations, infos = self.vector_env.reset(seed=seed, options=options)
        self._read_marks(observations, infos)
        return observations["observation"], self._infos(infos)

    def step(self, actions: Mapping[Any, Any]) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: by agent, an array (n, ...) or a sequence of n actions. Actions of agents that
                are not live are ignored; an agent that is live in no environment may be left out.

        Returns:
            observations: by agent, an array (n, ...), or a tree of such arrays;
            rewards: by agent, float64 (n,);
            terminations, truncations: by agent, bool (n,);
            infos: by agent, in the form of Gymnasium's vector environments: for each key an array
            (n, ...), and "_key", a bool mask (n,) of the environments that have it; other keys of
            the environments' infos in the same form.

            Each dict has all `possible_agents`.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            parallel_pool.errors.StateError: with DISABLED, an episode is over and was not reset.
            parallel_pool.errors.WorkerError: a worker process died.
            Exception: raised by an environment.
        """
        joint, _, _, _, infos = self.vector_env.step(self._complete(actions))
        marks, rewards = self._read_marks(joint, infos)
        return (
            joint["observation"],
            self._by_agent(rewards),
            self._by_agent(marks[TERMINATED]),
            self._by_agent(marks[TRUNCATED]),
            self._infos(infos),
        )

    def _read_marks(self, joint: Any, infos: dict[Any, Any]) -> tuple[Array, Array]:
        """Updates the live agents; returns marks, bool (3, k, n), and rewards, float64 (k, n)."""
        marks: Array = np.ascontiguousarray(joint["marks"].transpose(1, 2, 0)).view(np.bool_)
        rewards: Array = joint["reward"].T.copy()
        if "worker_restarted" in infos:
            # rows of restarted environments repeat old ones: their episodes are truncated
            restarted = infos["_worker_restarted"]
            rewards[:, restarted] = 0
            marks[TERMINATED][:, restarted] = False
            marks[TRUNCATED][:, restarted] = self._live[:, restarted]
            if self.autoreset_mode is not AutoresetMode.SAME_STEP:
                marks[LIVE][:, restarted] = False
        self._live = marks[LIVE]
        return marks, rewards

    def _complete(self, actions: Mapping[Any, Any]) -> dict[Any, Any]:
        """Returns actions of all agents in order; those left out must be live in no environment."""
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"actions are a {type(actions).__name__}: give a dict with an array of"
                f" {self.num_envs} actions for each agent"
            )
        unknown = [agent for agent in actions if agent not in self._action_spaces]
        if unknown:
            raise ValueError(
                f"there is no agent {unknown[0]!r}: choose one of {self.possible_agents}"
            )
        found: dict[Any, Any] = {}
        for agent, is_live in zip(self.possible_agents, self._live, strict=True):
            if agent in actions:
                found[agent] = self._check_count(agent, actions[agent])
            elif is_live.any():
                raise ValueError(
                    f"no actions for agent {agent!r}, which is live in environment"
                    f" {int(np.argmax(is_live))}: give {self.num_envs}"
                )
            else:
                found[agent] = create_empty_array(self._action_spaces[agent], self.num_envs)
        return found

    def _check_count(self, agent: Any, actions: Any) -> Any:
        """Returns an agent's actions; raises ValueError if they are not one per environment."""
        if isinstance(actions, Mapping | tuple):
            # of a Dict or Tuple space: one array per part
            return actions
        name = f"actions[{agent!r}]"
        if type(actions) is not np.ndarray:
            check_sequence(actions, self.num_envs, name)
        count = len(actions) if type(actions) is not np.ndarray or actions.ndim else 0
        if count != self.num_envs:
            raise ValueError(
                f"{name} has length {count}: give one for each of {self.num_envs} environments"
            )
        return actions

    def _by_agent(self, table: Array) -> ByAgent:
        return dict(zip(self.possible_agents, table, strict=True))

    def _infos(self, infos: dict[Any, Any]) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent."""
        masks = {f"_{agent}" for agent in self.possible_agents}
        found: dict[Any, Any] = {agent: infos.get(agent, {}) for agent in self.possible_agents}
        others = {key: infos[key] for key in infos if key not in found and key not in masks}
        if "final_obs" in others:
            finals, is_final = others["final_obs"], others["_final_obs"]
            others["final_obs"] = self._final_observations(finals, is_final)
        if "final_info" in others:
            others["final_info"] = self._infos(others["final_info"])
        return found | others

    def _final_observations(self, finals: Array, is_final: Array) -> dict[Any, Any]:
        """Returns the last observations of ended episodes by agent: arrays (n, ...)."""
        found: dict[Any, Any] = {}
        for agent, space in self._observation_spaces.items():
            zeros = empty(space)
            rows = [
                final["observation"][agent] if has_ended else zeros
                for final, has_ended in zip(finals, is_final, strict=True)
            ]
            out: Any = create_empty_array(space, self.num_envs)
            found[agent] = concatenate(space, rows, out)
        return found

    # ---------------------------------------------------------------------------- attributes --

    @property
    def live(self) -> ByAgent:
        """By agent, bool (n,): the environments in which it is live and acts in the next step."""
        return self._by_agent(self._live.copy())

    @property
    def agents(self) -> list[Any]:
        """The agents that are live in at least one environment."""
        return [agent for agent, is_live in self.live.items() if is_live.any()]

    @property
    def num_agents(self) -> int:
        """The number of `agents`."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """The number of `possible_agents`."""
        return len(self.possible_agents)

    def observation_space(self, agent: Any) -> Space[Any]:
        """Returns the space of an agent's observation in one environment."""
        return self._space_of(agent, self._observation_spaces)

    def action_space(self, agent: Any) -> Space[Any]:
        """Returns the space of an agent's action in one environment."""
        return self._space_of(agent, self._action_spaces)

    def _space_of(self, agent: Any, spaces: Mapping[Any, Space[Any]]) -> Space[Any]:
        if agent not in self.possible_agents:
            raise KeyError(f"there is no agent {agent!r}: choose one of {self.possible_agents}")
        return spaces[agent]

    def state(self) -> Array:
        """Returns the environments' states, an array (n, *shape of one)."""
        return np.stack(self.call("state"))

    def render(self) -> tuple[Any, ...]:
        """Returns the results of every environment's `render`."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; returns n results."""
        return self.vector_env.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every environment: n values."""
        return self.vector_env.get_attr(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment: a list of n values, or one value for all."""
        self.vector_env.set_attr(name, values)

    # ------------------------------------------------------------------------------- closing --

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self.vector_env.closed

    def close(self) -> None:
        """Ends the worker processes, each after the environment it is stepping."""
        self.vector_env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PoolParallelEnv(num_envs={self.num_envs}, agents={self.possible_agents})"
