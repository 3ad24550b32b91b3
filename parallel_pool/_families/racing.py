"""CarRacing: Box2D as its other environments have it, and pictures as the installed pygame draws.

The results are proven by episodes that equal Gymnasium's, pictures included.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from parallel_pool._families import box2d, racing_kit
from parallel_pool.errors import EnvError, MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# the options that are added here
HIDDEN = ("_link", "_kit")

RACE = ("CarRacing-v3", "car_racing", "CarRacing")
# The second episode of the first trial is in the world of another one. The car leaves the road.
TRIALS = (
    box2d.Trial(*RACE, "drive", (24, 8), 1),
    box2d.Trial(*RACE, "drive", (4,), 5, {"domain_randomize": True}),
)

# values of the hidden options that were made here: others would crash the process
accepted: set[tuple[bytes, bytes]] = set()


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with what C reads of the installed Box2D and pygame.

    Raises:
        TypeError: `_link` or `_kit` is given.
        MissingDependencyError: Box2D or pygame is not installed.
        UnprovenError: the installed Box2D or pygame differs.
    """
    if any(name in options for name in HIDDEN):
        if tuple(options.get(name) for name in HIDDEN) in accepted:
            return dict(options)
        raise TypeError(f"{definition.id}: _link and _kit can't be given: leave them out")
    found = _hidden_or_reason()
    if isinstance(found, str):
        raise UnprovenError(
            f"{definition.id} is refused because {found}: parallel_pool.make_vec({definition.id!r})"
            " runs Gymnasium's environment in worker processes"
        )
    return {**options, **found}


def unavailable_reason() -> str | None:
    """Returns why C can't drive with what is installed, a clause; None if it can, or if something
    is missing."""
    try:
        found = _hidden_or_reason()
    except MissingDependencyError:
        return None
    return found if isinstance(found, str) else None


def _hidden_or_reason() -> Mapping[str, bytes] | str:
    """Returns the hidden options; if there are none, the reason, a clause.

    Raises:
        MissingDependencyError: Box2D or pygame is not installed.
    """
    link = box2d.link_or_reason()
    return link if isinstance(link, str) else _proven(link, racing_kit.backend())


@cache
def _proven(link: bytes, backend: str) -> Mapping[str, bytes] | str:
    """As `_hidden_or_reason`, for a link, and a backend of pygame's smoothscale."""
    version = f"pygame {getattr(racing_kit.pygame().version, 'ver', 'of no version')} ({backend})"
    try:
        kit = racing_kit.make()
    except box2d.NOT_FOUND as error:
        return f"{version} {error}"
    hidden: dict[str, bytes] = dict(zip(HIDDEN, (link, kit), strict=True))
    accepted.add((link, kit))
    try:
        for trial in TRIALS:
            box2d.compare(trial, hidden)
    except (UnprovenError, EnvError) as error:
        accepted.discard((link, kit))
        return f"{version} {error}"
    return hidden
