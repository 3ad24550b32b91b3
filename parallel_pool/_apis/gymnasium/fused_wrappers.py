"""Applies fused wrappers to the arrays of a step: clips rewards, and records episodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from parallel_pool._apis.common.masks import has_any, rows_in
from parallel_pool._apis.common.vector_infos import put, spread
from parallel_pool._apis.gymnasium.fusion import Chain, Clip, Limit, Statistics
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.buffers import Array, engine_indices
from parallel_pool._engine.pool import Batch, Pool


class Episodes(NamedTuple):
    """What is known of the present episodes, arrays (n,).

    Attributes:
        returns: sums of rewards, float64.
        lengths: in steps, int64.
        starts: when they began, in seconds of `time.perf_counter`, float64.
        counts: of the episodes that have ended, int64.
    """

    returns: Array
    lengths: Array
    starts: Array
    counts: Array

    def begin(self, mask: Array) -> None:
        """Begins an episode in the environments of the mask."""
        self.returns[mask] = 0
        self.lengths[mask] = 0
        self.starts[mask] = time.perf_counter()

    def counted(self, rewards: Array, lengths: Array) -> Episodes:
        """Returns them after a step; `lengths` are its columns, 0 after a reset."""
        # 0 also at length 1: the batch of a reset that raised did not pass through here
        returns = np.where(lengths <= 1, 0.0, self.returns) + rewards
        now = lengths.astype(np.int64)
        counted = Episodes(returns, now, self.starts.copy(), self.counts.copy())
        began = lengths == 0
        if has_any(began):
            counted.starts[began] = time.perf_counter()
        return counted


class Fused(NamedTuple):
    """A step as wrappers see it; nothing has changed until it is stored.

    Attributes:
        infos: of episodes that ended. (With SAME_STEP they belong in "final_info".)
        raw_rewards: float64 (n,), in the batch.
        rewards: what is to be there.
        episodes: those of each recorder.
        queued: appends to the queues of recorders when it is iterated, without code of Python's.
        appended: an empty list, for what `queued` yields.
    """

    infos: dict[str, Any]
    raw_rewards: Array
    rewards: Array
    episodes: tuple[Episodes, ...]
    queued: Iterable[None]
    appended: list[None]


class EpisodeRecorder:
    """RecordEpisodeStatistics for all environments at once.

    Attributes:
        key: of its infos.
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
        self._queues = {
            name: [deque[Any](maxlen=made_of.buffer_length) for _ in range(num_envs)]
            for name in ("r", "l", "t")
        }

    def attributes(self, episodes: Episodes) -> dict[str, tuple[Any, ...]]:
        """Returns the wrapper's attributes by name; a tuple of one value per environment each."""
        return {
            "return_queue": tuple(self._queues["r"]),
            "length_queue": tuple(self._queues["l"]),
            "time_queue": tuple(self._queues["t"]),
            "episode_count": tuple(episodes.counts.tolist()),
            "episode_returns": tuple(episodes.returns.tolist()),
            "episode_lengths": tuple(episodes.lengths.tolist()),
            "episode_start_time": tuple(episodes.starts.tolist()),
        }

    def end(
        self, episodes: Episodes, ends: tuple[Array, Array], queued: list[tuple[deque[Any], Any]]
    ) -> dict[str, Any]:
        """Returns infos of the episodes that have ended for this wrapper (see sees_truncation).

        Args:
            episodes: after the step; those that ended are counted.
            ends: which were terminated, and which truncated.
            queued: gets queues and what is to be appended to each.
        """
        terminated, truncated = ends
        ended = terminated | truncated if self._sees_truncation else terminated
        infos: dict[str, Any] = {}
        if not has_any(ended):
            return infos
        now = time.perf_counter()
        found = {
            "r": episodes.returns[ended],
            "l": episodes.lengths[ended],
            # NumPy does not always round as Python does
            "t": np.array([round(now - start, 6) for start in episodes.starts[ended].tolist()]),
        }
        episodes.starts[ended] = now
        episodes.counts[ended] += 1
        info: dict[str, Any] = {}
        env_ids = rows_in(ended)
        for name, values in found.items():
            # each mask is a copy: users may write to it
            put(info, name, spread(values, ended), ended.copy())
            for env_id, value in zip(env_ids, values.tolist(), strict=True):
                queued.append((self._queues[name][env_id], value))
        infos[self.key], infos[f"_{self.key}"] = info, ended
        return infos


class FusedWrappers:
    """The wrappers of a chain that act on a step, applied to one pool's batches.

    Time limits do not: the smallest of them is the pool's own limit.

    Attributes:
        episodes: those of each recorder.
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
        self.episodes: tuple[Episodes, ...] = tuple(
            Episodes(
                np.zeros(pool.num_envs),
                np.zeros(pool.num_envs, np.int64),
                np.full(pool.num_envs, -1.0),
                np.zeros(pool.num_envs, np.int64),
            )
            for _ in self._recorders
        )

    def __bool__(self) -> bool:
        """Whether any wrapper acts on a step."""
        return bool(self._layers)

    def begin(self, mask: Array) -> None:
        """Begins an episode in the environments of the mask, which the caller has reset.

        May be called again.
        """
        for episodes in self.episodes:
            episodes.begin(mask)

    def step(self, batch: Batch) -> Fused:
        """Returns what the wrappers make of a step of all environments; see `take`."""
        raw_rewards, lengths = batch[self._reward], batch[self._length]
        ends = batch[self._terminated], batch[self._truncated]
        # the vector environment resets outside the wrappers: they do not see the reset row's reward
        stepped = lengths > 0
        infos: dict[str, Any] = {}
        rewards = raw_rewards
        before, after = iter(self.episodes), list[Episodes]()
        queued: list[tuple[deque[Any], Any]] = []
        for layer in self._layers:
            if isinstance(layer, Clip):
                rewards = np.where(stepped, layer.clip(rewards), rewards)
            else:
                episodes = next(before).counted(rewards, lengths)
                infos.update(layer.end(episodes, ends, queued))
                if self._resets_at_once:
                    episodes.begin(ends[0] | ends[1])
                after.append(episodes)
        appends = map(deque.append, *zip(*queued, strict=True)) if queued else ()
        return Fused(infos, raw_rewards, rewards, tuple(after), appends, [])

    def take(self, fused: Fused) -> None:
        """Stores a step, and writes the rewards to its batch."""
        fused.raw_rewards[:] = fused.rewards
        fused.appended[:] = fused.queued
        self.episodes = fused.episodes

    def attribute(self, name: str) -> tuple[Any, ...] | None:
        """Returns an attribute of the outermost wrapper that has it, None if none has it.

        The values are one per environment.
        """
        if not self._recorders:
            return None
        return self._recorders[-1].attributes(self.episodes[-1]).get(name)


def _check_key(key: str, pool: Pool) -> None:
    if any(key == field.name for field in pool.spec.infos):
        raise ValueError(
            f"RecordEpisodeStatistics(stats_key={quote(key)}): {pool.definition.id} has an info of"
            " that name: choose another"
        )
