"""ReplyReader: observations, rewards and infos from the batches of a pool of worker processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.buffers import engine_indices
from parallel_pool._workers.data.info_columns import each, of_objects
from parallel_pool._workers.data.info_dicts import InfoDicts
from parallel_pool._workers.data.messages import (
    FINAL_INFO,
    FINAL_OBSERVATION,
    INFO,
    INFOS,
    OBSERVATION,
)
from parallel_pool._workers.data.spaces import Reader, batch_objects, nothing

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Batch, Views
    from parallel_pool._workers.data.info_columns import InfoColumns
    from parallel_pool._workers.data.messages import Reply
    from parallel_pool._workers.process_pool import ProcessPool
    from parallel_pool._workers.replies import Replies

    # observations, rewards, terminations, truncations; the leaves of final observations if any
    Converted = tuple[Any, Array, Array, Array, Sequence[Array]]

Infos = dict[str, Any]
AddInfo = Callable[[Infos, Infos, int], Infos]


class ReplyReader:
    """Reads the batches of one pool; each holds all environments in order.

    Attributes:
        convert: makes a `Converted` of a batch's views.
        has_objects: whether observations travel as objects: then `convert` returns None for them,
            and `batch` makes them.
        latest: if observations are objects, the last one of each environment, None for none yet;
            those of the last batch that the pool has handed over.
        upcoming: what `latest` becomes, by `rows.latest = rows.upcoming`, once the pool hands over
            the batch that was converted last. After Ctrl-C a batch is converted again.
    """

    def __init__(self, pool: ProcessPool, space: Space[Any]) -> None:
        """
        Args:
            pool: the pool.
            space: of one environment's observation, as the vector environment shows it.
        """
        self._space = space
        self.has_objects = pool.leaves is None
        self.latest: list[Any] = [None] * pool.num_envs
        self.upcoming = self.latest
        self._reader: Reader | None = None
        leaf_columns: list[int] = []
        if pool.leaves is not None:
            self._reader = Reader(space)
            # equal spaces may have their keys in another order
            paths = [leaf.path for leaf in pool.leaves]
            leaf_columns = [paths.index(leaf.path) for leaf in self._reader.leaves]
        engine = engine_indices(pool.columns)
        self._terminated, self._truncated = engine["terminated"], engine["truncated"]
        first = next((i for i, c in enumerate(pool.columns) if c.is_final), None)
        finals = [] if first is None else [first + i for i in leaf_columns]
        self.convert = _choose_convert(self._reader, leaf_columns, finals, engine)

    def ended(self, batch: Batch) -> Array:
        """Returns which environments ended their episode, a new bool array (n,)."""
        ended: Array = batch[self._terminated] | batch[self._truncated]
        return ended

    def with_infos(
        self, converted: Converted, sent: Replies, add: AddInfo, env_ids: Array | None = None
    ) -> tuple[Any, Infos]:
        """Returns the observations, and the infos that environments sent with their rows.

        Args:
            converted: the rows.
            sent: of the pool.
            add: as for `infos`.
            env_ids: of the rows; None: they are those of all environments, in order.
        """
        replies: Mapping[int, Reply] = {}
        infos = sent.whole_infos() if env_ids is None else None
        if infos is None:
            replies = sent.in_columns() if env_ids is None else _by_row(sent.by_env(), env_ids)
            infos = self.infos(add, replies, converted) if replies else {}
        return self.batch(replies) if self.has_objects else converted[0], infos

    def infos(self, add: AddInfo, replies: Mapping[int, Reply], converted: Converted) -> Infos:
        """Returns the infos that environments sent with their rows.

        Args:
            add: `VectorEnv._add_info`, which adds one environment's infos to those of all.
            replies: in order of the environments, as `Replies.in_columns` returns them.
            converted: the rows.
        """
        infos: Infos = {}
        for i, reply in replies.items():
            if FINAL_INFO in reply:
                final = {
                    "final_obs": self.final_observation(i, reply, converted),
                    "final_info": reply[FINAL_INFO],
                }
                infos = add(infos, final, i)
            if INFO in reply:
                infos = add(infos, reply[INFO], i)
            if INFOS in reply:
                infos = _add_columns(infos, reply[INFOS], len(converted[1]), add)
        return infos

    def final_observation(self, i: int, reply: Reply, converted: Converted) -> Any:
        """Returns the last observation of an episode that ended, as the environment returned it."""
        if FINAL_OBSERVATION in reply:
            return reply[FINAL_OBSERVATION]
        return self.latest[i] if self._reader is None else self._reader.row(converted[4], i)

    def batch(self, replies: Mapping[int, Reply]) -> Any:
        """Returns observations sent as objects; for an environment that sent none, its last one.

        That of an environment whose first reset failed is empty.
        """
        self.upcoming = last = self.latest.copy()
        for i, reply in replies.items():
            if OBSERVATION in reply:
                last[i] = reply[OBSERVATION]
        if any(each is None for each in last):
            empty = nothing(self._space)
            last = [empty if each is None else each for each in last]
        return batch_objects(self._space, last)


def _by_row(replies: Mapping[int, Reply], env_ids: Array) -> dict[int, Reply]:
    """Returns replies of environments by their rows in a batch."""
    rows = {env_id: row for row, env_id in enumerate(env_ids.tolist())}
    return {rows[env_id]: reply for env_id, reply in replies.items()}


def _add_columns(infos: Infos, columns: InfoColumns, num_envs: int, add: AddInfo) -> Infos:
    """Adds the infos of several environments; equals calling `add` for one after the other."""
    if isinstance(columns, InfoDicts):
        for env_id, info in columns.dicts():
            infos = add(infos, info, env_id)
        return infos
    if not infos and len(columns.env_ids) == num_envs:
        return _of_all(columns)
    first, last = columns.env_ids[0], columns.env_ids[-1]
    is_dense = last - first == len(columns.env_ids) - 1
    rows: Any = slice(first, last + 1) if is_dense else list(columns.env_ids)
    for key, kind, values in columns.columns():
        if key not in infos:
            infos[key], mask = _empty(values, num_envs), infos.get(f"_{key}")
            infos[f"_{key}"] = np.zeros(num_envs, np.bool_) if mask is None else mask
        array, mask = infos[key], infos[f"_{key}"]
        # If values need a cast, `add` casts or refuses each of them. And "_a" may be another info
        # instead of the mask of "a".
        if not _is_like(array, values) or type(mask) is not np.ndarray:
            for env_id, value in zip(columns.env_ids, each(kind, values), strict=True):
                infos = add(infos, {key: value}, env_id)
            continue
        array[rows] = of_objects(values) if isinstance(values, list) else values
        mask[rows] = True
    return infos


def _of_all(columns: InfoColumns) -> Infos:
    """Returns the infos of all environments; users may write to each array."""
    infos: Infos = {}
    every = np.ones(len(columns.env_ids), np.bool_)
    for key, values in columns.arrays():
        infos[key], infos[f"_{key}"] = values, every.copy()
    return infos


def _empty(values: Any, num_envs: int) -> Array:
    """Returns the array that `add` would make for the first value of a column."""
    if isinstance(values, list):
        return np.full(num_envs, None, object)
    return np.zeros((num_envs, *values.shape[1:]), values.dtype)


def _is_like(array: Any, values: Any) -> bool:
    """Returns whether an array can hold values without a cast."""
    if type(array) is not np.ndarray:
        return False
    if isinstance(values, list):
        return bool(array.dtype == object)
    return bool(array.dtype == values.dtype and array.shape[1:] == values.shape[1:])


def _choose_convert(
    reader: Reader | None, leaf_columns: list[int], finals: list[int], engine: dict[str, int]
) -> Callable[[Views], Converted]:
    """Returns the fastest `convert` for these columns."""
    reward, terminated, truncated = (engine[name] for name in ("reward", "terminated", "truncated"))

    def convert_objects(views: Views) -> Converted:
        return None, views[reward](), views[terminated](), views[truncated](), ()

    def convert_array(views: Views) -> Converted:
        return views[0](), views[reward](), views[terminated](), views[truncated](), ()

    def convert_tree(views: Views) -> Converted:
        assert reader is not None
        return (
            reader.batch([views[i]() for i in leaf_columns]),
            views[reward](),
            views[terminated](),
            views[truncated](),
            [views[i]() for i in finals],
        )

    if reader is None:
        return convert_objects
    if not finals and len(leaf_columns) == 1 and not reader.leaves[0].path:
        return convert_array
    return convert_tree
