"""DatasetStream: a Minari dataset that grows while it can be read.

Minari's own files are changed in place, so a program that dies may leave one that can't be read.
Here each group of episodes is a file of its own, `part_<n>.hdf5`, and Minari's main file links to
them. Files appear, and change, by renaming only: at any time the dataset holds whole episodes, the
first so many that were added. `finish` makes the main file out of the parts.

Episodes that HDF5 can't store are dropped, and `check_stored` tells the caller of the collector.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from parallel_pool._apis.minari import library
from parallel_pool._engine.arguments import check_count, quote
from parallel_pool.errors import ForkedError

if TYPE_CHECKING:
    import minari
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.spaces import Space
    from minari.data_collector.episode_buffer import EpisodeBuffer

# Minari's names of a dataset's files
MAIN = "main_data.hdf5"
METADATA = "metadata.json"
# steps that are kept before they are written
WRITE_EVERY = 100_000


class _Described(gymnasium.Env[Any, Any]):
    """What Minari needs to know of an environment, which is not made."""

    def __init__(self, observations: Space[Any], actions: Space[Any], spec: EnvSpec | None) -> None:
        self.observation_space, self.action_space, self.spec = observations, actions, spec


class DatasetStream:
    """Writes episodes to a new dataset of Minari's."""

    def __init__(
        self,
        dataset_id: str,
        observation_space: Space[Any],
        action_space: Space[Any],
        env_spec: EnvSpec | None = None,
        *,
        write_every: int = WRITE_EVERY,
        jpeg_encoding: bool = True,
        metadata: Mapping[str, Any],
    ) -> None:
        """Makes the dataset, without episodes.

        Args:
            dataset_id: which `minari.load_dataset` takes.
            observation_space, action_space: of one environment.
            env_spec: of one environment, for `recover_environment`.
            write_every: steps that are kept before they are written.
            jpeg_encoding: store pictures as JPEG files, which loses details, as Minari does.
            metadata: further arguments of `minari.create_dataset_from_buffers`.

        Raises:
            TypeError, ValueError: an argument is wrong, or there is such a dataset.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        self._library, self._pid = library.load(), os.getpid()
        check(dataset_id, observation_space, action_space)
        self._write_every = check_count("write_every", write_every, 1)
        self._spaces = {"observation_space": observation_space, "action_space": action_space}
        self._form = {"data_format": "hdf5", "jpeg_encoding": jpeg_encoding}
        env = _Described(observation_space, action_space, env_spec)
        made = _make(dataset_id, env=env, **self._form, **metadata)
        self._dataset_id = dataset_id
        self._storage = made.storage
        self._folder = Path(made.storage.data_path)
        self._describe = self._library.minari.EpisodeMetadataCallback()
        # not written yet, each with its environment
        self._waiting: list[tuple[int, EpisodeBuffer]] = []
        self._waiting_steps = 0
        self._has_tried = False
        # dropped: how many since the last `take_refusal`, and why the first of these
        self._dropped = 0
        self._refusal: tuple[str, Exception] | None = None
        # written: how many, their steps, and the parts with the number of episodes in each
        self._episodes = self._steps = 0
        self._parts: list[tuple[Path, int]] = []

    @property
    def is_own(self) -> bool:
        """Whether it was made by this process, and not by the one that this was forked from."""
        return os.getpid() == self._pid

    def add(self, episodes: Sequence[tuple[int, EpisodeBuffer]]) -> None:
        """Adds episodes, each with its environment; writes them if enough steps wait.

        The first ones are written at once: what HDF5 can't store is found early.
        """
        self._waiting += episodes
        self._waiting_steps += _steps(episodes)
        if self._waiting_steps >= self._write_every or not self._has_tried:
            self.write()

    def write(self) -> None:
        """Writes the episodes that wait; drops those that HDF5 can't store."""
        if not self._waiting:
            return
        self._has_tried = True
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as name:
            folder = Path(name)
            try:
                written = self._put(folder / "all")
            except MemoryError:
                raise
            except Exception:
                self._drop_refused(folder / "each")
                if not self._waiting:
                    return
                written = self._put(folder / "rest")
            self._append(written, folder)

    def _put(self, folder: Path) -> Any:
        """Returns a new storage in a folder, with the episodes that wait."""
        storage = self._library.storage.new(folder, **self._spaces, **self._form)
        storage.update_episodes([episode for _, episode in self._waiting])
        return storage

    def _append(self, storage: Any, spare: Path) -> None:
        """Makes a storage, which has the episodes that wait, a part of the dataset.

        Args:
            storage: of `_put`.
            spare: a folder for files that are not complete.
        """
        part = self._folder / f"part_{len(self._parts)}.hdf5"
        first, count = self._episodes, len(self._waiting)
        described = [
            {**self._describe({"rewards": episode.rewards}), "id": first + i}
            for i, (_, episode) in enumerate(self._waiting)
        ]
        storage.update_episode_metadata(described)
        os.replace(storage.data_path / MAIN, part)
        changed = shutil.copyfile(self._folder / MAIN, spare / "links")
        with self._library.h5py.File(changed, "a", track_order=True) as file:
            for i in range(count):
                name = f"episode_{first + i}"
                if name in file:
                    # an exception came before the last lines of this method
                    del file[name]
                file[name] = self._library.h5py.ExternalLink(part.name, f"episode_{i}")
        os.replace(changed, self._folder / MAIN)
        self._parts.append((part, count))
        self._episodes, self._steps = first + count, self._steps + self._waiting_steps
        self._waiting, self._waiting_steps = [], 0
        # only now are they part of the dataset
        self._write_metadata()

    def _drop_refused(self, folder: Path) -> None:
        """Drops those of the episodes that wait that HDF5 can't store, and notes why.

        Args:
            folder: for a storage in which each is tried.

        Raises:
            OSError: the disk is to blame, not an episode; none is dropped.
        """
        trial = self._library.storage.new(folder, **self._spaces, **self._form)
        kept: list[tuple[int, EpisodeBuffer]] = []
        refusals: list[tuple[str, Exception]] = []
        for i, episode in self._waiting:
            error = _try(trial, episode)
            if error is None:
                kept.append((i, episode))
                continue
            # the first is enough for the message
            if not refusals or isinstance(error, OSError):
                refusals.append((f"of environment {i}, {_fault(trial, episode, error)}", error))
        dropped = len(self._waiting) - len(kept)
        self._waiting, self._waiting_steps = kept, _steps(kept)
        if dropped:
            self._dropped += dropped
            self._refusal = self._refusal or refusals[0]

    def take_refusal(self) -> tuple[str, Exception] | None:
        """Returns once which episodes were dropped, and the first one's error; None for none."""
        if self._refusal is None:
            return None
        (which, error), count = self._refusal, self._dropped
        self._refusal, self._dropped = None, 0
        return (
            f"{count} {'episode was' if count == 1 else 'episodes were'} dropped, as HDF5 can't"
            f" store {'it' if count == 1 else 'them'} in the dataset {self._dataset_id}:"
            f" {'that' if count == 1 else 'the first'} {which} ({type(error).__name__}: {error})"
        ), error

    def _write_metadata(self) -> None:
        known = self._storage.read_raw_metadata(self._folder)
        known["total_episodes"], known["total_steps"] = self._episodes, self._steps
        known["dataset_size"] = self._storage.get_size()
        changed = self._folder / f"{METADATA}.new"
        changed.write_text(json.dumps(known))
        os.replace(changed, self._folder / METADATA)

    def finish(self) -> minari.MinariDataset:
        """Writes the episodes that wait, and one file in place of the parts.

        Returns:
            The dataset.

        Raises:
            ForkedError: the dataset belongs to another process.
        """
        self.check_own()
        self.write()
        if self._parts:
            self._merge()
            self._write_metadata()
        return self._library.minari.MinariDataset(self._folder)

    def check_own(self) -> None:
        """Raises ForkedError in a forked process, which would write into its parent's files."""
        if not self.is_own:
            raise ForkedError(
                f"the dataset {self._dataset_id} belongs to process {self._pid}, from which this"
                " one was forked: record another one here"
            )

    def _merge(self) -> None:
        """Copies the episodes of the parts, as they are, to the main file."""
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as folder:
            merged = Path(folder) / MAIN
            with self._library.h5py.File(merged, "w", track_order=True) as file:
                at = 0
                for part, count in self._parts:
                    with self._library.h5py.File(part, "r") as own:
                        for i in range(count):
                            own.copy(f"episode_{i}", file, name=f"episode_{at + i}")
                    at += count
            os.replace(merged, self._folder / MAIN)
        parts, self._parts = self._parts, []
        for part, _ in parts:
            part.unlink()

    def remove(self) -> None:
        """Removes the dataset, to which nothing has been added."""
        shutil.rmtree(self._folder.parent)


def _make(dataset_id: str, **arguments: Any) -> minari.MinariDataset:
    """Makes a dataset without episodes; of one that Minari refuses nothing is left."""
    known = library.load()
    folder = known.path_of(dataset_id)
    was_there = folder.exists()
    try:
        return known.minari.create_dataset_from_buffers(dataset_id, [], **arguments)
    except BaseException as error:
        # another program may make the same one in this moment
        is_ours = not isinstance(error, FileExistsError) and "already exists" not in str(error)
        if is_ours and not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _steps(episodes: Sequence[tuple[int, EpisodeBuffer]]) -> int:
    return sum(len(episode) for _, episode in episodes)


def _try(storage: Any, episode: EpisodeBuffer) -> Exception | None:
    """Writes an episode to a storage; returns the error if that fails, else None."""
    try:
        storage.update_episodes([episode])
    except MemoryError:
        raise
    except Exception as error:
        return error
    return None


def _fault(storage: Any, episode: EpisodeBuffer, error: Exception) -> str:
    """Returns for which part an episode is refused, and what helps.

    Args:
        storage: in which parts are tried.
        episode: which is refused.
        error: of the episode.

    Raises:
        OSError: the error, if the disk is to blame: it refuses all.
    """
    bare = replace(episode, options=None, infos={})
    stored = "numbers, texts, and arrays of these"
    if _try(storage, bare) is None:
        infos = episode.infos or {}
        names = [n for n in infos if _try(storage, replace(bare, infos={n: infos[n]})) is not None]
        if names:
            return f"for the infos {names}: record {stored} only, by record_infos=[...]"
        return f"for the options {quote(episode.options)} of its reset: give {stored}"
    if isinstance(error, OSError):
        raise error
    return "for its observations, actions or seed: give spaces and seeds that fit"


def check_stored(streams: Iterable[DatasetStream], what: str) -> None:
    """Raises once for episodes that were dropped.

    Args:
        streams: which may have dropped some.
        what: the method whose caller is told.

    Raises:
        ValueError: which were dropped, why, and what helps.
    """
    refusals = [found for stream in streams if (found := stream.take_refusal()) is not None]
    if refusals:
        raise ValueError(
            f"{'; '.join(message for message, _ in refusals)}; all others are kept: call {what}()"
            " again to go on"
        ) from refusals[0][1]


def check(dataset_id: str, *spaces: Space[Any]) -> None:
    """Refuses what Minari refuses only after it has made a folder for the dataset.

    Raises:
        ValueError: a dataset can't have this id.
        NotImplementedError: Minari can't store such a space.
    """
    known = library.load()
    try:
        known.parse_id(dataset_id)
    except TypeError:
        # what Minari raises if there is no version
        raise ValueError(
            f"dataset_id={quote(dataset_id)}: give a name with a version, such as name-v0"
        ) from None
    for space in spaces:
        known.write_space(space)
