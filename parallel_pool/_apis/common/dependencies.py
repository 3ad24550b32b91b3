"""Error messages for missing packages: which extra of parallel_pool installs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gymnasium.envs import registration
from gymnasium.error import DependencyNotInstalled

from parallel_pool.errors import MissingDependencyError

# for each module, the extra that installs what its environments need beyond Gymnasium
EXTRAS = {
    "gymnasium.envs.box2d": "box2d",
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.classic_control": "render",
    "gymnasium.envs.toy_text": "render",
    "ale_py": "atari",
}


def install(extra: str) -> str:
    """Returns the shell command that installs an extra."""
    return f"pip install 'parallel_pool[{extra}]'"


@contextlib.contextmanager
def explained(entry_point: Any) -> Iterator[None]:
    """Turns errors of imports that miss something into a MissingDependencyError with the cure.

    It does so for environments of the modules in EXTRAS; other errors pass unchanged.

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
        if extra == "mujoco":
            from parallel_pool._families import mujoco

            if reason := mujoco.mismatch():
                raise MissingDependencyError(reason) from error
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__ or error
        raise MissingDependencyError(
            f"{entry_point} needs a package that is not installed ({missing}): {install(extra)}"
        ) from error
    except (AttributeError, RuntimeError):
        if extra == "mujoco":
            from parallel_pool._families import mujoco

            # what importing it raises if MUJOCO_GL names a backend that is not there
            mujoco.import_mujoco()
        raise


def load_creator(entry_point: str) -> Any:
    """Imports an entry point; raises MissingDependencyError if a package is missing."""
    with explained(entry_point):
        return registration.load_env_creator(entry_point)
