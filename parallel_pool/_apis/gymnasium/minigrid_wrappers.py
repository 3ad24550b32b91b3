"""minigrid's wrappers, as options of native environments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.specs import Definition

MODULE = "minigrid.wrappers"
FAMILY = "minigrid"

# as in csrc/envs/minigrid: the longest mission, and the largest views and tiles
MIN_TEXT_LENGTH, MAX_TEXT_LENGTH, MAX_VIEW_CELLS, MAX_TILE_PIXELS = 96, 4096, 31, 64
MAX_SEED, MAX_SEEDS = 2**63 - 1, 10_000
# largest factor: up to here every integer has an exact float64
EXACT_INTEGER = 2**53

Options = dict[str, Any]


def _is_within(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _read_view_size(agent_view_size: Any) -> Options:
    if not _is_within(agent_view_size, 3, MAX_VIEW_CELLS) or agent_view_size % 2 == 0:
        raise ValueError(
            f"ViewSizeWrapper(agent_view_size={quote(agent_view_size)}) needs an odd int of 3 to"
            f" {MAX_VIEW_CELLS}"
        )
    return {"view_size": agent_view_size}


def _picture(image: str) -> Callable[..., Options]:
    def read(tile_size: Any) -> Options:
        if not _is_within(tile_size, 1, MAX_TILE_PIXELS):
            raise ValueError(f"tile_size={quote(tile_size)} needs an int of 1 to {MAX_TILE_PIXELS}")
        return {"image": image, "image_tile_size": tile_size}

    return read


def _read_flat(maxStrLen: Any) -> Options:
    if not _is_within(maxStrLen, MIN_TEXT_LENGTH, MAX_TEXT_LENGTH):
        raise ValueError(
            f"FlatObsWrapper(maxStrLen={quote(maxStrLen)}) needs an int of {MIN_TEXT_LENGTH} to"
            f" {MAX_TEXT_LENGTH}"
        )
    return {"layout": "flat", "max_text": maxStrLen}


def _read_seeds(seeds: Any, seed_idx: Any) -> Options:
    if not isinstance(seeds, (list, tuple)) or not 1 <= len(seeds) <= MAX_SEEDS:
        raise ValueError(f"ReseedWrapper(seeds={quote(seeds)}) needs 1 to {MAX_SEEDS} seeds")
    if not all(_is_within(seed, 0, MAX_SEED) for seed in seeds):
        raise ValueError(f"ReseedWrapper(seeds={quote(seeds)}) needs ints of 0 to {MAX_SEED}")
    if not _is_within(seed_idx, 0, len(seeds) - 1):
        raise ValueError(f"ReseedWrapper(seed_idx={quote(seed_idx)}) is no index of its seeds")
    return {"level_seeds": ",".join(map(str, seeds)), "level_seed_idx": seed_idx}


def _read_position_bonus(scale: Any) -> Options:
    if type(scale) not in (int, float) or not abs(scale) <= EXACT_INTEGER:
        raise ValueError(f"PositionBonus(scale={quote(scale)}) needs a finite number")
    return {"bonuses": "position", "bonus_scale": float(scale)}


# for each wrapper the names of its arguments, and the function that reads them
READERS: dict[str, tuple[tuple[str, ...], Callable[..., Options]]] = {
    "ViewSizeWrapper": (("agent_view_size",), _read_view_size),
    "FullyObsWrapper": ((), lambda: {"image": "full"}),
    "SymbolicObsWrapper": ((), lambda: {"image": "symbolic"}),
    # its tiles have no meaning
    "OneHotPartialObsWrapper": (("tile_size",), lambda tile_size: {"image": "one_hot"}),
    "RGBImgPartialObsWrapper": (("tile_size",), _picture("rgb_partial")),
    "RGBImgObsWrapper": (("tile_size",), _picture("rgb")),
    "ImgObsWrapper": ((), lambda: {"layout": "image"}),
    "FlatObsWrapper": (("maxStrLen",), _read_flat),
    "ReseedWrapper": (("seeds", "seed_idx"), _read_seeds),
    "ActionBonus": ((), lambda: {"bonuses": "action"}),
    "PositionBonus": (("scale",), _read_position_bonus),
}
# options of wrappers that change no observation: these may stand anywhere among the others
OF_EPISODES = ("level_seeds", "bonuses")


def reader(kind: type) -> tuple[tuple[str, ...], Callable[..., Options]] | None:
    """Returns the names of a wrapper's arguments and what reads them; None for other classes.

    What reads them returns options, and raises ValueError with a clause where C has none.
    """
    module = sys.modules.get(MODULE)
    is_own = module is not None and getattr(module, kind.__name__, None) is kind
    return READERS.get(kind.__name__) if is_own else None


def of_entry_point(entry_point: str) -> Any:
    """Returns the class of an entry point of minigrid's wrappers, None if it is none."""
    module, _, name = entry_point.partition(":")
    if module != MODULE or name not in READERS or MODULE not in sys.modules:
        return None
    return getattr(sys.modules[MODULE], name, None)


def combined(found: Sequence[tuple[str, Options]]) -> Options:
    """Returns the options of several wrappers, the innermost first.

    Raises:
        ValueError: they can't be done in this order; a clause.
    """
    names = " and ".join(name for name, _ in found)
    together: Options = {}
    for name, options in found:
        if any(each in options for each in OF_EPISODES):
            _add_of_episodes(together, name, options)
            continue
        is_late = "layout" in together or (
            "image" in together and ("image" in options or "view_size" in options)
        )
        if is_late or ("view_size" in together and "view_size" in options):
            raise ValueError(f"{names} can't be native in this order")
        if "view_size" in together and options.get("image") == "rgb_partial":
            raise ValueError(f"the picture of {name} does not have the size of ViewSizeWrapper")
        if together.get("image") == "symbolic" and options.get("layout") == "flat":
            raise ValueError(f"{names} has integers that its space can't hold")
        together |= options
    return together


def _add_of_episodes(together: Options, name: str, options: Options) -> None:
    """Adds the options of a wrapper that changes no observation."""
    bonuses = [each for each in (together.get("bonuses"), options.get("bonuses")) if each]
    if "level_seeds" in together.keys() & options.keys() or len({*bonuses}) < len(bonuses):
        raise ValueError(f"{name} can't be native twice")
    if any("," in each for each in bonuses):
        raise ValueError(f"{name} can't be native twice")
    together |= options
    if bonuses:
        together["bonuses"] = ",".join(bonuses)


def unfused_reason(
    definition: Definition, chosen: Mapping[str, Any], options: Mapping[str, Any]
) -> str | None:
    """Returns why native environments can't replace minigrid's wrappers; None if they can.

    Args:
        definition: of the environments.
        chosen: the native options that replace the wrappers.
        options: of the environments.
    """
    if definition.family != FAMILY:
        return f"{definition.id} is not an environment that minigrid's wrappers take"
    if chosen.get("image") == "rgb" and options.get("highlight", True) is not True:
        return "RGBImgObsWrapper shows highlight=False, which native environments do not"
    return None
