"""What parallel_pool uses of dm_env.specs, which has no types."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

class Array:
    def __init__(
        self, shape: Sequence[int], dtype: npt.DTypeLike, name: str | None = None
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def name(self) -> str | None: ...
    def validate(self, value: Any) -> Any: ...
    def generate_value(self) -> Any: ...
    def replace(self, **kwargs: Any) -> Self: ...

class BoundedArray(Array):
    def __init__(
        self,
        shape: Sequence[int],
        dtype: npt.DTypeLike,
        minimum: npt.ArrayLike,
        maximum: npt.ArrayLike,
        name: str | None = None,
    ) -> None: ...
    @property
    def minimum(self) -> npt.NDArray[Any]: ...
    @property
    def maximum(self) -> npt.NDArray[Any]: ...

class DiscreteArray(BoundedArray):
    def __init__(
        self, num_values: int, dtype: npt.DTypeLike = ..., name: str | None = None
    ) -> None: ...
    @property
    def num_values(self) -> int: ...

class StringArray(Array):
    def __init__(
        self, shape: Sequence[int], string_type: type = ..., name: str | None = None
    ) -> None: ...
    @property
    def string_type(self) -> type: ...
