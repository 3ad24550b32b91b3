"""AsyncRolloutBuffer: rollouts of pools whose results come in the order in which steps end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._apis.common.rollout_buffer import RolloutBuffer
from parallel_pool._apis.envpool.async_collection import AsyncCollection
from parallel_pool._apis.envpool.sorted_storage import SortedFrameStorage, SortedStorage
from parallel_pool._engine.pool_checks import check_idle
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._apis.common.rollout import Rollout
    from parallel_pool._apis.common.rollout_buffer import Policy
    from parallel_pool._apis.common.rollout_storage import Recorded


@public("compat.envpool")
class AsyncRolloutBuffer(RolloutBuffer):
    """Collects rollouts of a pool with `batch_size < num_envs`: `steps` steps of each environment.

    The policy acts for the environments whose results come next, `batch_size` of them at a time,
    and fewer at the end. One that has made its steps waits for the others: all actions of a rollout
    are then of one policy, and nothing is in flight afterwards.

    Rows are copied to where those of a synchronous pool would be: step t of environment i lies at
    [t, i] of each array, and `infos` has a dict for each step. All else is as in `RolloutBuffer`.

    Attributes:
        envs: the pool; between two rollouts it may be used by hand.
        steps: of a rollout.

    Example:
        >>> def policy(observations, env_ids):
        ...     return np.zeros(len(env_ids), np.int32), {"value": observations[:, 0]}
        >>> with parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, batch_size=4) as envs:
        ...     envs.async_reset()
        ...     rollout = envs.rollout(16).collect(policy)
        >>> rollout.observations.shape, rollout.extras["value"].shape
        ((16, 8, 4), (16, 8))
    """

    def __init__(self, envs: Any, steps: int, *, frames: bool = False) -> None:
        """
        Args:
            envs: an asynchronous `GymnasiumEnvPool`.
            steps: of a rollout.
            frames: as of `RolloutBuffer`.

        Raises:
            TypeError: steps is no integer.
            ValueError: steps is less than 1, or environments have several players.
        """
        super().__init__(envs, steps, frames=frames)
        if envs.spec.num_players > 1:
            raise ValueError(
                f"{envs.spec.id} has {envs.spec.num_players} players: rollouts of an asynchronous"
                f" pool (batch_size={envs.pool.batch_size}) are of one: choose batch_size=num_envs"
            )

    def collect(self, policy: Policy, observations: Any = None) -> Rollout:
        """Steps each environment `steps` times; returns a `Rollout`.

        It goes on where the environments are. Those in flight, as after `async_reset`, begin with
        the results that come; the others with their last observations, so they must have been
        reset once.

        Args:
            policy: a function of observations (count, *shape), as `recv` returns them, and of their
                environments, int32 (count,). It returns actions (count, *action shape), or a tuple
                of actions and a dict of further arrays (count, ...), which `Rollout.extras` has.
            observations: from which to go on, (num_envs, *shape) of the space's dtype; None for
                the present ones. To be given after `set_state`.

        Raises:
            TypeError: the policy returned what is none of these, or now texts and now numbers; or
                observations have a dtype of another kind.
            ValueError: actions are wrong, arrays have another number of rows or another shape than
                before; or observations are no stacks, and frames=True, or have another shape.
            NotResetError: environments were never reset.
            StateError: the policy has stepped; or observations are given, and results are in
                flight.
            MemoryError: there is no memory for so many steps.
            EnvError: environments failed. The steps so far are lost; the environments go on.
            Exception: of the policy. The results in flight were received, and are lost.
        """
        return super().collect(policy, observations)

    # ------------------------------------------------------------------------------- private --

    def _first_observations(self, given: Any) -> Any:
        if given is not None or not self.envs.pool.in_flight:
            return super()._first_observations(given)
        check_idle(self.envs.pool)
        # some are in flight
        return None

    def _make_storage(self) -> SortedStorage:
        kind = SortedFrameStorage if self._frames else SortedStorage
        return kind(self.envs, self.steps)

    def _play(
        self, policy: Any, observations: Any, storage: Any, recorded: Recorded
    ) -> tuple[list[dict[str, Any]], int]:
        collection = AsyncCollection(self.envs, self.steps, policy, storage, recorded)
        batches = collection.run(observations)
        return storage.infos(), batches
