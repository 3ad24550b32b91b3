"""Traces of real pools: what is recorded, the file, and what may happen during a trace."""

from __future__ import annotations

import contextlib
import copy
import json
import mmap
import os
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

from parallel_pool import __main__ as cli
from parallel_pool._engine.pool import Pool
from parallel_pool._tracing import core_waits, opened
from parallel_pool._tracing import trace as trace_module
from parallel_pool._tracing.record import (
    CALLS,
    INLINE,
    RECEIVER,
    RECEIVES,
    RESET,
    RESETS,
    SEND,
    SENDER,
    WORK,
    Record,
)
from parallel_pool._tracing.trace import Trace
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import EnvError, StateError
from tests.faults.failing_envs import ACTIONS, Counting, kill, pool_of
from tests.support.forked import in_child
from tests.support.timeouts import wait_for

MODES = ("next_step", "same_step", "disabled")
Maker = Callable[[], Any]


def make_cartpole() -> Any:
    return gymnasium.make("CartPole-v1")


def process_pool(count: int = 4, **options: Any) -> ProcessPool:
    """Returns a pool of CartPoles in two worker processes."""
    return ProcessPool(
        [make_cartpole] * count, **{"num_workers": 2, "start_method": "fork", **options}
    )


def actions_of(rows: int) -> Any:
    return np.ones(rows, np.int64)


def assert_whole(record: Record, rows: int) -> None:
    """Checks that so many rows were stepped and received, each once, and how spans lie."""
    stepped = record.of_kinds((WORK, RESET, INLINE))
    assert stepped["count"].sum() == rows
    received = record.of_kinds(RECEIVES, (RECEIVER,))
    assert received["count"].sum() == rows
    assert (record.lost, record.is_cut) == (0, False)
    for i, track in enumerate(record.tracks):
        assert (track["start"] >= record.start).all() and (track["end"] <= record.end).all()
        assert (np.diff(track["end"]) >= 0).all()
        # all but the caller do one thing after another
        assert i == RECEIVER or (track["start"][1:] >= track["end"][:-1]).all()
        assert np.isin(track["kind"], CALLS).all() or i != SENDER
    env_ids = record.of_kinds((WORK, RESET))["env_id"]
    assert ((env_ids >= 0) & (env_ids < record.setting.num_envs)).all()


@contextlib.contextmanager
def counted(pool: Any) -> Iterator[None]:
    """Traces a pool, and checks that the trace has what the pool itself counts."""
    before = pool.stats()["env_steps"]
    with pool.trace() as trace:
        yield
    rows = pool.stats()["env_steps"] - before
    assert rows > 0
    assert_whole(trace.record, rows)
    report = trace.report()
    assert report.steps == rows
    assert sum(report.shares.values()) == pytest.approx(1)
    assert str(report.advice) in str(report)


# ------------------------------------------------------------------------- every step is in it --


def play(pool: Any, batches: int) -> None:
    """Resets and steps, with resets of what has ended if nobody else does that; or plays
    asynchronously and receives what is left."""
    if not pool.is_async:
        pool.reset()
        for _ in range(batches):
            batch = pool.step(actions_of(pool.num_envs))
            ended = np.flatnonzero(batch.terminated | batch.truncated)
            if pool.autoreset == "disabled" and len(ended):
                pool.reset(ended)
        return
    pool.send_reset()
    for _ in range(batches):
        ids = pool.recv().env_id.copy()
        if pool.autoreset != "disabled":
            pool.send(actions_of(len(ids)), ids)
    while pool.in_flight:
        pool.recv()


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("batch_size", [4, 2])
@pytest.mark.parametrize("num_threads", [1, 3])
def test_threads(num_threads: int, batch_size: int, autoreset: str) -> None:
    batches = 2 if autoreset == "disabled" and batch_size == 2 else 40
    with Pool(
        "CartPole-v1", 4, batch_size=batch_size, num_threads=num_threads, autoreset=autoreset
    ) as pool:
        for _ in range(2):
            with counted(pool):
                play(pool, batches)


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("batch_size", [4, 2])
def test_worker_processes(batch_size: int, autoreset: str) -> None:
    batches = 2 if autoreset == "disabled" and batch_size == 2 else 40
    with process_pool(batch_size=batch_size, autoreset=autoreset) as pool:
        for _ in range(2):
            with counted(pool):
                play(pool, batches)


@pytest.mark.parametrize("env", ["Pong-v5", "HalfCheetah-v5", "mpe/simple_tag_v3"])
def test_environments_that_take_longer(env: str) -> None:
    with Pool(env, 3, num_threads=2) as pool, counted(pool):
        pool.reset()
        for _ in range(5):
            pool.step([pool.spec.action_space().sample() for _ in range(3)])


@pytest.mark.parametrize(
    "make", [lambda: Pool("CartPole-v1", 1), lambda: process_pool(1, num_workers=1)]
)
def test_one_environment(make: Maker) -> None:
    with make() as pool, counted(pool):
        play(pool, 30)


@pytest.mark.slow
def test_steps_and_resets_of_some_environments() -> None:
    for make in (lambda: Pool("CartPole-v1", 4, num_threads=2), process_pool):
        with make() as pool, counted(pool):
            pool.reset()
            pool.step(actions_of(2), [3, 1])
            pool.reset([2])
    with process_pool() as pool, counted(pool):
        pool.reset()
        pool.send_reset(mask=np.array([True, False, True, False]))
        pool.recv()


@pytest.mark.slow
def test_programs_of_jax() -> None:
    jax = pytest.importorskip("jax")
    from parallel_pool.compat.jax import xla

    with Pool("CartPole-v1", 3, num_threads=2) as pool:
        pool.reset()
        handle, _, _, step, *_ = xla(pool)
        program = jax.jit(lambda handle, actions: jax.lax.scan(step, handle, actions))
        with counted(pool):
            handle, _ = program(handle, np.zeros((30, 3), np.int64))
            jax.block_until_ready(handle)


def test_threads_that_receive_by_turns() -> None:
    """One sends, and two receive and send again; the caller's track stays in order."""
    turn = threading.Lock()

    def receive(pool: Any) -> None:
        for _ in range(50):
            with turn:
                ids = pool.recv().env_id.copy()
            pool.send(actions_of(len(ids)), ids)

    with Pool("CartPole-v1", 8, batch_size=2, num_threads=2) as pool, counted(pool):
        pool.send_reset()
        threads = [threading.Thread(target=receive, args=(pool,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        while pool.in_flight:
            pool.recv()


def test_an_api_that_always_has_steps_in_flight(tmp_path: Path) -> None:
    """Its trace has every call, and all steps but that in flight at either end."""
    from parallel_pool.compat.ale import AtariVectorEnv

    path, steps = tmp_path / "trace.json", 20
    with contextlib.closing(AtariVectorEnv("pong", 3, batch_size=2, num_threads=2)) as env:
        env.reset(seed=7)
        with env.trace(path) as trace:
            for _ in range(steps):
                env.step(np.zeros(2, np.int64))
    record = trace.record
    assert record.of_kinds(RECEIVES, (RECEIVER,))["count"].tolist() == [2] * steps
    stepped = record.of_kinds((WORK, RESET, INLINE))["count"].sum()
    assert abs(stepped - 2 * steps) <= 1
    assert (record.lost, record.is_cut) == (0, False)
    assert_valid(path)


def test_calls_are_named_by_what_they_do() -> None:
    with Pool("CartPole-v1", 2, batch_size=1) as pool, pool.trace() as trace:
        pool.send_reset()
        pool.recv(), pool.recv()
        pool.send(actions_of(1), [1])
        pool.step(actions_of(1), [0])
        pool.recv()
    sent = trace.record.of_kinds((SEND, RESETS), (SENDER,))
    assert [(each["kind"], each["count"]) for each in sent] == [(RESETS, 2), (SEND, 1)]
    assert trace.record.of_kinds(RECEIVES, (RECEIVER,))["count"].tolist() == [1] * 4


@pytest.mark.parametrize("num_threads", [1, 2])
def test_steps_that_fail_are_recorded(num_threads: int) -> None:
    """As work, but not as received rows."""
    options = {"fail_on": "step", "fail_env": 1, "fail_at_step": 2, "sleep_ms": 1}
    with Pool("test/Fault-v0", 2, options=options, num_threads=num_threads) as pool:
        pool.reset()
        with pool.trace() as trace:
            pool.step(actions_of(2))
            with pytest.raises(EnvError):
                pool.step(actions_of(2))
    assert trace.record.of_kinds((WORK,))["count"].sum() == 4
    assert trace.record.of_kinds(RECEIVES)["count"].tolist() == [2, 0]
    assert trace.report().batches == 1


# -------------------------------------------------------------------------------------- the file --


def assert_valid(path: Path) -> list[dict[str, Any]]:
    """Checks a file by the rules of Chrome's trace format; returns its events."""
    document = json.loads(path.read_text())
    events: list[dict[str, Any]] = document["traceEvents"]
    rows: dict[int, list[tuple[float, float]]] = {}
    names = {}
    for event in events:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int)
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                assert event["tid"] not in names
                names[event["tid"]] = event["args"]["name"]
            continue
        assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] >= 0
        rows.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert rows.keys() <= names.keys() and len(set(names.values())) == len(names)
    for row in rows.values():
        ends: list[float] = []
        for start, end in sorted(row, key=lambda each: (each[0], -each[1])):
            # microseconds with three digits
            while ends and ends[-1] <= start + 1e-4:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-4
            ends.append(end)
    return events


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "make", [lambda: Pool("CartPole-v1", 4, num_threads=2, batch_size=2), process_pool]
)
def test_the_file_shows_every_span(make: Maker, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with make() as pool, pool.trace(path) as trace:
        play(pool, 30)
        with trace.span('the "policy"\n\\'), trace.span("ä\ud800"):
            pass
    events = assert_valid(path)
    shown = [event for event in events if event["ph"] == "X"]
    assert len(shown) == sum(map(len, trace.record.tracks)) + 2
    assert {event["pid"] for event in events} == {os.getpid()}
    assert {'the "policy"\n\\', "ä\ud800"} <= {event["name"] for event in shown}
    in_processes = isinstance(pool, ProcessPool)
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names >= ({"worker 0", "worker 1"} if in_processes else {"caller", "thread 2"})
    assert {"recv", "reset"} <= {event["name"] for event in shown}


def test_threads_of_the_caller_have_rows_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with Pool("CartPole-v1", 2) as pool, pool.trace(path) as trace:
        both = threading.Barrier(2)

        def learn() -> None:
            with trace.span("learn"):
                both.wait()
                both.wait()

        thread = threading.Thread(target=learn)
        thread.start()
        both.wait()
        with trace.span("act"):
            pool.reset()
            both.wait()
            thread.join()
    events = assert_valid(path)
    tids = {event["name"]: event["tid"] for event in events if event["ph"] == "X"}
    assert tids["act"] != tids["learn"]
    shares = trace.report().shares
    assert sum(shares.values()) == pytest.approx(1)
    assert {"act", "learn"} <= shares.keys()


def test_an_empty_trace_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with Pool("CartPole-v1", 2, num_threads=2) as pool, pool.trace(path) as trace:
        pass
    # of the process, and two of each thread
    assert [event["ph"] for event in assert_valid(path)] == ["M"] * 5
    assert trace.report().shares == {"policy": 1.0, "environments": 0.0, "waiting": 0.0}


def test_named_intervals_lie_within_the_trace() -> None:
    with Pool("CartPole-v1", 2) as pool:
        trace = pool.trace()
        with trace.span("before"):
            pass
        outer = trace.span("around the beginning")
        outer.__enter__()
        with trace:
            outer.__exit__(None, None, None)
            with pytest.raises(ZeroDivisionError), trace.span("fails"):
                _ = 1 / 0
        with trace.span("after"):
            pass
    record = trace.record
    assert [span.name for span in record.named] == ["around the beginning", "fails"]
    assert all(record.start <= span.start <= span.end <= record.end for span in record.named)


# ------------------------------------------------------------------ what happens during a trace --


def test_an_exception_goes_on_and_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with Pool("CartPole-v1", 2) as pool:
        with pytest.raises(ZeroDivisionError), pool.trace(path) as trace:
            pool.reset()
            _ = 1 / 0
        assert_valid(path)
        assert trace.report().steps == 2
        with counted(pool):
            pool.reset()


def test_a_file_that_cannot_be_written_hides_no_exception(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with Pool("CartPole-v1", 2) as pool:
        folder.mkdir()
        with pytest.raises(FileNotFoundError), pool.trace(folder / "trace.json") as trace:
            folder.rmdir()
        assert trace.report().steps == 0
        folder.mkdir()
        with pytest.raises(ZeroDivisionError) as error, pool.trace(folder / "trace.json"):
            folder.rmdir()
            _ = 1 / 0
        (note,) = error.value.__notes__
        assert "could not be written" in note and "trace.json" in note
        with counted(pool):
            pool.reset()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with Pool("CartPole-v1", 2) as pool:
        with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere': make it"):
            pool.trace(tmp_path / "nowhere" / "trace.json")
        with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
            pool.trace(tmp_path)
        with pytest.raises(TypeError):
            pool.trace(7)  # type: ignore[arg-type]
        for wrong, kind in ((0, ValueError), (-1, ValueError), ("many", TypeError)):
            with pytest.raises(kind, match="max_spans"):
                pool.trace(max_spans=wrong)  # type: ignore[arg-type]


BAD_PATHS: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "zero byte": (lambda folder: f"{folder}/a\0b", ValueError, "it holds a zero byte: name a file"),
    "loop": (
        lambda folder: (folder / "loop").symlink_to("loop") or folder / "loop",
        OSError,
        "it can't be written: Too many levels of symbolic links: name another file",
    ),
    "FIFO": (
        lambda folder: os.mkfifo(folder / "fifo") or folder / "fifo",
        OSError,
        "it is a FIFO, a socket or a disk: name a file",
    ),
    "full": (
        lambda folder: "/dev/full",
        OSError,
        "it can't be written: No space left on device: name another file",
    ),
    "not writable": (lambda folder: "/proc/trace.json", OSError, "it can't be written: "),
    "file for a folder": (
        lambda folder: (folder / "file").touch() or folder / "file" / "trace.json",
        OSError,
        "it can't be written: Not a directory: name another file",
    ),
    "long": (lambda folder: folder / ("x" * 10**6), OSError, "it can't be written: File name too"),
    "empty": (lambda folder: "", IsADirectoryError, "it is a folder: name a file in it"),
}


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("kind", BAD_PATHS)
def test_a_file_that_cannot_be_is_refused_before_the_block(kind: str, tmp_path: Path) -> None:
    make, error, words = BAD_PATHS[kind]
    path = make(tmp_path)
    with Pool("CartPole-v1", 2) as pool:
        with pytest.raises(error, match=f"^path='.*{words}") as caught:
            pool.trace(path)
        assert len(str(caught.value)) < 300
        with counted(pool):
            pool.reset()
    with pytest.raises(SystemExit):
        cli.main(["profile", "--out", str(path), __file__])


def test_looking_at_a_file_changes_nothing(tmp_path: Path) -> None:
    path, link = tmp_path / "trace.json", tmp_path / "link"
    path.write_text("before")
    link.symlink_to("absent")
    with Pool("CartPole-v1", 2) as pool:
        pool.trace(path), pool.trace(link), pool.trace("/dev/null"), pool.trace(tmp_path / "new")
        assert path.read_text() == "before" and sorted(tmp_path.iterdir()) == [link, path]
        with pool.trace(link):
            pool.reset()
    assert_valid(tmp_path / "absent")


def test_a_file_is_where_the_trace_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Pool("CartPole-v1", 2) as pool, pool.trace("trace.json"):
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert_valid(tmp_path / "trace.json")


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("action", ["always", "error"])
def test_an_exception_of_the_block_wins(action: str, tmp_path: Path) -> None:
    """A file that became a FIFO neither hangs nor hides it, and warnings may be errors."""
    path = tmp_path / "trace.json"
    with (
        Pool("CartPole-v1", 2) as pool,
        warnings.catch_warnings(record=action == "always") as seen,
        pytest.raises(ZeroDivisionError) as error,
    ):
        warnings.simplefilter(action)
        with pool.trace(path):
            os.mkfifo(path)
            _ = 1 / 0
    (note,) = error.value.__notes__
    assert note.startswith("The trace could not be written: ")
    if action == "always":
        assert [(each.category, str(each.message)) for each in seen or ()] == [
            (RuntimeWarning, note)
        ]


def test_traces_are_not_copied_but_what_they_recorded_is() -> None:
    with Pool("CartPole-v1", 2) as pool:
        trace = pool.trace()
        with trace:
            pool.reset()
    for copied in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
        with pytest.raises(
            TypeError, match=r"^a Trace holds .*: take trace\.record or trace\.repo"
        ):
            copied(trace)
        assert str(copied(trace.report())) == str(trace.report())
        np.testing.assert_equal(copied(trace.record).tracks, trace.record.tracks)


def test_one_trace_at_a_time() -> None:
    with Pool("CartPole-v1", 2) as pool, Pool("CartPole-v1", 2) as other:
        first, second = pool.trace(), pool.trace()
        with pytest.raises(StateError, match="has not ended"):
            first.report()
        with first, other.trace():
            with pytest.raises(StateError, match="another trace of this pool is running"):
                second.__enter__()
            with pytest.raises(StateError, match="has not ended"):
                first.report()
        with second:
            pool.reset()
        assert second.report().steps == 2
        with pytest.raises(StateError, match="a trace records once"):
            first.__enter__()


@pytest.mark.slow
def test_traces_of_threads_that_compete() -> None:
    """Each trace that begins ends well, and a thread that steps meanwhile is never refused."""
    done: list[Trace] = []
    over = threading.Event()
    with Pool("CartPole-v1", 2) as pool:
        pool.reset()

        def trace_often() -> None:
            while not over.is_set():
                trace = pool.trace()
                with contextlib.suppress(StateError), trace:
                    done.append(trace)

        threads = [threading.Thread(target=trace_often) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            while len(done) < 60:
                pool.step(actions_of(2))
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert all(sum(trace.report().shares.values()) == pytest.approx(1) for trace in done)


@pytest.mark.quick(1)
@pytest.mark.parametrize("make", [lambda: Pool("CartPole-v1", 3, num_threads=2), process_pool])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_pool_may_end_during_its_trace(make: Maker, is_dropped: bool) -> None:
    pool = make()
    rows = 6 * pool.num_envs
    with pool.trace() as trace:
        play(pool, 5)
        if is_dropped:
            del pool
        else:
            pool.close()
    assert_whole(trace.record, rows)
    if not is_dropped:
        with pytest.raises(StateError), pool.trace():
            pass


def test_nobody_reads_the_tracks_of_a_closed_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile traces every pool to the end of a script, which may make many."""
    monkeypatch.setattr(trace_module, "PERIOD", 0.001)
    with Pool("CartPole-v1", 3, num_threads=2) as pool, pool.trace() as trace:
        play(pool, 5)
        (reader,) = (thread for thread in threading.enumerate() if thread.name == "pp-trace")
        pool.close()
        wait_for(lambda: not reader.is_alive())
    assert_whole(trace.record, 18)


@pytest.mark.quick(1)
@pytest.mark.parametrize("make", [lambda: Pool("CartPole-v1", 3, num_threads=2), process_pool])
def test_a_forked_child_leaves_the_trace_to_its_parent(make: Maker, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with make() as pool:
        trace = pool.trace(path)

        def end_in_child() -> None:
            trace.__exit__(None, None, None)
            with pytest.raises(StateError, match="has not ended"):
                trace.report()

        with trace:
            play(pool, 5)
            in_child(end_in_child)
            assert not path.exists()
            play(pool, 5)
        assert_whole(trace.record, 12 * pool.num_envs)
        assert_valid(path)


@pytest.mark.slow
def test_a_worker_that_dies_is_followed_by_another() -> None:
    with pool_of(on_error="restart", start_method="fork") as pool:
        pool.reset()
        with pool.trace() as trace:
            pool.step(ACTIONS)
            kill(pool, 1)
            for _ in range(20):
                pool.step(ACTIONS)
    assert trace.record.lost == 0
    assert trace.report().steps == 4 * 21
    for track in trace.record.tracks[SENDER + 1 :]:
        assert (track["start"][1:] >= track["end"][:-1]).all()
        # the new worker records, too: all but perhaps the step in which it came
        assert track["count"][np.isin(track["kind"], (WORK, RESET))].sum() >= 2 * 20


def test_waits_for_cores_are_those_during_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = 5
    monkeypatch.setattr(core_waits, "wait_of", lambda pid: waited * 10**9)
    with process_pool(2) as pool:
        pool.reset()
        with pool.trace() as trace:
            pool.step(actions_of(2))
            waited = 8
        assert trace.record.core_waits == [3.0, 3.0]
        assert trace.report().core_waits["worker 1"] == 3 / trace.report().seconds
    with Pool("CartPole-v1", 2) as threads:
        with threads.trace() as trace:
            threads.reset()
        assert trace.record.core_waits == []


def test_a_trace_keeps_no_pool() -> None:
    pool = process_pool(2)
    trace, dropped = pool.trace(), weakref.ref(pool)
    with trace:
        pool.reset()
        del pool
        wait_for(lambda: dropped() is None)
    assert len(trace.record.core_waits) == 2


def test_waits_of_a_second_worker_count_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Workers:
        now: ClassVar[list[int | None]] = [11, 12]

        def pids(self) -> list[int | None]:
            return self.now

    waits = {11: 10, 12: 20, 13: 4}
    monkeypatch.setattr(core_waits, "wait_of", lambda pid: waits[pid] * 10**9)
    workers = Workers()
    found = core_waits.CoreWaits(workers.pids)
    found.begin()
    waits[11] = 13
    found.look()
    workers.now = [13, None]
    found.look()
    # 3 s of the first worker, and all of the second one's 4; nothing more of one that has ended
    assert found.seconds == [7.0, 0.0]


@pytest.mark.sanitizers
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_pool_is_announced_when_it_is_whole(
    num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profiler begins a trace then, which asks for the workers and who steps."""
    found: list[tuple[list[bool], bool]] = []

    def announced(pool: Any) -> None:
        pids = [pid is not None for pid in pool.worker_pids]
        with pool.trace() as trace:
            pass
        found.append((pids, trace.record.setting.is_local))

    monkeypatch.setattr(opened, "listeners", [announced])
    ProcessPool([make_cartpole] * 2, num_workers=num_workers).close()
    assert found == [([True] * num_workers, num_workers == 0)]


def test_the_system_may_tell_what_a_process_has_waited() -> None:
    tells = Path("/proc/self/schedstat").exists()
    assert (core_waits.wait_of(os.getpid()) is not None) == tells
    # no pid is that large
    assert core_waits.wait_of(2**22 + 1) is None


def shared_files() -> dict[str, int]:
    """Returns the sizes of the memory that pools share with their workers, by paths."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            path = f"/proc/self/fd/{name}"
            if "memfd:parallel_pool" in os.readlink(path):
                found[path] = os.path.getsize(path)
    return found


def test_a_worker_that_writes_over_its_trace_spoils_only_that() -> None:
    with process_pool() as pool:
        pool.reset()
        before = shared_files()
        with pool.trace() as trace:
            (path,) = (path for path, size in shared_files().items() if size > before[path])
            pool.step(actions_of(4))
            # as its environments could: random bytes over all tracks
            with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
                count = len(memory) - before[path]
                memory[before[path] :] = np.random.default_rng(0).bytes(count)
            play(pool, 10)
        assert trace.record.lost == 2
        report = trace.report()
        assert report.steps == 4 * 12
        assert "2 spans found no room" in str(report)
        with counted(pool):
            play(pool, 10)


@pytest.mark.slow
def test_spans_that_nobody_reads_are_counted_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "PERIOD", 1000.0)
    with ProcessPool([Counting] * 16, num_workers=1, start_method="fork") as pool:
        pool.reset()
        with pool.trace() as trace:
            for _ in range(1000):
                pool.step([0] * 16)
        # a span for each step of an environment, and one for each delivery, perhaps not the last
        kept = len(trace.record.tracks[SENDER + 1])
        assert kept == 1 << 14
        assert trace.record.lost in (17 * 1000 - kept - 1, 17 * 1000 - kept)
        assert f"{trace.record.lost:,} spans found no room" in str(trace.report())
        # those are not lost again
        with counted(pool):
            pool.reset()


def test_a_trace_ends_when_it_has_as_many_spans_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "PERIOD", 0.001)
    with Pool("CartPole-v1", 2) as pool:
        with pool.trace(max_spans=20) as trace:
            wait_for(lambda: pool.reset() is not None and trace.is_cut)
            with trace.span("late"):
                kept = trace.num_spans
                for _ in range(50):
                    pool.reset()
        record = trace.record
        assert record.is_cut and record.lost == 0
        assert 20 < trace.num_spans == kept
        assert record.named == []
        assert all((track["end"] <= record.end).all() for track in record.tracks)
        assert "only the first part of the trace: raise max_spans" in str(trace.report())


def test_what_a_former_trace_has_left_is_not_part_of_the_next() -> None:
    with Pool("CartPole-v1", 2) as pool:
        for _ in range(5):
            with counted(pool):
                pool.reset()
            pool.reset()


def test_a_thread_that_cannot_start_ends_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool("CartPole-v1", 2) as pool:
        trace = pool.trace()

        def fail(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="can't start"):
            trace.__enter__()
        monkeypatch.undo()
        with counted(pool):
            pool.reset()
