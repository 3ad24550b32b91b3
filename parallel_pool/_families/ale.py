"""Turns the arguments of ale-py's AtariEnv into the options of the native environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._families import atari

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# the options that AtariEnv allows to be None, and the native value for None
DEFAULTS_OF_NONE = {"mode": -1, "difficulty": -1, "max_num_frames_per_episode": 0}


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of the native environment, with the ROM of the definition's game.

    Args:
        definition: of ALE/<Game>-v5.
        options: AtariEnv's arguments, and `ram_info`. `sound_obs=True` is kept, and is refused
            later, because native environments have no such option.

    Raises:
        TypeError, ValueError: an argument is wrong.
        MissingDependencyError: ale-py is not installed, or has no such ROM.
        UnprovenError: our console is not proven to play this ROM as ALE does.
    """
    given = dict(options)
    for name, meaning in DEFAULTS_OF_NONE.items():
        if name in given and given[name] is None:
            given[name] = meaning
    given.update(_skip(given.pop("frameskip", None)))
    if given.get("sound_obs") is False:
        del given["sound_obs"]
    game = given.pop("game", None)
    if game is not None and game != definition.variant:
        raise ValueError(f"game={quote(game)}: {definition.id} plays {quote(definition.variant)}")
    return atari.fill_options(definition, given)


def _skip(frameskip: Any) -> dict[str, Any]:
    """Returns the options for a frame skip: a number of frames, or a range (low, high)."""
    if frameskip is None:
        return {}
    if not isinstance(frameskip, (tuple, list)):
        return {"frameskip": frameskip}
    if len(frameskip) != 2:
        raise ValueError(f"frameskip={quote(frameskip)}: give a number of frames, or (low, high)")
    low, high = frameskip
    try:
        in_order = low < high
    except TypeError:
        raise TypeError(f"frameskip={quote(frameskip)}: give two integers") from None
    if not in_order:
        raise ValueError(f"frameskip={quote(frameskip)}: choose low < high")
    return {"frameskip": low, "frameskip_end": high}
