"""AgentDataCollector: records PettingZoo environments, to a dataset of Minari's for each agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.minari.dataset_stream import (
    WRITE_EVERY,
    DatasetStream,
    check,
    check_stored,
)
from parallel_pool._apis.minari.episodes import Episodes, check_infos, rows_of_infos
from parallel_pool._apis.minari.starts import Start, Starts
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.trees import row_of
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool._workers.process_pool import seeds_episodes
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from typing import Self

    import minari

    from parallel_pool._engine.buffers import Array

    ByAgent = dict[Any, Array]
    Step = tuple[dict[Any, Any], ByAgent, ByAgent, ByAgent, dict[Any, Any]]


@public("compat.minari")
class AgentDataCollector(Uncopied):
    """Records all episodes of all agents of a `PoolParallelEnv`, a dataset for each agent.

    Minari's datasets have one agent. The dataset of each holds what `minari.DataCollector` would
    record of that agent alone: its observations, actions and rewards, from the reset, or the step
    after which it lives, to its own end. "name-v0" becomes "name/agent-v0" for each agent. All else
    is as with `VectorDataCollector`.

    Attributes:
        env: the `PoolParallelEnv`.
        pool: its pool, which `parallel_pool.testing.inspect` looks at.
        dataset_ids: by agent.

    Example:
        >>> envs = parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 4)
        >>> collect = parallel_pool.compat.minari.AgentDataCollector
        >>> envs = collect(envs, "mpe/spread-v0", author="me", description="standing still")
        >>> observations, infos = envs.reset(seed=1)
        >>> steps = [envs.step({a: np.zeros(4, int) for a in envs.env.agents}) for _ in range(50)]
        >>> list(envs.finish()), envs.dataset_ids["agent_0"]
        (['agent_0', 'agent_1', 'agent_2'], 'mpe/spread/agent_0-v0')
        >>> envs.close()
    """

    _holds = "environments and files"

    def __init__(
        self,
        env: Any,
        dataset_id: str,
        *,
        record_infos: bool | Sequence[str] = False,
        write_every: int = WRITE_EVERY,
        jpeg_encoding: bool = True,
        **metadata: Any,
    ) -> None:
        """Makes the datasets, without episodes.

        Args:
            env: a `PoolParallelEnv` that is synchronous.
            dataset_id: of which each agent's is made.
            record_infos: as for `VectorDataCollector`, of each agent's infos.
            write_every: steps of an agent that are kept in memory before they are written.
            jpeg_encoding: as for `VectorDataCollector`.
            metadata: as for `VectorDataCollector`.

        Raises:
            TypeError, ValueError: an argument is wrong, there is such a dataset, or an agent's name
                can't be part of a dataset's.
            StateError: the environments are asynchronous.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        if not hasattr(env, "possible_agents") or not hasattr(env, "is_async"):
            raise TypeError(f"env={quote(env)} is {a_type(env)}: give a PoolParallelEnv")
        if env.is_async:
            raise StateError("the environments are asynchronous: leave batch_size out")
        self.env, self.pool = env, env.pool
        self.dataset_ids = {agent: _id_of(dataset_id, agent) for agent in env.possible_agents}
        infos = check_infos(record_infos)
        for agent, own_id in self.dataset_ids.items():
            check(own_id, env.observation_space(agent), env.action_space(agent))
        self._streams: dict[Any, DatasetStream] = {}
        self._episodes: dict[Any, Episodes] = {}
        try:
            for agent, own_id in self.dataset_ids.items():
                spaces = env.observation_space(agent), env.action_space(agent)
                self._streams[agent] = stream = DatasetStream(
                    own_id,
                    *spaces,
                    write_every=write_every,
                    jpeg_encoding=jpeg_encoding,
                    metadata=metadata,
                )
                self._episodes[agent] = Episodes(stream, env.num_envs, *spaces, infos)
        except BaseException:
            # all datasets, or none
            for stream in self._streams.values():
                stream.remove()
            raise
        self._starts = Starts(env.num_envs, seeds_episodes=seeds_episodes(env.pool))
        # environments whose present episode is not recorded
        self._is_lost: Array = np.zeros(env.num_envs, np.bool_)
        self._datasets: dict[Any, minari.MinariDataset] | None = None

    def reset(
        self, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Starts new episodes; episodes that this cuts off are recorded as truncated.

        Args:
            seed: as of the environments.
            options: as of the environments, "reset_mask" included.

        Returns:
            Observations by agent, arrays (n, *shape), or trees of such arrays; infos.

        Raises:
            StateError: the datasets are finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._check_call("reset")
        # the environments remove the mask
        own = None if options is None else dict(options)
        try:
            observations, infos = self.env.reset(seed, options)
            starts = self._starts.reset(seeds.spread(seed, self.env.num_envs), own)
            for episodes in self._episodes.values():
                episodes.end(starts)
            self._begin(starts, observations, infos)
        except BaseException:
            self._lose_track()
            raise
        return observations, infos

    def step(self, actions: Mapping[Any, Any]) -> Step:
        """Steps all environments, and records that.

        Args:
            actions: as of the environments.

        Returns:
            observations: by agent, an array (n, ...), or a tree of such arrays;
            rewards: by agent, float64 (n,);
            terminations: by agent, bool (n,);
            truncations: by agent, bool (n,);
            infos.

        Raises:
            StateError: the datasets are finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._check_call("step")
        try:
            acted = np.any(list(self.env.live.values()), axis=0)
            result: Step = self.env.step(actions)
            self._record(actions, acted, result)
        except BaseException:
            self._lose_track()
            raise
        return result

    def _record(self, actions: Mapping[Any, Any], acted: Array, result: Step) -> None:
        observations, _, terminations, truncations, infos = result
        if "_worker_restarted" in infos:
            # such a row repeats the last one
            self._forget(np.flatnonzero(infos["_worker_restarted"]).tolist())
        nobody: Array = np.zeros(self.env.num_envs, np.bool_)
        # SAME_STEP: environments whose next episode has begun
        restarted = infos.get("_final_obs", nobody)
        live = self.env.live
        for agent, episodes in self._episodes.items():
            if episodes.is_open.any():
                self._add(agent, actions[agent], result, restarted)
            gone = terminations[agent] | truncations[agent] | ~live[agent] | restarted
            episodes.end(np.flatnonzero(gone).tolist())
        begun = restarted | ~acted
        starts = {i: self._starts.begin(i) for i in np.flatnonzero(begun).tolist()}
        self._begin(starts, observations, infos)

    def _add(self, agent: Any, actions: Any, result: Step, restarted: Array) -> None:
        """Adds the step to the episodes of an agent."""
        observations, rewards, terminations, truncations, infos = result
        ends = np.flatnonzero(restarted).tolist()
        of_envs = self._infos(agent, infos)
        if ends:
            of_ends = self._infos(agent, infos["final_info"])
            of_envs = [of_ends[i] if restarted[i] else own for i, own in enumerate(of_envs)]
        self._episodes[agent].add(
            actions,
            observations[agent],
            {i: row_of(infos["final_obs"][agent], i) for i in ends},
            rewards[agent],
            terminations[agent],
            truncations[agent],
            of_envs,
        )

    def _begin(
        self, starts: Mapping[int, Start], observations: dict[Any, Any], infos: dict[Any, Any]
    ) -> None:
        """Begins the episodes of agents that live and have none.

        Args:
            starts: of environments whose own episode begins; agents that come later have no seed.
        """
        self._is_lost[list(starts)] = False
        for agent, is_live in self.env.live.items():
            episodes = self._episodes[agent]
            begun = np.flatnonzero(is_live & ~episodes.is_open & ~self._is_lost).tolist()
            own = {i: starts.get(i, Start()) for i in begun}
            episodes.begin(own, observations[agent], self._infos(agent, infos))

    def _infos(self, agent: Any, infos: dict[Any, Any]) -> list[dict[str, Any]]:
        """Returns an agent's infos in each environment; empty ones if they are not recorded."""
        if not self._episodes[agent].has_infos:
            return [{}] * self.env.num_envs
        return rows_of_infos(infos.get(agent, {}), self.env.num_envs)

    def _lose_track(self) -> None:
        """Drops what has not ended: a step or a reset was not seen."""
        self._forget(range(self.env.num_envs))

    def _forget(self, env_ids: Sequence[int]) -> None:
        for episodes in self._episodes.values():
            episodes.drop(env_ids)
        self._starts.forget(env_ids)
        self._is_lost[list(env_ids)] = True

    def _check_call(self, what: str) -> None:
        """Refuses calls as `Recording.check_call` does."""
        for stream in self._streams.values():
            stream.check_own()
        if self._datasets is not None:
            check_usable(self.pool)
            raise StateError(
                f"{what}() after finish(): the datasets are complete; go on with `env`, or record"
                " others"
            )
        check_stored(self._streams.values(), what)

    def finish(self) -> dict[Any, minari.MinariDataset]:
        """Completes the datasets; episodes that have not ended are recorded as truncated.

        Returns:
            By agent, the dataset, as `minari.load_dataset` loads it.

        Raises:
            ValueError: episodes were dropped, as they can't be stored; the next call returns what
                this would have.
            ForkedError: the datasets belong to another process.
        """
        for stream in self._streams.values():
            stream.check_own()
        if self._datasets is None:
            for episodes in self._episodes.values():
                episodes.end(range(self.env.num_envs))
            self._datasets = {agent: stream.finish() for agent, stream in self._streams.items()}
            check_stored(self._streams.values(), "finish")
        return self._datasets

    def close(self, timeout: float | None = None) -> None:
        """Completes the datasets, if `finish` has not, and closes the environments.

        In a forked process it leaves both to the parent.

        Args:
            timeout: as of the environments.
        """
        try:
            if all(stream.is_own for stream in self._streams.values()):
                self.finish()
        finally:
            self.env.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _id_of(dataset_id: str, agent: Any) -> str:
    """Returns the id of an agent's dataset."""
    check(dataset_id)
    name, _, version = dataset_id.rpartition("-v")
    return f"{name}/{agent}-v{version}"
