"""PoolEnv: one native environment as a `gymnasium.Env`, which gymnasium.make returns."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from parallel_pool._apis.common import ale_ids, env_specs, renderer, tuples
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.common.vector_infos import of_row
from parallel_pool._apis.gymnasium.env_infos import Info, is_python
from parallel_pool._engine import registry
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.interrupted import LOST, begin_again
from parallel_pool._engine.pool import Batch, Pool
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool.errors import StateError

# a mask of all environments
ONE = np.ones(1, np.bool_)


class PoolEnv(TraceMethod, Uncopied, gymnasium.Env[Any, Any]):
    """One native environment, in a pool of its own.

    It returns what its reference returns, until the end of an episode: then it must be reset. It
    has no time limit: gymnasium.make adds its wrapper TimeLimit.

    Attributes:
        task_id: of the definition; classes of `class_of` have one.
        pool: the `parallel_pool.Pool` underneath, for snapshots.
    """

    task_id: ClassVar[str]

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        """Makes the environment.

        Args:
            render_mode: None, or one of `metadata["render_modes"]`.
            options: the environment's own, and its drawing options.

        Raises:
            TypeError, ValueError: an option is wrong, or the environment has several players.
            MissingDependencyError: the environment needs a package that is not installed.
        """
        # for close() after an __init__ that failed halfway
        self.pool: Pool | None = None
        self._renderer: renderer.Renderer | None = None
        definition = registry.find(self.task_id)
        reference = env_specs.registered_reference(definition)
        renderer.check_mode(render_mode, renderer.modes(definition, reference))
        self.render_mode = render_mode
        drawing = {
            name: options.pop(name) for name in renderer.defaults(definition) if name in options
        }
        spec = definition.configure(registry.fill_options(definition, options))
        if spec.num_players != 1:
            raise ValueError(
                f"{self.task_id} has {spec.num_players} players, and gymnasium.make is for one: use"
                " parallel_pool.PoolParallelEnv"
            )
        self.pool = Pool(
            definition,
            num_threads=1,
            autoreset="disabled",
            max_episode_steps=0,
            reward_dtype="float64",
            options=options,
        )
        self.observation_space = spec.observation_space()
        self.action_space = spec.action_space()
        self.metadata = dict(self.metadata)
        self._renderer = renderer.make_renderer(
            self.pool, reference, render_mode, drawing, self.metadata
        )
        self._read_columns(self.pool)

    def _read_columns(self, pool: Pool) -> None:
        """Stores the indices of the columns that results are made of."""
        engine = engine_indices(pool.columns)
        self._ends = engine["reward"], engine["terminated"], engine["truncated"]
        fields = list(enumerate(pool.spec.fields))
        self._observations = {field.name: i for i, field in fields if not field.is_info}
        self._texts = {field.name: field.texts for _, field in fields if field.texts is not None}

        def infos(*, is_reset: bool) -> list[Info]:
            found = [(i, field) for i, field in fields if field.is_info]
            return [
                Info(
                    field.name,
                    i,
                    is_python(pool.definition, field),
                    0 if is_reset else field.follows,
                    field.is_int_on_reset if is_reset else field.is_int_on_step,
                )
                for i, field in found
                if (field.on_reset if is_reset else field.on_step)
            ]

        self._reset_infos, self._step_infos = infos(is_reset=True), infos(is_reset=False)
        self._follows = any(info.follows for info in self._step_infos)

    # ------------------------------------------------------------------------------ stepping --

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: of the environment's generator; None: it continues.
            options: the environment's reset options.

        Raises:
            TypeError, ValueError: an argument is wrong.
            EnvError: the environment failed.
        """
        pool = self._open()
        batch = begin_again(pool, seed=seed, options=options)
        super().reset(seed=seed)
        if self._renderer is not None:
            self._renderer.after_reset(ONE)
        infos = {info.name: info.one(batch, 0, None) for info in self._reset_infos}
        if seed is not None and pool.definition.family == ale_ids.FAMILY:
            infos["seeds"] = ale_ids.seeds_of(seed)
        return self._observation(batch), infos

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advances the episode by one action.

        Raises:
            TypeError, ValueError: the action is wrong.
            NotResetError: before the first reset, or after the end of an episode.
            EnvError: the environment failed.
        """
        pool = self._open()
        actions = np.asarray(action)[None]
        try:
            batch = pool.step(actions)
        except StateError as error:
            if type(error) is StateError:
                reason = LOST if pool.was_interrupted else error
                raise NotResetError(f"{reason}: call reset() first") from None
            raise
        dtypes = pool.action_dtypes(actions) if self._follows else None
        if self._renderer is not None:
            self._renderer.after_step(actions, ~ONE)
        reward, terminated, truncated = (batch[i][0].item() for i in self._ends)
        infos = {info.name: info.one(batch, 0, dtypes) for info in self._step_infos}
        return self._observation(batch), reward, terminated, truncated, infos

    def render(self) -> Any:
        """Returns the picture, uint8 (height, width, 3); None for "human" or without a mode."""
        check_usable(self._open())
        return None if self._renderer is None else self._renderer.render()[0]

    def close(self, timeout: float | None = None) -> None:
        """Closes the pool, and the window if there is one.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        if self._renderer is not None:
            self._renderer.close()
        if self.pool is not None:
            self.pool.close(timeout=timeout)

    def _open(self) -> Pool:
        assert self.pool is not None
        return self.pool

    def _observation(self, batch: Batch) -> Any:
        space = self.observation_space
        if isinstance(space, spaces.Dict):
            return {
                key: self._value(key, space[key], batch[i]) for key, i in self._observations.items()
            }
        (key,) = self._observations
        return self._value(key, space, batch[0])

    def _value(self, key: str, space: gymnasium.Space[Any], rows: Any) -> Any:
        """Returns the only row of an observation as its space has it."""
        if key in self._texts:
            return self._texts[key].of_rows(rows)[0]
        if isinstance(space, spaces.Tuple):
            return of_row(tuples.split(rows), 0)
        # NumPy's own scalars are not arrays
        return of_row(rows, 0) if isinstance(space, spaces.Discrete) else np.array(rows[0])


def class_of(task_id: str) -> type[PoolEnv]:
    """Returns the class of an environment, with the metadata that gymnasium.make reads.

    Raises:
        ValueError: there is no such environment.
    """
    definition = registry.find(task_id)
    reference = env_specs.registered_reference(definition)
    members = {"task_id": task_id, "metadata": env_specs.metadata(definition, reference)}
    return type("PoolEnv", (PoolEnv,), members)
