"""Compilable: finds out whether a pool's environments in Python could be compiled."""

from __future__ import annotations

import importlib
import threading
from typing import NamedTuple

from parallel_pool._engine import maker
from parallel_pool.errors import SourceError

# seconds for which a translation is tried
DEADLINE = 5.0


class Outcome(NamedTuple):
    """What a translation said.

    Attributes:
        cure: what to write so that the environments are compiled, a clause; "" if they can't be.
        reason: why they can't be, with file and line.
    """

    cure: str = ""
    reason: str = ""


def find_out(made_by: maker.Maker, seconds: float = DEADLINE) -> Outcome | None:
    """Tries to translate a pool's environments.

    Returns:
        What it said; None if it took too long, or failed otherwise: the class may need what only
        the workers have.
    """
    found: list[Outcome] = []
    # a class may take for ever to make its environments
    thread = threading.Thread(target=_try, args=(made_by, found), name="pp-trial", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _stop(thread)
    return found[0] if found else None


def _stop(thread: threading.Thread) -> None:
    """Lets a thread raise SystemExit before its next instruction in Python."""
    # imported only when needed, as few programs do
    import ctypes

    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))


def _try(made_by: maker.Maker, found: list[Outcome]) -> None:
    for name in maker.trials:
        try:
            found.append(Outcome(cure=importlib.import_module(name).translate(made_by)))
        except SourceError as error:
            found.append(Outcome(reason=str(error)))
        except BaseException:
            # whatever the user's class raises, a report must not
            return
