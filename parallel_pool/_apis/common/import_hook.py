"""Runs a function right after another module is imported (a post-import hook)."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType


class ImportHook(MetaPathFinder):
    """A finder that lets the other finders find the module, and wraps the loader they return.

    Attributes:
        name: of the module.
        action: called once, after the module's own code has run.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name = name
        self.action = action
        self._is_searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # another finder of this kind may in turn search all finders, this one included
        if fullname != self.name or self._is_searching:
            return None
        self._is_searching = True
        try:
            found = self._search_others(fullname, path, target)
        finally:
            self._is_searching = False
        if found is not None and found.loader is not None:
            self._wrap(found.loader)
        return found

    def _search_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            found: importlib.machinery.ModuleSpec | None = find and find(fullname, path, target)
            if found is not None:
                return found
        return None

    def _wrap(self, loader: Loader) -> None:
        """Makes this loader, which serves one import, call the action at the end."""
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            run(module)
            # only after success: an import that fails may be tried again
            self.remove()
            self.action()

        loader.exec_module = exec_module  # type: ignore[method-assign]

    def remove(self) -> None:
        """Removes the hook if it is still installed."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def after_import(name: str, action: Callable[[], None]) -> ImportHook | None:
    """Calls `action` now if the module is imported, else right after its import.

    Returns:
        The hook, which `remove` cancels; None if the action has run.
    """
    if name in sys.modules:
        action()
        return None
    hook = ImportHook(name, action)
    sys.meta_path.insert(0, hook)
    return hook
