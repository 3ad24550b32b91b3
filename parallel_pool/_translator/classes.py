"""Classes: the user's, which any process finds again by their names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from parallel_pool._translator import files

# those that this process has translated, by name: they may be in no module, as in a notebook
_known: dict[str, Any] = {}


def name_of(cls: type) -> str:
    """Returns the name by which `find` finds a class, in this process and in others."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    _known[name] = cls
    return name


def find(name: str, file: str) -> Any:
    """Returns a class of the user's.

    Args:
        name: as `name_of` has returned it.
        file: in which it is, if its module can't be imported.

    Raises:
        SourceError: the file can't be read, or it raises.
        AttributeError: the module no longer has such a class.
    """
    if name in _known:
        return _known[name]
    module_name, _, path = name.partition(":")
    found = _module(module_name, path.partition(".")[0], file)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _module(name: str, holds: str, file: str) -> Any:
    """Returns the module that holds a class."""
    module = sys.modules.get(name)
    if module is None or not hasattr(module, holds):
        try:
            module = importlib.import_module(name)
        except ImportError:
            module = files.import_file(Path(file))
        if not hasattr(module, holds):
            # another module of the same name, such as __main__ in a worker process
            module = files.import_file(Path(file))
    return module
