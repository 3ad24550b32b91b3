"""NamedBatch: a batch whose arrays have names as well as places."""

from __future__ import annotations

import keyword
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from parallel_pool.buffers import Array, Column

# what a tuple itself has under such a name
TAKEN = ("count", "index")


class NamedBatch(tuple[Array, ...]):
    """The arrays of a batch, rows first: a named tuple, with a class for each set of names.

    A field has the name of its column: `batch.obs`, `batch.reward`. See `field_names` for columns
    whose names are no identifiers. Everything else is as for `collections.namedtuple`. Batches can
    be copied and pickled.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _fields: tuple[str, ...]

        # the names depend on the environment
        def __getattr__(self, name: str) -> Array: ...
        @classmethod
        def _make(cls, iterable: Iterable[Array], /) -> Self: ...
        def _asdict(self) -> dict[str, Array]: ...
        def _replace(self, /, **arrays: Array) -> Self: ...

    def __reduce__(self) -> tuple[Any, ...]:
        # the class is in no module, so it is made again from its names
        return _remake, (self._fields, tuple(self))


def field_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Returns the field of a batch for each column.

    "final_" stands before the names of final columns: "final_obs". Characters that an identifier
    can't have become "_" ("players.env_id" is `players_env_id`), "column_" stands before what
    begins with a digit or "_" ("0" is `column_0`), and "_" stands behind what is a keyword or a
    method of tuples (`count_`, `index_`), and behind an environment's name that the engine or an
    earlier column has already (`reward_`).
    """
    names = [_identifier(column) for column in columns]
    found = {i: names[i] for i, column in enumerate(columns) if column.field < 0}
    for i, name in enumerate(names):
        while i not in found and name in found.values():
            name += "_"
        found[i] = found.get(i, name)
    return tuple(found[i] for i in range(len(columns)))


def _identifier(column: Column) -> str:
    """Returns the field of a column that has no namesakes."""
    name = re.sub(r"\W", "_", f"final_{column.name}" if column.is_final else column.name)
    if not name.isidentifier() or name.startswith("_"):
        name = f"column_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN else name


@cache
def batch_class(names: tuple[str, ...]) -> type[NamedBatch]:
    """Returns the class of batches with these fields, always the same one."""
    base = namedtuple("Batch", names)  # type: ignore[misc]
    made = type("Batch", (NamedBatch, base), {"__slots__": (), "__doc__": NamedBatch.__doc__})
    made.__module__ = __name__
    return made


@cache
def shower(names: tuple[str, ...]) -> Callable[[Sequence[Callable[[], Array]]], NamedBatch]:
    """Returns a function that makes such a batch of functions which return an array each.

    It is written out for its number of arrays, as `namedtuple` does with its constructor: a loop
    costs a tenth of a step of one CartPole.
    """
    views = [f"v{i}" for i in range(len(names))]
    source = (
        "def show(views):\n"
        f"    {', '.join(views)}, = views\n"
        f"    return new(made, ({', '.join(f'{view}()' for view in views)},))\n"
    )
    space: dict[str, Any] = {"new": tuple.__new__, "made": batch_class(names)}
    exec(source, space)
    show: Callable[[Sequence[Callable[[], Array]]], NamedBatch] = space["show"]
    return show


def _remake(names: tuple[str, ...], arrays: tuple[Array, ...]) -> NamedBatch:
    """Returns what was pickled."""
    return batch_class(names)._make(arrays)
