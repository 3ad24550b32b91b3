"""One native game with PettingZoo's own API: `parallel_env(id)`, and `env(id)` in turns (AEC)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gymnasium.error import UnregisteredEnv

from parallel_pool._apis.common import dependencies
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]

# Where the games of each family are: modules with `env(task_id, **options)` and
# `parallel_env(task_id, **options)`, which refuses games in turns.
GAMES = {
    "atari_players": "parallel_pool._apis.pettingzoo.atari_game",
    "classic": "parallel_pool._apis.pettingzoo.turns",
    "mpe": "parallel_pool._apis.pettingzoo.particle_game",
    "python": "parallel_pool._apis.pettingzoo.python_game",
}


def parallel_env(task_id: str, **options: Any) -> ParallelEnv[Any, Any, Any]:
    """Returns one native game whose agents act at the same time.

    It equals what the reference's own `parallel_env(**options)` returns.

    Args:
        task_id: such as "mpe/simple_spread_v3".
        options: of the game, and render_mode.

    Raises:
        TypeError, ValueError: an argument is wrong, or the agents act in turn.
        gymnasium.error.UnregisteredEnv: there is no such id.
        MissingDependencyError: PettingZoo is not installed; or a render_mode is given, and what
            draws is not installed.

    Example:
        >>> from parallel_pool.compat.pettingzoo import parallel_env
        >>> env = parallel_env("mpe/simple_spread_v3", max_cycles=10)
        >>> observations, infos = env.reset(seed=1)
        >>> observations["agent_0"].shape
        (18,)
        >>> env.close()
    """
    made: ParallelEnv[Any, Any, Any] = _module_of(task_id).parallel_env(task_id, **options)
    return made


def env(task_id: str, **options: Any) -> AECEnv[Any, Any, Any]:
    """Returns one native game whose agents act in turn.

    It equals what the reference's own `env(**options)` returns. Arguments and exceptions are those
    of `parallel_env`.

    Example:
        >>> from parallel_pool.compat.pettingzoo import env
        >>> game = env("mpe/simple_spread_v3")
        >>> game.reset(seed=1)
        >>> for agent in game.agent_iter(6):
        ...     observation, reward, terminated, truncated, info = game.last()
        ...     game.step(0)
        >>> game.close()
    """
    made: AECEnv[Any, Any, Any] = _module_of(task_id).env(task_id, **options)
    return made


def _module_of(task_id: str) -> Any:
    """Returns the module that makes a game."""
    if not isinstance(task_id, str):
        raise TypeError(f"task_id={quote(task_id)} is {a_type(task_id)}: give a string")
    try:
        definition = registry.find(task_id)
    except ValueError as error:
        raise UnregisteredEnv(str(error)) from None
    module = GAMES.get(definition.family)
    if module is None:
        known = [each.id for each in registry.definitions().values() if each.family in GAMES]
        raise ValueError(f"{task_id} is not a game of PettingZoo: choose one of {', '.join(known)}")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{task_id} with PettingZoo's API needs PettingZoo, which can't be imported ({error}):"
            f" {dependencies.install('pettingzoo')}"
        ) from error
