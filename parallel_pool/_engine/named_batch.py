"""NamedBatch: a batch of arrays as a named tuple."""

from __future__ import annotations

import keyword
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.buffers import Array, Column
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from typing import Self

# names of NamedBatch's and tuple's own methods
TUPLE_NAMES = ("count", "index", "num_rows", "rows")


@public()
class NamedBatch(tuple[Array, ...]):
    """The arrays of a batch, (rows, ...) each: a named tuple. Each set of names has its own class.

    A field has the name of its column: `batch.obs`, `batch.reward`; see `field_names` for columns
    whose names are not identifiers. Everything else is as in `collections.namedtuple`. Batches can
    be copied and pickled.

    Example:
        >>> with parallel_pool.Pool("CartPole-v1", 4) as pool:
        ...     batch = pool.reset(seed=1)
        >>> batch._fields
        ('obs', 'reward', 'terminated', 'truncated', 'env_id', 'elapsed_step')
        >>> observations, rewards, *others = batch
        >>> batch.obs is observations, observations.shape
        (True, (4, 4))
    """

    __slots__ = ()

    @property
    def num_rows(self) -> int:
        """The number of rows that are results: all, except in a batch of `recv(min_rows=...)`."""
        if "env_id" not in self._fields:
            return len(self[0])
        return int((self.env_id >= 0).sum())

    def rows(self) -> Self:
        """Returns these rows alone: arrays (num_rows, ...), views of the batch's."""
        count = self.num_rows
        return self._make(array[:count] for array in self)

    if TYPE_CHECKING:
        _fields: tuple[str, ...]

        # the names depend on the environment
        def __getattr__(self, name: str) -> Array: ...
        @classmethod
        def _make(cls, iterable: Iterable[Array], /) -> Self: ...
        def _asdict(self) -> dict[str, Array]: ...
        def _replace(self, /, **arrays: Array) -> Self: ...

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle can't find the class in a module, so it is made again from its names
        return NamedBatch._remake, (self._fields, tuple(self))

    @staticmethod
    @public()
    def _remake(names: tuple[str, ...], arrays: tuple[Array, ...]) -> NamedBatch:
        """Makes a batch again; pickles refer to this function."""
        return batch_class(names)._make(arrays)


def field_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Returns the name of a batch's field for each column.

    Final columns get the prefix "final_": "final_obs". Characters that are not allowed in an
    identifier become "_" ("players.env_id" is `players_env_id`). Names that begin with a digit or
    "_" get the prefix "column_" ("0" is `column_0`). Keywords and names of tuple methods get the
    suffix "_" (`count_`, `index_`), and so do an environment's names that are the engine's or an
    earlier column's (`reward_`).
    """
    names = [_identifier(column) for column in columns]
    found = {i: names[i] for i, column in enumerate(columns) if column.field < 0}
    for i, name in enumerate(names):
        while i not in found and name in found.values():
            name += "_"
        found[i] = found.get(i, name)
    return tuple(found[i] for i in range(len(columns)))


def _identifier(column: Column) -> str:
    """Returns a column's field name, without regard to other columns of the same name."""
    name = re.sub(r"\W", "_", f"final_{column.name}" if column.is_final else column.name)
    if not name.isidentifier() or name.startswith("_"):
        name = f"column_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in TUPLE_NAMES else name


@cache
def batch_class(names: tuple[str, ...]) -> type[NamedBatch]:
    """Returns the class of batches with these fields, the same one at each call."""
    base = namedtuple("Batch", names)  # type: ignore[misc]
    made = type("Batch", (NamedBatch, base), {"__slots__": (), "__doc__": NamedBatch.__doc__})
    made.__module__ = __name__
    return made


@cache
def batch_maker(names: tuple[str, ...]) -> Callable[[Sequence[Callable[[], Array]]], NamedBatch]:
    """Returns a function that makes a batch from views: functions that return one array each.

    The function is generated for its number of arrays, as `namedtuple` does with its constructor:
    a loop would cost a tenth of a step of one CartPole.
    """
    views = [f"v{i}" for i in range(len(names))]
    source = (
        "def convert(views):\n"
        f"    {', '.join(views)}, = views\n"
        f"    return new(made, ({', '.join(f'{view}()' for view in views)},))\n"
    )
    namespace: dict[str, Any] = {"new": tuple.__new__, "made": batch_class(names)}
    exec(source, namespace)
    convert: Callable[[Sequence[Callable[[], Array]]], NamedBatch] = namespace["convert"]
    return convert


# where older pickles find it
_remake = NamedBatch._remake
