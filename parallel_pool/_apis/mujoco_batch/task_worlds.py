"""TaskWorlds: the worlds of a task, stepped together by `mujoco.batch`."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space

from parallel_pool._apis.mujoco_batch import results
from parallel_pool._apis.mujoco_batch.snapshots import Snapshots
from parallel_pool._apis.mujoco_batch.task import Task
from parallel_pool._apis.mujoco_batch.world import World
from parallel_pool._apis.mujoco_batch.world_random import WorldRandom
from parallel_pool._engine import seeds as engine_seeds
from parallel_pool._engine.actions import described
from parallel_pool._engine.arguments import check_count, check_sizes, quote
from parallel_pool._families import mujoco_batch
from parallel_pool._families.mujoco_batch_renderer import BatchRenderer
from parallel_pool._workers.data.spaces import leaves
from parallel_pool._workers.run.worlds import WorldsStep

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

DIVERGED = "diverged"
# of a task: a weak reference to the worlds that it is the task of
OWNER = "_worlds"


class TaskWorlds:
    """The worlds of a task; implements `Worlds`.

    Attributes:
        batch: the `mujoco.batch.Batch`; None once they are closed.
        task: the task.
        generators: of each world; None until its first reset.
        seeds: from which these were made.
        elapsed: int64 (n,), the steps of the present episodes.
        own: the worlds' own values, arrays (n, ...).
    """

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        num_threads: int = 0,
        persistent: bool = False,
        render_mode: str | None = None,
        drawing: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the batch; for the arguments see `BatchVectorEnv`."""
        self.task = task
        self.name = type(task).__name__
        self.num_envs, _ = check_sizes(num_envs, None)
        self._frame_skip = check_count("frame_skip", task.frame_skip, 1)
        self._limit = _limit(task.max_episode_steps)
        threads = check_count("num_threads", num_threads, 0)
        mujoco_batch.import_batch()
        model = mujoco_batch.load_model(task.model)
        self.batch: Any = mujoco_batch.make_batch(model, self.num_envs, threads, persistent)
        self.elapsed: Array = np.zeros(self.num_envs, np.int64)
        self.generators: list[np.random.Generator | None] = [None] * self.num_envs
        self.seeds: list[int | None] = [None] * self.num_envs
        self._divergences = mujoco_batch.divergences(self.batch)
        self._diverged: Array = np.zeros(self.num_envs, np.bool_)
        self._varied = {name: self.batch.expand(name) for name in task.varies}
        self._usual = {name: array[0].copy() for name, array in self._varied.items()}
        self._sets_constants = mujoco_batch.needs_constants(tuple(self._varied))
        self._make_own()
        self._prepare()
        self._snapshots = Snapshots(self)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": list(BatchRenderer.modes),
            "render_fps": round(1 / (model.opt.timestep * self._frame_skip)),
        }
        self._renderer = None
        if render_mode is not None or drawing:
            # the worlds hold the renderer, which must not hold them
            self._renderer = BatchRenderer(
                weakref.proxy(self.batch), self.name, render_mode or "rgb_array", **drawing or {}
            )

    def _make_own(self) -> None:
        """Gives the task the arrays of its worlds' own values."""
        owner = vars(self.task).get(OWNER, lambda: None)()
        if owner is not None and owner.batch is not None:
            raise ValueError(
                f"this {self.name} has {owner.num_envs} worlds already, and keeps their values:"
                " give another object, or the class"
            )
        setattr(self.task, OWNER, weakref.ref(self))
        self.own = {
            name: np.zeros((self.num_envs, *shape)) for name, shape in self.task.own.items()
        }
        for name, array in self.own.items():
            setattr(self.task, name, array)

    def _check_own(self) -> None:
        """Raises TypeError if the task has replaced an array of own values."""
        for name, array in self.own.items():
            if getattr(self.task, name, None) is not array:
                raise TypeError(
                    f"{self.name}.{name} was replaced, and would be in no snapshot and no reset:"
                    f" write into it, as in self.{name}[:] = ..."
                )

    def _prepare(self) -> None:
        """Lets the task prepare, and finds out the spaces."""
        task, count = self.task, self.num_envs
        self.batch.reset()
        task.prepare(self.batch)
        self.batch.forward()
        observations = task.observe(self.batch)
        self.observation_space: spaces.Space[Any] = (
            task.observation_space
            if task.observation_space is not None
            else results.space_of(observations, count)
        )
        self._observed = results.Observed(self.observation_space, count)
        self._observed.leaves(observations)
        self.action_space: spaces.Space[Any] = (
            spaces.Box(*mujoco_batch.control_bounds(self.batch.model), dtype=np.float32)
            if task.action_space is None
            else task.action_space
        )
        found = leaves(self.action_space)
        if found is None or len(found) != 1:
            raise TypeError(f"action_space={quote(self.action_space)}: give a space of one array")
        self._rehearse()

    def _rehearse(self) -> None:
        """Calls the methods of a step once, and resets.

        An output is zero from the moment in which it is bound until the next call of the batch, so
        those that a step reads must be bound before the first one. And mistakes show at once.
        """
        task, batch, count = self.task, self.batch, self.num_envs
        space = copy.deepcopy(batch_space(self.action_space, count))
        space.seed(0)
        with np.errstate(all="ignore"):
            task.act(batch, space.sample())
            results.numbers("reward", task.reward(batch), count)
            results.flags("terminated", task.terminated(batch), count)
            results.named(task.infos(batch), count)
        batch.reset()
        self._check_own()
        for array in self.own.values():
            array[...] = 0

    # ------------------------------------------------------------------------------ stepping --

    def step(self, actions: Array, running: Array) -> WorldsStep:
        task, batch, count = self.task, self.batch, self.num_envs
        task.act(batch, actions)
        is_all = running.all()
        failed = self._called(batch.step, None if is_all else running, nstep=self._frame_skip)
        self.elapsed += running
        rewards = results.numbers("reward", task.reward(batch), count)
        terminated = results.flags("terminated", task.terminated(batch), count)
        self._check_own()
        truncated = self.elapsed >= self._limit
        if self._divergences.any():
            self._diverged = self._divergences.any(axis=1) & running
            rewards = np.where(self._diverged, task.diverged_reward, rewards)
            terminated = terminated | self._diverged
        return WorldsStep(rewards, terminated, truncated, failed)

    def reset(self, env_ids: Array, seeds: Sequence[int | None]) -> Mapping[int, str]:
        task, batch = self.task, self.batch
        rng = self._seeded(env_ids, seeds)
        failed: dict[int, str] = {}
        if self._varied:
            for name, array in self._varied.items():
                array[env_ids] = self._usual[name]
            task.vary(batch, env_ids, rng)
            failed |= self._set_constants(env_ids)
        none = 0
        failed |= self._called(batch.reset, env_ids, stage=none)
        self.elapsed[env_ids] = 0
        self._diverged[env_ids] = False
        for array in self.own.values():
            array[env_ids] = 0
        task.reset_worlds(batch, env_ids, rng)
        self._check_own()
        failed |= self._called(batch.forward, env_ids)
        return failed

    def _seeded(self, env_ids: Array, seeds: Sequence[int | None]) -> WorldRandom:
        """Returns the generators of these worlds, those with a seed made anew."""
        generators, found = self.generators, []
        for env_id, given in zip(env_ids.tolist(), seeds, strict=True):
            generator = generators[env_id]
            if given is not None or generator is None:
                seed = engine_seeds.entropy() if given is None else given
                generator, _ = seeding.np_random(seed)
                generators[env_id], self.seeds[env_id] = generator, seed
            found.append(generator)
        return WorldRandom(found)

    def _set_constants(self, env_ids: Array) -> Mapping[int, str]:
        return self._called(self.batch.set_const, env_ids) if self._sets_constants else {}

    def _called(self, call: Any, env_ids: Array | None, **options: Any) -> dict[int, str]:
        """Calls a method of the batch; returns MuJoCo's errors, by world."""
        error_type = mujoco_batch.import_batch().SimulationError
        try:
            call(env_ids, **options)
        except error_type as error:
            return {int(env_id): self.batch.error(int(env_id)) for env_id in error.ids}
        return {}

    def observe(self) -> list[Array]:
        return self._observed.leaves(self.task.observe(self.batch))

    def infos(self) -> dict[str, Array]:
        found = results.named(self.task.infos(self.batch), self.num_envs)
        if self._diverged.any():
            found[DIVERGED] = self._diverged.copy()
        return found

    # ---------------------------------------------------------------------------- one world --

    def world(self, env_id: int) -> World:
        return World(self, env_id)

    def draw(self, env_id: int) -> Any:
        """Returns a picture of a world; None without a render mode."""
        if self.render_mode is None or self._renderer is None:
            return None
        return self._renderer.draw(env_id)

    def get_state(self, env_id: int) -> bytes:
        return self._snapshots.read(env_id)

    def check_state(self, state: bytes) -> None:
        self._snapshots.check(state)

    def set_states(self, env_ids: Sequence[int], states: Sequence[bytes]) -> None:
        for env_id, state in zip(env_ids, states, strict=True):
            self._snapshots.write(env_id, state)
        self._diverged[list(env_ids)] = False
        if self._varied:
            failed = self._set_constants(np.unique(np.asarray(env_ids)))
            for env_id, text in failed.items():
                raise ValueError(f"the state of environment {env_id}: {text}")

    def varied(self) -> Mapping[str, Array]:
        """Returns the fields of the model that differ, arrays (n, ...)."""
        return self._varied

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
        # ends the batch's threads, unless someone else holds it
        self.batch = self._renderer = None
        self._varied, self._divergences = {}, np.zeros((0, 0))


def _limit(max_episode_steps: Any) -> int:
    """Returns a time limit in steps; one that is never reached for None."""
    if max_episode_steps is None or max_episode_steps == -1:
        return int(np.iinfo(np.int64).max)
    return check_count("max_episode_steps", max_episode_steps, 1)


def task_of(task: Any, values: Mapping[str, Any]) -> Task:
    """Returns the task, of which some attributes get other values.

    Args:
        task: a Task, or a class derived from it.
        values: of attributes; None for the task's own.

    Raises:
        TypeError: it is no task.
    """
    made = task() if isinstance(task, type) else task
    if not isinstance(made, Task):
        raise TypeError(
            f"task={described(task)}: give a class derived from parallel_pool.mujoco_batch.Task, or"
            " an object of it"
        )
    for name, value in values.items():
        if value is not None:
            setattr(made, name, value)
    return made
