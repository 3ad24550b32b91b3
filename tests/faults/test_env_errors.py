"""Native environments that fail: the error names them, has the others' results, and all go on."""

from __future__ import annotations

import ctypes
import gc
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool.errors import EnvError, PoolError, StateError
from tests.support.threads import threads

FRESH, RUNNING, ENDED = range(3)

# columns that the model computes
COLUMNS = ("obs", "count", "reward", "terminated", "truncated", "env_id", "elapsed_step")


class Failed(Exception):
    """The failure of an environment in the model."""


class Model:
    """Model of test/Fault-v0 and of the engine, for one environment.

    Attributes:
        failures: how often it has failed.
    """

    def __init__(
        self, env_id: int, fail_on: str, at: int, fails: bool, autoreset: str, limit: int
    ) -> None:
        self.env_id = env_id
        self.fail_on = fail_on if fails else "none"
        self.at = at
        self.autoreset = autoreset
        self.limit = limit
        self.phase = FRESH
        self.steps = self.resets = self.elapsed = self.failures = 0

    def row(self, action: int | None) -> tuple[float, ...] | None:
        """Returns the next row, or None if the environment fails. Action None means a reset."""
        try:
            return self._advance(action)
        except Failed:
            self.failures += 1
            self.phase = FRESH
            return None

    def _advance(self, action: int | None) -> tuple[float, ...]:
        is_reset = action is None or self.phase != RUNNING
        reward = 0
        if is_reset:
            self._reset()
        else:
            assert action is not None
            self.steps += 1
            self._maybe_fail("step", self.steps)
            self.elapsed += 1
            reward = action
            self.phase = ENDED if self.elapsed == self.limit else RUNNING
        ended, elapsed = self.phase == ENDED, self.elapsed
        if ended and self.autoreset == "same_step":
            self._maybe_fail("observe", self.steps)
            self._reset()
            is_reset = True
        if not is_reset:
            self._maybe_fail("observe", self.steps)
        return (self.steps, self.steps, reward, False, ended, self.env_id, elapsed)

    def _reset(self) -> None:
        self.resets += 1
        self._maybe_fail("reset", self.resets)
        self.elapsed = 0
        self.phase = RUNNING

    def _maybe_fail(self, where: str, count: int) -> None:
        if (where, count) == (self.fail_on, self.at):
            raise Failed


class Watched:
    """A pool of test/Fault-v0 and its model; every batch is compared row by row.

    Attributes:
        broken: the batches that were delivered with an exception.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        fail_on: str,
        at: int,
        fail_env: int = -1,
        autoreset: str = "next_step",
        limit: int = 4,
        **options: Any,
    ) -> None:
        self.pool = Pool(
            "test/Fault-v0",
            num_envs,
            autoreset=autoreset,
            max_episode_steps=limit,
            options={"fail_on": fail_on, "fail_at_step": at, "fail_env": fail_env},
            **options,
        )
        self.models = [
            Model(env_id, fail_on, at, fail_env in (-1, env_id), autoreset, limit)
            for env_id in range(num_envs)
        ]
        names = [column.name for column in self.pool.columns if not column.is_final]
        self.columns = [names.index(name) for name in COLUMNS]
        failed_envs = r"^test/Fault-v0: environment (\d+)( \(and (\d+) more\))? failed: "
        self.pattern = f"{failed_envs}made to fail in {fail_on} {at}$"
        self.expected: dict[int, tuple[float, ...] | None] = {}
        self.kept: list[tuple[tuple[Any, ...], list[Any]]] = []
        self.broken: list[tuple[Any, ...]] = []

    def send(self, env_ids: list[int], actions: list[int] | None) -> None:
        """Sends actions; None means a reset."""
        if actions is None:
            self.pool.send_reset(env_ids)
        else:
            self.pool.send(actions, env_ids)
        self.expect(env_ids, actions)

    def expect(self, env_ids: list[int], actions: list[int] | None) -> None:
        for i, env_id in enumerate(env_ids):
            self.expected[env_id] = self.models[env_id].row(actions[i] if actions else None)

    def take(self, function: Any, *arguments: Any) -> list[int]:
        """Calls a function that returns a batch; returns the environments of its rows."""
        failed: tuple[int, ...] = ()
        try:
            batch = function(*arguments)
        except EnvError as error:
            batch, failed = error.batch, error.env_ids
            self.broken.append(batch)
            found = re.match(self.pattern, str(error))
            assert found, str(error)
            assert (int(found[1]), int(found[3] or 0)) == (failed[0], len(failed) - 1)
        self.kept.append((batch, [array.copy() for array in batch]))
        env_ids = batch[self.columns[COLUMNS.index("env_id")]].tolist()
        assert sorted(failed) == sorted(i for i in env_ids if self.expected[i] is None)
        for row, env_id in enumerate(env_ids):
            found_row = tuple(batch[column][row].item() for column in self.columns)
            nothing = tuple(env_id if name == "env_id" else 0 for name in COLUMNS)
            assert found_row == (self.expected.pop(env_id) or nothing)
        return env_ids

    def finish(self, num_failures: int) -> None:
        """Checks that delivered batches have not changed, and that all failures have happened."""
        assert not self.expected and self.pool.in_flight == 0
        assert sum(model.failures for model in self.models) == num_failures
        for batch, copies in self.kept:
            for array, copied in zip(batch, copies, strict=True):
                assert array.tobytes() == copied.tobytes()
        self.pool.close()


@pytest.mark.quick(22)
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("fail_env", [2, -1])
@pytest.mark.parametrize(
    ("fail_on", "at"), [("step", 1), ("step", 6), ("reset", 2), ("observe", 5)]
)
def test_an_ordered_pool_names_all_that_fail_in_a_batch(
    fail_on: str, at: int, fail_env: int, autoreset: str, num_threads: int
) -> None:
    """All environments are stepped each time, so that several fail in one batch."""
    num_envs = 5
    watched = Watched(
        num_envs,
        fail_on=fail_on,
        at=at,
        fail_env=fail_env,
        autoreset=autoreset,
        num_threads=num_threads,
    )
    all_ids = list(range(num_envs))
    for i in range(20):
        actions = [(i + env_id) % 2 for env_id in all_ids]
        watched.expect(all_ids, actions)
        assert watched.take(watched.pool.step, actions) == all_ids
    assert len(watched.broken) == 1
    watched.finish(num_envs if fail_env < 0 else 1)


@pytest.mark.parametrize("fail_on", ["step", "reset", "observe"])
def test_environments_that_are_sent_some_at_a_time_fail_as_in_the_model(fail_on: str) -> None:
    """They are named in random order, so that they fail in different batches."""
    num_envs = 7
    watched = Watched(num_envs, fail_on=fail_on, at=3, num_threads=2)
    rng = np.random.default_rng(0)
    for i in range(60):
        some = rng.permutation(num_envs)[: rng.integers(1, num_envs + 1)].tolist()
        actions = rng.integers(0, 2, len(some)).tolist() if i % 3 else None
        watched.send(some, actions)
        assert watched.take(watched.pool.recv) == some
    assert len(watched.broken) >= 2
    watched.finish(num_envs)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("fail_env", [2, -1])
@pytest.mark.parametrize("fail_on", ["step", "reset", "observe"])
def test_an_unordered_pool_names_the_environments_that_fail(
    fail_on: str, fail_env: int, batch_size: int
) -> None:
    num_envs = 6
    watched = Watched(
        num_envs, fail_on=fail_on, at=2, fail_env=fail_env, batch_size=batch_size, num_threads=3
    )
    watched.send(list(range(num_envs)), None)
    # until each has passed its failure
    while min(model.steps + model.resets for model in watched.models) < 12:
        env_ids = watched.take(watched.pool.recv)
        watched.send(env_ids, [1] * len(env_ids))
    while watched.pool.in_flight:
        watched.take(watched.pool.recv)
    watched.finish(num_envs if fail_env < 0 else 1)


def test_step_of_an_unordered_pool_names_the_environments_that_fail() -> None:
    watched = Watched(4, fail_on="step", at=2, batch_size=2, num_threads=2)
    watched.send([0, 1, 2, 3], None)
    env_ids = watched.take(watched.pool.recv)
    for _ in range(20):
        watched.expect(env_ids, [1, 0])
        env_ids = watched.take(watched.pool.step, [1, 0], env_ids)
    watched.take(watched.pool.recv)
    assert watched.broken
    watched.finish(sum(model.steps >= 2 for model in watched.models))


def test_reset_and_a_step_with_a_timeout_name_what_fails() -> None:
    watched = Watched(3, fail_on="reset", at=1, fail_env=1, num_threads=2)
    all_ids = [0, 1, 2]
    watched.expect(all_ids, None)
    watched.take(watched.pool.reset)
    # the failed one is reset by its next step, the others are stepped
    watched.expect(all_ids, [1, 1, 1])
    watched.take(lambda: watched.pool.step([1, 1, 1], timeout=600))
    assert [model.steps for model in watched.models] == [1, 0, 1]
    assert len(watched.broken) == 1
    watched.finish(1)


def test_a_failed_environment_has_no_observation() -> None:
    watched = Watched(3, fail_on="step", at=1, fail_env=1, num_threads=1, autoreset="disabled")
    pool, all_ids = watched.pool, [0, 1, 2]
    watched.expect(all_ids, None)
    watched.take(pool.reset)
    watched.expect(all_ids, [1, 1, 1])
    watched.take(pool.step, [1, 1, 1])
    assert [pool.needs_reset(env_id) for env_id in all_ids] == [False, True, False]
    with pytest.raises(StateError, match="environment 1 is not reset"):
        pool.observe([1])
    assert pool.observe([0, 2])[0].ravel().tolist() == [1, 1]
    with pytest.raises(StateError, match="environment 1 is not reset and autoreset is disabled"):
        pool.step([1, 1, 1])
    watched.send([1], None)
    assert watched.take(pool.recv) == [1]
    watched.expect(all_ids, [1, 0, 1])
    watched.take(pool.step, [1, 0, 1])
    watched.finish(1)


def test_the_error_of_a_closed_pool_keeps_its_batch() -> None:
    with (
        pytest.raises(EnvError) as caught,
        Pool("test/Fault-v0", 3, options={"fail_on": "reset", "fail_env": 0}) as pool,
    ):
        pool.reset()
    assert isinstance(caught.value, PoolError) and isinstance(caught.value, RuntimeError)
    assert caught.value.env_ids == (0,)
    del pool
    obs = caught.value.batch[0]
    obs += 1
    assert obs.tolist() == [[1], [1], [1]]


# ------------------------------------------------------------------------------------- making --


def memory_used() -> int:
    """Returns how many bytes of memory this process uses.

    The address sanitizer keeps freed memory for a while, so that the address space grows and
    shrinks by itself: it is asked how many bytes are allocated. Otherwise this is the size of the
    address space, which includes what is mapped.
    """
    allocated = getattr(ctypes.CDLL(None), "__sanitizer_get_current_allocated_bytes", None)
    if allocated is not None:
        allocated.restype = ctypes.c_size_t
        return int(allocated())
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("fail_env", [0, 3, -1])
def test_an_environment_that_cannot_be_made_is_named(fail_env: int) -> None:
    options = {"fail_on": "init", "fail_env": fail_env}
    name = max(fail_env, 0)
    message = f"^test/Fault-v0: environment {name} can't be made: made to fail in init 1$"
    with pytest.raises(PoolError, match=message):
        Pool("test/Fault-v0", 4, num_threads=2, options=options)
    if fail_env > 0:
        # a smaller pool does not contain the failing environment
        with Pool("test/Fault-v0", fail_env, num_threads=2, options=options) as pool:
            assert len(pool.reset()[0]) == fail_env


@pytest.mark.sanitizers
def test_a_constructor_that_fails_leaks_nothing() -> None:
    num_envs, rounds = 20000, 100
    at_first = threads()

    def fail() -> None:
        # the last one fails, after all others have been made
        options = {"fail_on": "init", "fail_env": num_envs - 1}
        with pytest.raises(PoolError, match=f"environment {num_envs - 1} can't be made"):
            Pool("test/Fault-v0", num_envs, num_threads=3, options=options)

    def highest() -> int:
        # the allocator returns memory to the system every few rounds
        seen = []
        for _ in range(10):
            fail()
            gc.collect()
            seen.append(memory_used())
        return max(seen)

    before = highest()
    for _ in range(rounds):
        fail()
    # as much as a leak of four bytes per environment and round
    assert highest() - before < 4 * num_envs * rounds
    assert threads() <= at_first
