"""RecordTaskStatistics: the returns and lengths of episodes, by task."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._apis.gymnasium.async_calls import Step


@public("compat.gymnasium")
class RecordTaskStatistics(Uncopied, RecordEpisodeStatistics):
    """Gymnasium's `RecordEpisodeStatistics`, which also keeps the episodes of each task apart.

    Infos are those of Gymnasium's wrapper.

    Attributes:
        tasks: of each environment, a tuple of n names.
        return_queues: by task, the returns of its last episodes.
        length_queues: by task, their lengths in steps.

    Example:
        >>> from parallel_pool.compat.gymnasium import RecordTaskStatistics
        >>> definition = parallel_pool.mixed("Poles-v0", ["CartPole-v1", "Acrobot-v1"])
        >>> envs = RecordTaskStatistics(parallel_pool.make_vec("Poles-v0", 4))
        >>> _ = envs.reset(seed=1)
        >>> results = [envs.step(envs.action_space.sample()) for _ in range(100)]
        >>> len(envs.return_queues["CartPole-v1"]) > 0, len(envs.return_queues["Acrobot-v1"])
        (True, 0)
        >>> envs.close()
    """

    _holds = "environments"

    def __init__(
        self, env: VectorEnv[Any, Any, Any], buffer_length: int = 100, stats_key: str = "episode"
    ) -> None:
        """Wraps a vector environment whose environments have an attribute `task`.

        Args:
            env: the vector environment, of a mixture or of Python environments.
            buffer_length: most episodes of a queue.
            stats_key: of the info.

        Raises:
            AttributeError: the environments have no attribute `task`.
        """
        super().__init__(env, buffer_length, stats_key)
        named: Any = env
        self.tasks: tuple[str, ...] = tuple(named.get_attr("task"))
        self.return_queues: dict[str, deque[float]] = {
            task: deque(maxlen=buffer_length) for task in self.tasks
        }
        self.length_queues: dict[str, deque[int]] = {
            task: deque(maxlen=buffer_length) for task in self.tasks
        }

    def step(self, actions: Any) -> Step:
        """Steps, and keeps the statistics of the episodes that end.

        Args:
            actions: as for the vector environment.

        Returns:
            Its observations; rewards float64 (n,), terminations and truncations bool (n,), and
            infos, with Gymnasium's `episode` where an episode has ended.
        """
        result: Step = super().step(actions)
        infos = result[4]
        # Gymnasium's wrapper goes on with the array that it has put into infos
        self.prev_dones = self.prev_dones.copy()
        if f"_{self._stats_key}" in infos:
            episodes = infos[self._stats_key]
            for row in np.flatnonzero(infos[f"_{self._stats_key}"]).tolist():
                self.return_queues[self.tasks[row]].append(float(episodes["r"][row]))
                self.length_queues[self.tasks[row]].append(int(episodes["l"][row]))
        return result
