"""SingleResults: what a single environment returns for a batch of one row of a native pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from parallel_pool._apis.common import ale_ids, tuples
from parallel_pool._apis.common.env_infos import Info, is_python
from parallel_pool._apis.common.native_infos import DTypes
from parallel_pool._apis.common.vector_infos import of_row
from parallel_pool._engine.buffers import Array, engine_indices
from parallel_pool._engine.pool import Batch, Pool
from parallel_pool._engine.specs import GIVEN, Field
from parallel_pool._engine.trees import nest


class SingleResults:
    """Reads batches of one row; what it returns shares no memory with them.

    Attributes:
        observation_space: of one environment.
        follows: whether infos of a step have a dtype that depends on the action's.
    """

    def __init__(self, pool: Pool) -> None:
        engine = engine_indices(pool.columns)
        self._ends = engine["reward"], engine["terminated"], engine["truncated"]
        self._games = ale_ids.games(pool)
        self._env_id = engine["env_id"]
        self.observation_space: gymnasium.Space[Any] = pool.spec.observation_space()
        fields = list(enumerate(pool.spec.fields))
        given = next((i for i, field in fields if field.name == GIVEN), -1)
        self._observations = {field.name: i for i, field in fields if not field.is_info}
        self._spaces = {field.name: field.space() for field in pool.spec.observations}
        self._texts = {it.name: it.texts for it in pool.spec.observations if it.texts is not None}

        def infos(is_wanted: Callable[[Field], bool], *, is_reset: bool = False) -> list[Info]:
            def rows_of(field: Field) -> Array | None:
                if field.rows is None:
                    return None
                return field.rows.on_reset if is_reset else field.rows.on_step

            return [
                Info(
                    field.name,
                    i,
                    is_python(pool.definition, field),
                    0 if is_reset else field.follows,
                    field.is_int_on_reset if is_reset else field.is_int_on_step,
                    field.texts,
                    rows_of(field),
                    given if field.is_optional else -1,
                    pool.spec.given.get(field.name, 0),
                )
                for i, field in fields
                if field.is_info and pool.spec.is_shown(field) and is_wanted(field)
            ]

        self._reset_infos = infos(lambda field: field.on_reset, is_reset=True)
        self._step_infos = infos(lambda field: field.on_step)
        self._last_infos = infos(lambda field: field.on_step or field.on_termination)
        self.follows = any(info.follows for info in self._step_infos)
        shown = [*self._reset_infos, *self._last_infos]
        # whether rows may lack infos, and whether infos or observations have dicts in dicts
        self._is_partial = any(it.rows is not None or it.given >= 0 for it in shown)
        self._has_nested_infos = any("." in it.name for it in shown)
        self._is_nested = any("." in name for name in self._observations)

    def reset(self, batch: Batch, seed: int | None) -> tuple[Any, dict[str, Any]]:
        """Returns observation and infos of a reset with this seed."""
        infos = self._given(self._reset_infos, batch, None)
        if seed is not None and self._games[int(batch[self._env_id][0])]:
            infos["seeds"] = ale_ids.seeds_of(seed)
        return self._observation(batch), infos

    def step(
        self, batch: Batch, dtype: np.dtype[Any] | list[np.dtype[Any]] | None
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Returns the result of a step.

        Args:
            batch: one row.
            dtype: in which NumPy computes with the action, if `follows`.
        """
        reward, terminated, truncated = (batch[i][0].item() for i in self._ends)
        given = self._last_infos if terminated else self._step_infos
        infos = self._given(given, batch, dtype)
        return self._observation(batch), reward, terminated, truncated, infos

    def _given(self, infos: Sequence[Info], batch: Batch, dtype: DTypes) -> dict[str, Any]:
        """Returns those of some infos that the row has."""
        if self._is_partial:
            env_id = int(batch[self._env_id][0])
            infos = [info for info in infos if info.is_of(env_id) and info.has(batch, 0)]
        found = {info.name: info.one(batch, 0, dtype) for info in infos}
        return nest(found) if self._has_nested_infos else found

    def _observation(self, batch: Batch) -> Any:
        if not isinstance(self.observation_space, spaces.Dict):
            (name,) = self._observations
            return self._value(name, batch[0])
        seen = {name: self._value(name, batch[i]) for name, i in self._observations.items()}
        return nest(seen) if self._is_nested else seen

    def _value(self, name: str, rows: Any) -> Any:
        """Returns the only row of an observation as its space has it."""
        if name in self._texts:
            return self._texts[name].of_row(rows[0])
        space = self._spaces[name]
        if isinstance(space, spaces.Tuple):
            return of_row(tuples.split(rows), 0)
        # NumPy's own scalars are not arrays
        return of_row(rows, 0) if isinstance(space, spaces.Discrete) else np.array(rows[0])
