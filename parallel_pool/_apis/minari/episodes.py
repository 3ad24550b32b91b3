"""Episodes: steps of many environments, put together to the episodes of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Space, Tuple

from parallel_pool._apis.common.vector_infos import FINAL_KEYS, rows_of
from parallel_pool._apis.minari import library
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._workers.data.messages import RESTARTED
from parallel_pool._workers.data.spaces import map_space

if TYPE_CHECKING:
    from minari.data_collector.episode_buffer import EpisodeBuffer

    from parallel_pool._apis.minari.dataset_stream import DatasetStream
    from parallel_pool._apis.minari.starts import Start
    from parallel_pool._engine.buffers import Array

    # of one environment, or of one agent
    Info = Mapping[str, Any]
    # dtypes of the columns of a step
    Kind = tuple[np.dtype[Any], ...]

# bytes of the steps that all environments share; longer episodes have arrays of their own
BLOCK_BYTES = 4_000_000
# infos that pools add
NOT_RECORDED = {*FINAL_KEYS, *RESTARTED}
# rewards, terminations and truncations, after the arrays of observations and actions
ENGINE_COLUMNS = 3


@dataclass
class Episode:
    """An episode that has begun.

    Attributes:
        start: its seed and options.
        first: the columns of its first observation, one row each.
        pieces: of the columns, its steps that are no longer in the block.
        infos: its infos, the first ones included; none if they are not recorded.
        kinds: the dtypes that its steps came with; none if those of all episodes have the same.
    """

    start: Start
    first: list[Array]
    pieces: list[list[Array]] = field(default_factory=list)
    infos: list[Info] = field(default_factory=list)
    kinds: set[Kind] = field(default_factory=set)


class Episodes:
    """The episodes of n environments with the same spaces.

    Steps go to a block, one array for each part of the spaces. Each environment has as many rows of
    it, and its own next row, as it may make more steps than others. An episode that ends takes its
    rows.

    The block has dtypes that hold all steps. An episode gets those that NumPy finds for its own
    steps, as in a dataset of Minari's collector: actions have the dtype that the agent gave them.
    """

    def __init__(
        self,
        stream: DatasetStream,
        num_envs: int,
        observation_space: Space[Any],
        action_space: Space[Any],
        infos: bool | tuple[str, ...],
    ) -> None:
        """
        Args:
            stream: gets the episodes that have ended.
            num_envs: environments, n.
            observation_space, action_space: of one environment.
            infos: what `check_infos` returns.
        """
        self._stream = stream
        self._num_envs = num_envs
        self._observation_space, self._action_space = observation_space, action_space
        self._names = infos
        self._open: list[Episode | None] = [None] * num_envs
        self._is_open: Array = np.zeros(num_envs, np.bool_)
        self._all: Array = np.arange(num_envs)
        self._block: list[Array] = []
        # of each environment: those of i begin at i * rows
        self._rows = 0
        # dtypes of the last step, and whether others came before
        self._kind: Kind = ()
        self._is_mixed = False
        # by environment: the row of its next step; 0 if it has no episode
        self._next: Array = np.zeros(num_envs, np.intp)

    @property
    def has_infos(self) -> bool:
        """Whether infos are recorded."""
        return bool(self._names)

    @property
    def is_open(self) -> Array:
        """Which environments have an episode, bool (n,)."""
        return self._is_open.copy()

    def begin(
        self,
        starts: Mapping[int, Start],
        observations: Any,
        infos: Sequence[Info],
        env_ids: Array | None = None,
    ) -> None:
        """Begins episodes, in place of those that the environments have.

        Args:
            starts: by row of the observations.
            observations: (rows, ...), or a tree of such arrays.
            infos: of each row.
            env_ids: the environment of each row, integers (rows,); None for all, in order.
        """
        if not starts:
            return
        columns = _columns(self._observation_space, observations)
        for row, start in starts.items():
            i = row if env_ids is None else int(env_ids[row])
            first = [column[row : row + 1].copy() for column in columns]
            kept = [self._chosen(infos[row])] if self._names else []
            self._open[i] = Episode(start, first, infos=kept)
            self._is_open[i], self._next[i] = True, 0

    def add(
        self,
        actions: Any,
        observations: Any,
        finals: Mapping[int, Any],
        rewards: Array,
        terminations: Array,
        truncations: Array,
        infos: Sequence[Info],
        env_ids: Array | None = None,
    ) -> None:
        """Adds a step to the episodes of environments, if they have one.

        Args:
            actions: (rows, ...), or a tree of such arrays; or a list of actions.
            observations: after the step, (rows, ...), or a tree of such arrays.
            finals: by row, of those whose episode has ended, in place of those observations.
            rewards: (rows,); float64 in the dataset.
            terminations, truncations: bool (rows,).
            infos: of each row.
            env_ids: as of `begin`.
        """
        ids = self._all if env_ids is None else env_ids
        if not self._is_open[ids].any():
            return
        seen = _columns(self._observation_space, observations)
        done = _columns(self._action_space, self._batched(actions))
        columns = [*seen, *done, np.asarray(rewards, np.float64), terminations, truncations]
        kind = tuple([column.dtype for column in columns])
        if kind != self._kind:
            self._change_kind(kind, columns)
        for i in ids[self._next[ids] == self._rows].tolist():
            self._cut(i)
        # one index is several times as fast as two
        places = ids * self._rows + self._next[ids]
        for array, column in zip(self._block, columns, strict=True):
            array[places] = column
        for row, final in finals.items():
            parts = _parts(self._observation_space, final)
            for array, part in zip(self._block[: len(parts)], parts, strict=True):
                array[places[row]] = part
        self._next[ids] += self._is_open[ids]
        if self._is_mixed:
            self._note_kind(ids)
        if self._names:
            for i, info in zip(ids.tolist(), infos, strict=True):
                episode = self._open[i]
                if episode is not None:
                    self._add_info(episode, info)

    def end(self, env_ids: Iterable[int]) -> None:
        """Ends the episodes that these environments have, and gives them to the stream.

        An episode that its environment did not end counts as truncated. One without steps is
        dropped.
        """
        ended = []
        for i in env_ids:
            episode = self._open[i]
            if episode is not None:
                self._cut(i)
                self.drop([i])
                if episode.pieces:
                    ended.append((i, self._buffer(episode)))
        self._stream.add(ended)

    def drop(self, env_ids: Iterable[int]) -> None:
        """Drops the episodes that these environments have."""
        for i in env_ids:
            self._open[i] = None
            self._is_open[i], self._next[i] = False, 0

    # ---------------------------------------------------------------------------------- columns --

    def _batched(self, actions: Any) -> Any:
        """Returns the actions of a tree of spaces as a tree of columns, if they are n actions."""
        space = self._action_space
        is_tree = isinstance(space, (Dict, Tuple))
        if not is_tree or isinstance(actions, (Mapping, tuple)):
            return actions
        return map_space(lambda _, *each: list(each), space, *actions)

    def _change_kind(self, kind: Kind, columns: Sequence[Array]) -> None:
        """Makes the block hold columns of these dtypes, too."""
        if self._block:
            if not self._is_mixed:
                self._is_mixed = True
                self._note_kind(self._all)
            held = [array.dtype for array in self._block]
            both = [np.promote_types(*each) for each in zip(held, kind, strict=True)]
            if both != held:
                for i in range(self._num_envs):
                    self._cut(i)
                self._make_block(columns, both)
        else:
            self._make_block(columns, kind)
        self._kind = kind

    def _note_kind(self, env_ids: Array) -> None:
        """Notes the dtypes of the last step in the episodes of environments that have steps."""
        for i in env_ids.tolist():
            episode = self._open[i]
            if episode is not None and (self._next[i] or episode.pieces):
                episode.kinds.add(self._kind)

    def _make_block(self, columns: Sequence[Array], dtypes: Sequence[np.dtype[Any]]) -> None:
        """Makes the block, for columns of this form, with these dtypes."""
        rows = [
            np.empty(column.shape[1:], dtype) for column, dtype in zip(columns, dtypes, strict=True)
        ]
        size = sum(row.nbytes for row in rows) * self._num_envs
        self._rows = max(8, min(256, BLOCK_BYTES // size))
        count = self._rows * self._num_envs
        self._block = [np.empty((count, *row.shape), row.dtype) for row in rows]

    def _cut(self, i: int) -> None:
        """Copies the steps of an environment's episode in the block to arrays of its own."""
        episode, count = self._open[i], int(self._next[i])
        if episode is not None and count:
            rows = slice(i * self._rows, i * self._rows + count)
            episode.pieces.append([array[rows].copy() for array in self._block])
            self._next[i] = 0

    def _buffer(self, episode: Episode) -> EpisodeBuffer:
        """Returns an episode as Minari has it."""
        columns = [np.concatenate(pieces) for pieces in zip(*episode.pieces, strict=True)]
        if episode.kinds:
            dtypes = [np.result_type(*each) for each in zip(*episode.kinds, strict=True)]
            columns = [c.astype(own, copy=False) for c, own in zip(columns, dtypes, strict=True)]
        rewards, terminations, truncations = columns[-ENGINE_COLUMNS:]
        if not terminations[-1]:
            truncations[-1] = True
        count = len(episode.first)
        observations = iter(
            np.concatenate([first, column])
            for first, column in zip(episode.first, columns[:count], strict=True)
        )
        actions = iter(columns[count:-ENGINE_COLUMNS])
        buffer: EpisodeBuffer = library.load().buffer(
            seed=episode.start.seed,
            options=episode.start.options,
            observations=map_space(lambda _: next(observations), self._observation_space),
            actions=map_space(lambda _: next(actions), self._action_space),
            rewards=rewards,
            terminations=terminations,
            truncations=truncations,
            infos=_infos_by_name(episode.infos) if episode.infos else {},
        )
        return buffer

    # ------------------------------------------------------------------------------------ infos --

    def _chosen(self, info: Info) -> Info:
        """Returns those infos that are recorded."""
        if self._names is True:
            return info
        assert not isinstance(self._names, bool)
        for name in self._names:
            if name not in info:
                raise ValueError(
                    f"record_infos names {quote(name)}, which is not among the infos"
                    f" {list(info)}: name infos that every step and every reset has"
                )
        return {name: info[name] for name in self._names}

    def _add_info(self, episode: Episode, info: Info) -> None:
        chosen, first = self._chosen(info), episode.infos[0]
        if _names_in(chosen) != _names_in(first):
            raise ValueError(
                f"infos {list(chosen)} follow infos {list(first)}: Minari stores an info only if"
                " every step and the reset have it: name such infos by record_infos=[...]"
            )
        episode.infos.append(chosen)


def check_infos(infos: Any) -> bool | tuple[str, ...]:
    """Returns whether infos are recorded, or the names of those that are.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(infos, (bool, np.bool_)):
        return bool(infos)
    if isinstance(infos, str) or not isinstance(infos, Sequence):
        raise TypeError(
            f"record_infos={quote(infos)} is {a_type(infos)}: give True, False, or a list of names"
        )
    return tuple(infos)


def _parts(space: Space[Any], tree: Any) -> list[Any]:
    """Returns what a tree has for each part of a space."""
    found: list[Any] = []
    map_space(lambda _, part: found.append(part), space, tree)
    return found


def _columns(space: Space[Any], batch: Any) -> list[Array]:
    """Returns an array (n, ...) for each part of a space."""
    return [_column(part) for part in _parts(space, batch)]


def _column(values: Any) -> Array:
    """Returns one value for each environment as an array."""
    if isinstance(values, np.ndarray):
        # HDF5 takes strings of Python's, not NumPy's texts
        return values.astype(object) if values.dtype.kind in "TU" else values
    if len(values) and isinstance(values[0], str):
        texts: Array = np.empty(len(values), object)
        texts[:] = values
        return texts
    return np.asarray(values)


def _names_in(info: Info) -> Any:
    """Returns the names of infos, at any depth, without their order."""
    return {
        name: _names_in(value) if isinstance(value, Mapping) else None
        for name, value in info.items()
    }


def _infos_by_name(infos: Sequence[Info]) -> dict[str, Any]:
    """Returns infos of steps as one list for each name; all have the same names."""
    return {
        name: _infos_by_name([info[name] for info in infos])
        if isinstance(value, Mapping)
        else [info[name] for info in infos]
        for name, value in infos[0].items()
    }


def rows_of_infos(infos: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Returns the infos of each environment, as they are, without those about episodes and workers.

    Args:
        infos: in the form of Gymnasium's vector environments.
        count: environments.
    """
    return rows_of(infos, count, NOT_RECORDED, as_is=True)
