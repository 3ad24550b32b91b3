"""Gymnasium's ids of Atari games: the native environment of each, and what only these ids need.

The ids are ALE/<Game>-v5, and the -v0, -v4, NoFrameskip-v0 and NoFrameskip-v4 ids that ale-py
registers beside them. All of them are ale_py's AtariEnv with different arguments.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.warn_once import warn_once
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import quote
from parallel_pool._families import atari

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

FAMILY = "ale"
ENTRY_POINT = "ale_py.env:AtariEnv"

# Defaults of AtariEnv's constructor that differ from those of the id ALE/<Game>-v5.
DEFAULTS: Mapping[str, Any] = {"max_num_frames_per_episode": None}


class InexactError(ValueError):
    """The native console does not play this game exactly as ale_py does."""


def definition_of(task_id: str, kwargs: Mapping[str, Any]) -> Definition:
    """Returns the native environment of an id whose entry point is AtariEnv.

    Args:
        task_id: the id, for messages.
        kwargs: of AtariEnv; "game" among them names the game.

    Raises:
        InexactError: the native console does not play this game exactly.
        ValueError: the game has no native environment.
    """
    game = kwargs.get("game")
    definition = by_game().get(game) if isinstance(game, str) else None
    if definition is None:
        raise ValueError(f"{task_id} with game={quote(game)} has no native environment")
    why = inexact(definition, kwargs)
    if why is not None:
        raise InexactError(why)
    return definition


def inexact(definition: Definition, kwargs: Mapping[str, Any]) -> str | None:
    """Returns why ale_py must play a game instead of the native console; None if it need not."""
    rom = kwargs["rom"] if "rom" in kwargs else atari.read_rom(definition.variant)
    return atari.reason(definition.variant, rom)


def falls_back(definition: Definition) -> bool:
    """Returns whether an environment must run on ale_py; if so, imports it, to register its ids."""
    if definition.family != FAMILY or inexact(definition, {}) is None:
        return False
    importlib.import_module("ale_py")
    return True


def is_installed() -> bool:
    """Returns whether ale_py can be imported."""
    with contextlib.suppress(ImportError):
        importlib.import_module("ale_py")
        return True
    return False


def register(task_id: str) -> None:
    """Imports ale_py, if it is installed, for an id that looks like one of its ids.

    ale_py then registers them, and Gymnasium's error about a misspelt id suggests similar ids.
    """
    if task_id.startswith("ALE/") or registry.is_old_game(task_id):
        is_installed()


def unfused_reason(
    definition: Definition,
    spec: EnvSpec,
    preprocessing: Mapping[str, Any],
    options: Mapping[str, Any],
) -> str | None:
    """Returns why native environments can't replace AtariPreprocessing; None if they can.

    Arguments that Gymnasium refuses are refused here too, so that Gymnasium raises its own error.

    Args:
        definition, spec: of the environments.
        preprocessing: the native options that replace the wrappers.
        options: of the environments and of the vector environment.
    """
    if definition.family != FAMILY:
        return f"{definition.id} is not an environment that AtariPreprocessing takes"
    values = {name: option.default for name, option in definition.options.items()} | {**options}
    frameskip, obs_type = values["frameskip"], values["obs_type"]
    is_gray = preprocessing["grayscale_obs"]
    limit = options.get("max_episode_steps") or spec.max_episode_steps or -1
    if preprocessing["frame_skip"] > 1 and not (type(frameskip) is int and frameskip == 1):
        return f"AtariPreprocessing(frame_skip={preprocessing['frame_skip']}) needs frameskip=1"
    if obs_type not in (("rgb", "grayscale") if is_gray else ("rgb",)):
        return (
            f"AtariPreprocessing(grayscale_obs={is_gray}) does not take obs_type={quote(obs_type)}"
        )
    if values["continuous"] and preprocessing["noop_max"] > 0:
        return f"AtariPreprocessing(noop_max={preprocessing['noop_max']}) needs continuous=False"
    if limit != -1:
        return f"max_episode_steps={limit} also counts the steps that AtariPreprocessing skips"
    if str(options.get("render_mode")).endswith("_list"):
        return (
            f"render_mode={quote(options['render_mode'])} also collects pictures of skipped steps"
        )
    return None


@cache
def by_game() -> Mapping[str, Definition]:
    """Returns the native environments by ale-py's name of their game."""
    found = registry.builtin().values()
    return {each.variant: each for each in found if each.family == FAMILY}


def warn(task_id: str, reason: str) -> None:
    """Warns, once for each id, that ale_py plays the game instead of the native console."""
    warn_once(f"{task_id} runs on ale_py in worker processes: {reason}")


def seeds_of(seed: int) -> tuple[Any, Any]:
    """Returns the seeds that AtariEnv derives from one: of NumPy's generator and of ALE, uint32."""
    first, second = np.random.SeedSequence(seed).generate_state(2)
    return first, second


def games(pool: Pool) -> Array:
    """Returns which environments of a pool are those of ALE/<Game>-v5, bool (n,)."""
    found = pool.definition.definitions_of(pool.spec, pool.num_envs)
    return np.array([each.family == FAMILY for each in found])


def seeds_info(seeds: Sequence[int | None], mask: Array) -> dict[str, Any]:
    """Returns the info "seeds", which AtariEnv adds to resets with a seed.

    Args:
        seeds: one for each environment; None for an environment without a new seed.
        mask: environments that are reset, bool (n,).

    Returns:
        "seeds", an object array (n,) of pairs of uint32 (NumPy's generator, ALE), and its mask
        "_seeds"; an empty dict if no environment got a seed.
    """
    seeded = mask & np.array([seed is not None for seed in seeds])
    if not seeded.any():
        return {}
    pairs = np.full(len(seeds), None, object)
    for i, seed in enumerate(seeds):
        if seed is not None and mask[i]:
            pairs[i] = seeds_of(seed)
    return {"seeds": pairs, "_seeds": seeded}
