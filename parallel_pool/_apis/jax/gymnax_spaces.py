"""Spaces in gymnax's form: gymnax's own classes where the program has imported them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from parallel_pool._engine.trees import nest

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Field, Spec


class Discrete:
    """The integers 0 to n - 1, in arrays without axes.

    Attributes:
        n: how many.
        shape: ().
        dtype: int32.
    """

    def __init__(self, num_categories: int) -> None:
        self.n, self.shape, self.dtype = num_categories, (), jnp.int32

    def __repr__(self) -> str:
        return f"Discrete({self.n})"

    def sample(self, key: Any) -> Any:
        """Returns a random element, int32 ()."""
        return jax.random.randint(key, (), 0, self.n, self.dtype)

    def contains(self, x: Any) -> Any:
        """Returns whether this is an element, bool ()."""
        return (jnp.asarray(x) >= 0) & (jnp.asarray(x) < self.n)


class Box:
    """Arrays whose elements lie between low and high.

    Attributes:
        low, high: numbers, or arrays of this shape.
        shape, dtype: of the arrays.
    """

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self.low, self.high, self.shape, self.dtype = low, high, shape, dtype

    def __repr__(self) -> str:
        return f"Box({self.low}, {self.high}, {self.shape}, {np.dtype(self.dtype).name})"

    def sample(self, key: Any) -> Any:
        """Returns a random element; low and high must be finite."""
        return jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high).astype(
            self.dtype
        )

    def contains(self, x: Any) -> Any:
        """Returns whether this is an element, bool ()."""
        return jnp.all((x >= self.low) & (x <= self.high))


class Dict:
    """Dicts with a space for each key.

    Attributes:
        spaces: by key.
        num_spaces: how many.
    """

    def __init__(self, spaces: Mapping[str, Any]) -> None:
        self.spaces, self.num_spaces = dict(spaces), len(spaces)

    def __repr__(self) -> str:
        return f"Dict({self.spaces})"

    def sample(self, key: Any) -> dict[str, Any]:
        """Returns a random element."""
        keys = jax.random.split(key, self.num_spaces)
        return {
            name: space.sample(own)
            for (name, space), own in zip(self.spaces.items(), keys, strict=True)
        }

    def contains(self, x: Any) -> Any:
        """Returns whether this is an element, bool ()."""
        return jnp.all(jnp.array([space.contains(x[name]) for name, space in self.spaces.items()]))


def _classes() -> Any:
    """Returns the module with gymnax's classes if it is loaded, else this one.

    Programs ask with isinstance which kind a space is.
    """
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])


def action_space(field: Field, task_id: str) -> Any:
    """Returns the space of actions.

    Raises:
        ValueError: gymnax has no such space.
    """
    if field.space_kind == "discrete":
        return _classes().Discrete(field.n)
    if field.space_kind == "box":
        return _box(field)
    raise ValueError(
        f"{task_id} has actions of the kind {field.space_kind}, which gymnax's spaces lack: use"
        " compat.jax.xla"
    )


def observation_space(spec: Spec) -> Any:
    """Returns the space of observations; integers that are no Discrete are a Box of integers."""
    if not spec.has_keys:
        return _of(spec.observations[0])
    return _dict(nest({field.name: _of(field) for field in spec.observations}))


def _dict(spaces: Mapping[str, Any]) -> Any:
    return _classes().Dict(
        {key: _dict(each) if isinstance(each, dict) else each for key, each in spaces.items()}
    )


def _of(field: Field) -> Any:
    starts_at_0 = field.space_kind == "discrete" and not field.start.any()
    return _classes().Discrete(field.n) if starts_at_0 else _box(field)


def _box(field: Field) -> Any:
    space: Any = field.array_space()
    dtype = jax.dtypes.canonicalize_dtype(field.dtype)
    if field.space_kind == "box":
        low, high = (
            np.broadcast_to(field.low, field.shape),
            np.broadcast_to(field.high, field.shape),
        )
    elif field.space_kind == "multi_binary":
        low, high = np.zeros(field.shape), np.ones(field.shape)
    else:
        start = np.asarray(space.start)
        low, high = start, start + (field.n if field.nvec is None else field.nvec) - 1
    return _classes().Box(_bound(low), _bound(high), field.shape, dtype)


def _bound(values: Any) -> Any:
    """Returns equal bounds as one number."""
    first = np.ravel(values)[0] if np.size(values) else 0.0
    return float(first) if np.all(values == first) else jnp.asarray(values, np.float32)
