"""Groups of agents whose spaces are equal, and the arrays that hold what they see and do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.trees import map_leaves
from parallel_pool._lazy import public
from parallel_pool._workers.data.spaces import ARRAYS, map_space

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._engine.buffers import Array


@public("compat.pettingzoo")
@dataclass(frozen=True)
class AgentGroup:
    """Agents with equal observation spaces and equal action spaces.

    Attributes:
        agents: their names, in the order of `possible_agents`.
        indices: where they are in `possible_agents`.
        observation_space: of one agent.
        action_space: of one agent.
        has_arrays: whether both spaces are arrays, or trees of arrays. The arrays of such agents
            are stacked; an agent without is in a group of its own.

    Example:
        >>> with parallel_pool.PoolParallelEnv("mpe/simple_adversary_v3", 4) as envs:
        ...     [group.agents for group in envs.groups]
        [('adversary_0',), ('agent_0', 'agent_1')]
    """

    agents: tuple[Any, ...]
    indices: tuple[int, ...]
    observation_space: Space[Any]
    action_space: Space[Any]
    has_arrays: bool

    @property
    def columns(self) -> slice | list[int]:
        """The agents' columns in arrays (n, k) of all agents: a slice if there is no gap."""
        first, last = self.indices[0], self.indices[-1]
        if last - first == len(self.indices) - 1:
            return slice(first, last + 1)
        return list(self.indices)


@public("compat.pettingzoo")
class AgentArrays(NamedTuple):
    """What n environments returned, as arrays; k is the number of possible agents.

    Attributes:
        observations: for each group of agents an array (n, agents of the group, ...), or a tree of
            such arrays.
        rewards: float64 (n, k).
        terminations: bool (n, k).
        truncations: bool (n, k).
        live: bool (n, k): which agents act in the next step.
        infos: by agent, as `PoolParallelEnv.step` returns them.
        env_ids: int32 (n,): the environments of the rows; 0 to n - 1 unless the pool is
            asynchronous.

    Example:
        >>> with parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 4) as envs:
        ...     arrays = envs.reset_arrays(seed=1)
        ...     arrays = envs.step_arrays([np.zeros((4, 3), np.int64)])
        >>> arrays.observations[0].shape, arrays.rewards.shape, arrays.live.dtype
        ((4, 3, 18), (4, 3), dtype('bool'))
    """

    observations: tuple[Any, ...]
    rewards: Array
    terminations: Array
    truncations: Array
    live: Array
    infos: dict[Any, Any]
    env_ids: Array


def has_arrays(space: Space[Any]) -> bool:
    """Returns whether the values of a space are arrays, or trees of arrays."""
    if isinstance(space, spaces.Dict):
        return all(has_arrays(part) for part in space.spaces.values())
    if isinstance(space, spaces.Tuple):
        return all(has_arrays(part) for part in space.spaces)
    return type(space) in ARRAYS


def group_agents(
    agents: Sequence[Any],
    observation_spaces: Mapping[Any, Space[Any]],
    action_spaces: Mapping[Any, Space[Any]],
) -> tuple[AgentGroup, ...]:
    """Returns the groups of agents, in the order of their first agents."""
    found: list[tuple[Any, Any, bool, list[int]]] = []
    for i, agent in enumerate(agents):
        pair = observation_spaces[agent], action_spaces[agent]
        stackable = has_arrays(pair[0]) and has_arrays(pair[1])
        for *other, is_open, members in found:
            if stackable and is_open and pair == tuple(other):
                members.append(i)
                break
        else:
            found.append((*pair, stackable, [i]))
    return tuple(
        AgentGroup(tuple(agents[i] for i in members), tuple(members), seen, acts, stackable)
        for seen, acts, stackable, members in found
    )


# ------------------------------------------------------------------------------- trees of arrays --


def zeros(space: Space[Any], rows: Sequence[int]) -> Any:
    """Returns zeros (*rows, *shape) for a space of arrays, or a tree of such."""
    return map_space(lambda leaf: np.zeros((*rows, *leaf.shape), leaf.dtype), space)


def put(tree: Any, at: int, value: Any) -> None:
    """Writes a value of a space into a tree of arrays, at an index of the first axis.

    Raises:
        ValueError: an array has another shape.
        TypeError: an array has a dtype of another kind.
    """

    def put_leaf(array: Array, own: Any) -> None:
        if np.shape(own) != array.shape[1:]:
            raise ValueError(f"shape {np.shape(own)}: its space has {array.shape[1:]}")
        np.copyto(array[at, ...], own, casting="same_kind")

    map_leaves(put_leaf, tree, value)


def take(tree: Any, index: Any) -> Any:
    """Returns a part of every array of a tree."""
    return map_leaves(lambda array: array[index], tree)


def stack(space: Space[Any], values: Sequence[Any]) -> Any:
    """Stacks arrays (n, ...) of several agents into one (n, agents, ...), or trees of such."""
    return map_space(lambda _, *each: np.stack([*map(np.asarray, each)], 1), space, *values)


def by_agent(group: AgentGroup, block: Any) -> dict[Any, Any]:
    """Returns the arrays (n, ...) of a group's agents: views of their block."""
    if not group.has_arrays:
        return {group.agents[0]: block}
    return {agent: take(block, (slice(None), i)) for i, agent in enumerate(group.agents)}
