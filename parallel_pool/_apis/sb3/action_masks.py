"""ActionMasks: the actions that each row may take, as sb3-contrib asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# in observations and infos, as PettingZoo's games name it
KEY = "action_mask"
# the method that sb3_contrib.common.maskable.utils calls
METHOD = "action_masks"


class ActionMasks:
    """The masks of the last result of n rows; from their observations, else from their infos."""

    def __init__(
        self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], rows: int
    ) -> None:
        """
        Args:
            observation_space, action_space: of one row.
            rows: n.
        """
        self._size = _size(action_space)
        space = observation_space.get(KEY) if isinstance(observation_space, spaces.Dict) else None
        self._is_seen = space is not None and self._size == int(np.prod(space.shape or ()))
        self._rows = rows
        self._masks: Array | None = None
        if self._is_seen:
            # before the first reset
            self._masks = np.ones((rows, self._size), np.bool_)

    @property
    def are_known(self) -> bool:
        """Whether these rows have masks; those in infos are known after the first reset."""
        return self._masks is not None

    def take(self, observations: Any, infos: Sequence[Mapping[Any, Any]]) -> None:
        """Takes over the masks of a result; infos have those of the observations, row by row."""
        if self._is_seen:
            masks = np.asarray(observations[KEY]).reshape(self._rows, self._size) != 0
        elif self._size and any(KEY in info for info in infos):
            masks = np.ones((self._rows, self._size), np.bool_)
            for row, info in enumerate(infos):
                own = np.asarray(info.get(KEY, ()))
                if own.size == self._size:
                    masks[row] = own.reshape(-1) != 0
        else:
            self._masks = None
            return
        # a row that does not act: its action is ignored, and a policy needs one to choose
        masks[~masks.any(axis=1)] = True
        self._masks = masks

    def of(self, rows: Sequence[int]) -> list[Array]:
        """Returns copies of the masks of rows, bool (number of actions,) each."""
        assert self._masks is not None
        return [self._masks[row].copy() for row in rows]


def _size(space: spaces.Space[Any]) -> int:
    """Returns the length of a mask: of all choices, one after another; 0 if there are no masks."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    return 2 * int(np.prod(space.shape)) if isinstance(space, spaces.MultiBinary) else 0
