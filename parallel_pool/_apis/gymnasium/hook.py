"""What importing parallel_pool adds to Gymnasium: a mode of make_vec, and the native ids.

`install` runs at the end of Gymnasium's import, which may have been started by any module of this
package. So this module imports nothing at its top that imports Gymnasium.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.common.gymnasium_ids import MODE, is_native, of_definition, registered_id
from parallel_pool._engine import registry

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._engine.specs import Definition

# attribute of our make_vec that holds Gymnasium's, and marks ours as installed
ORIGINAL = "_parallel_pool_original"


def places() -> list[Any]:
    """Returns the modules that have an attribute make_vec; it is the same function in both."""
    import gymnasium
    from gymnasium.envs import registration

    return [gymnasium, registration]


def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns gymnasium.make_vec with the additional mode "parallel_pool"."""

    @functools.wraps(original)
    def wrapped(
        id: str | EnvSpec,
        num_envs: int = 1,
        vectorization_mode: Any = None,
        vector_kwargs: dict[str, Any] | None = None,
        wrappers: Sequence[Callable[..., Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        # as in Gymnasium, a spec's kwargs win over arguments
        stored = getattr(id, "kwargs", {})
        if stored.get("vectorization_mode", vectorization_mode) != MODE:
            return original(id, num_envs, vectorization_mode, vector_kwargs, wrappers, **kwargs)
        from parallel_pool._apis.gymnasium.make import make_vec

        return make_vec(id, num_envs, vector_kwargs=vector_kwargs, wrappers=wrappers, **kwargs)

    setattr(wrapped, ORIGINAL, original)
    return wrapped


def install() -> None:
    """Adds the mode "parallel_pool" to gymnasium.make_vec and registers every native id.

    Importing parallel_pool calls this. `load` and `load_source` register what they add.

    Example:
        >>> envs = gymnasium.make_vec("CartPole-v1", 4, vectorization_mode="parallel_pool")
        >>> envs.backend
        'native'
        >>> envs.close()
    """
    for module in places():
        if not hasattr(module.make_vec, ORIGINAL):
            module.make_vec = wrap(module.make_vec)
    known = places()[0].registry
    for native_id, definition in registry.definitions().items():
        task_id = registered_id(native_id)
        if task_id not in known and native_id not in registry.loaded_by_id:
            known[task_id] = of_definition(definition, task_id)
    for definition in registry.loaded():
        _register_own(definition)


def register_loaded(definition: Definition) -> None:
    """Registers a definition that was just loaded, if the mode is installed."""
    # otherwise `install` does, after Gymnasium's import
    if "gymnasium" in sys.modules and is_installed():
        _register_own(definition)


def is_installed() -> bool:
    """Returns whether `install` has run, and `uninstall` not since."""
    return all(hasattr(getattr(module, "make_vec", None), ORIGINAL) for module in places())


def _register_own(definition: Definition) -> None:
    """Registers the user's own environment for gymnasium.make, under its id and ours."""
    import gymnasium

    known = gymnasium.registry
    # Gymnasium's ids are narrower than ours; other APIs take any
    with contextlib.suppress(gymnasium.error.Error):
        task_id = registered_id(definition.id)
        known[task_id] = of_definition(definition, task_id)
        # an environment of that name which the program has registered itself stays
        if definition.id not in known or is_native(known[definition.id]):
            known[definition.id] = of_definition(definition, definition.id)


def uninstall() -> None:
    """Restores gymnasium.make_vec and removes the native ids from Gymnasium's registry."""
    for module in places():
        module.make_vec = getattr(module.make_vec, ORIGINAL, module.make_vec)
    known = places()[0].registry
    for native_id in registry.definitions():
        known.pop(registered_id(native_id), None)
        if native_id in known and is_native(known[native_id]):
            del known[native_id]


registry.after_load.append(register_loaded)
