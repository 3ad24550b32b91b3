"""Replies: what workers sent with the last batch of a pool besides its rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.info_columns import InfoColumns
from parallel_pool._workers.data.info_records import MARK
from parallel_pool._workers.data.info_table import ReplyTable
from parallel_pool._workers.data.messages import INFO, INFOS, Reply, restart_info
from parallel_pool._workers.run.local_lane import REPLY_IS_KEPT, LocalLane
from parallel_pool.errors import PoolError

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._workers.process_pool import ProcessPool
    from parallel_pool._workers.watch.lanes import Lanes


class Replies:
    """Reads the replies to the last batch, dicts with keys of `data.messages`.

    Attributes:
        whole_infos: a function that returns the infos which came with the last batch as an array
            and a mask for each key; None if not all environments have infos of the same keys and
            types, or if that is new: `in_columns` learns it. No environment has sent anything else
            if there are infos.
    """

    def __init__(self, handle: CData, num_envs: int, supervisor: Lanes, restarts: bool) -> None:
        """
        Args:
            handle: the `pp_pool *`.
            num_envs: its environments.
            supervisor: of its workers; without workers, the lane of this process.
            restarts: whether environments of a worker that died are made again.
        """
        self._handle = handle
        self._num_envs = num_envs
        self._supervisor = supervisor
        self._local = supervisor if isinstance(supervisor, LocalLane) else None
        self._restarts = restarts
        # of workers None until a table is learned: a call of C, as each batch asks for them
        self._unlearned = partial(getattr, self._local, "whole_infos", None)
        self.whole_infos: Callable[[], dict[str, Any] | None] = self._unlearned
        # allocated once: it took a third of the time of `in_columns`, called for each batch
        self._count, self._size = ffi.new("int32_t *"), ffi.new("int64_t *")

    def by_env(self) -> dict[int, Reply]:
        """Returns the replies by environment; see `ProcessPool.replies`."""
        joined = self.in_columns()
        if not any(INFOS in reply for reply in joined.values()):
            return joined
        replies: dict[int, Reply] = {}
        for env_id, reply in joined.items():
            if INFOS in reply:
                replies.update((i, {INFO: info}) for i, info in reply[INFOS].dicts())
            else:
                replies[env_id] = reply
        return dict(sorted(replies.items()))

    def in_columns(self) -> dict[int, Reply]:
        """Returns replies without a dict of infos for each environment; faster than `by_env`.

        A reply may then have the single key INFOS: `InfoColumns` with the infos of one or more
        environments, in the reply of the first of them.
        """
        env_ids = self.ids()
        if not env_ids:
            return {}
        replies = {env_id: self._reply(env_id) for env_id in env_ids}
        for env_id, reply in replies.items():
            if INFOS in reply:
                # Environments have replies of their own if a worker died before it delivered these
                # rows. Those replies take precedence.
                reply[INFOS] = reply[INFOS].without(replies.keys() - {env_id})
        joined = join_neighbors(replies)
        if len(joined) == 1:
            self._learn_table(replies.keys(), *joined.values())
        return joined

    def _learn_table(self, env_ids: Iterable[int], reply: Reply) -> None:
        """Makes a table for replies like these, if they are the infos of all environments."""
        if self._local is not None or not isinstance(reply.get(INFOS), InfoColumns):
            return
        messages = []
        for env_id in env_ids:
            data = lib.pp_pool_reply(self._handle, env_id, self._size)
            messages.append((env_id, ffi.buffer(data, self._size[0])[:]))
        table = ReplyTable.of(messages, self._num_envs)
        read = None if table is None else partial(table.read, self._handle)
        self.whole_infos = read or self._unlearned

    def _reply(self, env_id: int) -> Reply:
        reply = self.of(env_id)
        if reply is not None:
            return reply
        if not self._restarts or lib.pp_pool_lane_of(self._handle, env_id) in self._supervisor.lost:
            return {}
        return {INFO: restart_info(self._supervisor.seeds.get(env_id))}

    def ids(self) -> list[int]:
        """Returns the environments that have replied with the last batch."""
        replied = lib.pp_pool_replied(self._handle, self._count)
        return ffi.unpack(replied, self._count[0]) if self._count[0] else []

    def one(self, env_id: int) -> Reply:
        """Returns what `by_env` returns for one environment; others can't make it fail."""
        reply = self._reply(env_id)
        if INFOS in reply:
            return {INFO: dict(reply[INFOS].dicts())[env_id]}
        return reply

    def of(self, env_id: int) -> Reply | None:
        """Returns the worker's reply; None if it died and this process wrote the row."""
        size = self._size
        data = lib.pp_pool_reply(self._handle, env_id, size)
        if size[0] < 0:
            return None
        try:
            if not data:
                return {}
            raw = ffi.buffer(data, size[0])
            if self._local is not None and raw[0] == REPLY_IS_KEPT:
                return self._local.reply_of(env_id)
            if raw[0] == MARK:
                return {INFOS: InfoColumns.read(raw[:])}
            reply: Reply = pickle.loads(raw)
        except Exception as error:
            raise PoolError(
                f"the reply of environment {env_id} can't be unpickled in this process:"
                f" {type(error).__name__}: {error}"
            ) from error
        return reply


def replies_of(pool: ProcessPool) -> Replies:
    """Returns what reads the replies to a pool's last batch."""
    return pool._replies


def join_neighbors(replies: dict[int, Reply]) -> dict[int, Reply]:
    """Returns replies with the infos of neighbours, which often have the same keys, as one."""
    joined: dict[int, Reply] = {}
    last: Reply = {}
    for env_id, reply in replies.items():
        if INFOS in last and INFOS in reply:
            both = last[INFOS].followed_by(reply[INFOS])
            if both is not None:
                last[INFOS] = both
                continue
        joined[env_id] = last = reply
    return joined
