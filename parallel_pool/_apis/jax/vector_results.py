"""VectorResults: the form in which compiled programs get the results of a `PoolVectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from parallel_pool._apis.common import tuples
from parallel_pool._apis.common.vector_infos import finals_of, nested
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.specs import GIVEN
from parallel_pool._engine.trees import map_leaves, nest

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Field


class VectorResults:
    """Makes Gymnasium's results from the columns of a batch.

    A compiled program has one form of results, whatever happens. So infos have all keys that they
    can have, each with its mask. It holds no reference to the pool.
    """

    def __init__(
        self,
        pool: Pool,
        observations: Mapping[str, int],
        keys: Sequence[str] | None,
        *,
        is_tuple: bool = False,
    ) -> None:
        """
        Args:
            pool: the environments.
            observations: the column of each observation, by name.
            keys: names of observations that are dicts, in order; None for arrays.
            is_tuple: whether observations are tuples.
        """
        engine = engine_indices(pool.columns)
        self._reward, self._terminated, self._truncated, self._elapsed = (
            engine[name] for name in ("reward", "terminated", "truncated", "elapsed_step")
        )
        self._autoreset = pool.autoreset
        self._observations, self._keys, self._is_tuple = dict(observations), keys, is_tuple
        own = [(i, c) for i, c in enumerate(pool.columns) if c.field >= 0]
        self._infos: list[tuple[int, Field]] = [
            (i, pool.spec.fields[c.field])
            for i, c in own
            if pool.spec.fields[c.field].is_info and not c.is_final
            if pool.spec.is_shown(pool.spec.fields[c.field])
        ]
        self._bits = pool.spec.given
        # the columns that say which infos a row has, by whether it is an episode's last one
        self._given = {c.is_final: i for i, c in own if c.name == GIVEN}
        # the final column of each field
        self._finals = {c.field: i for i, c in own if c.is_final}
        self._fields = {i: c.field for i, c in own}

    def of_step(self, columns: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Returns what `step` returns."""
        terminated, truncated = columns[self._terminated], columns[self._truncated]
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        if self._autoreset == "next_step":
            is_first = columns[self._elapsed] == 0
        elif self._autoreset == "same_step":
            is_first = ended
            infos = self._final(columns, ended)
        else:
            is_first = jnp.zeros_like(ended)
        for i, field in self._infos:
            rows = field.rows
            if field.on_termination:
                mask = terminated & ~is_first & (True if rows is None else rows.on_termination)
            elif rows is not None:
                mask = jnp.where(is_first, rows.on_reset, rows.on_step)
            elif field.on_step and field.on_reset:
                mask = jnp.ones_like(ended)
            else:
                mask = is_first if field.on_reset else ~is_first
            mask = self._has(columns, field, mask, is_final=False)
            infos[field.name], infos[f"_{field.name}"] = columns[i], mask
        seen = self._observed(columns)
        return seen, columns[self._reward], terminated, truncated, self._nested(infos)

    def of_reset(self, columns: Any) -> tuple[Any, dict[str, Any]]:
        """Returns what `reset` returns."""
        infos: dict[str, Any] = {}
        for i, field in self._infos:
            if field.on_reset:
                mask = jnp.ones_like(columns[self._terminated])
                if field.rows is not None:
                    mask = jnp.asarray(field.rows.on_reset)
                mask = self._has(columns, field, mask, is_final=False)
                infos[field.name], infos[f"_{field.name}"] = columns[i], mask
        return self._observed(columns), self._nested(infos)

    def _has(self, columns: Any, field: Field, mask: Any, *, is_final: bool) -> Any:
        """Returns which rows of a mask have an info."""
        if not field.is_optional:
            return mask
        return mask & (columns[self._given[is_final]] & self._bits[field.name] != 0)

    def _observed(self, columns: Any, is_final: bool = False) -> Any:
        def of(name: str) -> Any:
            at = self._observations[name]
            return columns[self._finals[self._fields[at]] if is_final else at]

        if self._keys is None:
            (name,) = self._observations
            return tuples.split(of(name)) if self._is_tuple else of(name)
        return nest({key: of(key) for key in self._keys})

    def _final(self, columns: Any, ended: Any) -> dict[str, Any]:
        """Returns the infos of episodes that have ended; zero in the rows of others."""

        def of_ended(values: Any, mask: Any = ended) -> Any:
            mask = mask.reshape(len(mask), *[1] * (values.ndim - 1))
            return jnp.where(mask, values, jnp.zeros_like(values))

        observed = self._observed(columns, is_final=True)
        observed = map_leaves(of_ended, observed)
        final: dict[str, Any] = {}
        for i, field in self._infos:
            if field.on_step or field.on_termination:
                mask = ended & columns[self._terminated] if field.on_termination else ended
                if field.rows is not None:
                    own = field.rows.on_termination if field.on_termination else field.rows.on_step
                    mask = mask & own
                mask = self._has(columns, field, mask, is_final=True)
                final[field.name] = of_ended(columns[self._finals[self._fields[i]]], mask)
                final[f"_{field.name}"] = mask
        return finals_of(observed, ended, self._nested(final))

    def _nested(self, infos: dict[str, Any]) -> dict[str, Any]:
        return nested(infos) if any("." in name for name in infos) else infos
