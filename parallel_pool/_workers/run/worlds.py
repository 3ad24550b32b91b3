"""Worlds: environments that one object steps together, whole arrays at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._engine.buffers import Array


class WorldsStep(NamedTuple):
    """The result of a step of n environments, arrays (n,).

    Attributes:
        rewards: float64.
        terminated, truncated: bool.
        failed: why environments failed, by environment.
    """

    rewards: Array
    terminated: Array
    truncated: Array
    failed: Mapping[int, str]


class Worlds(Protocol):
    """n environments; `WorldsLane` steps them, in one thread at a time.

    Attributes:
        num_envs: n.
        name: of the environments, for messages.
        observation_space, action_space: of one environment; the latter is one array.
        metadata, render_mode: of the environments.
    """

    name: str
    num_envs: int
    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None

    def step(self, actions: Array, running: Array) -> WorldsStep:
        """Steps the environments of a bool mask (n,); rows of the others mean nothing.

        Args:
            actions: (n, *shape), which no one else writes to.
            running: the environments whose episode goes on.
        """
        ...

    def reset(self, env_ids: Array, seeds: Sequence[int | None]) -> Mapping[int, str]:
        """Begins an episode in each of these environments.

        Args:
            env_ids: int64, ascending.
            seeds: one for each; None: its generator goes on.

        Returns:
            Why environments failed, by environment.
        """
        ...

    def observe(self) -> list[Array]:
        """Returns the observations of all: an array (n, *shape) for each leaf of the space."""
        ...

    def infos(self) -> dict[str, Array]:
        """Returns the infos of all, arrays (n, ...) that the caller may keep."""
        ...

    def world(self, env_id: int) -> Any:
        """Returns an object that stands for one environment, for attributes and calls."""
        ...

    def get_state(self, env_id: int) -> bytes:
        """Returns a snapshot of an environment."""
        ...

    def check_state(self, state: bytes) -> None:
        """Raises ValueError unless the bytes are a snapshot of such an environment."""

    def set_states(self, env_ids: Sequence[int], states: Sequence[bytes]) -> None:
        """Restores snapshots, which were checked."""

    def close(self) -> None:
        """Frees what they hold; may be called again."""
