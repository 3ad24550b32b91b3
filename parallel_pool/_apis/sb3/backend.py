"""Backend: the interface of what steps the environments of `PoolVecEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import gymnasium

    from parallel_pool._engine.buffers import Array, Observations

    # reset options: one dict for all environments, or a list of one per environment
    Options = Mapping[str, Any] | list[Mapping[str, Any]]
    # observations, rewards, dones, infos
    Step = tuple[Observations, Array, Array, list[dict[str, Any]]]


def each_reset(
    num_envs: int, seeds: Sequence[int | None], options: Options
) -> list[dict[str, Any]]:
    """Returns the arguments of the pool's resets: one of all, or one of each environment.

    Args:
        num_envs: environments.
        seeds, options: as for `Backend.reset`.
    """
    if not isinstance(options, list):
        return [{"env_ids": None, "seed": seeds, "options": options or None}]
    rows = zip(range(num_envs), seeds, options, strict=True)
    return [{"env_ids": [i], "seed": [seed], "options": own or None} for i, seed, own in rows]


class Backend(Protocol):
    """Steps the environments; implemented by `native.NativeBackend` and `process.ProcessBackend`,
    and by what derives from `vector_backend.VectorBackend`.

    Attributes:
        pool: the pool underneath.
        num_envs: environments.
        observation_space: of one environment.
        action_space: of one environment.
        metadata: of the environments.
        reset_infos: the infos of each environment's last reset; a list that is changed in place.
    """

    pool: Any
    num_envs: int
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    reset_infos: list[dict[str, Any]]

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        """Starts new episodes; returns the observations.

        A step in flight is finished first, and its results are dropped. If the reset is refused,
        nothing changes.

        Args:
            seeds: one per environment, None for no new seed.
            options: for all environments, or a list with those of each; {} for none.

        Raises:
            EnvError, or the environment's own exception: environments failed.
        """
        ...

    def send(self, actions: Any) -> None:
        """Begins a step of all environments; copies the actions."""

    def receive(self) -> Step:
        """Waits for the step that `send` began, and returns its results."""
        ...

    def render(self) -> Sequence[Any]:
        """Draws every environment."""
        ...

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        """Returns an attribute of each of these environments, or raises AttributeError."""
        ...

    def has_attr(self, name: str) -> bool:
        """Returns whether all environments have an attribute."""
        ...

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets an attribute of each of these environments."""

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method of each of these environments; returns the results."""
        ...

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Returns for each of these environments whether it has this wrapper."""
        ...

    def close(self, timeout: float | None = None) -> None:
        """Ends the threads or processes and closes windows; see `PoolVecEnv.close`."""
