"""PoolVecEnv: a pool as a Stable-Baselines3 vector environment."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs.registration import EnvSpec

from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.gymnasium import backends
from parallel_pool._apis.sb3.native import NativeBackend
from parallel_pool._apis.sb3.process import ProcessBackend
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import a_type, named, one_of, quote
from parallel_pool._engine.pool import MAX_ENVS, check_count
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import MissingDependencyError, StateError

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingDependencyError(
        "PoolVecEnv needs Stable-Baselines3: pip install 'parallel_pool[sb3]'"
    ) from error

if TYPE_CHECKING:
    import gymnasium
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

    from parallel_pool._apis.gymnasium.backends import Choice
    from parallel_pool._apis.sb3.backend import Backend, Step
    from parallel_pool._engine.buffers import Observations
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.variation import Each, EachReset
    from parallel_pool._workers.process_pool import ProcessPool

# defaults (if not None) of arguments that only native, or only Python, environments accept
NOT_GIVEN = {
    "on_error": "raise",
    "episode_seeds": False,
    "prepare_resets": False,
    "num_threads": 0,
    "thread_affinity_offset": -1,
}
OF_THREADS = ("num_threads", "thread_affinity_offset")
# cures for arguments that are for the other kind
IN_FUNCTIONS = "functions make whole environments: give it to gymnasium.make in them"
FOR_FUNCTIONS = {
    "n_envs": "each function makes one environment: give as many functions, and leave n_envs out",
    "num_threads": "num_workers=... says how many processes step Python environments",
    "thread_affinity_offset": "it is for threads, and Python environments are stepped by processes",
    "max_episode_steps": IN_FUNCTIONS,
    "render_mode": IN_FUNCTIONS,
}


@public("compat.sb3")
class PoolVecEnv(TraceMethod, Uncopied, VecEnv):
    """Many environments as a `stable_baselines3.common.vec_env.VecEnv`.

    PoolVecEnv("CartPole-v1", 8) makes native environments. PoolVecEnv("mine/Env-v0", 8), for
    which there is no native one, and PoolVecEnv(env_fns), with the functions that `DummyVecEnv` and
    `SubprocVecEnv` take, make Python environments in worker processes. All return for the same
    seeds and actions what `DummyVecEnv` returns with the same Python environments: the same arrays,
    dtypes and infos. Arrays are never shared with the environments: you may keep them and write to
    them.

    Attributes:
        num_envs: environments, n below.
        observation_space: of one environment.
        action_space: of one environment.
        metadata: a copy of the environment's.
        render_mode: None, or how `render` draws.
        reset_infos: a list of n dicts, the infos of each environment's last reset.
        pool: the `parallel_pool.Pool` or `ProcessPool` underneath, for snapshots and statistics.
        backend: "native" or "process".
        backend_reason: why this backend was chosen; a sentence.

    Example:
        >>> envs = parallel_pool.PoolVecEnv("CartPole-v1", 4, seed=1)
        >>> observations = envs.reset()
        >>> observations, rewards, dones, infos = envs.step(np.zeros(4, np.int64))
        >>> observations.shape, rewards
        ((4, 4), array([1., 1., 1., 1.], dtype=float32))
        >>> envs.close()
    """

    def __init__(
        self,
        env: str | EnvSpec | Iterable[Callable[[], Any]] | None = None,
        n_envs: int | str | None = None,
        *,
        backend: str = backends.AUTO,
        env_fns: Iterable[Callable[[], Any]] | None = None,
        start_method: str | None = None,
        num_workers: int | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        on_error: str = "raise",
        python: Any = None,
        episode_seeds: bool = False,
        prepare_resets: bool = False,
        seed: int | None = None,
        max_episode_steps: int | Each | EachReset | None = None,
        render_mode: str | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        **options: Any,
    ) -> None:
        """Makes the environments.

        Args:
            env: an id ("CartPole-v1") or an EnvSpec: a native environment if there is one, else
                one from `gymnasium.make` in worker processes; or functions, each of which makes one
                Python environment. cloudpickle sends functions to workers.
            n_envs: for an id or spec: environments, 1 by default. With functions, the position of
                `start_method`, as in SubprocVecEnv.
            backend: for an id or spec: "auto", "native", "compiled" (the class that is registered
                under the id, translated to C) or "process", as for `PoolVectorEnv`.
            env_fns: the functions, under the name in DummyVecEnv and SubprocVecEnv.
            seed: as for `make_vec_env`: the first reset seeds environment i with seed + i, and the
                action space is seeded too. None: fresh entropy.
            start_method: for Python environments only, as the next seven: how processes start:
                "forkserver", "spawn" or "fork"; None for "forkserver".
            num_workers: processes; None for the cores this process may use. Each has the same
                number of environments. 0: this process steps them, in the calling thread.
            timeout: seconds that one environment's step or reset may take; then its worker is
                killed. None for no limit.
            start_timeout: seconds in which a worker must make its environments, at the start and
                at a restart; None for no limit without `timeout`, and a minute or more with it.
            on_error: "raise", or "restart": environments that raised, or whose worker died, are
                made again with fresh seeds. Their episode counts as truncated, with reward 0 and
                the last observation as "terminal_observation"; infos have "worker_restarted" and
                "restart_seed".
            python: path of the Python interpreter in which workers run, such as that of a virtual
                environment, or a list of one path, or None, for each environment; see
                `parallel_pool.ProcessPool`.
            episode_seeds: each episode that begins without a seed gets one, which follows from the
                last seed that its environment was given and from the number of episodes since.
            prepare_resets: each worker begins the next episode in a second environment while this
                one is played; needs episode_seeds, see `parallel_pool.ProcessPool`.
            max_episode_steps: for ids and specs only, as the next two: time limit in steps; None
                for the spec's own, -1 for none.
            render_mode: "rgb_array"; "human" for environments that Gymnasium draws in a window;
                "depth_array" and "rgbd_tuple" for MuJoCo.
            options: the environment's constructor options, and its drawing options. An option, and
                max_episode_steps, may be `parallel_pool.each([...])`, a value for each environment,
                or for native ones `parallel_pool.each_reset(low, high)`.
            num_threads: for native environments only, as the next one: threads that step, the
                caller's included; 0 for the cores this process may use.
            thread_affinity_offset: 0 or more pins threads to cores from this one on.

        Raises:
            TypeError: an argument is unknown, of a wrong type, or for another kind of environments.
            ValueError: a value is outside its range; the backend can't make these environments; an
                environment has several players; functions return the same environment twice, or
                environments with different spaces.
            SourceError: with backend="compiled", the class can't be translated.
            gymnasium.error.UnregisteredEnv: there is no such id.
            MissingDependencyError: the environment needs a package that is not installed.
            WorkerError: a worker process died, or can't be started.
            Exception: raised by a function.
        """
        of_processes = {
            "start_method": start_method,
            "num_workers": num_workers,
            "timeout": timeout,
            "start_timeout": start_timeout,
            "on_error": on_error,
            "python": python,
            "episode_seeds": episode_seeds,
            "prepare_resets": prepare_resets,
        }
        of_threads = {
            "max_episode_steps": max_episode_steps,
            "render_mode": render_mode,
            "num_threads": num_threads,
            "thread_affinity_offset": thread_affinity_offset,
        }
        env = one_of(env=env, env_fns=env_fns)
        if backend == backends.CLUSTER:
            raise ValueError("backend='cluster': make a ClusterVecEnv, which runs on a Ray cluster")
        self._backend: Backend
        if isinstance(env, (str, EnvSpec)):
            made = _by_id(env, n_envs, backend, of_threads, of_processes, options)
            self._backend, choice = made
        else:
            choice = backends.by_functions((), backend)
            self._backend = _process(env, n_envs, of_threads, of_processes, options)
        self.backend, self.backend_reason = choice.backend, choice.reason
        try:
            self._adopt(seed)
        except BaseException:
            self._backend.close()
            raise

    def _adopt(self, seed: int | None) -> None:
        """Takes spaces, metadata and infos from the backend, and seeds it if there is a seed."""
        backend = self._backend
        super().__init__(backend.num_envs, backend.observation_space, backend.action_space)
        # as in DummyVecEnv; VecEnv's own metadata has render modes only
        self.metadata = backend.metadata
        self.reset_infos = backend.reset_infos
        if seed is not None:
            self.seed(seed)
            self.action_space.seed(int(seed))

    @property
    def pool(self) -> Pool | ProcessPool:
        """The `parallel_pool.Pool` or `ProcessPool` underneath."""
        pool: Pool | ProcessPool = self._backend.pool
        return pool

    # ------------------------------------------------------------------------------ stepping --

    def reset(self) -> Observations:
        """Starts new episodes, with the seeds and options given for this reset.

        A step in flight is finished first, and its results are dropped.

        Returns:
            Observations: an array (n, *shape) of the space's dtype, or a dict or tuple of such
            arrays. Infos are in `reset_infos`.

        Raises:
            TypeError, ValueError: a seed or an option is wrong. Nothing was reset; with options
                for each environment, those before the wrong one were.
            EnvError: native environments failed.
            WorkerError: a worker process died.
            Exception: raised by a Python environment.
        """
        options = self._options
        # after set_options(dict), VecEnv's list holds the same dict n times
        is_one = all(each is options[0] for each in options) or not any(options)
        # as VecEnv's own methods set them
        no_seeds: list[int | None] = [None] * self.num_envs
        no_options: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        observations = self._backend.reset(self._seeds, options[0] if is_one else list(options))
        # no function call from here on: Ctrl-C would lose the seeds and what they have led to
        self._seeds, self._options = no_seeds, no_options
        return observations

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds environment i with seed + i (None: fresh entropy) at the next reset.

        Returns:
            The environments' seeds, n values.

        Raises:
            TypeError, ValueError: seed is not an integer >= 0; nothing changed.
        """
        if isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, str):
            raise TypeError(
                f"seed={quote(seed)} is {a_type(seed)}: give one integer, and environment i"
                " gets seed + i"
            )
        return super().seed(seeds.of_one(seed))

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Sets the options of the next reset: one dict for all, or a list of n dicts.

        Raises:
            TypeError, ValueError: they are not dicts, or not n of them; nothing changed.
        """
        if not isinstance(options, (Mapping, NoneType)):
            if not isinstance(options, (list, tuple)):
                raise TypeError(
                    f"options={quote(options)} is {a_type(options)}: give a dict, or a list of"
                    " one for each environment"
                )
            if len(options) != self.num_envs:
                raise ValueError(
                    f"options for {len(options)} of {self.num_envs} environments: give each its"
                    " dict, or one for all"
                )
            for i, each in enumerate(options):
                if not isinstance(each, Mapping):
                    raise TypeError(f"options[{i}]={quote(each)} is {a_type(each)}: give a dict")
        super().set_options(options)

    def step_async(self, actions: Any) -> None:
        """Begins a step, which continues while the caller does other work.

        Args:
            actions: (n, *action shape), an array or list; copied, so the caller may reuse it.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            StateError: a step is in flight, or native environments were never reset.
        """
        try:
            self._backend.send(actions)
        except StateError as error:
            if self.pool.in_flight and not self.pool.closed:
                error.add_note("A step is in flight: call step_wait() for its results, or reset().")
            raise

    def step_wait(self) -> Step:
        """Waits for the step that `step_async` began, and returns its results.

        Returns:
            Observations (n, *shape) or a dict or tuple of such arrays; those of ended episodes are
            the first of the next episode. Rewards float32 (n,). Dones bool (n,). Infos, a list of n
            dicts, each with "TimeLimit.truncated" (whether the episode was truncated and not
            terminated), and for ended episodes "terminal_observation".

        Raises:
            StateError: no step is in flight.
            EnvError: native environments failed; its `batch` is what would have been returned, and
                a failed environment starts a new episode at its next step.
            WorkerError: a worker process died.
            Exception: raised by a Python environment, with such an EnvError as its cause.
        """
        try:
            return self._backend.receive()
        except StateError as error:
            if not self.pool.in_flight and not self.pool.closed:
                error.add_note("No step is in flight: call step_async(actions) first.")
            raise

    def close(self, timeout: float | None = None) -> None:
        """Ends the threads or worker processes and closes windows; arrays stay valid.

        Args:
            timeout: seconds to wait for that; None for 5. Worker processes that still run then are
                killed. For threads see `Pool.close`.
        """
        self._backend.close(timeout)

    # ------------------------------------------------------------------- single environments --

    def get_images(self) -> Sequence[Any]:
        """Returns n pictures, uint8 (height, width, 3), one of each environment.

        With a render mode other than "rgb_array" it warns and returns n Nones.

        Raises:
            NotResetError: before the first reset.
            MissingDependencyError: drawing needs a package that is not installed.
        """
        if self.render_mode != "rgb_array":
            warnings.warn(
                f'render_mode={quote(self.render_mode)} gives no images: choose "rgb_array" when'
                " making"
                " the environments",
                stacklevel=2,
            )
            return [None] * self.num_envs
        return list(self._backend.render())

    def has_attr(self, attr_name: str) -> bool:
        """Returns whether all environments have an attribute, which need not be picklable."""
        return self._backend.has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Returns an attribute of each environment of indices (None: all).

        For Python environments it is a copy. Native ones have their constructor's options (`g`,
        `sutton_barto_reward`, ...), the reference's public constants (`gravity`, ...), spec,
        metadata, render_mode, observation_space, action_space, np_random_seed and, with a time
        limit, _max_episode_steps.

        Raises:
            AttributeError: they have no such attribute.
            IndexError: there is no such environment.
        """
        return self._backend.get_attr(attr_name, self._env_ids(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of the outermost wrapper of each environment of indices (None: all).

        Raises:
            AttributeError: the environments are native; their attributes are fixed.
            IndexError: there is no such environment.
        """
        self._backend.set_attr(attr_name, value, self._env_ids(indices))

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Calls a method of each environment of indices (None: all); returns the results.

        Raises:
            AttributeError: there is no such method; native environments have only `render`, and of
                Atari games ALE's `get_action_meanings` and `get_keys_to_action`.
            IndexError: there is no such environment.
            Exception: raised by the method.
        """
        env_ids = self._env_ids(indices)
        return self._backend.call(method_name, method_args, method_kwargs, env_ids)

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        """Returns for each environment of indices (None: all) whether it has such a wrapper.

        Native environments report the wrappers that `gymnasium.make` applies to the reference.

        Raises:
            TypeError: wrapper_class is not a class.
            IndexError: there is no such environment.
        """
        if not isinstance(wrapper_class, type):
            raise TypeError(f"wrapper_class={quote(wrapper_class)}: give a class, such as Monitor")
        return self._backend.is_wrapped(wrapper_class, self._env_ids(indices))

    def _env_ids(self, indices: VecEnvIndices) -> list[int]:
        """Returns the environment ids of indices; negative ones count from the end."""
        known = range(self.num_envs)
        try:
            found = [indices] if isinstance(indices, np.integer) else self._get_indices(indices)
            return [known[_index(each)] for each in found]
        except (IndexError, TypeError) as error:
            raise type(error)(
                f"indices={quote(indices)}: choose 0 to {self.num_envs - 1}, a list of such, or"
                " None for all"
            ) from None


def _index(value: Any) -> int:
    """Returns an integer; raises TypeError for anything else, bools of a mask included."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    return operator.index(value)


def _by_id(
    env: str | EnvSpec,
    n_envs: Any,
    backend: str,
    of_threads: dict[str, Any],
    of_processes: dict[str, Any],
    options: dict[str, Any],
) -> tuple[Backend, Choice]:
    """Makes the environments of an id or a spec: with "auto", native ones if they exist."""
    given = {name: of_threads[name] for name in ("max_episode_steps", "render_mode")}
    given = {name: value for name, value in given.items() if value is not None} | options
    choice = backends.choose(env, vector_kwargs={"backend": backend}, options=given)
    spec = choice.spec
    assert spec is not None
    if choice.num_envs or choice.vector_kwargs or choice.wrappers:
        raise ValueError(
            f"the spec of {spec.id} is of a vector environment: give that of a single one, as"
            " gymnasium.spec(id) returns"
        )
    if choice.chain.names:
        # PoolVectorEnv replaces these wrappers; here their infos would have another form
        why = f"the spec of {spec.id} adds {', '.join(choice.chain.names)}"
        processes = replace(choice, backend=backends.PROCESS, reason=why)
        choice = backends.check_allowed(backend, processes)
    count = check_count("n_envs", 1 if n_envs is None else n_envs, 1, MAX_ENVS)
    if choice.backend == backends.PROCESS:
        for name in _given({name: of_threads[name] for name in OF_THREADS}):
            raise TypeError(
                f"{named(name)}={quote(of_threads[name])} is for native environments, but"
                f" {choice.reason}: {FOR_FUNCTIONS[name]}"
            )
        env_fns = backends.env_fns_of(choice, {**spec.kwargs, **given}, (), count)
        return ProcessBackend(env_fns, **of_processes), choice
    for name in _given(of_processes):
        raise TypeError(
            f"{named(name)}={quote(of_processes[name])}: {choice.reason}, and needs no processes:"
            f" leave it out, or give [lambda: gymnasium.make({quote(spec.id)})] * n"
        )
    assert choice.definition is not None
    return NativeBackend(spec, choice.definition, count, options=options, **of_threads), choice


def _process(
    env: Any,
    n_envs: Any,
    of_threads: dict[str, Any],
    of_processes: dict[str, Any],
    options: dict[str, Any],
) -> ProcessBackend:
    """Makes Python environments in worker processes."""
    if not isinstance(env, Iterable):
        raise TypeError(
            f"env={quote(env)} is {a_type(env)}: give the id or the EnvSpec of a native"
            " environment, or a list of functions that make Python environments"
        )
    if isinstance(n_envs, str) and of_processes["start_method"] is None:
        of_processes["start_method"], n_envs = n_envs, None
    given = {"n_envs": n_envs, **of_threads}
    for name in _given(given):
        raise TypeError(f"{named(name)}={quote(given[name])}: {FOR_FUNCTIONS[name]}")
    for name, value in options.items():
        known = ", ".join([*of_processes, "seed"])
        raise TypeError(
            f"{named(name)}={quote(value)}: {IN_FUNCTIONS}; PoolVecEnv itself takes {known}"
        )
    return ProcessBackend(env, **of_processes)


def _given(values: Mapping[str, Any]) -> list[str]:
    """Returns the names of the arguments that the caller gave."""
    return [name for name, value in values.items() if value != NOT_GIVEN.get(name)]
