"""Compares a pool with a model: for any calls in any order both give the same results.

The model has a few numbers per environment. Calls are drawn without regard to the state of the
pool, so refused calls are as frequent as others. Which environments an asynchronous pool finishes
first does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from parallel_pool._engine.pool import Pool
from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError

NUM_ENVS = 5
LIMIT = 3

IDS = st.lists(st.integers(0, NUM_ENVS - 1), min_size=1, max_size=NUM_ENVS, unique=True)
ACTIONS = st.lists(st.integers(0, 1), min_size=NUM_ENVS, max_size=NUM_ENVS)


@dataclass(frozen=True)
class Model:
    """A model of one test/Fault-v0, which counts the steps of all its episodes."""

    steps: int = 0
    elapsed: int = 0
    is_running: bool = False

    @property
    def row(self) -> dict[str, Any]:
        return {"obs": [self.steps], "count": self.steps, "elapsed_step": self.elapsed}

    def reset(self) -> tuple[Model, dict[str, Any]]:
        after = replace(self, elapsed=0, is_running=True)
        return after, {**after.row, "reward": 0, "terminated": False, "truncated": False}

    def step(self, action: int) -> tuple[Model, dict[str, Any]]:
        if not self.is_running:
            return self.reset()
        ended = self.elapsed + 1 >= LIMIT
        after = Model(self.steps + 1, self.elapsed + 1, not ended)
        return after, {**after.row, "reward": action, "terminated": False, "truncated": ended}


class PoolMachine(RuleBasedStateMachine):
    """Calls of a pool, and their expected results."""

    @initialize(batch_size=st.integers(1, NUM_ENVS), num_threads=st.integers(1, 3))
    def make(self, batch_size: int, num_threads: int) -> None:
        self.pool = Pool(
            "test/Fault-v0",
            NUM_ENVS,
            batch_size=batch_size,
            num_threads=num_threads,
            max_episode_steps=LIMIT,
            seed=3,
        )
        self.names = [column.name for column in self.pool.columns]
        self.models = [Model() for _ in range(NUM_ENVS)]
        # what is in flight and its expected result, in the order of sending
        self.in_flight: dict[int, dict[str, Any]] = {}
        self.received = 0
        self.held: list[tuple[Any, list[Any]]] = []
        self.snapshots: list[tuple[list[bytes], list[Model]]] = []

    # -------------------------------------------------------------------------- expectations --

    def refused(self, call: Callable[[], Any], ids: list[int]) -> bool:
        """Returns whether a call on these environments must be refused; makes it if so."""
        if self.pool.closed:
            with pytest.raises(ClosedError):
                call()
        elif not self.in_flight.keys().isdisjoint(ids):
            with pytest.raises(StateError, match=r"in flight|pending"):
                call()
        else:
            return False
        return True

    def note_sent(self, ids: list[int], actions: list[int] | None) -> None:
        for at, env_id in enumerate(ids):
            model = self.models[env_id]
            after = model.reset() if actions is None else model.step(actions[at])
            self.models[env_id], self.in_flight[env_id] = after

    @property
    def is_ready(self) -> bool:
        return len(self.in_flight) >= (self.pool.batch_size if self.pool.is_async else 1)

    def check(self, batch: tuple[Any, ...]) -> None:
        """Checks a batch: part of what was in flight, or in an ordered pool all of it, as sent."""
        columns = dict(zip(self.names, batch, strict=True))
        env_ids = columns["env_id"].tolist()
        if self.pool.is_async:
            assert len(env_ids) == self.pool.batch_size == len(set(env_ids))
        else:
            assert env_ids == list(self.in_flight)
        for row, env_id in enumerate(env_ids):
            expected = self.in_flight.pop(env_id)
            assert {name: columns[name][row].tolist() for name in expected} == expected
        self.received += len(env_ids)
        if len(self.held) < 8:
            self.held.append((batch, [array.copy() for array in batch]))

    # --------------------------------------------------------------------------------- calls --

    @rule(ids=IDS, actions=ACTIONS)
    def send(self, ids: list[int], actions: list[int]) -> None:
        chosen = actions[: len(ids)]
        if not self.refused(lambda: self.pool.send(chosen, ids), ids):
            self.pool.send(chosen, ids)
            self.note_sent(ids, chosen)

    @rule(ids=IDS)
    def send_reset(self, ids: list[int]) -> None:
        if not self.refused(lambda: self.pool.send_reset(ids), ids):
            self.pool.send_reset(ids)
            self.note_sent(ids, None)

    @rule(ids=IDS, actions=ACTIONS)
    def step(self, ids: list[int], actions: list[int]) -> None:
        chosen = actions[: len(ids)]
        if self.refused(lambda: self.pool.step(chosen, ids), ids):
            return
        together = len(ids) + len(self.in_flight)
        if together < self.pool.batch_size if self.pool.is_async else self.in_flight:
            with pytest.raises(StateError):
                self.pool.step(chosen, ids)
            return
        batch = self.pool.step(chosen, ids)
        self.note_sent(ids, chosen)
        self.check(batch)

    @rule(actions=ACTIONS)
    def step_all(self, actions: list[int]) -> None:
        everyone = list(range(NUM_ENVS))
        if not self.refused(lambda: self.pool.step(actions), everyone):
            batch = self.pool.step(actions)
            self.note_sent(everyone, actions)
            self.check(batch)

    @rule()
    def recv(self) -> None:
        if self.pool.closed or not self.is_ready:
            with pytest.raises(ClosedError if self.pool.closed else StateError):
                self.pool.recv()
        else:
            self.check(self.pool.recv())

    @rule()
    def recv_with_timeout(self) -> None:
        if self.pool.closed:
            return
        if self.is_ready:
            self.check(self.pool.recv(timeout=300))
        else:
            with pytest.raises(PoolTimeoutError):
                self.pool.recv(timeout=0)

    @rule(ids=IDS)
    def get_state(self, ids: list[int]) -> None:
        if not self.refused(lambda: self.pool.get_state(ids), ids):
            self.snapshots.append((self.pool.get_state(ids), [self.models[i] for i in ids]))

    @rule(ids=IDS, which=st.integers(0, 9))
    def set_state(self, ids: list[int], which: int) -> None:
        if not self.snapshots:
            return
        states, models = self.snapshots[which % len(self.snapshots)]
        ids = ids[: len(states)]
        states, models = states[: len(ids)], models[: len(ids)]
        # a call for each: those before one in flight are set
        for env_id, state, model in zip(ids, states, models, strict=True):
            if not self.refused(lambda i=env_id, s=state: self.pool.set_state([s], [i]), [env_id]):
                self.pool.set_state([state], [env_id])
                self.models[env_id] = model

    @rule(wrong=st.sampled_from(["twice", "outside", "action", "count", "damaged"]))
    def refuse(self, wrong: str) -> None:
        """Invalid arguments change nothing."""
        if self.pool.closed:
            return
        with pytest.raises((ValueError, StateError)):
            if wrong == "twice":
                self.pool.send([0, 0], [1, 1])
            elif wrong == "outside":
                self.pool.send_reset([NUM_ENVS])
            elif wrong == "action":
                self.pool.send([0, 2], [0, 1])
            elif wrong == "count":
                self.pool.step([0])
            else:
                self.pool.set_state([b"nothing"], [0])

    @rule(index=st.integers(0, 7), value=st.integers(0, 255))
    def write(self, index: int, value: int) -> None:
        """The user may write to results."""
        if index < len(self.held):
            batch, copies = self.held[index]
            for array, copy in zip(batch, copies, strict=True):
                array.view(np.uint8).fill(value)
                copy[...] = array

    @rule(index=st.integers(0, 7))
    def drop(self, index: int) -> None:
        if index < len(self.held):
            del self.held[index]

    # in one of four calls, so that a pool stays open for some calls
    @rule(really=st.integers(0, 3))
    def close(self, really: int) -> None:
        if really == 3:
            self.pool.close()

    # ------------------------------------------------------------------------------- always --

    @invariant()
    def counts_agree(self) -> None:
        if self.pool.closed:
            return
        assert self.pool.in_flight == len(self.in_flight)
        assert self.pool.stats()["env_steps"] == self.received
        for env_id, model in enumerate(self.models):
            if env_id not in self.in_flight:
                assert self.pool.needs_reset(env_id) is not model.is_running

    @invariant()
    def results_stay(self) -> None:
        for batch, copies in self.held:
            for array, copy in zip(batch, copies, strict=True):
                assert array.tobytes() == copy.tobytes()

    def teardown(self) -> None:
        if hasattr(self, "pool"):
            self.pool.close()
            self.results_stay()


TestPool = PoolMachine.TestCase
TestPool.settings = settings(
    max_examples=80, stateful_step_count=30, derandomize=True, database=None, deadline=None
)
