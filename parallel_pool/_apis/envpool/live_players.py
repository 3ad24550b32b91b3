"""LivePlayers: which players of each environment have a row, where not all of them always act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.specs import Field

# prefix of the record of players at the end of a snapshot
MAGIC = b"PLAYERS1"
INT64_MAX = 2**63 - 1


class RowPlan(NamedTuple):
    """Which rows the result of some environments has.

    Attributes:
        env_ids: an index of the environments.
        has_row: bool (count, k): which players have a row.
        live: bool (count, k): which players act in the next step.
        ended: bool (count, k): whose own episode is over.
        unpaid: float64 (count, k): rewards of players that have no row.
        rows: of the players that are has_row in arrays (count * k, ...).
        rewards: float32 (rows,): the sum since each player's last row.
    """

    env_ids: Any
    has_row: Array
    live: Array
    ended: Array
    unpaid: Array
    rows: Array
    rewards: Array


class Latest:
    """The result that was made last; `is_taken` once the pool has handed it over.

    After Ctrl-C a batch is converted again, from the same rows before.
    """

    is_taken = False


class LivePlayers:
    """Rows of players of n environments, for environments that have the info `live`.

    A result has a row for each player that acts in the next step, and a last row for each player
    whose episode ends in this one. The reward of a row is the sum of the player's rewards since its
    last row. A step takes an action for each player that acts, or for each row of the last result:
    those of players that do not act are ignored.
    """

    def __init__(self, num_envs: int, num_players: int, action: Field, latest: Latest) -> None:
        """Makes rows for environments that were never reset.

        Args:
            num_envs: environments, n.
            num_players: of each environment, k.
            action: the field of one player's action.
            latest: if it is taken, the next use of this object takes its rows over.
        """
        self._k = num_players
        self._action = action
        shape = num_envs, num_players
        # before the first reset actions are ignored: any player may have one
        self._has_row: Array = np.ones(shape, np.bool_)
        self._live: Array = np.zeros(shape, np.bool_)
        self._ended: Array = np.zeros(shape, np.bool_)
        self._unpaid: Array = np.zeros(shape)
        self._all: Array = np.arange(num_envs)
        self._latest = latest
        # its rows; None if they have been taken over
        self._planned: RowPlan | None = None

    # --------------------------------------------------------------------------------- results --

    def plan(
        self,
        env_ids: Array,
        elapsed: Array,
        done: Array,
        live: Array,
        terminated: Array | None,
        rewards: Array,
    ) -> RowPlan:
        """Returns the rows of a result.

        Args:
            env_ids: the environments, (count,).
            elapsed: steps of their episodes, (count,); 0: the result is of a reset.
            done: whether their episodes are over, (count,).
            live, terminated: the infos, bool (count, k); terminated may be missing.
            rewards: float32 (count, k).
        """
        self._settle()
        index = self._index(env_ids)
        is_first = (elapsed == 0)[:, np.newaxis]
        over = done[:, np.newaxis]
        live = live & ~over
        # a player may rejoin within an episode
        ended = self._ended[index] & ~(is_first | live)
        unpaid = np.where(is_first, 0, self._unpaid[index]) + rewards
        ends = over if terminated is None else terminated | over
        has_row = live | (ends & ~ended)
        rows = np.flatnonzero(has_row)
        earned = unpaid.reshape(-1)[rows].astype(rewards.dtype)
        unpaid[has_row] = 0
        plan = RowPlan(index, has_row, live, (ended | ends) & ~live, unpaid, rows, earned)
        self._planned = plan
        return plan

    def _index(self, env_ids: Array) -> Any:
        """Returns an index of environments; a slice, which is quicker, for all in order."""
        is_all = len(env_ids) == len(self._all) and bool((env_ids == self._all).all())
        return slice(None) if is_all else env_ids

    def _settle(self) -> None:
        """Takes over the rows of a result that was handed over; the next actions are for these."""
        plan = self._planned
        if plan is None or not self._latest.is_taken:
            return
        ids = plan.env_ids
        self._has_row[ids], self._live[ids] = plan.has_row, plan.live
        self._ended[ids], self._unpaid[ids] = plan.ended, plan.unpaid
        self._planned, self._latest.is_taken = None, False

    # --------------------------------------------------------------------------------- actions --

    def arrange(
        self, action: Any, env_ids: Any, owners: Any, players: Any, *, is_async: bool
    ) -> tuple[Any, Any]:
        """Groups the actions of players by environment.

        Args:
            action: one row for each player that acts, or for each row of the last result.
            env_ids: the environments; None for all, or in an asynchronous pool for those that
                `owners` names.
            owners: the environment of each row's player; None: rows are in the order of env_ids,
                and in each environment in that of its players.
            players: the number of each row's player in its environment; None: in the rows of
                an environment, its players are in order.

        Returns:
            actions of shape (count, k, ...), zero for players that do not act; the environments.

        Raises:
            TypeError, ValueError: an environment is unknown or named twice, or a player that acts
                has no action, or one that does not act has one.
        """
        self._settle()
        rows = np.asarray(action)
        shape = self._action.shape
        if rows.ndim and not len(rows):
            # an empty list has no dtype
            rows = np.zeros((0, *shape), self._action.dtype)
        if rows.ndim == 0 or rows.shape[1:] != shape:
            raise ValueError(
                f"action has shape {rows.shape}: give rows of shape {shape}, one for each player"
                " that acts"
            )
        if owners is not None:
            owners = _integers("players.env_id", owners, len(rows))
            if env_ids is None and is_async:
                env_ids = np.unique(owners)
        ids = self._checked_ids(env_ids)
        if owners is not None:
            slots, rows = self._of_owners(rows, ids, owners, players)
        elif players is not None:
            raise TypeError("players.id is given without players.env_id: give both")
        else:
            slots = self._in_order(len(rows), ids)
        acts = self._live[self._index(ids)].reshape(-1)[slots]
        if not acts.all():
            slots, rows = slots[acts], rows[acts]
        arranged = np.zeros((len(ids) * self._k, *shape), rows.dtype)
        arranged[slots] = rows
        # None stays None, which the core takes for all
        return arranged.reshape(len(ids), self._k, *shape), env_ids

    def _checked_ids(self, env_ids: Any) -> Array:
        count = len(self._live)
        if env_ids is None:
            return self._all
        ids = np.atleast_1d(np.asarray(env_ids))
        if ids.dtype.kind not in "iu":
            raise TypeError(f"env_ids have dtype {ids.dtype}: give integers")
        if ids.ndim != 1 or not ids.size:
            raise ValueError(f"env_ids have shape {ids.shape}: give one axis, and 1 or more")
        _check_range("env_id", ids, count)
        if len(np.unique(ids)) != len(ids):
            raise ValueError(f"env_ids={ids.tolist()} name an environment twice: name each once")
        return ids

    def _in_order(self, count: int, ids: Array) -> Array:
        """Returns the place of each row, env * k + player, if rows are in order."""
        index = self._index(ids)
        live, has_row = self._live[index], self._has_row[index]
        for mask in (live, has_row):
            slots = np.flatnonzero(mask)
            if len(slots) == count:
                return slots
        raise ValueError(
            f"{count} actions for {len(ids)} environments: give one for each of the"
            f" {live.sum()} players that act, or for each of the {has_row.sum()} rows of their last"
            " results"
        )

    def _of_owners(
        self, rows: Array, ids: Array, owners: Array, players: Any
    ) -> tuple[Array, Array]:
        """Returns the place of each row, and the rows in the order of the places."""
        _check_range("players.env_id has env_id", owners, len(self._live))
        place: Array = np.full(len(self._live), -1)
        place[ids] = np.arange(len(ids))
        at = place[owners]
        if (at < 0).any():
            raise ValueError(
                f"players.env_id names environment {owners[np.argmin(at)]}, env_id {ids.tolist()}:"
                " name the same"
            )
        live, has_row = self._live[ids], self._has_row[ids]
        if players is not None:
            return self._of_players(at, _integers("players.id", players, len(rows)), ids), rows
        counts = np.bincount(at, minlength=len(ids))
        is_live = counts == live.sum(axis=1)
        wrong = np.flatnonzero(~is_live & (counts != has_row.sum(axis=1)))
        if wrong.size:
            self._refuse_count(int(ids[wrong[0]]), int(counts[wrong[0]]))
        order = np.argsort(at, kind="stable")
        return np.flatnonzero(np.where(is_live[:, np.newaxis], live, has_row)), rows[order]

    def _of_players(self, at: Array, players: Array, ids: Array) -> Array:
        k = self._k
        _check_range("players.id has", players, k)
        slots: Array = at * k + players
        counts = np.bincount(slots, minlength=len(ids) * k)
        live, has_row = self._live[ids].reshape(-1), self._has_row[ids].reshape(-1)
        missing = live & (counts == 0)
        wrong = np.flatnonzero((counts > 1) | missing | ((counts > 0) & ~has_row))
        if wrong.size:
            slot = int(wrong[0])
            self._refuse_player(int(ids[slot // k]), slot % k, int(counts[slot]))
        return slots

    def _refuse_player(self, env_id: int, player: int, count: int) -> NoReturn:
        whose = f"player {player} of environment {env_id}"
        if count == 0:
            raise ValueError(f"{whose} acts and has no action: give one")
        if count > 1:
            raise ValueError(f"{whose} has {count} actions: give one")
        acting = np.flatnonzero(self._live[env_id]).tolist()
        raise ValueError(f"{whose} does not act: give actions of players {acting}")

    def _refuse_count(self, env_id: int, count: int) -> NoReturn:
        live, has_row = (np.flatnonzero(m[env_id]).tolist() for m in (self._live, self._has_row))
        raise ValueError(
            f"environment {env_id} has {count} actions: give one for each of its players that act,"
            f" {live}, or for each row of its last result, {has_row}"
        )

    # ------------------------------------------------------------------------------- snapshots --

    def add_players(self, states: Sequence[bytes], env_ids: Sequence[int]) -> list[bytes]:
        """Returns snapshots of environments with what is known of their players."""
        return [state + self._record(i) for state, i in zip(states, env_ids, strict=True)]

    def _record(self, env_id: int) -> bytes:
        parts = [each[env_id].tobytes() for each in self._tables()]
        return MAGIC + b"".join(parts)

    def _tables(self) -> tuple[Array, ...]:
        self._settle()
        return self._has_row, self._live, self._ended, self._unpaid

    def split_players(self, states: Any) -> tuple[Any, list[bytes]]:
        """Returns the environments' own snapshots, and what is known of their players.

        Raises:
            ValueError: a snapshot is of another kind of pool.
        """
        if not isinstance(states, Sequence):
            # the core raises the error for these
            return states, []
        size = len(self._record(0))
        heads, records = [], []
        for i, state in enumerate(states):
            if not isinstance(state, bytes):
                heads.append(state)
                continue
            record = state[-size:]
            if not record.startswith(MAGIC):
                raise ValueError(
                    f"states[{i}] does not say which players act: give what get_state() of a pool"
                    " with Gymnasium's API returned"
                )
            heads.append(state[:-size])
            records.append(record)
        return heads, records

    def restore(self, records: Sequence[bytes], env_ids: Sequence[int]) -> None:
        """Takes over what is known of the players of environments."""
        for record, env_id in zip(records, env_ids, strict=True):
            begin = len(MAGIC)
            for table in self._tables():
                row = table[env_id]
                saved = np.frombuffer(record, row.dtype, self._k, begin)
                # a forged record may have bools that are neither 0 nor 1, which NumPy miscounts
                row[...] = saved.view(np.uint8) != 0 if row.dtype == np.bool_ else saved
                begin += row.nbytes

    def copy(self, env_id: int, env_ids: Sequence[int]) -> None:
        """Copies what is known of the players of one environment to those of others."""
        self.restore([self._record(env_id)] * len(env_ids), env_ids)


def _check_range(what: str, numbers: Array, count: int) -> None:
    """Raises ValueError for a number outside of 0 to count - 1."""
    wrong = (numbers < 0) | (numbers >= count)
    if wrong.any():
        raise ValueError(f"{what} {numbers[np.argmax(wrong)]}: choose 0 to {count - 1}")


def _integers(name: str, values: Any, count: int) -> Array:
    """Returns an array of one integer for each row; raises TypeError or ValueError."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}: give integers")
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}: give one value for each of {count} rows")
    if array.dtype == np.uint64 and (array > INT64_MAX).any():
        raise ValueError(f"{name} holds {array.max()}: choose integers of 64 bits")
    return array.astype(np.int64)
