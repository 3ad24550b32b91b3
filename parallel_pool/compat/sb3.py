"""PoolVecEnv: a pool as a Stable-Baselines3 vector environment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from parallel_pool.compat.sb3_native import Native
from parallel_pool.errors import MissingDependencyError

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingDependencyError(
        "PoolVecEnv needs Stable-Baselines3: pip install 'parallel_pool[sb3]'"
    ) from error

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.envs.registration import EnvSpec
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

    from parallel_pool.buffers import Array

    Step = tuple[Any, Array, Array, list[dict[str, Any]]]


class Backend(Protocol):
    """What steps the environments; `sb3_native.Native` is one.

    Attributes:
        pool: the pool underneath.
        num_envs: environments.
        observation_space, action_space: of one environment.
        metadata: of the environments.
        reset_infos: for each environment the infos of its last reset; changed in place.
    """

    pool: Any
    num_envs: int
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    metadata: dict[str, Any]
    reset_infos: list[dict[str, Any]]

    def reset(self, seeds: Sequence[int | None], options: Sequence[Mapping[str, Any]]) -> Any:
        """Starts new episodes, dropping a step in flight; returns the observations."""

    def send(self, actions: Any) -> None:
        """Begins a step."""

    def receive(self) -> Step:
        """Ends it."""

    def render(self) -> Sequence[Any]:
        """Draws each environment."""

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        """Returns an attribute of each environment named, or raises AttributeError."""

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets it."""

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Returns what a method of each environment named returns."""

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Says of each environment named whether it has this wrapper."""

    def close(self) -> None:
        """Ends what steps the environments."""


class PoolVecEnv(VecEnv):
    """Native environments as a `stable_baselines3.common.vec_env.VecEnv`.

    For the same seeds and actions it returns what `DummyVecEnv` returns over environments of
    `gymnasium.make`: the same arrays, dtypes and infos. Arrays are never shared with the
    environments: they may be kept and written to.

    Attributes:
        num_envs: environments, n below.
        observation_space, action_space: of one environment.
        metadata: a copy of the environment's.
        render_mode: None, or how `render` draws.
        reset_infos: for each environment the infos of its last reset.
        pool: the `parallel_pool.Pool` underneath, for snapshots and statistics.
    """

    def __init__(
        self,
        env: str | EnvSpec | Sequence[Callable[[], Any]],
        n_envs: int = 1,
        *,
        seed: int | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        **options: Any,
    ) -> None:
        """Makes the environments.

        Args:
            env: an id ("CartPole-v1") or an EnvSpec of a native environment. Functions that make
                Python environments are not taken yet.
            n_envs: environments.
            seed: as for `make_vec_env`: the first reset seeds environment i with seed + i, and the
                action space is seeded too. None: fresh entropy.
            max_episode_steps: time limit; None for the spec's own, -1 for none.
            render_mode: "rgb_array"; where Gymnasium's window draws also "human", for MuJoCo
                "depth_array" and "rgbd_tuple".
            num_threads: every thread that steps, the caller's included; 0 for the cores this
                process may use.
            thread_affinity_offset: 0 or more pins threads to cores from this one on.
            options: the environment's constructor options, and those of its pictures.

        Raises:
            TypeError: env is neither id nor EnvSpec; an option is unknown or of a wrong type.
            ValueError: env is not native or has several players; a value is outside its range.
            MissingDependencyError: the environment needs something that is not installed.
        """
        # whoever takes functions one day makes its own Backend here
        self._backend: Backend = Native(
            env,
            n_envs,
            max_episode_steps=max_episode_steps,
            render_mode=render_mode,
            num_threads=num_threads,
            thread_affinity_offset=thread_affinity_offset,
            options=options,
        )
        backend = self._backend
        super().__init__(backend.num_envs, backend.observation_space, backend.action_space)
        # as DummyVecEnv has it; VecEnv's own knows render modes alone
        self.metadata = backend.metadata
        self.reset_infos = backend.reset_infos
        if seed is not None:
            self.seed(seed)
            self.action_space.seed(seed)

    @property
    def pool(self) -> Any:
        """The `parallel_pool.Pool` underneath."""
        return self._backend.pool

    # ------------------------------------------------------------------------------ stepping --

    def reset(self) -> Any:
        """Starts new episodes, with the seeds and options given for this one reset.

        A step in flight is finished first, and its results are dropped.

        Returns:
            Observations: an array (n, *shape), or a dict of them. Infos are in `reset_infos`.

        Raises:
            TypeError, ValueError: a seed or an option is wrong; nothing was reset, unless
                environments were given options of their own: then those before it were.
            EnvError: environments failed.
        """
        observations = self._backend.reset(self._seeds, self._options)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Any) -> None:
        """Begins a step, which goes on while the caller does something else.

        Args:
            actions: (n, *action shape), an array or list; copied, so it may be changed at once.

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            StateError: before the first reset, or a step is in flight.
        """
        self._backend.send(actions)

    def step_wait(self) -> Step:
        """Ends the step that `step_async` began.

        Returns:
            Observations (n, *shape) or a dict of such arrays, of the next episode where one ended;
            rewards float32 (n,); dones bool (n,); infos, a list of n dicts, each with
            "TimeLimit.truncated" (an episode was cut off, and did not end by itself) and, where one
            ended, "terminal_observation".

        Raises:
            StateError: no step was begun.
            EnvError: environments failed; its `batch` is what would have been returned, and a
                failed environment starts a new episode at its next step.
        """
        return self._backend.receive()

    def close(self) -> None:
        """Ends the threads and closes windows; arrays stay valid."""
        self._backend.close()

    # ----------------------------------------------------------------- the environments' own --

    def get_images(self) -> Sequence[Any]:
        """Draws every environment: n pictures, uint8 (height, width, 3).

        With a render mode other than "rgb_array" it warns and returns Nones.

        Raises:
            NotResetError: before the first reset.
            MissingDependencyError: drawing needs a package that is not installed.
        """
        if self.render_mode != "rgb_array":
            warnings.warn(
                f'render_mode={self.render_mode!r} gives no images: choose "rgb_array" when making'
                " the environments",
                stacklevel=2,
            )
            return [None] * self.num_envs
        return list(self._backend.render())

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Returns an attribute of each environment named (None: all).

        Native ones have their constructor's options (`g`, `sutton_barto_reward`, ...), spec,
        metadata, render_mode, observation_space, action_space, np_random_seed and, with a time
        limit, _max_episode_steps.

        Raises:
            AttributeError: they have no such attribute.
            IndexError: there is no such environment.
        """
        return self._backend.get_attr(attr_name, self._env_ids(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute; native environments refuse it, as they are fixed when they are made.

        Raises:
            AttributeError: the environments are native.
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
        """Returns what a method of each environment named (None: all) returns.

        Raises:
            AttributeError: there is no such method; native environments have `render` alone.
            IndexError: there is no such environment.
        """
        env_ids = self._env_ids(indices)
        return self._backend.call(method_name, method_args, method_kwargs, env_ids)

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        """Says of each environment named (None: all) whether it is in such a wrapper.

        Native environments are in those that `gymnasium.make` puts around the ones they equal.

        Raises:
            IndexError: there is no such environment.
        """
        return self._backend.is_wrapped(wrapper_class, self._env_ids(indices))

    def _env_ids(self, indices: VecEnvIndices) -> list[int]:
        """Returns the environments that indices name; negative ones count from the end."""
        known = range(self.num_envs)
        try:
            return [known[index] for index in self._get_indices(indices)]
        except IndexError:
            raise IndexError(
                f"indices={indices!r}: choose 0 to {self.num_envs - 1}, or None for all"
            ) from None
