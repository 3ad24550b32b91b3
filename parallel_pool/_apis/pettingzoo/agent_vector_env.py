"""AgentVectorEnv: agents of a PoolParallelEnv as the rows of a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from parallel_pool._apis.common import reset_mask, vector_infos
from parallel_pool._apis.common.masks import has_any, rows_in
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.pettingzoo.agent_table import AgentTable
from parallel_pool._apis.pettingzoo.failures import failure_of
from parallel_pool._apis.torch.torch_method import TorchMethod
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.trees import map_leaves, row_of
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agent_table import Policy
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array, Observations

    Step = tuple[Observations, Array, Array, Array, dict[str, Any]]
    First = tuple[Observations, dict[str, Any]]
    # a result, and `restarted` and `AgentTable.seen` after it
    Outcome = tuple[Any, Array, tuple[Any, ...]]


@public("compat.pettingzoo")
class AgentVectorEnv(TraceMethod, TorchMethod, Uncopied, VectorEnv[Any, Any, Any]):
    """n parallel environments with k agents each as a `gymnasium.vector.VectorEnv` of n * k rows.

    For agents that share a policy. Row env * k + i is agent i of environment env. For each row the
    rules of Gymnasium's vector environments hold, in all autoreset modes: a row's last step has one
    of the flags set; with SAME_STEP its last observation and infos are in `final_obs` and
    `final_info`. The agents of an environment start their next episodes together. An agent that
    ended before the others waits until then: its observations are zeros, its rewards 0, its flags
    False, its actions ignored. `info["live"]`, bool (n * k,), says which rows act in the next
    step, and so which transitions a policy should learn from.

    Infos have Gymnasium's vector form. An info that the environment returns for no agent belongs to
    all its rows.

    Attributes:
        envs: the `PoolParallelEnv` underneath.
        pool: the `Pool` or `ProcessPool` underneath.
        agents: the agents of the rows, k of them.
        num_envs: rows, n * k.
        single_observation_space: of one agent.
        single_action_space: of one agent.
        observation_space: of all rows.
        action_space: of all rows.
        metadata: of the environments; "autoreset_mode" is theirs.
        restarted: bool (n,), the environments whose next episode began in the last step
            (SAME_STEP).

    Example:
        >>> envs = parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 4).as_vector_env()
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, *ends, infos = envs.step(np.zeros(12, np.int64))
        >>> observations.shape, rewards.shape
        ((12, 18), (12,))
        >>> envs.close()
    """

    def __init__(
        self,
        envs: PoolParallelEnv,
        agents: Sequence[Any] | None = None,
        others: Policy | None = None,
    ) -> None:
        """Takes over the environments: `close` closes them.

        Args:
            envs: the environments.
            agents: the agents that have rows; None for all. Their spaces must be equal.
            others: chooses the actions of all other agents, before every step: a function that gets
                a dict with the latest observations (n, ...) of each, and returns one with
                the actions (n, ...) of each.

        Raises:
            TypeError, ValueError: an argument is wrong, or the agents' spaces differ or are no
                arrays.
            parallel_pool.errors.StateError: the pool is asynchronous.
        """
        if not hasattr(envs, "step_arrays"):
            raise TypeError(f"envs={quote(envs)} is {a_type(envs)}: give a PoolParallelEnv")
        if envs.is_async:
            raise StateError(
                f"the pool is asynchronous (batch_size={envs.batch_size} <"
                f" num_envs={envs.num_envs}): leave batch_size out"
            )
        self.envs = envs
        self.pool = envs.pool
        self._rows = rows = AgentTable(envs, agents, others)
        self._is_same_step = envs.autoreset_mode is AutoresetMode.SAME_STEP
        self.agents = rows.agents
        self.num_envs = rows.num_rows
        self.single_observation_space = rows.observation_space
        self.single_action_space = rows.action_space
        self.observation_space = batch_space(rows.observation_space, self.num_envs)
        self.action_space = batch_space(rows.action_space, self.num_envs)
        self.metadata = {**envs.metadata, "autoreset_mode": envs.autoreset_mode}
        self.render_mode = envs.render_mode
        self.restarted: Array = np.zeros(rows.num_envs, np.bool_)

    def reset(
        self, *, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: an integer: environment i, not row i, gets seed + i; a sequence of n integers or
                Nones: one for each environment; None: fresh entropy at the first reset.
            options: the environments' reset options, and "reset_mask", a bool array (n * k,): the
                environments of the rows that it names are reset, the others stay as they are. All
                live rows of such an environment must be named, and at least one of its rows.

        Returns:
            Observations (n * k, *shape) of the space's dtype, or a tree of such arrays, and infos.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was reset.
            Exception: what `PoolParallelEnv.reset` raises.
        """
        first: First = self._reset_as(None, seed, options)
        return first

    def _reset_as(
        self,
        make_result: Callable[[First], Any] | None,
        seed: seeds.Seed,
        options: dict[str, Any] | None,
    ) -> Any:
        """Does what `reset` does, and returns the result of `make_result` for its result.

        Args:
            make_result: a function that may be called again, as that of `Pool.step_as`; None: the
                result of `reset` is returned.
            seed, options: as for `reset`.
        """
        mask, own = reset_mask.split(options, self.num_envs, was_reset=True)
        if mask is not None:
            own = {**(own or {}), reset_mask.KEY: self._named_envs(mask)}
        self.envs._check_arrays()
        agents = self.envs._synchronous("reset")
        try:
            outcome: Outcome = agents.reset(seed, own, partial(self._first_outcome, make_result))
        except Exception as error:
            self._note_failure(error)
            raise
        # no function call from here on, as in `_step_as`
        result, self.restarted, self._rows.seen = outcome
        return result

    def _first_outcome(
        self, make_result: Callable[[First], Any] | None, arrays: AgentArrays
    ) -> Outcome:
        """Converts the arrays of a reset, and changes nothing."""
        rows = self._rows
        infos = rows.infos(arrays.infos, self.envs.possible_agents)
        first = rows.observations(arrays), self._with_live(infos, arrays)
        restarted: Array = np.zeros(rows.num_envs, np.bool_)
        seen = arrays.observations if rows.others else ()
        return first if make_result is None else make_result(first), restarted, seen

    def _named_envs(self, mask: Array) -> Array:
        """Returns the environments that a mask of rows names, bool (n,)."""
        k = len(self.agents)
        named: Array = np.logical_or.reduce(mask.reshape(-1, k), axis=1)
        live = self.envs.live
        acts = np.stack([live[agent] for agent in self.agents], 1).reshape(-1)
        left_out = np.flatnonzero(self._rows.spread(named) & ~mask & acts)
        if left_out.size:
            row = int(left_out[0])
            raise ValueError(
                f"options['reset_mask'] names rows of environment {row // k}, but not row {row}"
                f" (agent {quote(self.agents[row % k])}), which is live: its agents are reset"
                " together. Name all rows of an environment that is over:"
                f" ~info['live'].reshape(-1, {k}).any(1).repeat({k})"
            )
        return named

    def step(self, actions: Any) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: (n * k, *shape), an array or a sequence; for Dict and Tuple spaces a tree of
                arrays, as Gymnasium batches them. Those of rows that are not live are ignored.

        Returns:
            observations: (n * k, *shape) of the space's dtype, or a tree of such arrays;
            rewards: float64 (n * k,);
            terminations: bool (n * k,);
            truncations: bool (n * k,);
            infos.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            Exception: what `PoolParallelEnv.step` raises.
        """
        step: Step = self._step_as(None, self._rows.blocks(actions))
        return step

    def _step_as(
        self,
        make_result: Callable[[Step, Array], Any] | None,
        blocks: Sequence[Any],
        *,
        is_sent: bool = False,
    ) -> Any:
        """Does a step and returns the result of `make_result`.

        Args:
            make_result: a function of what `step` returns, and of `restarted` after it. It may be
                called again, as that of `Pool.step_as`. None: the result of `step` is returned.
            blocks: the actions of each group.
            is_sent: whether an exception such as Ctrl-C has left the step with these actions in
                flight: it is received.
        """
        self.envs._check_arrays()
        agents = self.envs._synchronous("step")
        try:
            step = agents.finish if is_sent else agents.step
            outcome: Outcome = step(blocks, partial(self._outcome, make_result))
        except Exception as error:
            self._note_failure(error)
            raise
        # No function call from here on: Python handles signals after each, and the pool has handed
        # over the batch.
        result, self.restarted, self._rows.seen = outcome
        return result

    def _outcome(
        self, make_result: Callable[[Step, Array], Any] | None, arrays: AgentArrays
    ) -> Outcome:
        """Converts the arrays of a step, and changes nothing."""
        rows, restarted = self._rows, self.restarted
        terminations, truncations = map(rows.column, (arrays.terminations, arrays.truncations))
        observations = rows.observations(arrays)
        if self._is_same_step:
            ended = terminations | truncations
            observations, infos, restarted = self._same_step(arrays, observations, ended)
        else:
            infos = rows.infos(arrays.infos, self.envs.possible_agents)
        infos = self._with_live(infos, arrays)
        step = observations, rows.column(arrays.rewards), terminations, truncations, infos
        seen = arrays.observations if rows.others else ()
        return step if make_result is None else make_result(step, restarted), restarted, seen

    def _with_live(self, infos: dict[str, Any], arrays: AgentArrays) -> dict[str, Any]:
        """Returns infos that say which rows act in the next step."""
        live = {"live": self._rows.column(arrays.live), "_live": np.ones(self.num_envs, np.bool_)}
        return infos | live

    def _note_failure(self, error: Exception) -> None:
        """Takes over what the other agents see."""
        failure = failure_of(error)
        arrays: Any = None if failure is None else failure.batch
        if arrays is not None and len(arrays.env_ids) == self._rows.num_envs:
            self._rows.seen = arrays.observations if self._rows.others else ()

    def _same_step(
        self, arrays: AgentArrays, observations: Any, ended: Array
    ) -> tuple[Any, dict[str, Any], Array]:
        """Returns observations, infos with those about rows that have ended, and `restarted`."""
        rows, agents = self._rows, self.envs.possible_agents
        own = dict(arrays.infos)
        last = own.pop("final_obs", None)
        restarts: Array = own.pop("_final_obs", np.zeros(rows.num_envs, np.bool_))
        last_infos = own.pop("final_info", {})
        own.pop("_final_info", None)
        infos = rows.infos(own, agents)
        if not has_any(ended):
            return observations, infos, restarts
        restarted = rows.spread(restarts)
        finals: Array = np.full(self.num_envs, None, object)
        for row in rows_in(ended & restarted):
            finals[row] = rows.last_observations(last, row)
        final_infos, _ = vector_infos.moved(rows.infos(last_infos, agents), {}, ~ended)
        # of agents that ended before the others of their environment
        early = ended & ~restarted
        if has_any(early):
            for row in rows_in(early):
                finals[row] = row_of(observations, row)
            # a copy: they lie in the batch, which is converted again if Ctrl-C comes
            observations = map_leaves(partial(_without, early), observations)
            infos, final_infos = vector_infos.moved(infos, final_infos, early)
        return observations, vector_infos.finals_of(finals, ended, final_infos) | infos, restarts

    # ------------------------------------------------------------------------ single environments

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment once, or gets an attribute.

        Returns:
            n * k results, for each row that of its environment.
        """
        return self._of_rows(self.envs.call(name, *args, **kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of each row's environment: n * k values."""
        return self._of_rows(self.envs.get_attr(name))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment.

        Args:
            name: of the attribute.
            values: one value for all, or a list or tuple of n * k, in which rows of an environment
                have the same object.

        Raises:
            ValueError: there are too few or too many, or those of an environment differ.
        """
        if isinstance(values, (list, tuple)):
            k = len(self.agents)
            if len(values) != self.num_envs:
                raise ValueError(
                    f"{len(values)} values of {name} for {self.num_envs} rows: give one for each,"
                    " or one for all that is no list"
                )
            for row, value in enumerate(values):
                if value is not values[row - row % k]:
                    raise ValueError(
                        f"row {row} has another {name} than row {row - row % k}: they are agents"
                        " of one environment, so give them the same object"
                    )
            values = list(values[::k])
        self.envs.set_attr(name, values)

    def render(self) -> tuple[Any, ...]:
        """Returns a picture for each row, that of its environment, which is drawn once."""
        return self._of_rows(self.envs.render())

    def _of_rows(self, of_envs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(value for value in of_envs for _ in self.agents)

    def close_extras(self, timeout: float | None = None, **kwargs: Any) -> None:
        """Closes the environments; `close` calls this.

        Args:
            timeout: see `PoolParallelEnv.close`.
            kwargs: ignored.
        """
        self.envs.close(timeout)

    def __repr__(self) -> str:
        return f"AgentVectorEnv(num_envs={self.num_envs}, agents={self.agents})"


def _without(rows: Array, array: Array) -> Array:
    """Returns a copy of an array (n, ...) with zeros in some rows, bool (n,)."""
    rest = array.copy()
    rest[rows] = 0
    return rest
