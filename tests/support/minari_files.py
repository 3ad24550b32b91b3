"""What is in the files of Minari's datasets, and what Minari's own collector writes to them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import minari
import numpy as np

from tests.support.same import assert_same

# in the options of a reset: Minari's collector draws no seed
UNSEEDED = "minari_autoseed"


def contents(folder: Path) -> list[dict[str, Any]]:
    """Returns the episodes of a dataset: all arrays, attributes and properties of the file."""
    with h5py.File(folder / "data" / "main_data.hdf5", "r") as file:
        assert set(file) == {f"episode_{i}" for i in range(len(file))}
        episodes = [_read(file[f"episode_{i}"]) for i in range(len(file))]
    for i, episode in enumerate(episodes):
        assert episode["attributes"].pop("id") == i
        episode["attributes"].pop(f"options/{UNSEEDED}", None)
    return episodes


def _read(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"attributes": dict(sorted(node.attrs.items()))}
    if isinstance(node, h5py.Group):
        return found | {name: _read(node[name]) for name in sorted(node)}
    form = str(node.dtype), h5py.check_string_dtype(node.dtype), node.chunks, node.maxshape
    return found | {"form": form, "values": node[()]}


def metadata(folder: Path) -> dict[str, Any]:
    """Returns the metadata of a dataset, without its name and size."""
    found: dict[str, Any] = json.loads((folder / "data" / "metadata.json").read_text())
    assert found.pop("dataset_size") >= 0
    found.pop("dataset_id")
    return found


class Singles:
    """Minari's own collectors, each around one environment."""

    def __init__(self, env_fns: Iterable[Any], **options: Any) -> None:
        self.envs = [minari.DataCollector(make(), **options) for make in env_fns]
        # environments in the order in which their episodes end, and steps of the present ones
        self.order: list[int] = []
        self._steps = [0] * len(self.envs)

    def reset(self, i: int, seed: int | None = None, options: Any = None) -> None:
        """Resets an environment; an episode that this cuts off ends."""
        own = options if seed is not None else {**(options or {}), UNSEEDED: False}
        self._end(i)
        self.envs[i].reset(seed=seed, options=own)

    def step(self, i: int, action: Any) -> None:
        """Steps an environment."""
        *_, terminated, truncated, _ = self.envs[i].step(action)
        self._steps[i] += 1
        if terminated or truncated:
            self._end(i)

    def _end(self, i: int) -> None:
        if self._steps[i]:
            self.order.append(i)
        self._steps[i] = 0

    def drop_last(self, i: int) -> None:
        """Does not expect the episode of an environment that ended last."""
        at = len(self.order) - 1 - self.order[::-1].index(i)
        self.order[at] = -1

    def finish(self, root: Path, **metadata: Any) -> list[dict[str, Any]]:
        """Returns the episodes of all environments, in the order in which they ended."""
        for i in range(len(self.envs)):
            self._end(i)
        kept: list[list[dict[str, Any]]] = []
        for i, env in enumerate(self.envs):
            env.create_dataset(f"single/env_{i}-v0", **metadata)
            kept.append(contents(root / "single" / f"env_{i}-v0"))
            env.close()
        each = [iter(own) for own in kept]
        return [next(each[i]) for i in self.order]


def assert_same_episodes(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Fails unless episodes are the same, bit by bit; says which differs."""
    assert len(found) == len(expected)
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert_same(one, other, f"episode {i}")


def action_of(space: gymnasium.Space[Any], actions: Any, i: int) -> Any:
    """Returns one environment's action of a batch."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: action_of(part, actions[key], i) for key, part in space.spaces.items()}
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(action_of(p, a, i) for p, a in zip(space.spaces, actions, strict=True))
    value = actions[i]
    return np.asarray(value) if np.ndim(value) else value


def assert_whole(episode: Any) -> None:
    """Fails unless an episode of a dataset has an end, and only one."""
    ends = episode.terminations | episode.truncations
    assert ends[-1] and not ends[:-1].any()


def assert_leaves_whole_episodes(program: str) -> None:
    """Runs a program that records to killed-v0 and kills itself; fails unless that is whole."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    dataset = minari.load_dataset("killed-v0")
    lengths = [len(episode.rewards) for episode in dataset]
    assert len(lengths) == dataset.total_episodes > 2
    assert sum(lengths) == dataset.total_steps
    for episode in dataset:
        assert_whole(episode)
