"""Names the extra that brings a package which one of Gymnasium's environments lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gymnasium.envs import registration
from gymnasium.error import DependencyNotInstalled

from parallel_pool.errors import MissingDependencyError

# what environments of a module need beyond Gymnasium is in this extra
EXTRAS = {
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.classic_control": "render",
    "gymnasium.envs.toy_text": "render",
    "ale_py": "atari",
}


def install(extra: str) -> str:
    """Returns the command that installs what an extra brings."""
    return f"pip install 'parallel_pool[{extra}]'"


@contextlib.contextmanager
def explained(entry_point: Any) -> Iterator[None]:
    """Makes a missing package of a known environment a MissingDependencyError with its cure.

    Environments of other modules raise what they raise.

    Args:
        entry_point: of the environment, as its spec has it.
    """
    module = entry_point.partition(":")[0] if isinstance(entry_point, str) else ""
    extra = next((EXTRAS[name] for name in EXTRAS if f"{module}.".startswith(f"{name}.")), None)
    if extra is None:
        yield
        return
    try:
        yield
    except (DependencyNotInstalled, ModuleNotFoundError) as error:
        if isinstance(error, MissingDependencyError):
            raise
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__ or error
        raise MissingDependencyError(
            f"{entry_point} needs a package that is not installed ({missing}): {install(extra)}"
        ) from error


def load_creator(entry_point: str) -> Any:
    """Imports what makes an environment; raises MissingDependencyError if that can't be."""
    with explained(entry_point):
        return registration.load_env_creator(entry_point)
