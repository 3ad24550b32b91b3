"""dm_env specs of one environment's observations, actions and infos."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.envpool.fields import bounds, field_name
from parallel_pool._apis.envpool.named_tuples import named_tuple_type
from parallel_pool._engine.trees import nest
from parallel_pool.errors import MissingDependencyError

# dm_env.py imports the package from here, so that only this module says what to install
try:
    import dm_env as dm_env  # type: ignore[import-untyped]
    from dm_env import specs as specs
except ImportError as error:
    raise MissingDependencyError(
        "dm_env time steps need dm-env: pip install 'parallel_pool[dm]'"
    ) from error

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Field


class Structure:
    """A nested namedtuple whose leaves come from a sequence."""

    def __init__(self, name: str, tree: Mapping[str, Any]) -> None:
        """Makes the types.

        Args:
            name: of the outer type.
            tree: maps names to indices in the sequence, or to nested trees.
        """
        self._type = named_tuple_type(name, tuple(re.sub(r"\W", "_", key) for key in tree))
        self._parts = [
            Structure(key, part) if isinstance(part, Mapping) else part
            for key, part in tree.items()
        ]

    def fill(self, leaves: Sequence[Any]) -> Any:
        """Returns the namedtuple filled with these leaves."""
        return self._type(
            *[leaves[part] if type(part) is int else part.fill(leaves) for part in self._parts]
        )


def observation_spec(fields: Sequence[Field], num_players: int) -> Any:
    """Returns a `State` of the specs of one environment's env_id, players and fields."""
    env_id = specs.Array((), np.int32, name="env_id")
    leaves = {"env_id": env_id, "players.env_id": env_id}
    leaves.update({field_name(field, num_players): array_spec(field) for field in fields})
    tree = nest({name: i for i, name in enumerate(leaves)})
    return Structure("State", tree).fill(list(leaves.values()))


def array_spec(field: Field) -> specs.Array:
    """Returns the spec of one environment's (one player's) observation, action or info."""
    name = re.sub(r"\W", "_", field.name)
    if field.space_kind == "discrete" and not field.start:
        return specs.DiscreteArray(field.n, field.dtype, name)
    low, high = bounds(field)
    return specs.BoundedArray(field.shape, field.dtype, low, high, name)


def environment_spec(field: Field, num_players: int) -> specs.Array:
    """Returns the spec of one environment's value; a per-player one has a first axis of players.

    A player that has fewer elements than others (`Field.player_sizes`) has zeros after its own.
    """
    if num_players == 1 or not field.per_player:
        return array_spec(field)
    low, high = bounds(field)
    if field.space_kind == "discrete" and field.player_sizes is not None:
        high = low + np.array(field.player_sizes) - 1
    shape = (num_players, *field.shape)
    name = re.sub(r"\W", "_", field.name)
    return specs.BoundedArray(shape, field.dtype, low, high, name)
