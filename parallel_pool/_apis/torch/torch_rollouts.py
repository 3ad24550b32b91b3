"""TorchRolloutBuffer: rollouts of a policy that takes and returns tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._engine.uncopied import Uncopied

if TYPE_CHECKING:
    from parallel_pool._apis.common.rollout import Rollout
    from parallel_pool._apis.common.rollout_buffer import Policy, RolloutBuffer
    from parallel_pool._apis.torch.transfers import Transfers


class TorchRolloutBuffer(Uncopied):
    """A `RolloutBuffer` whose policy gets tensors and may return them, and whose rollouts have
    tensors. On the CPU all share the memory that the environments write; on another device the
    rollout is uploaded when it is complete.

    Attributes:
        buffer: of arrays.
        envs: as of `buffer`.
        steps: as of `buffer`.
    """

    def __init__(self, buffer: RolloutBuffer, transfers: Transfers) -> None:
        """
        Args:
            buffer: what `rollout` of the environments returns.
            transfers: those of the `TorchEnv`.
        """
        self.buffer = buffer
        self.envs, self.steps = buffer.envs, buffer.steps
        self._transfers = transfers

    def collect(self, policy: Policy, observations: Any = None) -> Rollout:
        """Does what `collect` of the buffer does, with tensors."""
        transfers, act = self._transfers, policy

        def with_arrays(*shown: Any) -> Any:
            return transfers.arrays(act(*transfers.tensors(shown)))

        given = transfers.arrays(observations)
        transfers.release()
        return self.buffer._collect_as(transfers.tensors, with_arrays, given)
