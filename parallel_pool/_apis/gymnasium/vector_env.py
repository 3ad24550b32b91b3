"""PoolVectorEnv: the base of the vector environments of threads, of processes and of clusters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.torch.torch_method import TorchMethod
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._apis.common.vector_options import ObservationMode
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.variation import Each, EachReset
    from parallel_pool._workers.process_pool import ProcessPool

T = TypeVar("T")


class ChoosesBackend(type):
    """The type of `PoolVectorEnv`: called itself, that class makes one of its subclasses.

    A `__new__` would not do: Python would then call the subclass's `__init__` with the arguments of
    the call, and the factory passes it the backend that it has chosen.
    """

    # makes what that call returns; the module that knows all backends sets it
    factory: ClassVar[Callable[..., Any]]

    def __call__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        if cls is PoolVectorEnv:
            chosen: T = ChoosesBackend.factory(*args, **kwargs)
            return chosen
        made: T = type.__call__(cls, *args, **kwargs)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """The parameters of __init__, for `help` and `inspect.signature`."""
        whole = inspect.signature(cls.__init__)  # type: ignore[misc]
        return whole.replace(parameters=[*whole.parameters.values()][1:])


@public("compat.gymnasium")
class PoolVectorEnv(
    TraceMethod,
    TorchMethod,
    Uncopied,
    VectorEnv[Any, Any, np.ndarray[Any, Any]],
    metaclass=ChoosesBackend,
):
    """Many environments as a `gymnasium.vector.VectorEnv`.

    For the same seed and actions it returns what `gymnasium.vector.SyncVectorEnv` returns with the
    reference's environments: the same arrays, dtypes and infos. Arrays are never shared with the
    environments: you may keep them and write to them.

    `PoolVectorEnv(...)` returns an object of one of its subclasses: a `NativeVectorEnv` if native
    environments exist for the given arguments, else a `ProcessVectorEnv`, whose environments run in
    worker processes; and with backend="cluster" a `ClusterVectorEnv`. To derive a class, derive it
    from one of these.

    Attributes:
        backend: what runs: "native" (C, also if it was compiled from a class), "process" (the class
            itself) or "cluster".
        backend_reason: why this backend was chosen, and the class from which it was compiled; a
            sentence.
        num_envs: environments, n below.
        single_observation_space: of one environment.
        single_action_space: of one environment.
        observation_space: of all environments: a first axis of n is added.
        action_space: of all environments: a first axis of n is added.
        autoreset_mode: how episodes start again; also `metadata["autoreset_mode"]`.
        metadata: a copy of the reference's.
        spec: `gymnasium.make_vec(spec)` makes another vector environment like this one.
        render_mode: None, or how `render` draws.
        pool: the `parallel_pool.Pool` or `ProcessPool` underneath, for snapshots and statistics; a
            cluster has none in this process.

    Example:
        >>> envs = parallel_pool.PoolVectorEnv("CartPole-v1", 4, max_episode_steps=100)
        >>> envs.backend
        'native'
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminations, truncations, infos = envs.step([0, 1, 0, 1])
        >>> observations.shape, rewards
        ((4, 4), array([1., 1., 1., 1.]))
        >>> envs.close()
    """

    backend: str
    backend_reason: str
    autoreset_mode: AutoresetMode
    pool: Pool | ProcessPool

    def __init__(
        self,
        env: str | EnvSpec | Sequence[Callable[[], Any]] | None = None,
        num_envs: int | None = None,
        *,
        env_fns: Sequence[Callable[[], Any]] | None = None,
        wrappers: Sequence[Callable[[Any], Any]] | None = None,
        backend: str = "auto",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | Each | EachReset | None = None,
        render_mode: str | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        copy: bool = True,
        observation_mode: ObservationMode = "same",
        **options: Any,
    ) -> None:
        """Makes the environments.

        Args:
            env: an id ("CartPole-v1") or an EnvSpec; as in make_vec, the kwargs of a vector
                environment's spec win over arguments. Or functions, each of which makes a Python
                environment.
            num_envs: environments; None for 1.
            env_fns: the functions under Gymnasium's name, instead of env.
            wrappers: around each environment, the innermost first. Native environments replace
                these: TimeLimit, OrderEnforcing, PassiveEnvChecker, RecordEpisodeStatistics,
                ClipReward, TransformReward with a functools.partial of numpy.clip; around Atari
                games AtariPreprocessing; around pictures GrayscaleObservation, ResizeObservation
                and FrameStackObservation; around MiniGrid minigrid's. Each is given as the class,
                or as a functools.partial of it with keyword arguments.
            backend: "native", "process" (Python environments in worker processes), "auto" (native
                if a native environment gives the same results), "compiled": the class in Python
                that is registered under the id, translated to C at the first use as
                `parallel_pool.compile` does (an id that is native already, built in or compiled
                before, needs no translation and stays what it is: both mean C with the class's
                results); or "cluster": on the machines of a Ray cluster, with the further options
                of `ClusterVectorEnv`.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its action and
                resets; SAME_STEP: the step that ends an episode returns the first observation of
                the next; DISABLED: the caller resets, with options={"reset_mask": ...}.
            max_episode_steps: time limit in steps; None for the spec's own, -1 for none.
            render_mode: "rgb_array"; "human" for environments that Gymnasium draws in a window;
                "depth_array" and "rgbd_tuple" for MuJoCo; each but "human" also with the suffix
                "_list", for all frames since the last call.
            num_threads: threads that step, the caller's included; 0 for the cores this process may
                use.
            thread_affinity_offset: 0 or more pins threads to cores from this one on.
            copy: accepted for compatibility with SyncVectorEnv; results are always copies.
            observation_mode: "same" or "different" (no difference here), or a tuple of a batched
                and a single observation space to show instead of the environments' own.
            options: the environment's constructor options; one of them, and max_episode_steps,
                may be `parallel_pool.each([...])`, a value for each environment, or
                `parallel_pool.each_reset(low, high)`. Its drawing options (MuJoCo's width, height,
                camera_id, camera_name, default_camera_config, max_geom and visual_options). And
                those of `ProcessVectorEnv`, for Python environments.

        Raises:
            TypeError: env or an option is of a wrong type, or an option is unknown.
            ValueError: the backend can't make these environments; a value is outside its range.
            SourceError: with backend="compiled", the class can't be translated.
            gymnasium.error.UnregisteredEnv: there is no such id.
            MissingDependencyError: the environment needs a package that is not installed.
        """
        raise TypeError(
            f"{type(self).__name__} is derived from PoolVectorEnv, which has no environments of its"
            " own: derive it from NativeVectorEnv, ProcessVectorEnv or ClusterVectorEnv"
        )

    # ---------------------------------------------------------------------------- attributes --

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or gets an attribute; returns n results."""
        raise NotImplementedError

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every environment, as `call` does: n values."""
        return self.call(name)

    def render(self) -> tuple[Any, ...]:
        """Returns the results of every environment's `render`."""
        return self.call("render")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds that the environments' generators were made from."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Copies of the environments' generators; of Python environments only."""
        return self.get_attr("np_random")

    def _one_each(self, values: Any) -> list[Any]:
        """Returns a value for each environment: of a list or tuple its members, else the same."""
        if not isinstance(values, (list, tuple)):
            return [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(
                f"{len(values)} values for {self.num_envs} environments: give one for each"
            )
        return list(values)
