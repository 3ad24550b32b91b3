"""MiniGrid: options in the form that C takes, the missions' space, and minigrid's environments."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    import gymnasium

    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.specs import Definition, Field, Spec

# positions in minigrid's options, and the two options of C; 0 and 0 are None
POSITIONS = {
    "agent_start_pos": ("agent_start_x", "agent_start_y"),
    "agent_pos": ("agent_x", "agent_y"),
    "goal_pos": ("goal_x", "goal_y"),
}
# the room where the agent starts, which may be (0, 0)
ROOM = ("agent_column", "agent_row")
# EnvPool's names of options that minigrid writes in camel case
ENVPOOL_NAMES = {
    "num_objs": "numObjs",
    "min_num_rooms": "minNumRooms",
    "max_num_rooms": "maxNumRooms",
    "max_room_size": "maxRoomSize",
}
# what minigrid calls them: classes of minigrid.core.world_object, or strings
OBSTACLES = {"lava": "Lava", "wall": "Wall"}
# options that may be None, an empty text in C, and lists, words with commas
OR_NONE = ("select_by", "first_color", "second_color")
LISTS = ("action_kinds", "instr_kinds", "bonuses", "level_seeds")
# options of C that minigrid's constructors lack: they make C do what wrappers do
OF_WRAPPERS = (
    *("image", "layout", "view_size", "image_tile_size", "max_text"),
    *("bonuses", "bonus_scale", "level_seeds", "level_seed_idx"),
)

# csrc/envs/minigrid/grid.h and image.h: kinds, colors and states of objects in the order of tiles
KINDS = (
    *("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava"),
    "agent",
)
COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
NUM_STATES = 3
# those of kinds that are always of one color
ONLY_COLORS = {"wall": "grey", "goal": "green", "lava": "red"}
PICTURES = ("rgb", "rgb_partial")


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns minigrid's options under the names of the definition, and the tiles of pictures.

    Options may have EnvPool's names and values, too.

    Raises:
        TypeError, ValueError: a value is wrong.
        MissingDependencyError: a picture is asked for, and minigrid is not installed.
    """
    given = _by_minigrid_names(definition, options)
    if given.get("max_steps", 0) is None:
        del given["max_steps"]
    for name, parts in POSITIONS.items():
        if name in given and parts[0] in definition.options:
            given |= dict(zip(parts, _position(name, given.pop(name)), strict=True))
    if "agent_room" in given and ROOM[0] in definition.options:
        given |= dict(zip(ROOM, _pair("agent_room", given.pop("agent_room")), strict=True))
    if isinstance(given.get("obstacle_type"), type):
        given["obstacle_type"] = given["obstacle_type"].__name__.lower()
    elif isinstance(given.get("obstacle_type"), str):
        given["obstacle_type"] = given["obstacle_type"].lower()
    for name in OR_NONE:
        if name in definition.options and given.get(name, "") is None:
            given[name] = ""
    for name in LISTS:
        if name in definition.options and isinstance(given.get(name), (list, tuple)):
            given[name] = ",".join(map(str, given[name]))
    if given.get("image") in PICTURES and "_tiles" not in given:
        given["_tiles"] = tiles(_side_of_tiles(definition, given))
    return given


def _by_minigrid_names(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options with minigrid's names and values where EnvPool's were given."""
    given = dict(options)
    for name, minigrids in ENVPOOL_NAMES.items():
        # BabyAI has an option num_objs
        if name in given and name not in definition.options and minigrids in definition.options:
            if minigrids in given:
                raise TypeError(f"{name} and {minigrids} are the same: give one of them")
            given[minigrids] = given.pop(name)
    # any direction, as at a position of None
    if given.get("agent_start_dir") == -1:
        del given["agent_start_dir"]
    return given


def _side_of_tiles(definition: Definition, given: Mapping[str, Any]) -> int:
    option = definition.options["image_tile_size"]
    side = option.check(given.get("image_tile_size", option.default))
    assert isinstance(side, int)
    return side


def _position(name: str, value: Any) -> tuple[int, int]:
    """Returns a position as C has it; None, which is (-1, -1) in EnvPool, as (0, 0)."""
    if value is None:
        return 0, 0
    at = _pair(name, value)
    if at == (-1, -1):
        return 0, 0
    if min(at) < 1:
        raise ValueError(f"{name}={quote(value)}: choose a cell between the walls, or None")
    return at


def _pair(name: str, value: Any) -> tuple[int, int]:
    try:
        x, y = value
        return int(x), int(y)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={quote(value)}: give two integers, a column and a row") from None


def reference_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options in C's form as those of minigrid's constructor, with their defaults."""
    found = {name: value for name, value in options.items() if not name.startswith("_")}
    for name in OF_WRAPPERS:
        found.pop(name, None)
    # most constructors set it themselves
    found.pop("see_through_walls", None)
    if not found.get("max_steps"):
        found.pop("max_steps", None)
    for name, parts in POSITIONS.items():
        if parts[0] in found:
            x, y = (found.pop(part) for part in parts)
            found[name] = (x, y) if x else None
    if ROOM[0] in found:
        found["agent_room"] = tuple(found.pop(part) for part in ROOM)
    for name in OR_NONE:
        if name in found:
            found[name] = found[name] or None
    for name in LISTS:
        if name in found:
            found[name] = found[name].split(",")
    if "obstacle_type" in found:
        found["obstacle_type"] = getattr(objects(), OBSTACLES[found["obstacle_type"]])
    return found


def objects() -> Any:
    """Returns minigrid's module of objects.

    Raises:
        MissingDependencyError: minigrid is not installed.
    """
    return _module("core.world_object")


def _module(name: str) -> Any:
    try:
        importlib.import_module("minigrid")
        return importlib.import_module(f"minigrid.{name}")
    except ImportError as error:
        raise MissingDependencyError(
            f"minigrid draws the pictures of MiniGrid, and it can't be imported ({error}): pip"
            " install minigrid"
        ) from error


def register() -> None:
    """Has minigrid register its ids with Gymnasium, if it is installed."""
    with contextlib.suppress(MissingDependencyError):
        _module("envs")


def make_reference(definition: Definition, options: Mapping[str, Any], **drawing: Any) -> Any:
    """Returns minigrid's own environment, without wrappers.

    Args:
        definition: of the environment.
        options: in C's form.
        drawing: options of minigrid's that change only pictures.

    Raises:
        MissingDependencyError: minigrid is not installed.
    """
    import gymnasium

    _module("envs")
    made = gymnasium.make(
        definition.id, disable_env_checker=True, **reference_options(options), **drawing
    ).unwrapped
    if "see_through_walls" in options:
        made.see_through_walls = options["see_through_walls"]  # type: ignore[attr-defined]
    return made


def text_space(spec: Spec, field: Field) -> gymnasium.Space[Any] | None:
    """Returns minigrid's own space of missions; None if minigrid is not installed."""
    chosen = {
        name: spec.options[name]
        for name in ("obstacle_type", "obj_type")
        if isinstance(spec.options.get(name), str)
    }
    try:
        return _mission_space(spec.definition, tuple(chosen.items()))
    except MissingDependencyError:
        return None


@functools.cache
def _mission_space(
    definition: Definition, options: tuple[tuple[str, str], ...]
) -> gymnasium.Space[Any]:
    env = make_reference(definition, dict(options))
    space: gymnasium.Space[Any] = env.observation_space["mission"]
    return space


# ----------------------------------------------------------------------------------- tiles --


@functools.lru_cache(maxsize=8)
def tiles(side: int) -> bytes:
    """Returns what C makes pictures of: minigrid's tiles, in the order of MG_NUM_TILES.

    Those that no picture needs are zeros.

    Args:
        side: pixels.
    """
    grid = _module("core.grid").Grid
    shape = (5, 2, len(KINDS), len(COLORS), NUM_STATES, side, side, 3)
    found: Array = np.zeros(shape, np.uint8)
    for agent in range(5):
        for place, thing in _things():
            if not _may_meet(agent, thing):
                continue
            for is_lit in (False, True):
                direction = None if agent == 0 else agent - 1
                found[agent, int(is_lit), *place] = grid.render_tile(
                    thing, direction, highlight=is_lit, tile_size=side
                )
    return found.tobytes()


def _things() -> list[tuple[tuple[int, int, int], Any]]:
    """Returns all objects, with kind, color and state; first None, an empty cell."""
    world = objects()
    found: list[tuple[tuple[int, int, int], Any]] = [((0, 0, 0), None)]
    for kind, name in enumerate(KINDS[2:-1], 2):
        for color, color_name in enumerate(COLORS):
            if ONLY_COLORS.get(name, color_name) != color_name:
                continue
            for state in range(NUM_STATES if name == "door" else 1):
                found.append(((kind, color, state), world.WorldObj.decode(kind, color, state)))
    return found


def _may_meet(agent: int, thing: Any) -> bool:
    """Returns whether the agent can be in a cell with an object; facing up, it may carry it."""
    return agent == 0 or thing is None or thing.can_overlap() or (agent == 4 and thing.can_pickup())
