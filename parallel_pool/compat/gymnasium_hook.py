"""What importing parallel_pool adds to Gymnasium: a mode of make_vec, and our ids.

It runs as the last act of Gymnasium's import, which any module here may have begun: so this module
takes nothing from those that import Gymnasium until it is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool import registry
from parallel_pool.compat.gymnasium_ids import MODE, of_definition, registered_id

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

# how our make_vec is told from Gymnasium's: it remembers it here
ORIGINAL = "_parallel_pool_original"


def places() -> list[Any]:
    """Returns the modules that hold make_vec; both hold one function."""
    import gymnasium
    from gymnasium.envs import registration

    return [gymnasium, registration]


def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns gymnasium.make_vec with one mode more."""

    @functools.wraps(original)
    def wrapped(
        id: str | EnvSpec,
        num_envs: int = 1,
        vectorization_mode: Any = None,
        vector_kwargs: dict[str, Any] | None = None,
        wrappers: Sequence[Callable[..., Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        # what a spec says holds, as in Gymnasium
        stored = getattr(id, "kwargs", {})
        if stored.get("vectorization_mode", vectorization_mode) != MODE:
            return original(id, num_envs, vectorization_mode, vector_kwargs, wrappers, **kwargs)
        from parallel_pool.compat.gymnasium.make_vec import make_vec

        return make_vec(id, num_envs, vector_kwargs=vector_kwargs, wrappers=wrappers, **kwargs)

    setattr(wrapped, ORIGINAL, original)
    return wrapped


def install() -> None:
    """Teaches gymnasium.make_vec the mode "parallel_pool" and registers every native id.

    Importing parallel_pool does this. Doing it again registers what was loaded since.
    """
    for place in places():
        if not hasattr(place.make_vec, ORIGINAL):
            place.make_vec = wrap(place.make_vec)
    known = places()[0].registry
    for native_id, definition in registry.definitions().items():
        env_id = registered_id(native_id)
        if env_id not in known:
            known[env_id] = of_definition(definition, env_id)


def uninstall() -> None:
    """Takes back what `install` did."""
    for place in places():
        place.make_vec = getattr(place.make_vec, ORIGINAL, place.make_vec)
    for native_id in registry.definitions():
        places()[0].registry.pop(registered_id(native_id), None)
