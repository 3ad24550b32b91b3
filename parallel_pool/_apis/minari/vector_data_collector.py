"""VectorDataCollector: records a Gymnasium vector environment to a dataset of Minari's."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from parallel_pool._apis.common import env_specs
from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
from parallel_pool._apis.minari.dataset_stream import WRITE_EVERY
from parallel_pool._apis.minari.episodes import rows_of_infos
from parallel_pool._apis.minari.recording import Recording
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public

if TYPE_CHECKING:
    import minari
    from gymnasium import Space

    from parallel_pool._engine.buffers import Array, Observations

    Step = tuple[Observations, Array, Array, Array, dict[str, Any]]
    Wrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    # not generic in this way before Gymnasium 1.4
    Wrapper = VectorWrapper


@public("compat.minari")
class VectorDataCollector(Uncopied, Wrapper):
    """Records all episodes of a vector environment, as `minari.DataCollector` does of one.

    `reset` and `step` return what they return without it. Each environment's episodes are those
    that a `DataCollector` around that environment alone would record, in the order in which they
    end. The dataset is there from the beginning, and episodes are written as they end, so memory
    does not grow. A program that dies leaves a dataset of whole episodes.

    An episode has a seed if its reset was given one, or if the environments were made with
    episode_seeds=True. An episode is recorded as truncated if `reset` or `finish` cuts it off. An
    exception of `step` or `reset` drops the episodes that have not ended, and so does a worker that
    was restarted the episodes of its environments.

    An episode that HDF5 can't store, one with an info None, say, is dropped alone. A ValueError
    says so once: of the next call, before that does anything, or of `finish`.

    Attributes:
        env: the vector environment.
        dataset_id: of the dataset.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 8)
        >>> collect = parallel_pool.compat.minari.VectorDataCollector
        >>> envs = collect(envs, "cartpole/random-v0", author="me", description="random actions")
        >>> observations, infos = envs.reset(seed=1)
        >>> for _ in range(1000):
        ...     observations, *rest = envs.step(envs.action_space.sample())
        >>> dataset = envs.finish()
        >>> envs.close()
    """

    _holds = "environments and a file"

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        dataset_id: str,
        *,
        record_infos: bool | Sequence[str] = False,
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        env_spec: EnvSpec | None = None,
        write_every: int = WRITE_EVERY,
        jpeg_encoding: bool = True,
        **metadata: Any,
    ) -> None:
        """Makes the dataset, without episodes.

        Args:
            env: any `gymnasium.vector.VectorEnv`, in any autoreset mode.
            dataset_id: as for `minari.load_dataset`, such as "cartpole/random-v0".
            record_infos: whether infos are recorded, or the names of those that are. Each must be
                in the infos of every step and of every reset.
            observation_space: under which observations are stored as they are, such as one with
                Text where Minari can't store the environments' own; None for that of one
                environment.
            action_space: the same for actions.
            env_spec: of one environment, for `recover_environment`; None for that which the vector
                environment was made from.
            write_every: steps that are kept in memory before they are written.
            jpeg_encoding: as in Minari: store pictures of uint8 as JPEG files, which loses details.
            metadata: author, author_email, description, algorithm_name, code_permalink, eval_env,
                requirements, ref_min_score, ref_max_score, expert_policy and
                num_episodes_average_score, as for `minari.DataCollector.create_dataset`.

        Raises:
            TypeError, ValueError: an argument is wrong, there is such a dataset, or the rows are of
                agents or of different tasks.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        super().__init__(env)
        if isinstance(env.unwrapped, GymnasiumEnvPool):
            raise TypeError("this is a pool with EnvPool's API: give it to EnvPoolDataCollector")
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise ValueError(
                f"metadata['autoreset_mode']={quote(mode)}: give a vector environment that says its"
                " autoreset mode"
            )
        self._mode = mode
        spaces = (
            env.single_observation_space if observation_space is None else observation_space,
            env.single_action_space if action_space is None else action_space,
        )
        self._recording = Recording(
            dataset_id,
            env.unwrapped,
            env.num_envs,
            spaces,
            env_spec or single_spec(env),
            record_infos=record_infos,
            write_every=write_every,
            jpeg_encoding=jpeg_encoding,
            metadata=metadata,
        )
        self.dataset_id = dataset_id
        # NEXT_STEP: environments that the next step resets
        self._over: list[int] = []

    def reset(
        self, *, seed: seeds.Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Starts new episodes; episodes that this cuts off are recorded as truncated.

        Args:
            seed: as of the environments.
            options: as of the environments, "reset_mask" included.

        Returns:
            Observations (n, *shape) of the space's dtype, or a tree of such arrays; infos.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._recording.check_call("reset")
        # the environments remove the mask
        own = None if options is None else dict(options)
        try:
            observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
            starts = self._recording.starts.reset(seeds.spread(seed, self.num_envs), own)
            self._recording.episodes.end(starts)
            self._recording.episodes.begin(starts, observations, self._infos(infos))
        except BaseException:
            self._lose_track()
            raise
        self._over = [i for i in self._over if i not in starts]
        return observations, infos

    def step(self, actions: Any) -> Step:
        """Steps all environments, and records that.

        Args:
            actions: as of the environments.

        Returns:
            observations: (n, *shape) of the space's dtype, or a tree of such arrays;
            rewards: float64 (n,);
            terminations: bool (n,);
            truncations: bool (n,);
            infos.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._recording.check_call("step")
        try:
            result = self.env.step(actions)
            self._record(actions, *result)
        except BaseException:
            self._lose_track()
            raise
        return result

    def _record(
        self,
        actions: Any,
        observations: Any,
        rewards: Array,
        terminations: Array,
        truncations: Array,
        infos: dict[str, Any],
    ) -> None:
        ended = terminations | truncations
        is_same_step = self._mode is AutoresetMode.SAME_STEP
        if "_worker_restarted" in infos:
            # such a row repeats the last one
            self._recording.forget(np.flatnonzero(infos["_worker_restarted"]).tolist())
        ends = np.flatnonzero(ended).tolist()
        finals = {i: infos["final_obs"][i] for i in ends} if is_same_step else {}
        of_envs = self._infos(infos)
        of_steps = of_envs
        if finals:
            of_ends = self._infos(infos["final_info"])
            of_steps = [of_ends[i] if i in finals else own for i, own in enumerate(of_envs)]
        episodes, starts = self._recording.episodes, self._recording.starts
        episodes.add(actions, observations, finals, rewards, terminations, truncations, of_steps)
        episodes.end(ends)
        # DISABLED: the caller begins episodes
        begun = ends if is_same_step else self._over
        episodes.begin({i: starts.begin(i) for i in begun}, observations, of_envs)
        self._over = ends if self._mode is AutoresetMode.NEXT_STEP else []

    def _infos(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the infos of each environment; empty ones if they are not recorded."""
        if not self._recording.episodes.has_infos:
            return [{}] * self.num_envs
        return rows_of_infos(infos, self.num_envs)

    def _lose_track(self) -> None:
        """Drops what has not ended: a step or a reset was not seen."""
        self._recording.forget()
        self._over = []

    def finish(self) -> minari.MinariDataset:
        """Completes the dataset; episodes that have not ended are recorded as truncated.

        Returns:
            The dataset, as `minari.load_dataset` loads it.

        Raises:
            ValueError: episodes were dropped, as they can't be stored; the next call returns what
                this would have.
            ForkedError: the dataset belongs to another process.
        """
        return self._recording.finish()

    def close(self, **kwargs: Any) -> None:
        """Completes the dataset, if `finish` has not, and closes the environments.

        In a forked process it leaves both to the parent.

        Args:
            kwargs: as of the environments.
        """
        try:
            if self._recording.is_own:
                self.finish()
        finally:
            self.env.close(**kwargs)


def single_spec(env: VectorEnv[Any, Any, Any]) -> EnvSpec | None:
    """Returns the spec of one environment of a vector environment, None if none is known."""
    if not isinstance(env.spec, EnvSpec):
        # of functions, a pool knows what the first has made; ale-py's specs are of another class
        found = getattr(getattr(env.unwrapped, "pool", None), "spec", None)
        return found if isinstance(found, EnvSpec) else None
    spec = copy.deepcopy(env.spec)
    env_specs.pop_vector_arguments(spec)
    limit = spec.kwargs.pop("max_episode_steps", None)
    if limit is not None:
        spec.max_episode_steps = limit
    return env_specs.of_python(spec)
