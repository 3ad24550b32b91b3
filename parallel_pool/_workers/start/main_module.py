"""Main module: stands for the program's `__main__` in a worker that was not forked from it.

What a worker is given from `__main__` is pickled by value, so a worker does not need the module,
and a script needs no `if __name__ == "__main__"`. But code may look something up in it by its name:
`pickle.load` for an object of the script's class, or an entry point such as "__main__:Env". Only
then is the script run, as `__mp_main__`, as multiprocessing does in each of its processes.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import process
from typing import Any

import cloudpickle

# names of the main module: usually the first; in children of multiprocessing the second
MAINS = ("__main__", "__mp_main__")
# where multiprocessing's own processes do not import a script either: it runs all of itself
UNGUARDED = ("ipython", "__main__")

_NOTHING: weakref.WeakValueDictionary[Any, type] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Origin:
    """Where the program's main module comes from.

    Attributes:
        names: what it defines.
        module: its name, if the program was started with `python -m`; else None.
        path: of its file, if it is a script; else None, as in a notebook.
    """

    names: frozenset[str]
    module: str | None
    path: str | None

    def __str__(self) -> str:
        return str(self.module or self.path)


def origin() -> Origin:
    """Returns where this process's main module comes from."""
    main = sys.modules["__main__"]
    if isinstance(main, MainModule):
        return main.origin
    names = frozenset(name for name in vars(main) if not name.startswith("__"))
    module = getattr(getattr(main, "__spec__", None), "name", None)
    if module is not None:
        is_package = module.rpartition(".")[2] == "__main__"
        return Origin(names, None if is_package else module, None)
    path = getattr(main, "__file__", None)
    if path is None or os.path.splitext(os.path.basename(path))[0] in UNGUARDED:
        return Origin(names, None, None)
    # in the folder where the program started: it may have changed since
    return Origin(names, None, os.path.normpath(os.path.join(_folder(), path)))


def _folder() -> str:
    folder: str | None = process.ORIGINAL_DIR  # type: ignore[attr-defined]
    return folder or ""


# ------------------------------------------------------------------------------ in the worker --


class MainModule(types.ModuleType):
    """`__main__` in a worker. Has what the program's has, once that is looked up.

    A class that the worker was given by value is found under its name, so that there is one of it.

    Attributes:
        origin: of the program's main module.
    """

    __slots__ = ("_failure", "_lock", "_module", "origin")

    def __init__(self, origin: Origin) -> None:
        super().__init__("__main__")
        self.origin = origin
        # reentrant: the program's module may look something up in itself
        self._lock = threading.RLock()
        self._module: types.ModuleType | None = None
        self._failure: BaseException | None = None

    def __repr__(self) -> str:
        # pickle shows this when it does not find a name
        if self.origin.module or self.origin.path:
            return f"<module '__main__' of {self.origin}, in a worker process>"
        return (
            "<module '__main__' in a worker process, which can't import it as it has no file:"
            ' put this into a module, or choose context="fork">'
        )

    def __getattr__(self, name: str) -> Any:
        # all kinds of code look for __file__ and the like, or for names that it never has
        found = _given_class(name) if name in self.origin.names else None
        if found is None and (name not in self.origin.names or _state.is_passive):
            raise AttributeError(f"module '__main__' has no attribute {name!r}", name=name)
        if found is None:
            found = getattr(self._imported(name), name)
        if not _state.imports:
            setattr(self, name, found)
        return found

    def _imported(self, name: str) -> types.ModuleType:
        """Returns the program's main module, for a name that is looked up in it."""
        if not (self.origin.module or self.origin.path):
            raise AttributeError(f"{self!r} has no attribute {name!r}", name=name)
        with self._lock:
            if _state.imports:
                return sys.modules[MAINS[1]]
            if self._failure is None and self._module is None:
                try:
                    self._module = _import(self.origin)
                except BaseException as error:
                    self._failure = error
            if self._module is None:
                raise RuntimeError(
                    f"a worker process looks up {name!r} in the program's main module"
                    f" ({self.origin}), and the import of that raises"
                    f" {type(self._failure).__name__}: {self._failure}"
                ) from self._failure
            # processes that the environment starts by multiprocessing may import it, too
            for own in {"__file__", "__spec__"} & vars(self._module).keys():
                setattr(self, own, vars(self._module)[own])
            return self._module


class _State(threading.local):
    """What this thread is doing.

    Attributes:
        imports: it imports the program's main module.
        is_passive: it must not do so.
    """

    imports = False
    is_passive = False


_state = _State()


def _import(origin: Origin) -> types.ModuleType:
    own: Any = process.current_process()
    # multiprocessing refuses to start processes meanwhile, as the import would start them for ever
    own._inheriting = _state.imports = True
    try:
        if origin.module is not None:
            content = runpy.run_module(origin.module, run_name=MAINS[1], alter_sys=True)
        else:
            content = runpy.run_path(str(origin.path), run_name=MAINS[1])
    finally:
        _state.imports = False
        del own._inheriting
    module = types.ModuleType(MAINS[1])
    vars(module).update(content)
    sys.modules[MAINS[1]] = module
    return module


def _given_class(name: str) -> type | None:
    """Returns a class of the main module that this process was given by value; else None."""
    tracked: Any = getattr(cloudpickle.cloudpickle, "_DYNAMIC_CLASS_TRACKER_BY_ID", _NOTHING)
    found = None
    for own in [reference() for reference in tracked.valuerefs()]:
        if own is not None and own.__qualname__ == name and own.__module__ in MAINS:
            # a notebook may have defined it several times: the last one
            found = own
    return found


def stand_in(origin: Origin) -> None:
    """Replaces this process's main module."""
    module = MainModule(origin)
    for name in MAINS:
        sys.modules[name] = module


def define(name: str, value: Any) -> None:
    """Defines a name of the main module that this process was given by value."""
    main = sys.modules["__main__"]
    if isinstance(main, MainModule):
        setattr(main, name, value)


@contextlib.contextmanager
def not_imported() -> Iterator[None]:
    """Within the with statement this thread does not import the program's main module."""
    before, _state.is_passive = _state.is_passive, True
    try:
        yield
    finally:
        _state.is_passive = before


def check_not_importing() -> None:
    """Raises RuntimeError if a worker is importing the program's main module."""
    if _state.imports:
        raise RuntimeError(
            "it starts worker processes when it is imported: put what starts them under"
            ' `if __name__ == "__main__":`, or choose context="fork"'
        )
