"""ResultBuilder: makes EnvPool's observations and infos from the arrays of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.envpool.fields import field_name, mark
from parallel_pool._apis.envpool.live_players import Latest, LivePlayers
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.pool import all_arrays

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array, Observations
    from parallel_pool._engine.pool import Batch, Pool, Views

Step = tuple["Observations", "Array", "Array", "Array", dict[str, Any]]
PLAIN = ["obs", "reward", "terminated", "truncated", "env_id", "elapsed_step"]


class ResultBuilder:
    """Maps EnvPool's names to the columns of one pool.

    Each row is an environment. With several players per environment, rewards and per-player fields
    have a row per player: those of the first environment, then those of the second, ...; and
    `info["players"]["env_id"]` is the environment of each row. With `live_players`, not all players
    have a row, and `info["players"]["id"]` is the player of each.

    Attributes:
        reward, terminated, truncated, step_type, discount: column indices, -1 for columns that the
            pool lacks.
        names: column indices by name; per-player infos have the prefix "players.".
        convert: as `results`, but takes a batch's views; for `Pool.step_as`.
        latest: once the pool has handed over what `convert` returned, `latest.is_taken = True` is
            due.
        live_players: which players have rows; None: all of them, always.
    """

    __slots__ = (
        "_elapsed_step",
        "_ended",
        "_env_id",
        "_infos",
        "_live",
        "_nested_infos",
        "_observations",
        "_per_player",
        "_players",
        "convert",
        "discount",
        "latest",
        "live_players",
        "names",
        "reward",
        "step_type",
        "terminated",
        "truncated",
    )

    def __init__(self, pool: Pool, *, hides_players: bool = True) -> None:
        """Reads the columns.

        Args:
            pool: its arrays.
            hides_players: whether players without a turn have no row, if the environments say who
                acts (the info `live`).

        Raises:
            ValueError: an info of players has the name of one of these rows.
        """
        spec = pool.spec
        engine = engine_indices(pool.columns)
        self.reward = engine["reward"]
        self.terminated = engine["terminated"]
        self.truncated = engine["truncated"]
        self.step_type = engine.get("step_type", -1)
        self.discount = engine.get("discount", -1)
        self._env_id = engine["env_id"]
        self._elapsed_step = engine["elapsed_step"]
        # with one player per environment, both are the same array
        self._players = engine.get("players.env_id", self._env_id)

        names = [field_name(field, spec.num_players) for field in spec.fields]
        self.names = {
            "env_id": self._env_id,
            "players.env_id": self._players,
            **{name: i for i, name in enumerate(names)},
        }
        count = len(spec.observations)
        self._observations = [] if count == 1 else [(names[i].split("."), i) for i in range(count)]
        infos = [(names[i], i) for i in range(count, len(names))]
        self._infos = [(name, i) for name, i in infos if "." not in name]
        self._nested_infos = [(name.split("."), i) for name, i in infos if "." in name]
        self._per_player = [
            i
            for i, column in enumerate(pool.columns)
            if spec.num_players > 1
            and (
                spec.fields[column.field].per_player
                if column.field >= 0
                else column.name in ("reward", "players.env_id")
            )
        ]
        # the infos live and ended; observations and infos are the first columns
        self._live, self._ended = mark(spec.fields, "live"), mark(spec.fields, "ended")
        self.latest = Latest()
        self.live_players: LivePlayers | None = None
        if hides_players and spec.num_players > 1 and self._live >= 0:
            if "players.id" in names:
                raise ValueError(
                    f"{pool.definition.id} has an info 'id' of players, which is the name of the"
                    " players' numbers in its rows: rename it"
                )
            size = pool.num_envs, spec.num_players
            self.live_players = LivePlayers(*size, spec.action, self.latest)
        self.convert = self._convert_any
        if spec.num_players == 1 and not self._observations and not self._nested_infos:
            plain = [column.name for column in pool.columns] == PLAIN
            self.convert = self._convert_plain if plain else self._convert_infos

    def results(self, batch: Batch) -> Step:
        """Returns observations, rewards, terminated, truncated and infos.

        Observations are an array, or a dict if there are several. Infos are in EnvPool's order:
        env_id, players, the environment's own, elapsed_step.

        Args:
            batch: that the pool has handed over.
        """
        step = self._converted(batch)
        self.latest.is_taken = True
        return step

    def _converted(self, batch: Batch) -> Step:
        if self.live_players is not None:
            return self._live_results(batch, self.live_players)
        return self._results(self.flatten(batch) if self._per_player else batch)

    def _results(self, batch: Batch) -> Step:
        # all in one function: with a single CartPole the time of each call is measurable
        info: dict[str, Any] = {
            "env_id": batch[self._env_id],
            "players": {"env_id": batch[self._players]},
        }
        for name, i in self._infos:
            info[name] = batch[i]
        for path, i in self._nested_infos:
            _put(info, path, batch[i])
        info["elapsed_step"] = batch[self._elapsed_step]
        return (
            self._tree(batch) if self._observations else batch[0],
            batch[self.reward],
            batch[self.terminated],
            batch[self.truncated],
            info,
        )

    def _live_results(self, batch: Batch, players: LivePlayers) -> Step:
        """`results` for environments whose players do not all have rows."""
        done = batch[self.terminated] | batch[self.truncated]
        plan = players.plan(
            batch[self._env_id],
            batch[self._elapsed_step],
            done,
            batch[self._live],
            None if self._ended < 0 else batch[self._ended],
            batch[self.reward],
        )
        count = plan.live.shape[1]
        arrays = list(self.flatten(batch))
        # nobody acts in the step that resets an environment
        arrays[self._live] = plan.live.reshape(-1)
        for i in self._per_player:
            arrays[i] = arrays[i][plan.rows]
        arrays[self.reward] = plan.rewards
        step = self._results(tuple(arrays))
        step[4]["players"]["id"] = (plan.rows % count).astype(np.int32)
        return step

    def _convert_any(self, views: Views) -> Step:
        return self._converted(all_arrays(views))

    def _convert_infos(self, views: Views) -> Step:
        """`results` for environments with one player, one observation and flat infos."""
        ids = views[self._env_id]()
        info = {"env_id": ids, "players": {"env_id": ids}}
        for name, i in self._infos:
            info[name] = views[i]()
        info["elapsed_step"] = views[self._elapsed_step]()
        return (
            views[0](),
            views[self.reward](),
            views[self.terminated](),
            views[self.truncated](),
            info,
        )

    def _convert_plain(self, views: Views) -> Step:
        """`results` for environments with one player, one observation and no infos."""
        observation, reward, terminated, truncated, env_id, elapsed_step = views
        ids = env_id()
        info = {"env_id": ids, "players": {"env_id": ids}, "elapsed_step": elapsed_step()}
        return observation(), reward(), terminated(), truncated(), info

    def flatten(self, batch: Batch) -> Batch:
        """Returns the batch with one row per player in per-player columns."""
        arrays = list(batch)
        for i in self._per_player:
            arrays[i] = _joined(arrays[i], 0)
        return tuple(arrays)

    def observations(self, arrays: Sequence[Array], axis: int = 0) -> Observations:
        """Returns the observations among arrays of columns, as `results` does.

        Args:
            arrays: of the pool's columns, or of the first ones, which are observations.
            axis: that of environments: 1 in arrays of many steps.
        """
        own = [
            _joined(array, axis) if i in self._per_player else array
            for i, array in enumerate(arrays[: max(1, len(self._observations))])
        ]
        return self._tree(tuple(own)) if self._observations else own[0]

    def _tree(self, batch: Batch) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path, i in self._observations:
            _put(tree, path, batch[i])
        return tree


def _joined(array: Array, axis: int) -> Array:
    """Returns an array with one axis in place of those of environments and players."""
    shape = array.shape
    return array.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def _put(tree: dict[str, Any], path: list[str], array: Array) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = array
