"""Gymnasium's ids of Atari games: which native environment one means, and what only they do.

Those are ALE/<Game>-v5, and the -v0, -v4, NoFrameskip-v0 and NoFrameskip-v4 ids that ale-py
registers beside them: all of them ale_py's AtariEnv with other arguments.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool import registry
from parallel_pool.compat import notices
from parallel_pool.envs import atari

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool.buffers import Array
    from parallel_pool.specs import Definition

FAMILY = "ale"
ENTRY_POINT = "ale_py.env:AtariEnv"

# What AtariEnv's constructor takes for granted where the id ALE/<Game>-v5 says something else. (In
# the rest both agree.)
DEFAULTS: Mapping[str, Any] = {"max_num_frames_per_episode": None}


class InexactError(ValueError):
    """A game that the native console does not yet play as ale_py does."""


def definition_of(env_id: str, kwargs: Mapping[str, Any]) -> Definition:
    """Returns the native environment of an id that stands for AtariEnv.

    Args:
        env_id: the id, for messages.
        kwargs: of AtariEnv; "game" among them says which one it is.

    Raises:
        InexactError: the native console does not play this game exactly.
        ValueError: there is none; the message is half a sentence that says why.
    """
    game = kwargs.get("game")
    definition = by_game().get(game) if isinstance(game, str) else None
    if definition is None:
        raise ValueError(f"{env_id} with game={game!r} has no native environment")
    why = inexact(definition, kwargs)
    if why is not None:
        raise InexactError(why)
    return definition


def inexact(definition: Definition, kwargs: Mapping[str, Any]) -> str | None:
    """Says why ale_py should play a game instead of the native console; None if it need not."""
    rom = kwargs["rom"] if "rom" in kwargs else atari.read_rom(definition.variant)
    return atari.reason(definition.variant, rom)


def falls_back(definition: Definition) -> bool:
    """Says whether an environment runs on ale_py, and has ale_py register its ids if so."""
    if definition.family != FAMILY or inexact(definition, {}) is None:
        return False
    importlib.import_module("ale_py")
    return True


def is_installed() -> bool:
    """Whether ale_py can be imported."""
    with contextlib.suppress(ImportError):
        importlib.import_module("ale_py")
        return True
    return False


def register(env_id: str) -> None:
    """Has ale_py, where it is installed, register its ids for an id that looks like one of them.

    Gymnasium's error about a wrong one then names those near it, instead of a missing package.
    """
    if env_id.startswith("ALE/") or registry.is_old_game(env_id):
        is_installed()


def unfilmed(
    definition: Definition, spec: EnvSpec, film: Mapping[str, Any], options: Mapping[str, Any]
) -> str | None:
    """Says why native environments can't do AtariPreprocessing themselves; None if they can.

    What Gymnasium refuses is refused here too, so that the error is Gymnasium's own.

    Args:
        definition, spec: of the environments.
        film: the native options that stand for the wrappers.
        options: of the environments and of the vector environment.
    """
    if definition.family != FAMILY:
        return f"{definition.id} is no environment that AtariPreprocessing knows"
    said = {name: option.default for name, option in definition.options.items()} | {**options}
    frameskip, view = said["frameskip"], said["obs_type"]
    views = ("rgb", "grayscale") if film["grayscale_obs"] else ("rgb",)
    limit = options.get("max_episode_steps") or spec.max_episode_steps or -1
    if film["frame_skip"] > 1 and not (type(frameskip) is int and frameskip == 1):
        return f"AtariPreprocessing(frame_skip={film['frame_skip']}) needs frameskip=1"
    if view not in views:
        return f"AtariPreprocessing(grayscale_obs={film['grayscale_obs']}) of obs_type={view!r}"
    if said["continuous"] and film["noop_max"] > 0:
        return "AtariPreprocessing's noop_max and continuous=True don't go together"
    if limit != -1:
        return f"max_episode_steps={limit} counts steps before they are skipped"
    if str(options.get("render_mode")).endswith("_list"):
        return "pictures of skipped steps would be collected"
    return None


@cache
def by_game() -> Mapping[str, Definition]:
    """Returns the native environments by ale-py's name of their game."""
    found = registry.builtin().values()
    return {each.variant: each for each in found if each.family == FAMILY}


def warn(env_id: str, reason: str) -> None:
    """Warns, once for each id, that ale_py plays the game instead of the native console."""
    notices.warn(f"{env_id} runs on ale_py in worker processes: {reason}")


def seeds_of(seed: int) -> tuple[Any, Any]:
    """Returns what AtariEnv makes of a seed: those of NumPy's generator and of ALE, uint32."""
    first, second = np.random.SeedSequence(seed).generate_state(2)
    return first, second


def seeds_info(seeds: Sequence[int | None], mask: Array) -> dict[str, Any]:
    """Returns the info "seeds", which AtariEnv adds to resets with a seed.

    Args:
        seeds: one for each environment, or None.
        mask: of those that are reset, bool (n,).

    Returns:
        The info as an object array of pairs of uint32 (of NumPy's generator, and of ALE's), and its
        mask; nothing if nobody was seeded.
    """
    seeded = mask & np.array([seed is not None for seed in seeds])
    if not seeded.any():
        return {}
    pairs = np.full(len(seeds), None, object)
    for i, seed in enumerate(seeds):
        if seed is not None and mask[i]:
            pairs[i] = seeds_of(seed)
    return {"seeds": pairs, "_seeds": seeded}
