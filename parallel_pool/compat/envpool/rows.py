"""Rows: makes EnvPool's observations and infos from the arrays of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool.buffers import engine_indices
from parallel_pool.compat.envpool.fields import field_name
from parallel_pool.pool import show_all

if TYPE_CHECKING:
    from parallel_pool.buffers import Array
    from parallel_pool.pool import Batch, Pool, Views

Step = tuple[Any, "Array", "Array", "Array", dict[str, Any]]
PLAIN = ["obs", "reward", "terminated", "truncated", "env_id", "elapsed_step"]


class Rows:
    """Maps EnvPool's names to the columns of one pool.

    Each row is an environment. With several players per environment, rewards and per-player fields
    have a row per player: those of the first environment, then those of the second, ...; and
    `info["players"]["env_id"]` is the environment of each row.

    Attributes:
        reward, terminated, truncated, step_type, discount: column indices, -1 for columns that the
            pool lacks.
        names: column indices by name; per-player infos have the prefix "players.".
        show: as `results`, but takes a batch's views; for `Pool.step_shown`.
    """

    __slots__ = (
        "_elapsed_step",
        "_env_id",
        "_infos",
        "_nested_infos",
        "_observations",
        "_per_player",
        "_players",
        "discount",
        "names",
        "reward",
        "show",
        "step_type",
        "terminated",
        "truncated",
    )

    def __init__(self, pool: Pool) -> None:
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
        self.show = self._show_any
        if spec.num_players == 1 and not self._observations and not self._nested_infos:
            plain = [column.name for column in pool.columns] == PLAIN
            self.show = self._show_plain if plain else self._show_infos

    def results(self, batch: Batch) -> Step:
        """Returns observations, rewards, terminated, truncated and infos.

        Observations are an array, or a dict if there are several. Infos are in EnvPool's order:
        env_id, players, the environment's own, elapsed_step.
        """
        # all in one function: with a single CartPole the time of each call is measurable
        if self._per_player:
            batch = self.flatten(batch)
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

    def _show_any(self, views: Views) -> Step:
        return self.results(show_all(views))

    def _show_infos(self, views: Views) -> Step:
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

    def _show_plain(self, views: Views) -> Step:
        """`results` for environments with one player, one observation and no infos."""
        observation, reward, terminated, truncated, env_id, elapsed_step = views
        ids = env_id()
        info = {"env_id": ids, "players": {"env_id": ids}, "elapsed_step": elapsed_step()}
        return observation(), reward(), terminated(), truncated(), info

    def flatten(self, batch: Batch) -> Batch:
        """Returns the batch with one row per player in per-player columns."""
        arrays = list(batch)
        for i in self._per_player:
            array = arrays[i]
            arrays[i] = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
        return tuple(arrays)

    def _tree(self, batch: Batch) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path, i in self._observations:
            _put(tree, path, batch[i])
        return tree


def _put(tree: dict[str, Any], path: list[str], array: Array) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = array
