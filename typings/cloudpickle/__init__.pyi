"""What parallel_pool uses of cloudpickle 3, which has no types."""

import pickle
from collections import ChainMap
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from cloudpickle import cloudpickle as cloudpickle

class Pickler(pickle.Pickler):
    dispatch_table: ClassVar[ChainMap[type, Callable[[Any], Any]]]

def dumps(obj: Any, protocol: int | None = None) -> bytes: ...
def list_registry_pickle_by_value() -> set[str]: ...
def register_pickle_by_value(module: ModuleType) -> None: ...
