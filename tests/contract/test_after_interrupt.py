"""Ctrl-C while a call waits, in every API: it is raised once, and the environments can be reset.

Python environments wait at the gate of their case. A native step is too short for a signal to come
while it runs, so the signal is raised where Python would handle it: after the actions were sent, or
after C has returned the results.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._engine import base_pool
from parallel_pool._native import lib
from parallel_pool._workers.start import forkserver
from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.small_envs import Gate
from tests.contract.test_refused_calls import compare
from tests.support.threads import threads
from tests.support.timeouts import wait_for
from tests.support.worker_processes import children

TURNS = 3


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Ignores the warnings that some APIs give once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def at_gate(gate: Gate) -> Iterator[None]:
    """Sends Ctrl-C to this thread once an environment is at the gate."""
    with gate.held() as wait_until_held:

        def interrupt() -> None:
            wait_until_held()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        yield
        thread.join()


@contextlib.contextmanager
def in_engine(moment: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Raises Ctrl-C in the block's first step or receive."""

    def interrupted(real: Callable[..., Any], *args: Any) -> Any:
        patch.undo()
        if moment == "results are there":
            real(*args)
        elif real is lib.pp_pool_step:
            handle, ids, count, data, code, _, error = args
            assert lib.pp_pool_send(handle, ids, count, data, code, error) == 0
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        for name in ("step", "receive"):
            patch.setattr(base_pool, name, partial(interrupted, getattr(base_pool, name)))
        yield


def interruptions(
    case: Case, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Callable[[], contextlib.AbstractContextManager[None]]]:
    if case.is_python:
        return {"at the gate": partial(at_gate, gate)}
    moments = ("actions are sent", "results are there")
    return {moment: partial(in_engine, moment, monkeypatch) for moment in moments}


def check_cure(case: Case, env: Any) -> None:
    """A step is refused, with the name of a call that the API has and that goes on from there."""
    if case.kind.begins_by_itself:
        return
    with pytest.raises(Exception, match=r"receive|reset") as refusal:
        case.kind.play(env)
    text = "\n".join([str(refusal.value), *getattr(refusal.value, "__notes__", ())])
    cures = re.findall(r"(\w+)\(\)", text) or ["recv"]
    assert any(hasattr(env, name) for name in cures), text


@pytest.mark.quick(1, sanitizers=9)
@pytest.mark.usefixtures("alarm")
@of_each(CASES)
def test_a_reset_works_after_ctrl_c(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results are those of a new one; close leaves no thread and no process."""
    forkserver.current()
    gate = Gate(tmp_path)
    # packages that are imported only now start threads of their own
    case.make(gate).close()
    before = threads(), children()
    with closing(case.make(gate)) as env:
        case.kind.start(env)
        for where, interrupt in interruptions(case, gate, monkeypatch).items():
            for call in (case.kind.play, case.kind.start):
                with interrupt(), pytest.raises(KeyboardInterrupt):
                    call(env)
                check_cure(case, env)
                case.kind.after_interrupt(env)
                with closing(case.make(gate)) as fresh:
                    compare(case.kind.start(env), case.kind.start(fresh), f"{where}: reset")
                    for _ in range(TURNS):
                        compare(case.kind.play(env), case.kind.play(fresh), where)
    wait_for(lambda: not (threads() - before[0] or children() - before[1]))
