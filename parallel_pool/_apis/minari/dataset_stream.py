"""DatasetStream: a Minari dataset that grows while it can be read.

Minari's own files are changed in place, so a program that dies may leave one that can't be read.
Here each group of episodes is a file of its own, `part_<n>.hdf5`, and Minari's main file links to
them. Files appear, and change, by renaming only: at any time the dataset holds whole episodes, the
first so many that were added. `finish` makes the main file out of the parts.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from parallel_pool._apis.minari import library
from parallel_pool._engine.arguments import check_count, quote

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
        self._library = library.load()
        check(dataset_id, observation_space, action_space)
        self._write_every = check_count("write_every", write_every, 1)
        self._spaces = {"observation_space": observation_space, "action_space": action_space}
        self._form = {"data_format": "hdf5", "jpeg_encoding": jpeg_encoding}
        made = self._library.minari.create_dataset_from_buffers(
            dataset_id,
            [],
            env=_Described(observation_space, action_space, env_spec),
            **self._form,
            **metadata,
        )
        self._storage = made.storage
        self._folder = Path(made.storage.data_path)
        self._describe = self._library.minari.EpisodeMetadataCallback()
        # not written yet
        self._waiting: list[EpisodeBuffer] = []
        self._waiting_steps = 0
        # written: how many, their steps, and the parts with the number of episodes in each
        self._episodes = self._steps = 0
        self._parts: list[tuple[Path, int]] = []

    def add(self, episodes: Sequence[EpisodeBuffer]) -> None:
        """Adds episodes; writes them if enough steps wait."""
        self._waiting += episodes
        self._waiting_steps += sum(map(len, episodes))
        if self._waiting_steps >= self._write_every:
            self.write()

    def write(self) -> None:
        """Writes the episodes that wait."""
        if not self._waiting:
            return
        part = self._folder / f"part_{len(self._parts)}.hdf5"
        first, count = self._episodes, len(self._waiting)
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as folder:
            storage = self._library.storage.new(folder, **self._spaces, **self._form)
            storage.update_episodes(self._waiting)
            described = [
                {**self._describe({"rewards": episode.rewards}), "id": first + i}
                for i, episode in enumerate(self._waiting)
            ]
            storage.update_episode_metadata(described)
            os.replace(Path(folder) / MAIN, part)
            changed = shutil.copyfile(self._folder / MAIN, Path(folder) / "links")
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
        """
        self.write()
        if self._parts:
            self._merge()
            self._write_metadata()
        return self._library.minari.MinariDataset(self._folder)

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
