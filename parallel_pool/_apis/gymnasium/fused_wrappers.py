"""Applies fused wrappers to the arrays of a step: clips rewards, and records episodes."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from parallel_pool._apis.common.vector_infos import put, spread
from parallel_pool._apis.gymnasium.fusion import Chain, Clip, Limit, Statistics
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.buffers import Array, engine_indices
from parallel_pool._engine.pool import Batch, Pool


class EpisodeRecorder:
    """RecordEpisodeStatistics for all environments at once.

    Attributes:
        key: of its infos.
        attributes: the wrapper's attributes by name; a tuple of one value per environment each.
    """

    def __init__(self, made_of: Statistics, num_envs: int, sees_truncation: bool) -> None:
        """
        Args:
            made_of: the wrapper's arguments.
            num_envs: environments.
            sees_truncation: False if the time limit that truncates is a wrapper outside this one.
        """
        self.key = made_of.key
        self._sees_truncation = sees_truncation
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        self._starts = np.full(num_envs, -1.0)
        self._counts = np.zeros(num_envs, np.int64)
        self._queues = {
            name: [deque[Any](maxlen=made_of.buffer_length) for _ in range(num_envs)]
            for name in ("r", "l", "t")
        }

    @property
    def attributes(self) -> dict[str, tuple[Any, ...]]:
        return {
            "return_queue": tuple(self._queues["r"]),
            "length_queue": tuple(self._queues["l"]),
            "time_queue": tuple(self._queues["t"]),
            "episode_count": tuple(self._counts.tolist()),
            "episode_returns": tuple(self._returns.tolist()),
            "episode_lengths": tuple(self._lengths.tolist()),
            "episode_start_time": tuple(self._starts.tolist()),
        }

    def begin(self, mask: Array) -> None:
        """Begins an episode in the environments of the mask."""
        self._returns[mask] = 0
        self._lengths[mask] = 0
        self._starts[mask] = time.perf_counter()

    def count(self, rewards: Array, lengths: Array) -> None:
        """Adds a step's rewards; `lengths` are the episodes' steps so far, 0 after a reset."""
        began = lengths == 0
        if began.any():
            self.begin(began)
        # also at length 1: the batch of a reset that raised did not pass through here
        self._returns[lengths <= 1] = 0
        self._returns += rewards
        np.copyto(self._lengths, lengths)

    def end(self, terminated: Array, truncated: Array) -> dict[str, Any]:
        """Returns infos of the episodes that have ended for this wrapper (see sees_truncation)."""
        ended = terminated | truncated if self._sees_truncation else terminated
        infos: dict[str, Any] = {}
        if not ended.any():
            return infos
        now = time.perf_counter()
        episodes = {
            "r": self._returns[ended],
            "l": self._lengths[ended],
            # NumPy does not always round as Python does
            "t": np.array([round(now - start, 6) for start in self._starts[ended].tolist()]),
        }
        self._starts[ended] = now
        self._counts[ended] += 1
        info: dict[str, Any] = {}
        env_ids = np.flatnonzero(ended).tolist()
        for name, values in episodes.items():
            # each mask is a copy: users may write to it
            put(info, name, spread(values, ended), ended.copy())
            for env_id, value in zip(env_ids, values.tolist(), strict=True):
                self._queues[name][env_id].append(value)
        infos[self.key], infos[f"_{self.key}"] = info, ended
        return infos


class FusedWrappers:
    """The wrappers of a chain that act on a step, applied to one pool's batches.

    Time limits do not: the smallest of them is the pool's own limit.
    """

    def __init__(self, chain: Chain, pool: Pool, own_limit: int | None) -> None:
        """
        Args:
            chain: the wrappers.
            pool: the environments, with the chain's time limit.
            own_limit: time limit in steps inside these wrappers; 0 or None for none.

        Raises:
            ValueError: a stats_key is the name of an info of the environments.
        """
        engine = engine_indices(pool.columns)
        self._reward, self._terminated, self._truncated, self._length = (
            engine[name] for name in ("reward", "terminated", "truncated", "elapsed_step")
        )
        self._resets_at_once = pool.autoreset == "same_step"
        self._layers: list[Clip | EpisodeRecorder] = []
        inner = own_limit or None
        for layer in chain.layers:
            if isinstance(layer, Limit):
                inner = min(layer.steps, inner or layer.steps)
            elif isinstance(layer, Statistics):
                _check_key(layer.key, pool)
                sees_truncation = inner == pool.max_episode_steps
                self._layers.append(EpisodeRecorder(layer, pool.num_envs, sees_truncation))
            else:
                self._layers.append(layer)
        self._recorders = [each for each in self._layers if isinstance(each, EpisodeRecorder)]

    def __bool__(self) -> bool:
        """Whether any wrapper acts on a step."""
        return bool(self._layers)

    def begin(self, mask: Array) -> None:
        """Begins an episode in the environments of the mask, which the caller has reset."""
        for recorder in self._recorders:
            recorder.begin(mask)

    def step(self, batch: Batch) -> dict[str, Any]:
        """Applies the wrappers to a step of all environments; changes rewards in place.

        Returns:
            Infos of episodes that ended. (With SAME_STEP they belong in "final_info".)
        """
        rewards, lengths = batch[self._reward], batch[self._length]
        terminated, truncated = batch[self._terminated], batch[self._truncated]
        # the vector environment resets outside the wrappers: they do not see the reset row's reward
        stepped = lengths > 0
        infos: dict[str, Any] = {}
        for layer in self._layers:
            if isinstance(layer, Clip):
                np.copyto(rewards, layer.clip(rewards), where=stepped)
            else:
                layer.count(rewards, lengths)
                infos.update(layer.end(terminated, truncated))
        if self._resets_at_once and self._recorders:
            self.begin(terminated | truncated)
        return infos

    def attribute(self, name: str) -> tuple[Any, ...] | None:
        """Returns an attribute of the outermost wrapper that has it, None if none has it.

        The values are one per environment.
        """
        if not self._recorders:
            return None
        return self._recorders[-1].attributes.get(name)


def _check_key(key: str, pool: Pool) -> None:
    if any(key == field.name for field in pool.spec.infos):
        raise ValueError(
            f"RecordEpisodeStatistics(stats_key={quote(key)}): {pool.definition.id} has an info of"
            " that name: choose another"
        )
