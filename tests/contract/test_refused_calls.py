"""A call that is refused changes nothing, in every API: the next call returns what it would have.

Calls are refused while another thread is in one, with wrong arguments, after close, and in a forked
child. The results of good calls are compared with those of a twin that never saw a refused one.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

from parallel_pool._engine import base_pool
from parallel_pool.errors import ClosedError, ForkedError, StateError
from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.episodes import Rows, assert_rows
from tests.contract.kinds.kind import VALUES, Calls
from tests.contract.reading import plain
from tests.contract.small_envs import Gate
from tests.support.forked import run
from tests.support.same import assert_same
from tests.support.threads import threads
from tests.support.timeouts import TEST_TIMEOUT

# without the one whose results are only of the environments that are done first
THREADED = [case for case in CASES if case.takes_threads and case.name != "AtariVectorEnv, async"]
# what a call in another thread is refused with; everything else would be an error of its own
REFUSED = (StateError, ClosedEnvironmentError)


@contextlib.contextmanager
def made(case: Case, folder: Path) -> Iterator[tuple[Any, Any, Gate]]:
    """Makes two equal ones, and compares their first results."""
    (folder / "env").mkdir()
    (folder / "twin").mkdir()
    gate = Gate(folder / "env")
    env, twin = case.make(gate), case.make(Gate(folder / "twin"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compare(case.kind.start(env), case.kind.start(twin), "start")
            compare(case.kind.play(env), case.kind.play(twin), "first")
            yield env, twin, gate
    finally:
        for each in (env, twin):
            each.close()


def compare(actual: Any, expected: Any, where: str) -> None:
    assert_same(plain(actual), plain(expected), where)


def compare_next(case: Case, env: Any, twin: Any, where: str) -> None:
    """Compares next calls; a reset without a seed shows which generators the environments have."""
    compare(case.kind.play(env), case.kind.play(twin), where)
    compare(case.kind.start(env, None), case.kind.start(twin, None), f"{where}: reset without seed")
    compare(case.kind.play(env), case.kind.play(twin), f"{where}: after that reset")


def assert_refused(calls: Calls, errors: Any) -> None:
    for name, call in calls.items():
        for _ in range(2):
            with pytest.raises(errors):
                call()
                pytest.fail(f"not refused: {name}")


@pytest.mark.quick(4, sanitizers=9)
@of_each(CASES)
def test_wrong_arguments(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, twin, _):
        for name, call in case.kind.wrong(env).items():
            if case.is_python and name.endswith(VALUES):
                # Python environments judge their actions themselves
                continue
            # each API has its own classes; a wrong call must not end in success
            try:
                call()
            except Exception:
                pass
            else:
                pytest.fail(f"not refused: {name}")
            compare_next(case, env, twin, name)


@pytest.mark.quick(4, sanitizers=9)
@of_each(CASES)
def test_calls_beside_another_thread(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(case, tmp_path) as (env, twin, gate):
        for name, call in case.kind.acts(env).items():
            with beside(case, env, gate, monkeypatch) as results, pytest.raises(REFUSED):
                call()
            expected = case.kind.play(twin)
            assert len(results) == 1, name
            compare(results[0], expected, name)
            compare_next(case, env, twin, name)


@contextlib.contextmanager
def beside(
    case: Case, env: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Any]]:
    """Runs `play` in another thread, which waits in it during the block; yields its results."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(case.kind.play(env)))
    # an environment is at the gate before the second half begins
    is_at_gate = case.is_python and not case.kind.plays_in_halves
    hold = gate.held() if is_at_gate else engine_held(thread, monkeypatch)
    with hold as wait_until_held:
        thread.start()
        wait_until_held()
        yield results
    thread.join(TEST_TIMEOUT)


@contextlib.contextmanager
def engine_held(
    thread: threading.Thread, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Any]]:
    """Holds a thread before it steps or receives; yields a function that waits until it is there"""
    reached, released = threading.Event(), threading.Event()
    real = {name: getattr(base_pool, name) for name in ("step", "receive")}

    def held(name: str, *args: Any) -> Any:
        if threading.current_thread() is thread:
            reached.set()
            released.wait(TEST_TIMEOUT)
        return real[name](*args)

    with monkeypatch.context() as patch:
        for name in real:
            patch.setattr(base_pool, name, partial(held, name))
        try:
            yield lambda: reached.wait(TEST_TIMEOUT)
        finally:
            released.set()


@pytest.mark.quick(4, sanitizers=9)
@of_each(CASES)
def test_calls_after_close(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, _, _):
        calls = {**case.kind.acts(env), **case.kind.others(env)}
        env.close()
        assert_refused(calls, ClosedError)
        env.close()


@pytest.mark.quick(4, sanitizers=9)
@of_each(CASES)
def test_calls_in_a_forked_child(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, twin, _):
        assert_fine_in_child(refused_in_child(case, env))
        compare_next(case, env, twin, "after the child")


@pytest.mark.quick(1, sanitizers=9)
@of_each(THREADED)
def test_calls_in_a_child_of_a_process_with_engine_threads(case: Case, tmp_path: Path) -> None:
    """Two threads return rows in any order, so these are compared by environment."""
    before = threads()
    with (
        closing(case.make(Gate(tmp_path), num_threads=2)) as env,
        closing(case.make(Gate(tmp_path), num_threads=2)) as twin,
    ):
        assert len(threads() - before) >= 2

        def turn(each: Any) -> Rows:
            ids = range(case.kind.count(each))
            return case.kind.turn(each, ids, lambda ids: np.arange(len(ids)) % 2)

        assert_rows(case.kind.begin(env), case.kind.begin(twin), "begin")
        for where in ("first", "after the child", "after another one"):
            assert_rows(turn(env), turn(twin), where)
            assert_fine_in_child(refused_in_child(case, env))
        assert_rows(turn(env), turn(twin), "last")


def assert_fine_in_child(function: Callable[[], None]) -> None:
    """Runs a function in a forked child; what it raises is shown here."""
    assert run(function, TEST_TIMEOUT) == ("fine", 0)


def refused_in_child(case: Case, env: Any) -> Callable[[], None]:
    """Returns a check for a forked child."""
    calls = {**case.kind.acts(env), **case.kind.others(env)}
    waits = {name: calls.pop(name) for name in case.kind.waits}

    def refused() -> None:
        assert_refused(calls, ForkedError)
        assert_refused(waits, StateError)

    return refused


@pytest.mark.quick(4, sanitizers=9)
@of_each(CASES)
def test_close_in_a_forked_child_closes_nothing(case: Case, tmp_path: Path) -> None:
    with made(case, tmp_path) as (env, twin, _):
        assert_fine_in_child(env.close)
        compare(case.kind.play(env), case.kind.play(twin), "after the child")
