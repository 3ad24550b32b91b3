"""Files: imports a Python file of the user's as a module."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from parallel_pool._engine.arguments import named
from parallel_pool.errors import SourceError

# the classes that were translated in this process, by id
classes_by_id: dict[str, Any] = {}


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a file as it is now.

    Python's own loader takes a file that was changed within a second, and is as long as before,
    for the one that it has compiled.
    """

    def path_stats(self, path: Any) -> Any:
        raise OSError(f"{path} has no compiled file")


def _module_name(stem: str, where: str) -> str:
    """Returns the name of a file's module, which is no other module's."""
    there = sys.modules.get(stem)
    is_taken = stem in sys.stdlib_module_names or (
        there is not None and getattr(there, "__file__", None) != where
    )
    digest = hashlib.sha256(os.fsencode(where)).hexdigest()[:8]
    return f"_{stem}_{digest}" if is_taken else stem


def import_file(path: Path) -> Any:
    """Imports a Python file, as `import` does in its folder.

    A file that has changed since is imported again.

    Raises:
        SourceError: it can't be read, or it raises.
    """
    where = os.path.abspath(path)
    # says False of names that the system does not allow, and in folders that it does not open
    if not os.path.isfile(where):
        raise SourceError(f"{named(path)} can't be read: name a Python file")
    name = _module_name(path.stem, where)
    changed = os.stat(where).st_mtime_ns
    there = sys.modules.get(name)
    is_same = there is not None and getattr(there, "__file__", None) == where
    if is_same and getattr(there, "__parallel_pool_changed__", changed) == changed:
        return there
    if path.suffix != ".py":
        raise SourceError(f"{named(path)} is no Python file: choose a name that ends in .py")
    spec = importlib.util.spec_from_file_location(name, where, loader=_Loader(name, where))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__parallel_pool_changed__ = changed  # type: ignore[attr-defined]
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(where))
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        sys.modules.pop(name, None)
        raise SourceError(
            f"{named(path)} ends the program when it is imported (SystemExit: {error}): put what"
            " does so under if __name__ == '__main__'"
        ) from error
    except BaseException as error:
        # after Ctrl-C, too: half a module must not be taken for the whole
        sys.modules.pop(name, None)
        if not isinstance(error, Exception):
            raise
        raise SourceError(f"{named(path)}: {type(error).__name__}: {error}") from error
    finally:
        # the file may have changed the path
        with contextlib.suppress(ValueError):
            sys.path.remove(os.path.dirname(where))
    return module
