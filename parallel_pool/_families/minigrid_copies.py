"""Attributes of minigrid's environments that steps change, read from native states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import named
from parallel_pool._engine.texts import Texts
from parallel_pool._families import minigrid_state

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

NAMES = ("agent_pos", "agent_dir", "carrying", "max_steps", "mission", "step_count")
# index of mg_fields
MISSION = 2


class Copies:
    """The attributes of a pool's environments."""

    def __init__(self, pool: Pool) -> None:
        """
        Args:
            pool: of MiniGrid environments.
        """
        self._pool = pool
        # with layout="image" no observation has the mission
        self._texts = Texts.read(pool.definition.raw.fields[MISSION])

    def has(self, name: str) -> bool:
        """Returns whether it is one of the attributes."""
        return name in NAMES

    def attribute(self, env_id: int, name: str) -> Any:
        """Returns an attribute of an environment.

        `agent_pos` is a tuple of two int64, `agent_dir` an int64. An object that the agent carries
        has its type and color, and no `init_pos` and `contains`.

        Raises:
            StateError: the environment is in flight, or was never reset.
            MissingDependencyError: the agent carries an object, and minigrid is not installed.
        """
        state = minigrid_state.read(self._pool, env_id)
        if name == "agent_pos":
            return tuple(map(np.int64, state.position))
        if name == "agent_dir":
            return np.int64(state.direction)
        if name == "carrying":
            return self._carried(state)
        if name == "mission":
            return self._texts.of_rows(np.array([state.mission], np.int32))[0]
        return state.steps if name == "step_count" else state.max_steps

    def call(self, env_id: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Returns an attribute: there are no methods.

        Raises:
            AttributeError: arguments are given.
            StateError, MissingDependencyError: as `attribute` does.
        """
        if args or kwargs:
            raise AttributeError(f"{named(name)} is no method: leave the arguments out")
        return self.attribute(env_id, name)

    @staticmethod
    def _carried(state: minigrid_state.State) -> Any:
        if not any(state.carried):
            return None
        carried = minigrid_state.thing(*state.carried)
        # where minigrid puts what is carried
        carried.cur_pos = np.array([-1, -1])
        return carried
