"""PoolEnv: one native environment as a `gymnasium.Env`, which gymnasium.make returns."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import gymnasium
import numpy as np

from parallel_pool._apis.common import env_specs, native_attributes, renderer
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.gymnasium.single_results import SingleResults
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named
from parallel_pool._engine.interrupted import LOST, begin_again
from parallel_pool._engine.pool import Pool
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
        self._copies: Any = None
        definition = registry.find(self.task_id)
        if definition.tasks:
            raise ValueError(
                f"{self.task_id} is a mixture, and gymnasium.make is for one environment: give the"
                " id of one of its tasks, or use make_vec"
            )
        reference = env_specs.registered_reference(definition)
        renderer.check_mode(render_mode, renderer.modes(definition, reference))
        self.render_mode = render_mode
        drawing = renderer.pop_options(definition, options)
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
        self._results = SingleResults(self.pool)
        self._copies = registry.copies_of(weakref.proxy(self.pool))

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
        return self._results.reset(batch, seed)

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
        dtypes = pool.action_dtypes(actions) if self._results.follows else None
        if self._renderer is not None:
            self._renderer.after_step(actions, ~ONE)
        return self._results.step(batch, dtypes)

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

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute or a method of the reference that the family has in Python."""
        if "_copies" in vars(self) and native_attributes.is_own(self._copies, name):
            return self._copies.attribute(0, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {named(name)}")

    def _open(self) -> Pool:
        assert self.pool is not None
        return self.pool


def class_of(task_id: str) -> type[PoolEnv]:
    """Returns the class of an environment, with the metadata that gymnasium.make reads.

    Raises:
        ValueError: there is no such environment.
    """
    definition = registry.find(task_id)
    reference = env_specs.registered_reference(definition)
    members = {"task_id": task_id, "metadata": env_specs.metadata(definition, reference)}
    return type("PoolEnv", (PoolEnv,), members)
