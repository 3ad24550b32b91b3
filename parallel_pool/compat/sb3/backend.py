"""Backend: what a Stable-Baselines3 vector environment asks of whatever steps its environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import gymnasium

    from parallel_pool.buffers import Array

    # of all environments, or of each
    Options = Mapping[str, Any] | list[Mapping[str, Any]]
    # observations, rewards, dones, infos
    Step = tuple[Any, Array, Array, list[dict[str, Any]]]


class Backend(Protocol):
    """What steps the environments: `sb3_native.Native` or `sb3_process.Process`.

    Attributes:
        pool: the pool underneath.
        num_envs: environments.
        observation_space, action_space: of one environment.
        metadata: of the environments.
        reset_infos: for each environment the infos of its last reset; changed in place.
    """

    pool: Any
    num_envs: int
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    reset_infos: list[dict[str, Any]]

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        """Starts new episodes, dropping a step in flight; returns the observations.

        Options are those of all environments, or a list with those of each.
        """

    def send(self, actions: Any) -> None:
        """Begins a step."""

    def receive(self) -> Step:
        """Ends it."""

    def render(self) -> Sequence[Any]:
        """Draws each environment."""

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        """Returns an attribute of each environment named, or raises AttributeError."""

    def has_attr(self, name: str) -> bool:
        """Says whether all environments have it."""

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets it."""

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Returns what a method of each environment named returns."""

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Says of each environment named whether it has this wrapper."""

    def close(self) -> None:
        """Ends what steps the environments."""
