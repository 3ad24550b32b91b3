"""Recording: the episodes of many environments on their way to one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.minari.dataset_stream import DatasetStream, check_stored
from parallel_pool._apis.minari.episodes import Episodes, check_infos
from parallel_pool._apis.minari.starts import Starts
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.base_pool import BasePool
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._workers.process_pool import seeds_episodes
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    import minari
    from gymnasium import Space
    from gymnasium.envs.registration import EnvSpec

# why rows of agents, or of players, are refused
AGENTS = (
    "the rows of these environments are agents: give their PoolParallelEnv to AgentDataCollector"
)


class Recording:
    """What the collectors of one dataset share.

    Attributes:
        dataset_id: of the dataset.
        num_envs: environments, n.
        episodes: their episodes.
        starts: how these began.
    """

    def __init__(
        self,
        dataset_id: str,
        env: Any,
        num_envs: int,
        spaces: tuple[Space[Any], Space[Any]],
        env_spec: EnvSpec | None,
        *,
        record_infos: bool | Sequence[str],
        write_every: int,
        jpeg_encoding: bool,
        metadata: Mapping[str, Any],
    ) -> None:
        """Makes the dataset, without episodes.

        Args:
            dataset_id: of the dataset.
            env: what holds the environments, without wrappers; its pool is asked about them.
            num_envs: environments, n.
            spaces: of one environment's observations and actions.
            env_spec: of one environment.
            record_infos, write_every, jpeg_encoding, metadata: as for `VectorDataCollector`.

        Raises:
            TypeError, ValueError: an argument is wrong, there is such a dataset, or the rows are
                agents or have several tasks.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        pool = getattr(env, "pool", None)
        if hasattr(env, "agents"):
            raise TypeError(AGENTS)
        _check_one_task(pool)
        # all that can be refused, before there is a dataset
        infos = check_infos(record_infos)
        self.dataset_id, self.num_envs = dataset_id, num_envs
        self._stream = DatasetStream(
            dataset_id,
            *spaces,
            env_spec,
            write_every=write_every,
            jpeg_encoding=jpeg_encoding,
            metadata=metadata,
        )
        self.episodes = Episodes(self._stream, num_envs, *spaces, infos)
        self.starts = Starts(num_envs, seeds_episodes=seeds_episodes(pool))
        self._dataset: minari.MinariDataset | None = None
        # None of environments that are not ours
        self._pool: BasePool | None = pool if isinstance(pool, BasePool) else None

    @property
    def is_own(self) -> bool:
        """Whether the dataset was made by this process, and not by its parent before a fork."""
        return self._stream.is_own

    def forget(self, env_ids: Sequence[int] | None = None) -> None:
        """Drops the episodes of environments (None: all), of which something was not seen."""
        env_ids = range(self.num_envs) if env_ids is None else env_ids
        self.episodes.drop(env_ids)
        self.starts.forget(env_ids)

    def check_call(self, what: str) -> None:
        """Refuses a call after `finish`, and once that which follows on episodes that were dropped.

        Raises:
            StateError: the dataset is finished.
            ClosedError: the environments are closed, too.
            ForkedError: the dataset belongs to another process.
            ValueError: episodes were dropped, as they can't be stored.
        """
        self._stream.check_own()
        if self._dataset is not None:
            if self._pool is not None:
                check_usable(self._pool)
            raise StateError(
                f"{what}() after finish(): the dataset {self.dataset_id} is complete; step the"
                " environments without the collector, or record another"
            )
        check_stored([self._stream], what)

    def check_own(self) -> None:
        """Raises ForkedError in a forked process, whose parent has the dataset."""
        self._stream.check_own()

    def finish(self) -> minari.MinariDataset:
        """Returns the complete dataset; episodes that have not ended are recorded as truncated.

        Raises:
            ValueError: episodes were dropped, as they can't be stored; the next call returns the
                dataset.
            ForkedError: the dataset belongs to another process.
        """
        self._stream.check_own()
        if self._dataset is None:
            self.episodes.end(range(self.num_envs))
            self._dataset = self._stream.finish()
            check_stored([self._stream], "finish")
        return self._dataset


def _check_one_task(pool: Any) -> None:
    """Refuses a mixture: its rows have padded values of different environments.

    Raises:
        ValueError: the environments have several tasks.
    """
    if not getattr(getattr(pool, "definition", None), "tasks", ()):
        return
    tasks = list(dict.fromkeys(pool.option_value("task", i) for i in range(pool.num_envs)))
    if len(tasks) > 1:
        raise ValueError(
            f"these environments have {len(tasks)} tasks, and a dataset is of one: record those of"
            f" each task to a dataset of its own, made with task={quote(tasks[0])} and so on"
        )
