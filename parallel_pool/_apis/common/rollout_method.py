"""RolloutMethod: `rollout` of batches of environments, and what a rollout asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.common.rollout_buffer import RolloutBuffer

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


class RolloutMethod:
    """Gives batches of environments rollouts.

    A derived class has the attributes `pool` and `metadata`, which says the autoreset mode, and
    `step`. It overrides the methods below that raise NotImplementedError, and those for whose
    results others stand here.
    """

    def rollout(self, steps: int, *, frames: bool = False) -> RolloutBuffer:
        """Returns a `RolloutBuffer`, whose `collect` lets a policy act for so many steps.

        Args:
            steps: of a rollout: 1 or more.
            frames: keep observations that are stacks of frames with each frame once: `Stacks`, a
                quarter of the memory for stacks of four.

        Raises:
            TypeError: steps is no integer.
            ValueError: steps is less than 1, or the autoreset mode is DISABLED.
        """
        return RolloutBuffer(self, steps, frames=frames)

    # whether the observations are the arrays that the pool has, which `_observation_arrays` names
    _has_observation_arrays = False

    def _observation_arrays(self, arrays: Sequence[Array]) -> Any:
        """Returns the tree of observations among arrays (steps, n, ...) of the pool's columns."""
        raise NotImplementedError

    def _final_arrays(self, arrays: Sequence[Array]) -> Any:
        """Returns the tree of the final observations among them; None if there are none."""
        return None

    def _present_observations(self) -> Any:
        """Returns the observations of all environments, as `step` would have them."""
        raise NotImplementedError

    def _check_idle(self, what: str) -> None:
        """Refuses a call of this name while another is pending, or if none is possible."""
        raise NotImplementedError

    def _step_of_rollout(self, actions: Any) -> Any:
        """Returns what a step returns in Gymnasium's API: five values."""
        return self.step(actions)  # type: ignore[attr-defined]
