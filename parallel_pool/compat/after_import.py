"""Runs a function as soon as a module is imported, without importing it."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType


class Watch(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find the module and then follows it.

    Attributes:
        name: the module waited for.
        action: called once, after the module's own code has run.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name = name
        self.action = action
        self._is_asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # another finder like this one may ask all others in its turn
        if fullname != self.name or self._is_asking:
            return None
        self._is_asking = True
        try:
            found = self._ask_others(fullname, path, target)
        finally:
            self._is_asking = False
        if found is not None and found.loader is not None:
            self._follow(found.loader)
        return found

    def _ask_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            found: importlib.machinery.ModuleSpec | None = find and find(fullname, path, target)
            if found is not None:
                return found
        return None

    def _follow(self, loader: Loader) -> None:
        """Lets this one loader, made for this one import, call the action when it is done."""
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            run(module)
            # an import that fails is tried again some day: until it works, keep watching
            self.stop()
            self.action()

        loader.exec_module = exec_module  # type: ignore[method-assign]

    def stop(self) -> None:
        """Stops watching."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def after_import(name: str, action: Callable[[], None]) -> Watch | None:
    """Calls `action` now if the module is imported, else right after its import.

    Returns:
        What to `stop` in order to forget about it; None when the action has run.
    """
    if name in sys.modules:
        action()
        return None
    watch = Watch(name, action)
    sys.meta_path.insert(0, watch)
    return watch
