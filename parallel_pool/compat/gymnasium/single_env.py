"""PoolEnv: one native environment as a `gymnasium.Env`, which gymnasium.make returns."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from parallel_pool import registry
from parallel_pool.arguments import shown
from parallel_pool.buffers import engine_indices
from parallel_pool.compat import env_specs, tuples
from parallel_pool.compat.gymnasium.infos import of_row
from parallel_pool.compat.vector_errors import NotResetError
from parallel_pool.errors import StateError
from parallel_pool.pool import Batch, Pool


class PoolEnv(gymnasium.Env[Any, Any]):
    """One environment of the user's own, in a pool of its own.

    It has no time limit: gymnasium.make adds its wrapper TimeLimit.

    Attributes:
        env_id: of the definition; classes of `class_of` have one.
        pool: the `parallel_pool.Pool` underneath, for snapshots.
    """

    env_id: ClassVar[str]

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        """Makes the environment.

        Args:
            render_mode: None, or "rgb_array" if the environment draws.
            options: the environment's own.

        Raises:
            TypeError, ValueError: an option is wrong, or the environment has several players.
        """
        # for close() after an __init__ that failed halfway
        self.pool: Pool | None = None
        definition = registry.find(self.env_id)
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode={shown(render_mode)}: choose {' or '.join(map(repr, modes)) or None}"
            )
        self.render_mode = render_mode
        spec = definition.configure(registry.complete(definition, options))
        if spec.num_players != 1:
            raise ValueError(
                f"{self.env_id} has {spec.num_players} players, and gymnasium.make is for one: use"
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
        self._read_columns(self.pool)

    def _read_columns(self, pool: Pool) -> None:
        """Stores the indices of the columns that results are made of."""
        engine = engine_indices(pool.columns)
        self._ends = engine["reward"], engine["terminated"], engine["truncated"]
        fields = list(enumerate(pool.spec.fields))
        self._infos = [(i, field) for i, field in fields if field.is_info]
        self._observations = {field.name: i for i, field in fields if not field.is_info}

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
        super().reset(seed=seed)
        batch = self._open().reset(seed=seed, options=options)
        return self._observation(batch), self._info(batch, is_reset=True)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advances the episode by one action.

        Raises:
            TypeError, ValueError: the action is wrong.
            NotResetError: before the first reset, or after the end of an episode.
            EnvError: the environment failed.
        """
        pool = self._open()
        try:
            batch = pool.step(np.asarray(action)[None])
        except StateError as error:
            if type(error) is StateError:
                raise NotResetError(f"{error}: call reset() first") from None
            raise
        reward, terminated, truncated = (batch[i][0].item() for i in self._ends)
        return (
            self._observation(batch),
            reward,
            terminated,
            truncated,
            self._info(batch, is_reset=False),
        )

    def render(self) -> Any:
        """Returns the picture, uint8 (height, width, 3); None without a render mode."""
        return None if self.render_mode is None else self._open().render()[0]

    def close(self) -> None:
        """Closes the pool."""
        if self.pool is not None:
            self.pool.close()

    def _open(self) -> Pool:
        assert self.pool is not None
        return self.pool

    def _observation(self, batch: Batch) -> Any:
        space = self.observation_space
        if isinstance(space, spaces.Dict):
            return {key: _value(space[key], batch[i]) for key, i in self._observations.items()}
        return _value(space, batch[0])

    def _info(self, batch: Batch, *, is_reset: bool) -> dict[str, Any]:
        found = {}
        for i, field in self._infos:
            if not (field.on_reset if is_reset else field.on_step):
                continue
            value = batch[i][0]
            if field.is_int_on_reset if is_reset else field.is_int_on_step:
                value = np.int64(value)
            found[field.name] = value.copy() if isinstance(value, np.ndarray) else value
        return found


def _value(space: gymnasium.Space[Any], rows: Any) -> Any:
    """Returns the only row of an observation as its space has it."""
    if isinstance(space, spaces.Tuple):
        return of_row(tuples.split(rows), 0)
    # NumPy's own scalars are not arrays
    return of_row(rows, 0) if isinstance(space, spaces.Discrete) else np.array(rows[0])


def class_of(env_id: str) -> type[PoolEnv]:
    """Returns the class of an environment, with the metadata that gymnasium.make reads.

    Raises:
        ValueError: there is no such environment.
    """
    definition = registry.find(env_id)
    members = {"env_id": env_id, "metadata": env_specs.metadata(definition, None)}
    return type("PoolEnv", (PoolEnv,), members)
