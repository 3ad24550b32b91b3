"""ProcessAgents: PettingZoo environments in worker processes, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._apis.pettingzoo.failures import failure_of, without_failed
from parallel_pool._apis.pettingzoo.joint_columns import JointColumns
from parallel_pool._apis.pettingzoo.joint_env import JointEnv, groups_of
from parallel_pool._engine import maker
from parallel_pool._workers.pool_arguments import check_functions

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array
    from parallel_pool._workers.process_pool import ProcessPool


class ProcessAgents:
    """The agents of n environments, each of which is a `JointEnv` in a worker process.

    Attributes:
        vector_env: the `ProcessVectorEnv` underneath.
        pool: its `ProcessPool`.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in the next step.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], Any]], mode: AutoresetMode, **arguments: Any
    ) -> None:
        """Starts the workers; for arguments and exceptions see `PoolParallelEnv`."""
        self._mode = mode
        try:
            self.vector_env = ProcessVectorEnv(
                joint_functions(env_fns), autoreset_mode=mode, **arguments
            )
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            raise RuntimeError(f"{DIFFER} (shown by groups of agents): {error}") from error
        self.pool = self.vector_env.pool
        try:
            self._columns = joint_columns(self.pool)
        except BaseException:
            self.vector_env.close()
            raise
        self.possible_agents, self.groups = self._columns.possible_agents, self._columns.groups
        self._env_ids = np.arange(self.vector_env.num_envs, dtype=np.int32)
        shape = self.vector_env.num_envs, len(self.possible_agents)
        self.live: Array = np.zeros(shape, np.bool_)

    def reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> AgentArrays:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        try:
            joint, infos = self.vector_env.reset(seed=seed, options=options)
        except Exception as error:
            self._note_failure(error, is_reset=True)
            raise
        return self._first(self._arrays(joint, infos))

    def step(self, blocks: Sequence[Any]) -> AgentArrays:
        """Steps with the actions of each group."""
        try:
            joint, _, _, _, infos = self.vector_env.step(by_group_number(blocks))
        except Exception as error:
            self._note_failure(error, is_reset=False)
            raise
        return self._arrays(joint, infos)

    def _note_failure(self, error: Exception, *, is_reset: bool) -> None:
        """Takes over who acts next, and gives the failure the arrays that it has prevented."""
        failure = failure_of(error)
        if failure is None:
            return
        arrays = self._arrays(*self.vector_env._of_batch(failure.batch))
        arrays = without_failed(arrays, failure.env_ids)
        self.live = arrays.live.copy()
        failure.batch = self._first(arrays) if is_reset else arrays

    def _first(self, arrays: AgentArrays) -> AgentArrays:
        """Returns the arrays of a reset."""
        shape = self.live.shape
        return arrays._replace(
            rewards=np.zeros(shape),
            terminations=np.zeros(shape, np.bool_),
            truncations=np.zeros(shape, np.bool_),
        )

    def _arrays(self, joint: Any, infos: dict[Any, Any]) -> AgentArrays:
        restarts = self._mode is AutoresetMode.SAME_STEP
        env_ids = self._env_ids.copy()
        arrays = self._columns.arrays(joint, infos, env_ids, self.live, restarts=restarts)
        self.live = arrays.live.copy()
        return arrays

    def state(self) -> Array:
        """Returns the environments' own states."""
        return np.stack(self.vector_env.call("state"))


DIFFER = (
    "the environments differ: give all the same possible_agents, in the same order, with the same"
    " spaces"
)


def joint_functions(env_fns: Any) -> Any:
    """Returns functions that make `JointEnv`s."""
    return [_joint_function(fn) for fn in check_functions(env_fns)]


def _joint_function(env_fn: Any) -> Any:
    made: Any = partial(JointEnv, env_fn)
    # the class, for advice
    made.maker = maker.of(env_fn)
    return made


def joint_columns(pool: ProcessPool) -> JointColumns:
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
    return JointColumns(lists[0], pool.apply(groups_of, env_ids=[0])[0])


def by_group_number(blocks: Sequence[Any]) -> dict[str, Any]:
    """Returns the actions of each group under the keys of a `JointEnv`."""
    return {str(number): block for number, block in enumerate(blocks)}
