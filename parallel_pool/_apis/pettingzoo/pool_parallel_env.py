"""PoolParallelEnv: many PettingZoo parallel environments at once, native or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_empty_array

from parallel_pool._apis.common import reset_mask
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.common.vector_errors import ClosedVectorEnvError
from parallel_pool._apis.common.vector_options import VectorOptions
from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays, AgentGroup
from parallel_pool._apis.pettingzoo.native_agents import NativeAgents
from parallel_pool._apis.pettingzoo.process_agents import ProcessAgents
from parallel_pool._engine.actions import check_sequence
from parallel_pool._engine.arguments import a_type, check_sizes, one_of, quote
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from typing import Self

    from gymnasium.spaces import Space

    from parallel_pool._apis.pettingzoo.agent_table import Policy
    from parallel_pool._apis.pettingzoo.agent_vector_env import AgentVectorEnv
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array

    ByAgent = dict[Any, Array]
    Step = tuple[dict[Any, Any], ByAgent, ByAgent, ByAgent, dict[Any, Any]]


# defaults of arguments that only functions take, if they are not None
OF_FUNCTIONS = {"on_error": "raise", "episode_seeds": False, "prepare_resets": False}


@public("compat.pettingzoo")
class PoolParallelEnv(TraceMethod, Uncopied):
    """n PettingZoo parallel environments, with an axis of n in each array.

    The environments are native (from an id, such as "mpe/simple_spread_v3"), or Python objects in
    worker processes (from functions). Results have the same bits as from n environments stepped in
    a loop. All environments have the same agents, with the same spaces.

    There are two forms of each call:

    - `reset` and `step` have the form of `pettingzoo.ParallelEnv`'s: dicts by agent.
    - `reset_arrays` and `step_arrays` stack the agents of equal spaces, for policies that they
      share. k below is the number of possible agents; `groups` says which are stacked.

    With batch_size < num_envs the pool is asynchronous: `recv` returns the environments that
    finished first, and `send` gives them their next actions.

    Every array has all agents at all times: for an agent that an environment returned nothing for,
    the observation is zeros, the reward 0, and it is neither terminated nor truncated. `live` says
    which agents act next. An episode is over when no agent is live.

    An exception of an environment is raised here unchanged; worker processes that die raise
    `parallel_pool.errors.WorkerError`, or are replaced (on_error="restart"). The exception is an
    `EnvError`, or caused by one, whose `batch` has the results of the other environments as
    `AgentArrays`. No agent of the environment that failed is live; its next step begins an episode.

    Attributes:
        num_envs: environments, n.
        batch_size: environments of one result; n unless the pool is asynchronous.
        is_async: whether batch_size < num_envs.
        possible_agents: a list of all agents.
        groups: agents with equal observation spaces and equal action spaces, in the order of their
            first agents.
        autoreset_mode: how episodes start again.
        metadata: of the first environment, and "autoreset_mode".
        render_mode: of the first environment.
        pool: the `parallel_pool.Pool` or `ProcessPool` underneath, for snapshots and statistics.
            After its `set_state` the agents that live are those of the snapshots.

    Example:
        >>> with parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 4) as envs:
        ...     observations, infos = envs.reset(seed=1)
        ...     actions = {agent: np.zeros(4, np.int64) for agent in envs.agents}
        ...     observations, rewards, terminations, truncations, infos = envs.step(actions)
        >>> rewards["agent_0"].shape, rewards["agent_0"].dtype
        ((4,), dtype('float64'))
    """

    def __init__(
        self,
        env: str | Sequence[Callable[[], Any]] | None = None,
        num_envs: int | None = None,
        *,
        env_fns: Sequence[Callable[[], Any]] | None = None,
        batch_size: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        num_workers: int | None = None,
        context: str | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
        python: Any = None,
        episode_seeds: bool = False,
        prepare_resets: bool = False,
        **options: Any,
    ) -> None:
        """Makes the environments.

        Args:
            env: the id of a native environment, or functions that return one `ParallelEnv` each;
                cloudpickle sends them to worker processes.
            num_envs: native environments; None for 1. Functions are as many as they are.
            env_fns: the functions by name, instead of env.
            batch_size: environments of one result, for `send` and `recv`; None for all.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its actions and
                resets; SAME_STEP: the step that ends an episode returns the first observations of
                the next, and infos hold "final_obs" and "final_info"; DISABLED: the caller resets,
                with options={"reset_mask": ...}.
            num_threads: native: threads that step, the caller's included; 0 for the cores this
                process may use.
            thread_affinity_offset: native: 0 or more pins threads to cores from this one on.
            num_workers: functions: processes; None for the cores this process may use; 0: this
                process steps the environments, in the calling thread.
            context: functions: how processes start: "forkserver", "spawn" or "fork"; None for
                "forkserver".
            timeout: functions: seconds that one environment's step or reset may take; then its
                worker is killed. None for no limit.
            start_timeout: functions: seconds in which a worker must make its environments, at the
                start and at a restart; None for no limit without `timeout`, and a minute or more
                with it.
            on_error: functions: "raise", or "restart": environments whose worker died, or that
                raised, are made again with fresh seeds; all their live agents are truncated, with
                reward 0, and infos have "worker_restarted" and "restart_seed".
            python: functions: path of the Python interpreter in which workers run, or a list of one
                path, or None, for each environment; see `parallel_pool.ProcessPool`. It needs a
                Gymnasium as new as this process has.
            episode_seeds: functions: each episode that begins without a seed gets one, which
                follows from the last seed that its environment was given and from the number of
                episodes since.
            prepare_resets: functions: each worker begins the next episode in a second environment
                while this one is played; needs episode_seeds, see `parallel_pool.ProcessPool`.
            options: native: the environment's constructor options, and render_mode.

        Raises:
            TypeError, ValueError: an argument is wrong, or a function returned no parallel
                environment.
            gymnasium.error.UnregisteredEnv: there is no such id.
            RuntimeError: the environments' agents or spaces differ.
            parallel_pool.errors.WorkerError: a worker died, or can't be started.
            Exception: raised by an environment's function.
        """
        self.autoreset_mode = VectorOptions(autoreset_mode=autoreset_mode).mode()
        env = _either(env, env_fns)
        workers: dict[str, Any] = {
            "num_workers": num_workers,
            "context": context,
            "timeout": timeout,
            "start_timeout": start_timeout,
            "on_error": on_error,
            "python": python,
            "episode_seeds": episode_seeds,
            "prepare_resets": prepare_resets,
        }
        threads: dict[str, Any] = {
            "num_threads": num_threads,
            "thread_affinity_offset": thread_affinity_offset,
        }
        self._agents: NativeAgents | ProcessAgents
        if isinstance(env, str):
            _refuse_given(workers, "functions", OF_FUNCTIONS)
            sizes = check_sizes(1 if num_envs is None else num_envs, batch_size)
            self._agents = NativeAgents(env, *sizes, self.autoreset_mode, **threads, **options)
        else:
            defaults = {"num_threads": 0, "thread_affinity_offset": -1}
            given = {**threads, "num_envs": num_envs, **options}
            _refuse_given(given, "the id of a native environment", defaults)
            self._agents = ProcessAgents(env, batch_size, self.autoreset_mode, **workers)
        self.pool = self._agents.pool
        self.num_envs, self.batch_size = self.pool.num_envs, self.pool.batch_size
        self.is_async: bool = self.pool.is_async
        self.metadata = {**self._agents.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self._agents.render_mode
        self.possible_agents = self._agents.possible_agents
        self.groups: tuple[AgentGroup, ...] = self._agents.groups
        self._observation_spaces: dict[Any, Space[Any]] = {}
        self._action_spaces: dict[Any, Space[Any]] = {}
        for group in self.groups:
            self._observation_spaces.update(dict.fromkeys(group.agents, group.observation_space))
            self._action_spaces.update(dict.fromkeys(group.agents, group.action_space))
        # agents whose actions have a tree of arrays
        self._agents_with_parts = {
            agent for agent, space in self._action_spaces.items() if isinstance(space, Dict | Tuple)
        }

    # ------------------------------------------------------------------------- dicts by agent --

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
        first: tuple[dict[Any, Any], dict[Any, Any]]
        first = self._synchronous("reset").reset(seed, options, self._convert_reset)
        return first

    def _convert_reset(self, arrays: AgentArrays) -> tuple[dict[Any, Any], dict[Any, Any]]:
        return self._unstacked(arrays.observations), arrays.infos

    def step(self, actions: Mapping[Any, Any]) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: by agent, an array (n, ...) or a sequence of n actions. Actions of agents that
                are not live are ignored; an agent that is live in no environment may be left out.

        Returns:
            observations: by agent, an array (n, ...), or a tree of such arrays;
            rewards: by agent, float64 (n,);
            terminations: by agent, bool (n,);
            truncations: by agent, bool (n,);
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
        agents = self._synchronous("step")
        found = self._complete(actions)
        blocks = [self._stacked(group, found) for group in self.groups]
        step: Step = agents.step(blocks, self._convert_step)
        return step

    def _convert_step(self, arrays: AgentArrays) -> Step:
        return (
            self._unstacked(arrays.observations),
            self._by_agent(arrays.rewards),
            self._by_agent(arrays.terminations),
            self._by_agent(arrays.truncations),
            arrays.infos,
        )

    # ---------------------------------------------------------------------------- stacked arrays --

    def reset_arrays(
        self, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> AgentArrays:
        """Starts new episodes, as `reset` does.

        Returns:
            Observations, live agents and infos as `step_arrays` returns them; rewards of 0.

        Raises:
            TypeError: observations or actions of an agent are not arrays.
            Exception: what `reset` raises.
        """
        self._check_arrays()
        arrays: AgentArrays = self._synchronous("reset_arrays").reset(seed, options)
        return arrays

    def step_arrays(self, actions: Any) -> AgentArrays:
        """Steps every environment, as `step` does.

        Args:
            actions: for each group an array (n, agents of the group, ...), or a tree of such
                arrays; with a single group, its array alone is enough. Actions of agents that are
                not live are ignored.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            Exception: what `step` raises.
        """
        self._check_arrays()
        blocks = self._blocks(actions, self.num_envs)
        arrays: AgentArrays = self._synchronous("step_arrays").step(blocks)
        return arrays

    def _synchronous(self, what: str) -> NativeAgents | ProcessAgents:
        if not self.is_async:
            if self.pool.closed:
                raise ClosedVectorEnvError(f"{self} is closed: make a new one")
            return self._agents
        raise StateError(
            f"{what}() of an asynchronous pool (batch_size={self.batch_size} <"
            f" num_envs={self.num_envs}): use async_reset(), recv() and send(), or leave batch_size"
            " out"
        )

    def _checked(self, what: str) -> NativeAgents | ProcessAgents:
        """Returns the agents for a call that native ones answer without their pool."""
        agents = self._synchronous(what)
        check_usable(self.pool)
        return agents

    def as_vector_env(
        self, agents: Sequence[Any] | None = None, others: Policy | None = None
    ) -> AgentVectorEnv:
        """Returns a Gymnasium vector environment with a row for each agent of each environment.

        Args:
            agents: the agents that have rows; None for all. Their spaces must be equal.
            others: chooses the actions of all other agents; see `AgentVectorEnv`.

        Raises:
            TypeError, ValueError: an argument is wrong, or the agents' spaces differ.
            parallel_pool.errors.StateError: the pool is asynchronous.
        """
        from parallel_pool._apis.pettingzoo.agent_vector_env import AgentVectorEnv

        return AgentVectorEnv(self, agents, others)

    # ------------------------------------------------------------------------------ asynchronous --

    def async_reset(self, seed: seeds.Seed = None, options: dict[str, Any] | None = None) -> None:
        """Queues resets of all environments; `recv` returns their first observations.

        Args:
            seed: as in `reset`, without "reset_mask".
            options: as in `reset`, without "reset_mask".

        Raises:
            TypeError, ValueError: an argument is wrong.
            parallel_pool.errors.StateError: environments are in flight, or the pool is synchronous.
        """
        self._check_arrays()
        agents = self._asynchronous("async_reset")
        if isinstance(options, Mapping) and reset_mask.KEY in options:
            raise ValueError(
                f"async_reset() resets all {self.num_envs} environments: leave {reset_mask.KEY} out"
                " of its options"
            )
        agents.send_reset(seed, options)

    def recv(self, timeout: float | None = None) -> AgentArrays:
        """Returns the first `batch_size` environments to finish.

        Args:
            timeout: seconds.

        Returns:
            Arrays as of `step_arrays`, with batch_size rows; `env_ids` says whose they are. After a
            reset rewards are 0.

        Raises:
            parallel_pool.errors.StateError: too few environments are in flight.
            parallel_pool.errors.PoolTimeoutError: nothing arrived in time.
            Exception: raised by an environment.
        """
        return self._asynchronous("recv").recv(timeout)

    def send(self, actions: Any, env_ids: Any) -> None:
        """Queues the next actions of some environments.

        Args:
            actions: for each group an array (count, agents of the group, ...), as in `step_arrays`.
            env_ids: integers (count,), such as `env_ids` of a result.

        Raises:
            TypeError, ValueError: actions or env_ids are wrong; nothing was queued.
            parallel_pool.errors.StateError: an environment is in flight already.
        """
        agents = self._asynchronous("send")
        agents.send(self._blocks(actions, np.size(env_ids)), env_ids)

    def _asynchronous(self, what: str) -> NativeAgents | ProcessAgents:
        if self.is_async:
            return self._agents
        raise StateError(
            f"{what}() of a synchronous pool: use reset() and step(), or make it with"
            f" batch_size < num_envs={self.num_envs}"
        )

    def _check_arrays(self) -> None:
        for group in self.groups:
            if not group.has_arrays:
                raise TypeError(
                    f"agent {quote(group.agents[0])} has spaces without arrays"
                    f" ({group.observation_space}, {group.action_space}): use reset() and step()"
                )

    def _blocks(self, actions: Any, rows: int) -> Sequence[Any]:
        """Returns the actions of each group; raises if there are too few or too many."""
        if len(self.groups) == 1 and not isinstance(actions, (list, tuple)):
            actions = (actions,)
        if not isinstance(actions, (list, tuple)) or len(actions) != len(self.groups):
            raise ValueError(
                f"actions are {_described(actions)}: give a sequence of {len(self.groups)} arrays,"
                " one for each of `groups`"
            )
        for number, (group, block) in enumerate(zip(self.groups, actions, strict=True)):
            _check_block(f"actions[{number}]", group, block, rows)
        return actions

    # ------------------------------------------------------------------------------ converting --

    def _unstacked(self, blocks: Sequence[Any]) -> dict[Any, Any]:
        """Returns the agents' own parts of blocks, in the order of `possible_agents`."""
        found: dict[Any, Any] = {}
        for group, block in zip(self.groups, blocks, strict=True):
            found.update(groups.by_agent(group, block))
        return {agent: found[agent] for agent in self.possible_agents}

    def _stacked(self, group: AgentGroup, found: Mapping[Any, Any]) -> Any:
        """Returns the actions of a group's agents as one block."""
        if not group.has_arrays:
            return found[group.agents[0]]
        own = [found[agent] for agent in group.agents]
        try:
            return groups.stack(group.action_space, own)
        except ValueError:
            space = group.action_space
            expected = self.num_envs, *(space.shape or ())
            for agent, actions in zip(group.agents, own, strict=True):
                shape = _shape_of(actions)
                if space.shape is not None and shape != expected:
                    seen = "rows of several shapes" if shape is None else f"shape {shape}"
                    raise ValueError(
                        f"actions[{agent!r}] has {seen}: give shape {expected}, as the action of"
                        f" one environment is one of {space}"
                    ) from None
            raise

    def _by_agent(self, table: Array) -> ByAgent:
        """Returns the columns of an array (n, k) by agent."""
        columns = np.ascontiguousarray(table.T)
        return dict(zip(self.possible_agents, columns, strict=True))

    def _complete(self, actions: Mapping[Any, Any]) -> dict[Any, Any]:
        """Returns actions of all agents in order; those left out must be live in no environment."""
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"actions are {a_type(actions)}: give a dict with an array of"
                f" {self.num_envs} actions for each agent"
            )
        unknown = [agent for agent in actions if agent not in self._action_spaces]
        if unknown:
            raise ValueError(
                f"there is no agent {quote(unknown[0])}: choose one of {self.possible_agents}"
            )
        found: dict[Any, Any] = {}
        for column, agent in enumerate(self.possible_agents):
            if agent in actions:
                found[agent] = self._check_count(agent, actions[agent])
                continue
            is_live = self._agents.live[:, column]
            if is_live.any():
                raise ValueError(
                    f"no actions for agent {quote(agent)}, which is live in environment"
                    f" {int(np.argmax(is_live))}: give {self.num_envs}"
                )
            found[agent] = create_empty_array(self._action_spaces[agent], self.num_envs)
        return found

    def _check_count(self, agent: Any, actions: Any) -> Any:
        """Returns an agent's actions; raises an exception if they are not one per environment."""
        if agent in self._agents_with_parts:
            # one array per part
            _check_parts(f"actions[{agent!r}]", self._action_spaces[agent], actions)
            return actions
        is_array = type(actions) is np.ndarray
        if not is_array:
            check_sequence(actions, self.num_envs, f"actions[{agent!r}]")
        count = len(actions) if not is_array or actions.ndim else 0
        if count != self.num_envs:
            raise ValueError(
                f"actions[{agent!r}] has length {count}: give one for each of {self.num_envs}"
                " environments"
            )
        return actions

    # ---------------------------------------------------------------------------- attributes --

    @property
    def live(self) -> ByAgent:
        """By agent, bool (n,): the environments in which it is live and acts in the next step."""
        return self._by_agent(self._agents.live.copy())

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
            raise KeyError(
                f"there is no agent {quote(agent)}: choose one of {self.possible_agents}"
            )
        return spaces[agent]

    def state(self) -> Array:
        """Returns the environments' states, an array (n, *shape of one) of their dtype."""
        return self._agents.state()

    def render(self) -> tuple[Any, ...]:
        """Returns the results of every environment's `render`."""
        return tuple(self._checked("render").call("render", (), {}))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; returns n results."""
        return tuple(self._checked("call").call(name, args, kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every environment: n values."""
        return tuple(self._checked("get_attr").get_attr(name))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment: a list of n values, or one value for all.

        Raises:
            ValueError: there are too few or too many values.
            AttributeError: the environments are native, whose attributes are fixed.
        """
        agents = self._checked("set_attr")
        is_each = isinstance(values, (list, tuple))
        if is_each and len(values) != self.num_envs:
            raise ValueError(
                f"{len(values)} values for {self.num_envs} environments: give one for each"
            )
        agents.set_attr(name, values if is_each else [values] * self.num_envs)

    # ------------------------------------------------------------------------------- closing --

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self.pool.closed

    def close(self, timeout: float | None = None) -> None:
        """Ends the threads, or the worker processes, each after the environment it is stepping.

        Args:
            timeout: seconds to wait for that; None for 5. Worker processes that still run then are
                killed. For threads see `Pool.close`.
        """
        self._agents.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PoolParallelEnv(num_envs={self.num_envs}, agents={self.possible_agents})"


def _either(env: Any, env_fns: Any) -> str | Sequence[Callable[[], Any]]:
    """Returns the argument that was given of two that mean the same."""
    if isinstance(env_fns, str):
        raise TypeError(
            f"env_fns={quote(env_fns)} is a str: give a list of functions that make PettingZoo"
            " parallel environments, or give an id as env"
        )
    if env is None and env_fns is None:
        raise TypeError("env is missing: give an id, or functions that make environments")
    chosen: str | Sequence[Callable[[], Any]] = one_of(env=env, env_fns=env_fns)
    return chosen


def _refuse_given(arguments: Mapping[str, Any], whose: str, defaults: Mapping[str, Any]) -> None:
    """Raises TypeError for an argument that is not for this kind of environments."""
    for name, value in arguments.items():
        if value != defaults.get(name):
            raise TypeError(f"{name}={quote(value)} is for {whose}: leave it out")


def _check_parts(name: str, space: Space[Any], actions: Any) -> None:
    """Raises ValueError if actions lack parts of a Dict or Tuple space, or have others."""
    if isinstance(space, Dict):
        if not isinstance(actions, Mapping) or actions.keys() != space.spaces.keys():
            seen = list(actions) if isinstance(actions, Mapping) else _described(actions)
            raise ValueError(
                f"{name} has the parts {seen}: give a dict with an array for each of"
                f" {list(space.spaces)}"
            )
        for key, part in space.spaces.items():
            _check_parts(f"{name}[{key!r}]", part, actions[key])
    elif isinstance(space, Tuple):
        if not isinstance(actions, tuple) or len(actions) != len(space.spaces):
            raise ValueError(
                f"{name} is {_described(actions)}: give a tuple of {len(space.spaces)} arrays"
            )
        for i, part in enumerate(space.spaces):
            _check_parts(f"{name}[{i}]", part, actions[i])


def _described(actions: Any) -> str:
    count = f" of {len(actions)}" if isinstance(actions, (list, tuple)) else ""
    return f"{a_type(actions)}{count}"


def _shape_of(actions: Any) -> tuple[int, ...] | None:
    """Returns the shape of an agent's actions; None if it differs from row to row."""
    try:
        shape: tuple[int, ...] = np.shape(actions)
    except ValueError:
        return None
    return shape


def _check_block(name: str, group: AgentGroup, block: Any, rows: int) -> None:
    """Raises ValueError if an array has another shape than (n, agents of the group, ...)."""
    space = group.action_space
    expected = (rows, len(group.agents), *(space.shape or ()))
    if space.shape is not None and np.shape(block) != expected:
        raise ValueError(f"{name} has shape {np.shape(block)}: give {expected}")
