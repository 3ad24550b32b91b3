"""Environments that fail in a worker process: the caller gets the exception and can go on."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.messages import Assignment
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.run import env_runner
from parallel_pool._workers.start import launch
from parallel_pool._workers.start.connection import by_reference
from parallel_pool.errors import EnvError, StateError, WorkerError
from parallel_pool.testing import inspect
from tests.faults.failing_envs import (
    ACTIONS,
    ENV_ID,
    OBS,
    REWARD,
    TERMINATED,
    TRUNCATED,
    Counting,
    Trouble,
    first_of,
    pid_of,
    pool_of,
)
from tests.support.worker_processes import SPAWN

pytestmark = pytest.mark.usefixtures("alarm")

MODES = ("next_step", "same_step", "disabled")


class OwnError(Exception):
    """An exception class that Python does not define."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what, code)
        self.code = code


class Unreadable(Exception):
    """An exception that can be pickled, but not unpickled."""

    def __init__(self, first: object, second: object) -> None:
        super().__init__("one argument")


class NoMessage(Exception):
    """An exception whose message can't be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(make: Callable[[], BaseException]) -> Trouble:
    def throw() -> None:
        raise make()

    return throw


def failing_step(pool: ProcessPool) -> Any:
    """Steps up to the third step, in which environment 2 fails; returns the exception."""
    pool.reset(seed=0)
    pool.step(ACTIONS)
    pool.step(ACTIONS)
    try:
        pool.step(ACTIONS)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


# --------------------------------------------------------------------------------- exceptions --


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_an_exception_is_raised_in_the_caller_as_it_was(autoreset: str, method: str) -> None:
    def throw_by_hand() -> None:
        raise OwnError("what %d is %s", 7)

    with pool_of(throw_by_hand, autoreset=autoreset, start_method=method) as pool:
        pids = [pid_of(pool, lane) for lane in (0, 1)]
        error = failing_step(pool)
        assert type(error) is OwnError
        assert error.args == ("what %d is %s", 7) and error.code == 7
        assert error.__notes__ == ["Python environments: environment 2 failed"]
        cause = error.__cause__
        assert type(cause) is EnvError
        assert cause.env_ids == (2,)
        assert str(cause).startswith(
            "Python environments: environment 2 failed: OwnError: ('what %d is %s', 7)\n\n"
            "In the worker process:\nTraceback (most recent call last):\n"
        )
        assert "in throw_by_hand" in str(cause)
        # the batch has the rows of the others, and zeros
        np.testing.assert_array_equal(cause.batch[OBS][:, 0], [3, 3, 0, 3])
        np.testing.assert_array_equal(cause.batch[REWARD], [1, 1, 0, 1])
        assert not cause.batch[TERMINATED].any() and not cause.batch[TRUNCATED].any()
        assert pool.in_flight == 0
        # environment 2 starts another episode, by autoreset or by reset, and the others go on
        if autoreset == "disabled":
            with pytest.raises(StateError, match=r"environment 2 .*reset it first"):
                pool.step(ACTIONS)
            # nothing was sent
            others = [0, 1, 3]
            np.testing.assert_array_equal(pool.step(ACTIONS[:3], others)[OBS][:, 0], [4, 4, 4])
            np.testing.assert_array_equal(pool.reset([2])[OBS], [[0, -1]])
        else:
            np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [4, 4, 0, 4])
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [5, 5, 1, 5])
        assert [pid_of(pool, lane) for lane in (0, 1)] == pids


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: OwnError(threading.Lock(), 1), EnvError, "OwnError"),  # type: ignore[arg-type]
        (lambda: Unreadable(1, 2), EnvError, "Unreadable: one argument"),
        (lambda: NoMessage(), NoMessage, "environment 2"),
        (lambda: SystemExit(3), EnvError, "SystemExit: 3"),
        (lambda: KeyboardInterrupt(), EnvError, "KeyboardInterrupt"),
        (lambda: GeneratorExit(), EnvError, "GeneratorExit"),
        (lambda: StopIteration(5), StopIteration, "environment 2"),
        (lambda: MemoryError("of its own"), MemoryError, "environment 2"),
        (lambda: ExceptionGroup("two", [OSError(2, "a"), KeyError("b")]), ExceptionGroup, "two"),
        (lambda: ValueError("x" * 3_000_000), ValueError, "environment 2"),
    ],
    ids=[
        *("unpicklable", "unreadable", "no message", "exit", "interrupt", "generator"),
        *("stop", "memory", "group", "long"),
    ],
)
def test_exceptions_of_every_kind_are_raised_in_the_caller(
    make: Callable[[], BaseException], kind: type[Exception], said: str
) -> None:
    with pool_of(raising(make)) as pool:
        error = failing_step(pool)
        assert type(error) is kind
        cause = error if kind is EnvError else error.__cause__
        assert type(cause) is EnvError and cause.env_ids == (2,)
        assert said in str(cause) and "in throw" in str(cause)
        np.testing.assert_array_equal(cause.batch[OBS][:, 0], [3, 3, 0, 3])
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [4, 4, 0, 4])


def test_the_cause_of_an_exception_is_in_the_traceback() -> None:
    def throw() -> None:
        try:
            {}["the first"]
        except KeyError as error:
            raise OSError(5, "the second") from error

    with pool_of(throw) as pool:
        error = failing_step(pool)
        assert type(error) is OSError and error.errno == 5
        text = str(error.__cause__)
        assert "KeyError: 'the first'" in text and "direct cause" in text


@pytest.mark.slow
def test_the_first_of_several_exceptions_is_raised_and_the_others_are_named() -> None:
    """Exceptions of environments, and the death of a worker, in one batch."""
    fns: list[Any] = [
        Counting,
        lambda: Counting(raising(lambda: ValueError("of one")), 1),
        lambda: Counting(raising(lambda: KeyError("of two")), 1),
        lambda: Counting(lambda: os._exit(6), 1),
    ]
    with ProcessPool(fns, num_workers=4, start_method="fork") as pool:
        pool.reset(seed=0)
        with pytest.raises(ValueError, match="of one") as caught:
            pool.step(ACTIONS)
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (1, 2, 3)
        first, second, third, *_ = str(cause).splitlines()
        assert first == "Python environments: environment 1 (and 2 more) failed: ValueError: of one"
        assert second == "Environment 2: KeyError: 'of two'"
        assert third.startswith("Environment 3: worker process") and "exit code 6" in third
        np.testing.assert_array_equal(cause.batch[OBS][:, 0], [1, 0, 0, 0])
        # the two that raised start another episode
        batch = pool.step(ACTIONS[:3], [0, 1, 2])
        np.testing.assert_array_equal(batch[OBS][:, 0], [2, 0, 0])
        with pytest.raises(StateError, match=r"environment 3 .*exit code 6"):
            pool.step(ACTIONS)


def test_the_message_about_many_exceptions_is_bounded() -> None:
    class Bad(Counting):
        def step(self, action: Any) -> Any:
            raise ValueError("as all are")

    with ProcessPool([Bad] * 100, num_workers=1, start_method="fork") as pool:
        pool.reset()
        with pytest.raises(ValueError, match="as all are") as caught:
            pool.step(np.zeros(100, int))
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == tuple(range(100))
        assert str(cause).startswith("Python environments: environment 0 (and 99 more) failed")
        assert str(cause).count("as all are") < 15


def test_an_exception_in_an_unordered_pool_keeps_its_batch() -> None:
    with pool_of(raising(lambda: ValueError("now")), batch_size=2) as pool:
        pool.send_reset(seed=0)
        # observations of each environment in order; None for a failure
        shown: dict[int, list[Any]] = {env_id: [] for env_id in range(4)}
        while shown[2].count(None) < 3:
            failed: tuple[int, ...] = ()
            try:
                batch = pool.recv()
            except ValueError as error:
                cause = error.__cause__
                assert isinstance(cause, EnvError)
                batch, failed = cause.batch, cause.env_ids
            for row, env_id in enumerate(batch[ENV_ID].tolist()):
                shown[env_id].append(None if env_id in failed else batch[OBS][row, 0])
            pool.send([0, 0], batch[ENV_ID])
        assert shown[2] == [0, 1, 2, None] * 3
        for env_id in (0, 1, 3):
            assert shown[env_id] == list(range(len(shown[env_id])))


def test_an_exception_in_reset_is_raised_in_the_caller() -> None:
    with pool_of(raising(lambda: KeyError("no %s")), 1, "reset") as pool:
        with pytest.raises(KeyError, match="no %s") as caught:
            pool.reset(seed=0)
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (2,)
        expected = [first_of(0), first_of(1), 0, first_of(3)]
        np.testing.assert_array_equal(cause.batch[OBS][:, 1], expected)
        # its second reset succeeds
        np.testing.assert_array_equal(pool.reset(seed=5)[OBS][:, 0], [0] * 4)


class Touchy(Counting):
    """Its attributes and methods raise."""

    @property
    def sore(self) -> int:
        raise LookupError("no %s")

    @sore.setter
    def sore(self, value: int) -> None:
        raise LookupError("no %s")

    def cry(self) -> None:
        raise LookupError("no %s")


@pytest.mark.quick(1)
@pytest.mark.parametrize("how", ["call", "get", "set", "apply"])
def test_an_exception_in_a_call_is_raised_in_the_caller(how: str) -> None:
    fns: list[Any] = [Counting, Counting, Counting, Touchy]
    with ProcessPool(fns, num_workers=2, start_method="fork") as pool:
        pool.reset()
        calls: dict[str, Callable[[], Any]] = {
            "call": lambda: pool.call("cry", env_ids=[3]),
            "get": lambda: pool.get_attr("sore", [3]),
            "set": lambda: pool.set_attr("sore", [1], [3]),
            "apply": lambda: pool.apply(lambda env: getattr(env, "sore", 1) and env.cry(), [3]),
        }
        with pytest.raises(LookupError, match="no %s") as caught:
            calls[how]()
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (3,)
        assert f"{how} of environments [3] failed: LookupError" in str(cause)
        assert "in the worker process:" in str(cause).lower()
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [1] * 4)


# ------------------------------------------------------------------------------------- memory --


def limit_files(trouble: BaseException) -> Trouble:
    """Returns a function that leaves a worker no memory for replies, and raises."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        raise trouble

    return limit


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_no_memory_to_report_an_exception_is_a_memory_error(autoreset: str) -> None:
    """The worker lives, and the error does not say that it died."""
    trouble = limit_files(ValueError("of its own"))
    with pool_of(trouble, autoreset=autoreset) as pool:
        pid = pid_of(pool, 1)
        error = failing_step(pool)
        assert type(error) is MemoryError
        assert str(error) == (
            "Python environments: environment 2 failed, and there was no shared memory for its"
            " worker process to report why"
        )
        cause = error.__cause__
        assert type(cause) is EnvError and cause.env_ids == (2,)
        np.testing.assert_array_equal(cause.batch[OBS][:, 0], [3, 3, 0, 3])
        assert pid_of(pool, 1) == pid and not inspect(pool).deaths
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [4, 4, 0, 4])


def test_no_memory_for_an_answer_is_a_memory_error() -> None:
    def limit(env: Any) -> bytes:
        # Python would cut compiled modules short, too
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        return os.urandom(4_000_000)

    with pool_of() as pool:
        with pytest.raises(MemoryError):
            pool.apply(limit, [3])
        assert pool.get_attr("steps") == [0] * 4


def test_a_reply_that_cannot_be_unpickled_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    is_garbage = False

    def fail() -> None:
        """From here on the worker's replies are bytes that are no pickle."""
        nonlocal is_garbage
        is_garbage = True
        raise ValueError("of its own")

    def dumps(value: Any) -> bytes:
        return b"not a pickle" if is_garbage else by_reference(value)

    # which a forked worker pickles with
    monkeypatch.setattr(launch, "by_reference", dumps)
    with pool_of(fail) as pool:
        error = failing_step(pool)
        assert type(error) is EnvError and error.env_ids == (2,)
        assert "environment 2 failed: the reply of environment 2 can't be unpickled" in str(error)
        np.testing.assert_array_equal(error.batch[OBS][:, 0], [3, 3, 0, 3])
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [4, 4, 0, 4])


def test_rows_that_were_overwritten_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    workers: list[Any] = []

    def take(worker: Any, timeout: int) -> int:
        workers.append(worker)
        return int(lib.pp_worker_take(worker, timeout))

    def overwrite_rows() -> None:
        """Overwrites completed rows, as defective C code may."""
        size = max(it.size for it in gc.get_objects() if isinstance(it, Assignment))
        block = lib.pp_worker_block(workers[-1], lib.pp_worker_turns(workers[-1]).blocks[0])
        ffi.buffer(block, size)[:] = b"\xff" * size

    # which tells a forked worker its handle in C
    monkeypatch.setattr(env_runner, "take", take)
    with pool_of(overwrite_rows, 1, num_workers=1, batch_size=3) as pool:
        pool.send_reset(seed=0)
        np.testing.assert_array_equal(pool.recv()[ENV_ID], [0, 1, 2])
        # the row of environment 3 is complete, and so is that of 0: the step of 2 overwrites them
        pool.send(ACTIONS[:2], [0, 2])
        with pytest.raises(EnvError, match="names another environment: look for code in") as e:
            pool.recv()
        assert e.value.env_ids == (3, 0)
        np.testing.assert_array_equal(e.value.batch[OBS][:, 0], [0, 0, 1])
        np.testing.assert_array_equal(pool.step(ACTIONS[:3], [3, 0, 1])[ENV_ID], [3, 0, 1])


# ------------------------------------------------------------------------------------- making --


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["fork", SPAWN, "forkserver"])
def test_an_environment_that_cannot_be_made_is_named(method: str) -> None:
    def refuse() -> Any:
        raise OwnError("no %d", 3)

    fns: list[Any] = [Counting, Counting, Counting, refuse]
    with pytest.raises(OwnError) as caught:
        ProcessPool(fns, num_workers=2, start_method=method)
    assert caught.value.args == ("no %d", 3)
    assert caught.value.__notes__ == ["environment 3 can't be made"]
    cause = caught.value.__cause__
    assert isinstance(cause, EnvError) and cause.env_ids == (3,) and "in refuse" in str(cause)


def test_a_constructor_that_exits_is_named() -> None:
    with pytest.raises(EnvError, match="environment 1 can't be made: SystemExit: 4"):
        ProcessPool([Counting, lambda: sys.exit(4)], num_workers=2, start_method="fork")


class Nowhere:
    """A function that can be pickled, but not unpickled."""

    def __reduce__(self) -> Any:
        return refuse_to_be_read, ()

    def __call__(self) -> Any:
        return Counting()


def refuse_to_be_read() -> None:
    raise ImportError("No module named 'only_at_home'")


@pytest.mark.slow
def test_a_failed_import_in_a_worker_is_named() -> None:
    with pytest.raises(WorkerError, match=r"of environments 2 to 3 can't start: ") as caught:
        ProcessPool([Counting, Counting, Nowhere(), Counting], num_workers=2, start_method="spawn")
    assert caught.value.env_ids == (2, 3)
    assert "No module named 'only_at_home'" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize("made", [None, 3])
def test_an_object_that_is_not_an_environment_is_named(made: Any) -> None:
    said = f"returned an? .*, {made}, which has no observation_space: return a gymnasium.Env"
    with pytest.raises(TypeError, match=said) as caught:
        ProcessPool([Counting, lambda: made], num_workers=1, start_method="fork")
    assert caught.value.__cause__.env_ids == (1,)  # type: ignore[union-attr]


# ------------------------------------------------------------------------------ wrong env_ids --


@pytest.mark.quick(1)
@pytest.mark.parametrize("wrong", [-1, 4, 2**31 - 1])
def test_wrong_env_ids_are_refused(wrong: int) -> None:
    ids = np.array([0, wrong], np.int32)
    with pool_of() as pool:
        pool.reset()
        for refused in (
            lambda: pool.step(ACTIONS[:2], ids),
            lambda: pool.send(ACTIONS[:2], ids),
            lambda: pool.reset(ids),
            lambda: pool.send_reset(ids, options={"a": 1}),
            lambda: pool.call("reset", env_ids=ids),
            lambda: pool.get_attr("steps", ids),
            lambda: pool.set_attr("steps", [1, 1], ids),
        ):
            with pytest.raises(ValueError, match=f"env_id {wrong}: choose 0 to 3"):
                refused()
        assert pool.get_attr("steps") == [0] * 4
