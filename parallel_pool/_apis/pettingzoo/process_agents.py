"""ProcessAgents: PettingZoo environments in worker processes, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._apis.common import vector_spaces
from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.common.vector_errors import check_call
from parallel_pool._apis.common.vector_options import autoreset_of
from parallel_pool._apis.pettingzoo.agents import Agents
from parallel_pool._apis.pettingzoo.joint_columns import JointColumns
from parallel_pool._apis.pettingzoo.joint_env import JointEnv, groups_of
from parallel_pool._engine import maker
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._workers.data.spaces import iterate_objects
from parallel_pool._workers.pool_arguments import check_functions
from parallel_pool._workers.process_pool import ProcessPool, reset_as
from parallel_pool._workers.replies import replies_of

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agents import ConvertReset, Outcome
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Description

DIFFER = (
    "the environments differ: give all the same possible_agents, in the same order, with the same"
    " spaces"
)


class ProcessAgents(Agents):
    """The agents of n environments, each of which is a `JointEnv` in a worker process."""

    pool: ProcessPool
    _rows: ReplyReader

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        batch_size: int | None,
        mode: AutoresetMode,
        *,
        context: str | None,
        **arguments: Any,
    ) -> None:
        """Starts the workers; for arguments and exceptions see `PoolParallelEnv`."""
        pool = ProcessPool(
            [_joint_function(fn) for fn in check_functions(env_fns)],
            batch_size=batch_size,
            autoreset=autoreset_of(mode),
            start_method=context,
            check_spaces=self._check_spaces,
            **arguments,
        )
        try:
            self._columns = _joint_columns(pool)
            if pool.leaves is None and pool.is_async:
                raise TypeError(
                    "observations of these environments are no arrays, or too many: leave"
                    " batch_size out"
                )
            self._rows = ReplyReader(pool, pool.single_observation_space)
        except BaseException:
            pool.close()
            raise
        super().__init__(pool, self._columns.possible_agents, self._columns.groups)
        self.metadata, self.render_mode = dict(pool.metadata), pool.render_mode
        self._replies = replies_of(pool)
        self._env_id = engine_indices(pool.columns)["env_id"]
        # merges infos as vector environments do
        self._merger: VectorEnv[Any, Any, Any] = VectorEnv()
        self._merger.num_envs = pool.batch_size

    def _check_spaces(self, described: list[Description]) -> None:
        """Raises RuntimeError if the environments' spaces differ."""
        observed = [space for each in described for space in each.observation_spaces]
        acted = [space for each in described for space in each.action_spaces]
        try:
            self._action_space = vector_spaces.combine("same", observed, acted).action
        except RuntimeError as error:
            raise RuntimeError(f"{DIFFER} (shown by groups of agents): {error}") from error

    # ------------------------------------------------------------------------------ stepping --

    def _actions(self, blocks: Sequence[Any], live: Array) -> Any:
        actions = {str(number): block for number, block in enumerate(blocks)}
        if not self.pool.sends_objects:
            return actions
        return iterate_objects(self._action_space, actions, self.pool.num_envs)

    def _arrays(self, views: Views, actions: Any = None) -> AgentArrays:
        converted = self._rows.convert(views)
        env_ids = views[self._env_id]()
        of_rows = env_ids if self.pool.is_async else None
        joint, infos = self._rows.with_infos(
            converted, self._replies, self._merger._add_info, of_rows
        )
        return self._columns.arrays(joint, infos, env_ids, self._live)

    def _reset(
        self,
        seed: list[int | None] | None,
        options: Any,
        mask: Array | None,
        convert: ConvertReset,
    ) -> Outcome:
        return reset_as(self.pool, partial(convert, self._arrays), None, seed, options, mask)

    def state(self) -> Array:
        """Returns the environments' own states."""
        return np.stack(self.pool.call("state"))

    # ---------------------------------------------------------------------------- attributes --

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Calls a method of every environment, or gets an attribute; returns n results.

        Raises:
            ValueError: the name is reset, step or close: call these directly.
            Exception: raised by an environment.
        """
        check_call(name)
        return self.pool.recv_call(self.pool.send_call(name, args, kwargs))

    def get_attr(self, name: str) -> Sequence[Any]:
        """Returns an attribute of every environment: n values."""
        return self.call(name, (), {})

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        """Sets an attribute of every environment, each to its value."""
        self.pool.set_attr(name, values)


def _joint_function(env_fn: Any) -> Any:
    made: Any = partial(JointEnv, env_fn)
    # the class, for advice
    made.maker = maker.of(env_fn)
    return made


def _joint_columns(pool: ProcessPool) -> JointColumns:
    """Returns the columns of a pool of `JointEnv`s, all of which must have the same agents.

    Raises:
        RuntimeError: they have not.
    """
    lists = [list(agents) for agents in pool.call("possible_agents")]
    for i, agents in enumerate(lists):
        if agents != lists[0]:
            raise RuntimeError(
                f"{DIFFER}: environment {i} has possible_agents={agents}, environment 0 {lists[0]}"
            )
    (groups,) = pool.apply(groups_of, env_ids=[0])
    return JointColumns(lists[0], groups, is_same_step=pool.autoreset == "same_step")
