"""VecEnvDataCollector: records a Stable-Baselines3 vector environment to a dataset of Minari's."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs.registration import EnvSpec

from parallel_pool._apis.common import env_specs
from parallel_pool._apis.minari.dataset_stream import WRITE_EVERY
from parallel_pool._apis.minari.recording import Recording
from parallel_pool._apis.sb3.infos import TRUNCATED
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool._workers.data.messages import RESTARTED
from parallel_pool.errors import MissingDependencyError

try:
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
except ImportError as error:
    raise MissingDependencyError(
        "VecEnvDataCollector needs Stable-Baselines3: pip install 'parallel_pool[sb3]'"
    ) from error

if TYPE_CHECKING:
    import minari
    from gymnasium import Space

    from parallel_pool._engine.buffers import Array, Observations

    Step = tuple[Observations, Array, Array, list[dict[str, Any]]]

FINAL_OBSERVATION = "terminal_observation"
# infos that vector environments add
NOT_RECORDED = {TRUNCATED, FINAL_OBSERVATION, *RESTARTED}


@public("compat.minari")
class VecEnvDataCollector(Uncopied, VecEnvWrapper):
    """Records all episodes of a `VecEnv`, also those that an agent plays while it learns.

    `reset`, `step`, `seed` and `set_options` return what they return without it. Episodes, their
    order and the dataset are those of `VectorDataCollector`, with what this API does not tell:
    rewards are float32 before they are recorded, and a step that terminates an episode and also
    reaches its time limit is recorded as terminated only.

    Attributes:
        venv: the vector environment.
        dataset_id: of the dataset.

    Example:
        >>> from stable_baselines3 import PPO
        >>> envs = parallel_pool.PoolVecEnv("CartPole-v1", 8, seed=1)
        >>> collect = parallel_pool.compat.minari.VecEnvDataCollector
        >>> envs = collect(envs, "cartpole/ppo-v0", author="me", description="while it learns")
        >>> model = PPO("MlpPolicy", envs, n_steps=32, device="cpu").learn(512)
        >>> envs.finish().total_steps
        512
        >>> envs.close()
    """

    _holds = "environments and a file"

    def __init__(
        self,
        venv: VecEnv,
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
            venv: any `stable_baselines3.common.vec_env.VecEnv`, wrappers included.
            dataset_id: as for `minari.load_dataset`, such as "cartpole/ppo-v0".
            record_infos: as for `VectorDataCollector`. Infos of resets are those in `reset_infos`
                of the environments.
            observation_space: as for `VectorDataCollector`.
            action_space: as for `VectorDataCollector`.
            env_spec: of one environment, for `recover_environment`; None for that of the first.
            write_every: steps that are kept in memory before they are written.
            jpeg_encoding: as for `VectorDataCollector`.
            metadata: as for `VectorDataCollector`.

        Raises:
            TypeError, ValueError: an argument is wrong, there is such a dataset, or the rows are of
                agents or of different tasks.
            NotImplementedError: Minari can't store such a space.
            MissingDependencyError: Minari or h5py is not installed.
        """
        if not isinstance(venv, VecEnv):
            raise TypeError(
                f"venv={quote(venv)} is {a_type(venv)}: give a VecEnv of Stable-Baselines3, or a"
                " Gymnasium vector environment to VectorDataCollector"
            )
        super().__init__(venv)
        self._recording = Recording(
            dataset_id,
            venv.unwrapped,
            venv.num_envs,
            (
                venv.observation_space if observation_space is None else observation_space,
                venv.action_space if action_space is None else action_space,
            ),
            env_spec or _first_spec(venv),
            record_infos=record_infos,
            write_every=write_every,
            jpeg_encoding=jpeg_encoding,
            metadata=metadata,
        )
        self.dataset_id = dataset_id
        # of the step in flight
        self._actions: Any = None

    def reset(self) -> Observations:
        """Starts new episodes; episodes that this cuts off are recorded as truncated.

        Returns:
            Observations (n, *shape) of the space's dtype, or a dict or tuple of such arrays.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        recording = self._recording
        recording.check_call("reset")
        inner = self.venv.unwrapped
        # the reset forgets them
        seeds, options = list(inner._seeds), list(inner._options)
        try:
            observations: Any = self.venv.reset()
            if self._actions is not None:
                # the step that it dropped may have begun episodes
                self._actions = None
                recording.starts.forget(range(self.num_envs))
            starts = {
                i: recording.starts.begin(i, seeds[i], options[i] or None)
                for i in range(self.num_envs)
            }
            recording.episodes.end(starts)
            recording.episodes.begin(starts, observations, self._infos(self._infos_of_resets()))
        except BaseException:
            recording.forget()
            raise
        return observations

    def step_async(self, actions: Any) -> None:
        """Begins a step.

        Args:
            actions: as of the environments.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._recording.check_call("step_async")
        try:
            self.venv.step_async(actions)
        except BaseException:
            self._recording.forget()
            raise
        # the caller may change them at once
        self._actions = copy.deepcopy(actions)

    def step_wait(self) -> Step:
        """Waits for the step that `step_async` began, and records it.

        Returns:
            observations: (n, *shape) of the space's dtype, or a dict or tuple of such arrays;
            rewards: float32 (n,);
            dones: bool (n,);
            infos: a list of n dicts.

        Raises:
            StateError: the dataset is finished.
            ValueError: episodes were dropped, as they can't be stored; nothing else was done.
            Exception: what the environments raise.
        """
        self._recording.check_call("step_wait")
        try:
            result: Any = self.venv.step_wait()
            self._record(*result)
        except BaseException:
            self._recording.forget()
            raise
        step: Step = result
        return step

    def _record(
        self, observations: Any, rewards: Array, dones: Array, infos: Sequence[Mapping[str, Any]]
    ) -> None:
        recording = self._recording
        ends = np.flatnonzero(dones).tolist()
        # such a row repeats the last one
        recording.forget([i for i in ends if RESTARTED[0] in infos[i]])
        truncations: Array = np.zeros(self.num_envs, np.bool_)
        truncations[ends] = [infos[i].get(TRUNCATED, False) for i in ends]
        recording.episodes.add(
            self._actions,
            observations,
            {i: infos[i][FINAL_OBSERVATION] for i in ends},
            rewards,
            dones.astype(np.bool_) & ~truncations,
            truncations,
            self._infos(infos),
        )
        self._actions = None
        recording.episodes.end(ends)
        starts = {i: recording.starts.begin(i) for i in ends}
        recording.episodes.begin(starts, observations, self._infos(self._infos_of_resets()))

    def _infos_of_resets(self) -> list[dict[str, Any]]:
        """Returns the infos of each environment's last reset."""
        # those of wrappers are empty
        self.reset_infos = list(self.venv.unwrapped.reset_infos)
        return self.reset_infos

    def _infos(self, infos: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Returns the environments' own infos; empty ones if they are not recorded."""
        if not self._recording.episodes.has_infos:
            return [{}] * self.num_envs
        return [{k: v for k, v in info.items() if k not in NOT_RECORDED} for info in infos]

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

    def close(self) -> None:
        """Completes the dataset, if `finish` has not, and closes the environments.

        In a forked process it leaves both to the parent.
        """
        try:
            if self._recording.is_own:
                self.finish()
        finally:
            self.venv.close()


def _first_spec(venv: VecEnv) -> EnvSpec | None:
    """Returns the spec of the first environment, None if none is known."""
    try:
        (found,) = venv.get_attr("spec", 0)
    except (AttributeError, NotImplementedError):
        return None
    return env_specs.of_python(found) if isinstance(found, EnvSpec) else None
