"""BatchVectorEnv: a task in vectorised Python as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from parallel_pool._apis.common import vector_infos
from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.common.vector_options import VectorOptions, autoreset_of
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._apis.mujoco_batch.task_worlds import DIVERGED, TaskWorlds, task_of
from parallel_pool._engine.env_ids import one_id
from parallel_pool._families.mujoco_viewer import WorldView
from parallel_pool._lazy import public
from parallel_pool._workers.worlds_pool import WorldsPool, lane_of

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._apis.common.reply_reader import AddInfo, Converted
    from parallel_pool._apis.gymnasium.async_calls import Reset, ResetRequest, Step
    from parallel_pool._apis.gymnasium.process_vector_env import Outcome
    from parallel_pool._apis.mujoco_batch.task import Task
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.replies import Replies


@public("mujoco_batch")
class BatchVectorEnv(ProcessVectorEnv):
    """Many worlds of a `Task` on `mujoco.batch.Batch`, as a `gymnasium.vector.VectorEnv`.

    A step calls each method of the task once, for all worlds. Each world has a generator of its
    own, so that a seed gives the same episode beside any number of other worlds.

    A world that diverges (MuJoCo finds a number that is not finite, or beyond 1e10) has reached an
    end: its infos have "diverged", and its next episode begins as after any end. If MuJoCo reports
    an error in some worlds, `parallel_pool.errors.EnvError` names them, and the others go on.

    Attributes:
        backend: "process", as for all environments in Python; this process steps them.
        backend_reason: why; a sentence.
        num_envs: worlds, n below.
        single_observation_space: of one world.
        single_action_space: of one world.
        observation_space: of all worlds: a first axis of n is added.
        action_space: of all worlds: a first axis of n is added.
        autoreset_mode: how episodes start again; also `metadata["autoreset_mode"]`.
        metadata: render modes and autoreset mode.
        render_mode: None, or how `render` draws.
        task: the task.
        batch: the `mujoco.batch.Batch`.
        pool: what steps the worlds, for snapshots (`get_state`, `set_state`) and statistics.

    Example:
        >>> class Balance(parallel_pool.mujoco_batch.Task):
        ...     model = gymnasium.__path__[0] + "/envs/mujoco/assets/inverted_pendulum.xml"
        ...     def observe(self, batch): return batch.qpos.copy()
        ...     def reward(self, batch): return np.cos(batch.qpos[:, 1])
        >>> envs = parallel_pool.mujoco_batch.BatchVectorEnv(Balance, 8, max_episode_steps=50)
        >>> envs.reset(seed=1)[0].shape, envs.step(envs.action_space.sample())[1].shape
        ((8, 2), (8,))
        >>> envs.close()
    """

    backend_reason = "the task is vectorised Python on mujoco.batch"
    pool: WorldsPool
    # while `_step_wait_as` or `_reset_as` runs, its function
    _make_step: Callable[[Step], Any] | None = None
    _make_first: Callable[[Reset], Any] | None = None

    def __init__(
        self,
        task: Task | type[Task],
        num_envs: int = 1,
        *,
        model: Any = None,
        frame_skip: int | None = None,
        max_episode_steps: int | None = None,
        num_threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        persistent: bool = False,
        render_mode: str | None = None,
        **drawing: Any,
    ) -> None:
        """Makes the worlds.

        Args:
            task: a `Task`, or a class derived from it.
            num_envs: worlds.
            model: instead of the task's: a path, a text in MJCF, or an MjModel.
            frame_skip: instead of the task's: steps of the simulation in one step.
            max_episode_steps: instead of the task's: time limit in steps, -1 for none.
            num_threads: threads of the simulation, the caller's included; 0 for the cores this
                process may use.
            autoreset_mode: NEXT_STEP: the step after the end of an episode ignores its action and
                resets; SAME_STEP: the step that ends an episode returns the first observation of
                the next; DISABLED: the caller resets, with options={"reset_mask": ...}.
            persistent: whether each world has an MjData of its own, as models with sleep need.
            render_mode: "rgb_array", "depth_array", "rgbd_tuple", or "segmentation_array": int32
                (height, width, 2), what each pixel shows: the id of an object of the model and
                its type (`mujoco.mjtObj`), -1 and -1 for none, as of `mujoco.Renderer`.
            drawing: width, height, camera_id, camera_name, default_camera_config, max_geom and
                visual_options, as of Gymnasium's MuJoCo environments.

        Raises:
            TypeError, ValueError: an argument is wrong, MuJoCo refuses the model, or a method of
                the task returns what it should not.
            OSError: there is no such model.
            MissingDependencyError: MuJoCo is missing, or older than 4.0.
            Exception: raised by the task.
        """
        self.autoreset_mode = VectorOptions(autoreset_mode=autoreset_mode).mode()
        values = {
            "model": model,
            "frame_skip": frame_skip,
            "max_episode_steps": max_episode_steps,
        }
        self.task = task_of(task, values)
        self._worlds = worlds = TaskWorlds(
            self.task,
            num_envs,
            num_threads=num_threads,
            persistent=persistent,
            render_mode=render_mode,
            drawing=drawing,
        )
        self.single_observation_space = worlds.observation_space
        self.single_action_space = worlds.action_space
        self.observation_space = batch_space(worlds.observation_space, worlds.num_envs)
        self.action_space = batch_space(worlds.action_space, worlds.num_envs)
        self.pool = WorldsPool(worlds, autoreset=autoreset_of(self.autoreset_mode))
        self._lane = lane_of(self.pool)
        self._adopt(WorldReader(self.pool, self.single_observation_space))

    @property
    def batch(self) -> Any:
        """The `mujoco.batch.Batch`; None once this is closed."""
        return self._worlds.batch

    def view(self, world: int = 0) -> WorldView:
        """Opens MuJoCo's viewer of one world, beside the running batch.

        Call `update` of what this returns as often as the window is to follow the world.

        Args:
            world: its number.

        Raises:
            IndexError, TypeError, ValueError: there is no such world.
            parallel_pool.errors.ClosedError: the worlds are closed.
        """
        self._check_idle("view")
        return WorldView(self.batch, one_id(world, self.num_envs))

    def _step_wait_as(self, make_result: Callable[[Step], Any]) -> Any:
        """Does what `step_wait` does, and returns the result of `make_result` for its result.

        Args:
            make_result: a function that may be called again, as that of `Pool.step_as`.
        """
        self._make_step = make_result
        try:
            return self.step_wait()
        finally:
            # no function call since the pool has handed over: Python handles signals after each
            self._make_step = None

    def _reset_as(
        self,
        make_result: Callable[[Reset], Any],
        seed: seeds.Seed,
        options: dict[str, Any] | None,
    ) -> Any:
        """Does what `reset` does, and returns the result of `make_result` for its result."""
        self._make_first = make_result
        try:
            return self.reset(seed=seed, options=options)
        finally:
            self._make_first = None

    def _step_outcome(self, views: Views) -> Outcome:
        return _made(super()._step_outcome(views), self._make_step)

    def _reset_outcome(self, request: ResetRequest, views: Views) -> Outcome:
        return _made(super()._reset_outcome(request, views), self._make_first)

    def _check_ended(self) -> None:
        if self._lane.is_begun:
            # a snapshot may have been restored since
            self._ended = self._lane.ended
            super()._check_ended()


def _made(outcome: Outcome, make_result: Callable[[Any], Any] | None) -> Outcome:
    """Returns an outcome with the result of a function of its result."""
    result, ended, failure = outcome
    if failure is not None or make_result is None:
        return outcome
    try:
        return make_result(result), ended, None
    except Exception as error:
        return None, ended, error


class WorldReader(ReplyReader):
    """Reads batches of worlds, which send no infos: the lane has them."""

    def __init__(self, pool: WorldsPool, space: Space[Any]) -> None:
        """
        Args:
            pool, space: as for `ReplyReader`.
        """
        super().__init__(pool, space)
        self._lane = lane_of(pool)
        self._is_same_step = pool.autoreset == "same_step"

    def with_infos(
        self, converted: Converted, sent: Replies, add: AddInfo, env_ids: Array | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Returns the observations, and the infos of the last turns."""
        lane = self._lane
        observations, _, terminated, truncated, _ = converted
        infos: dict[str, Any] = {}
        ended = terminated | truncated
        if self._is_same_step and ended.any():
            finals: Array = np.full(len(ended), None, object)
            for row in np.flatnonzero(ended).tolist():
                finals[row] = self.final_observation(row, {}, converted)
            final_info = _with_masks(lane.final_infos, ended)
            infos = vector_infos.finals_of(finals, ended, final_info)
        infos.update(_with_masks(lane.infos, lane.info_rows))
        return observations, infos


def _with_masks(arrays: Mapping[str, Array], rows: Array) -> dict[str, Any]:
    """Returns infos in Gymnasium's vector form, for rows of a bool mask (n,)."""
    infos: dict[str, Any] = {}
    for name, values in arrays.items():
        mask = values & rows if name == DIVERGED else rows.copy()
        vector_infos.put(infos, name, values, mask)
    return infos
