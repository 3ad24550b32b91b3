"""EnvPoolDataCollector: records a pool with EnvPool's API to a dataset of Minari's."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import UnregisteredEnv

from parallel_pool._apis.common import env_specs
from parallel_pool._apis.envpool.actions import unpack
from parallel_pool._apis.envpool.gymnasium_pool import GymnasiumEnvPool
from parallel_pool._apis.envpool.old_gym_pool import OldGymEnvPool
from parallel_pool._apis.envpool.spec import COMMON, seeds_of_task
from parallel_pool._apis.minari.dataset_stream import WRITE_EVERY
from parallel_pool._apis.minari.recording import AGENTS, Recording
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.trees import map_leaves, row_of
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._engine.variation import differs
from parallel_pool._engine.views import all_arrays
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError, PoolTimeoutError

if TYPE_CHECKING:
    import minari
    from gymnasium import Space
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._apis.envpool.results import Step
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.seeds import Seed

# infos that pools add
NOT_RECORDED = {"env_id", "players", "elapsed_step", "num_rows"}


@public("compat.minari")
class EnvPoolDataCollector(Uncopied, gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records all episodes of a pool with EnvPool's API, asynchronous ones, too.

    `reset`, `step`, `send`, `recv` and `async_reset` return what they return without it. Episodes
    and the dataset are those of `VectorDataCollector`, with rewards that are float32 before they
    are recorded. They come in the order in which results are received.

    An exception of `step`, `recv` or `reset` drops the episodes that have not ended, but for a
    `PoolTimeoutError`, after which nothing is lost. One thread may send while another receives.

    Attributes:
        env: the pool.
        dataset_id: of the dataset.
        num_envs: environments.
        all_env_ids: 0 to num_envs - 1, int32 (num_envs,).
        is_async: whether results have fewer rows than there are environments.
        config: the options by name.

    Example:
        >>> envs = parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, batch_size=4, seed=1)
        >>> envs = parallel_pool.compat.minari.EnvPoolDataCollector(envs, "cartpole/async-v0")
        >>> envs.async_reset()
        >>> for _ in range(100):
        ...     env_ids = envs.recv()[4]["env_id"]
        ...     envs.send(np.zeros(4, np.int32), env_ids)
        >>> dataset = envs.finish()
        >>> envs.close()
    """

    _holds = "environments and a file"

    def __init__(
        self,
        env: GymnasiumEnvPool,
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
            env: a pool of `make_gymnasium` or `make_gym`, without wrappers, whose environments have
                one player each.
            dataset_id: as for `minari.load_dataset`, such as "cartpole/async-v0".
            record_infos: as for `VectorDataCollector`; "env_id", "players" and "elapsed_step" are
                not recorded.
            observation_space: as for `VectorDataCollector`.
            action_space: as for `VectorDataCollector`.
            env_spec: of one environment, for `recover_environment`; None for one that follows from
                the pool's id and options, if Gymnasium knows the id.
            write_every: steps that are kept in memory before they are written.
            jpeg_encoding: as for `VectorDataCollector`.
            metadata: as for `VectorDataCollector`.

        Raises:
            TypeError, ValueError: an argument is wrong, there is such a dataset, or the rows are of
                players or of different tasks.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        if not isinstance(env, GymnasiumEnvPool) or isinstance(env, OldGymEnvPool):
            raise TypeError(
                f"env={quote(env)} is {a_type(env)}: give a pool of make_gymnasium, or of make_gym"
                " in a program without gym before 0.26"
            )
        super().__init__(env)
        if env.spec.num_players > 1:
            raise TypeError(AGENTS)
        pool = env.pool
        self.num_envs, self.is_async = pool.num_envs, pool.is_async
        self.all_env_ids, self.config = env.all_env_ids, env.config
        self._recording = Recording(
            dataset_id,
            env,
            pool.num_envs,
            (
                env.spec.observation_space if observation_space is None else observation_space,
                env.spec.action_space if action_space is None else action_space,
            ),
            env_spec or _spec_of(env),
            record_infos=record_infos,
            write_every=write_every,
            jpeg_encoding=jpeg_encoding,
            metadata=metadata,
        )
        self.dataset_id = dataset_id
        self._pool: GymnasiumEnvPool = env
        # the last action of each environment; made at the first send
        self._actions: Array | None = None
        # the dtypes that these were sent with; None if all had the same
        self._dtypes: Array | None = None
        # by environment: seed and options of a reset whose result has not come, or of the first
        self._resets = _first_resets(env)
        # one thread sends while another receives: actions are kept before their results are used
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------- sending --

    def send(self, action: Any, env_id: Any = None) -> None:
        """Queues one action for each environment of env_id; on an error none is queued.

        Args:
            action: as of the pool.
            env_id: as of the pool.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the pool raises.
        """
        self._recording.check_call("send")
        with self._lock:
            self._pool.send(action, env_id)
            self._keep_actions(action, env_id)

    def async_reset(
        self,
        env_id: Any = None,
        *,
        seed: Seed = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queues resets; episodes that these cut off are recorded as truncated.

        Args:
            env_id: as of the pool.
            seed: as of the pool.
            options: as of the pool.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the pool raises.
        """
        self._recording.check_call("async_reset")
        with self._lock:
            self._pool.async_reset(env_id, seed=seed, options=options)
            self._keep_reset(env_id, seed, options)

    def _keep_actions(self, action: Any, env_id: Any) -> None:
        """Keeps the actions that were sent, until the results come."""
        given, ids, _, _ = unpack(action, env_id)
        rows = np.asarray(given)
        rows = rows.reshape(-1, *(self._pool.spec.action_space.shape or ()))
        if self._actions is None:
            self._actions = np.zeros((self.num_envs, *rows.shape[1:]), rows.dtype)
        kept, where = self._actions, slice(None) if ids is None else np.ravel(ids)
        if rows.dtype != kept.dtype and self._dtypes is None:
            self._dtypes = np.full(self.num_envs, kept.dtype, object)
        if self._dtypes is not None:
            self._dtypes[where] = rows.dtype
            kept = kept.astype(np.promote_types(kept.dtype, rows.dtype), copy=False)
        kept[where] = rows
        self._actions = kept

    def _kept_actions(self, env_ids: Array) -> Array:
        """Returns the last actions of environments, with the dtype that they were sent with."""
        assert self._actions is not None
        actions = self._actions[env_ids]
        if self._dtypes is None or not len(env_ids):
            return actions
        sent = set(self._dtypes[env_ids].tolist())
        return actions.astype(np.result_type(*sent), copy=False)

    def _keep_reset(self, env_id: Any, seed: Any, options: Mapping[str, Any] | None) -> None:
        """Keeps the seeds and options of a reset that was sent, until the results come."""
        ids, seeds, own = self._pool._reset_arguments(env_id, seed, options)
        named = self.all_env_ids if ids is None else np.ravel(ids)
        each: Any = [None] * len(named) if seeds is None else seeds
        for i, one in zip(named.tolist(), each, strict=True):
            # without a seed the first reset has that of `make`
            first, _ = self._resets.get(i, (None, None))
            self._resets[i] = first if one is None else one, own or None

    # ----------------------------------------------------------------------------- receiving --

    def step(  # type: ignore[override]
        self, action: Any, env_id: Any = None, *, timeout: float | None = None
    ) -> Step:
        """Sends actions, receives the next results, and records them.

        Args:
            action: as of the pool.
            env_id: as of the pool.
            timeout: as of the pool.

        Returns:
            observations, (count, *shape) or a dict of such arrays; rewards, float32 (count,);
            terminated and truncated, bool (count,); infos, a dict of arrays.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the pool raises.
        """
        self._recording.check_call("step")
        try:
            step = self._pool.step(action, env_id, timeout=timeout)
        except PoolTimeoutError:
            # the actions were sent
            with self._lock:
                self._keep_actions(action, env_id)
            raise
        except BaseException:
            self._lose_track()
            raise
        with self._lock:
            self._keep_actions(action, env_id)
        self._record(step)
        return step

    def recv(
        self,
        reset: bool = False,
        return_info: bool | None = None,
        *,
        timeout: float | None = None,
        min_rows: int | None = None,
    ) -> Any:
        """Receives the next results, and records them.

        Args:
            reset: as of the pool.
            return_info: as of the pool.
            timeout: as of the pool.
            min_rows: as of the pool.

        Returns:
            What the pool returns.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the pool raises.
        """
        self._recording.check_call("recv")
        try:
            step = self._pool.recv(timeout=timeout, min_rows=min_rows)
        except PoolTimeoutError:
            raise
        except BaseException as error:
            if isinstance(error, EnvError):
                error.batch = self._pool._as_asked(error.batch, reset, return_info)
            self._lose_track()
            raise
        self._record(step)
        return self._pool._as_asked(step, reset, return_info)

    def reset(
        self,
        env_id: Any = None,
        *,
        seed: Seed = None,
        options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Resets environments; episodes that this cuts off are recorded as truncated.

        Args:
            env_id: as of the pool.
            seed: as of the pool.
            options: as of the pool.
            timeout: as of the pool.

        Returns:
            What the pool returns.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the pool raises.
        """
        self._recording.check_call("reset")
        try:
            batch = self._pool._reset(all_arrays, env_id, seed, options, timeout)
            step = self._pool._rows.results(batch)
        except PoolTimeoutError:
            # the resets were sent
            with self._lock:
                self._keep_reset(env_id, seed, options)
            raise
        except BaseException as error:
            if isinstance(error, EnvError):
                error.batch = self._pool._received(error.batch, True)
            self._lose_track()
            raise
        with self._lock:
            self._keep_reset(env_id, seed, options)
        self._record(step)
        return self._pool._as_asked(step, True)

    def _record(self, step: Step) -> None:
        try:
            with self._lock:
                self._add(*step)
        except BaseException:
            self._lose_track()
            raise

    def _add(
        self,
        observations: Any,
        rewards: Array,
        terminated: Array,
        truncated: Array,
        infos: dict[str, Any],
    ) -> None:
        """Adds rows to the episodes of their environments, which begin and end there."""
        # recv(min_rows=...) returns more rows than results
        results = slice(infos.get("num_rows", len(rewards)))
        env_ids = infos["env_id"][results]
        observations = map_leaves(lambda array: array[results], observations)
        terminated, truncated = terminated[results], truncated[results]
        of_rows = self._infos(infos, len(env_ids))
        # in such a row an environment was reset, by a call or by itself
        begun = np.flatnonzero(infos["elapsed_step"][results] == 0)
        episodes, starts = self._recording.episodes, self._recording.starts
        episodes.end(env_ids[begun].tolist())
        if self._actions is not None:
            episodes.add(
                self._kept_actions(env_ids),
                observations,
                {},
                rewards[results],
                terminated,
                truncated,
                of_rows,
                env_ids,
            )
        episodes.end(env_ids[terminated | truncated].tolist())
        first = {
            row: starts.begin(i, *self._resets.pop(i, (None, None)))
            for row, i in zip(begun.tolist(), env_ids[begun].tolist(), strict=True)
        }
        episodes.begin(first, observations, of_rows, env_ids)

    def _infos(self, infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
        """Returns the environments' own infos of each row; empty ones if they are not recorded."""
        if not self._recording.episodes.has_infos:
            return [{}] * count
        own = {name: value for name, value in infos.items() if name not in NOT_RECORDED}
        return [row_of(own, row) for row in range(count)]

    def _lose_track(self) -> None:
        """Drops what has not ended: results were not seen."""
        with self._lock:
            self._recording.forget()
            self._resets.clear()

    # -------------------------------------------------------------------------------- others --

    def finish(self) -> minari.MinariDataset:
        """Completes the dataset; episodes that have not ended are recorded as truncated.

        Results in flight are not recorded.

        Returns:
            The dataset, as `minari.load_dataset` loads it.

        Raises:
            ValueError: episodes were dropped, as they can't be stored; the next call returns what
                this would have.
            ForkedError: the dataset belongs to another process.
        """
        # before the lock, which another thread may have held when this process was forked
        self._recording.check_own()
        with self._lock:
            return self._recording.finish()

    def close(self, timeout: float | None = None) -> None:
        """Completes the dataset, if `finish` has not, and closes the pool.

        In a forked process it leaves both to the parent.

        Args:
            timeout: as of the pool.
        """
        try:
            if self._recording.is_own:
                self.finish()
        finally:
            self._pool.close(timeout)

    def __len__(self) -> int:
        return self.num_envs


def _first_resets(env: GymnasiumEnvPool) -> dict[int, tuple[int | None, dict[str, Any] | None]]:
    """Returns seed and options of each environment's first reset, if that is still to come."""
    if env.pool.in_flight or env.pool.stats()["env_steps"]:
        return {}
    config, definition = env.spec.config, env.spec.definition
    seeds = seeds_of_task(definition, config.env_seed or config.seed, range(config.num_envs))
    return {i: (seed, None) for i, seed in enumerate(seeds or ())}


def _spec_of(env: GymnasiumEnvPool) -> EnvSpec | None:
    """Returns the spec of one environment, None if none can describe it."""
    given = env.spec._given
    if differs(given):
        return None
    try:
        spec = env_specs.of_python(env_specs.find(env.pool.definition.id))
    except UnregisteredEnv:
        return None
    spec.kwargs |= {name: value for name, value in given.items() if name not in COMMON}
    if given.get("max_episode_steps") is not None:
        spec.max_episode_steps = given["max_episode_steps"]
    return spec
