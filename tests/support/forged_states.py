"""Restores forged snapshots and steps on, in a child that is forked.

It shares memory with its parent, in which it notes what it does: a crash writes nothing any more. A
fork takes milliseconds, where a new Python would import for half a second.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from parallel_pool._contract import forged, forgery
from parallel_pool._contract.notes import NOTE_BYTES, Notes
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import EnvError
from tests.support import forked

SETTINGS: dict[str, Any] = {"seed": 5, "num_threads": 1, "max_episode_steps": 20}
# the environment that is forged, and its neighbours, whose memory is beside its own
FORGED_ENV, OTHERS = 1, (0, 2)
# Seconds of the processor's time, which do not depend on the load: for what follows one snapshot
# (an environment's own steps take a hundredth), and until a loop counts as endless.
MAX_SECONDS, ENDLESS_SECONDS = 2.0, 20.0


def run(ids: Sequence[str], count: int) -> None:
    """Forges snapshots of environments in a process of its own.

    Raises:
        AssertionError: the process crashed, looped or failed; the message says at what.
    """
    memory = os.memfd_create("notes")
    try:
        os.truncate(memory, NOTE_BYTES)
        notes = Notes(memory)
        report, code = forked.run(lambda: main(ids, count, notes), timeout=None)
        assert code != -signal.SIGPROF, f"{notes.read()}: an endless loop"
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        words = f"{notes.read()}: the process ended with {how}\n{report[-4000:]}"
        assert (report, code) == ("fine", 0), words
    finally:
        os.close(memory)


# ---------------------------------------------------------------------------------- the child --


def _note(notes: Notes, text: str) -> None:
    """Notes what is done from now on; the signal ends the process if that is an endless loop."""
    notes.write(text)
    signal.setitimer(signal.ITIMER_PROF, ENDLESS_SECONDS)


def forge(env: str, count: int, notes: Notes) -> int:
    """Restores forged snapshots of an environment; returns how many were accepted."""
    seen, actions, accepted = *_honest(env), 0
    for number, autoreset in enumerate(("next_step", "same_step")):
        with Pool(env, 3, autoreset=autoreset, **SETTINGS) as pool:
            pool.reset()
            for at, honest in enumerate(seen):
                pool.set_state(honest)
                others = [each[FORGED_ENV] for each in seen]
                each_count = count // len(seen) // 2
                made = forgery.forgeries(
                    pool, honest[FORGED_ENV], each_count, 10 * number + at, others=others
                )
                accepted += _forge(pool, made, actions, env, notes)
    return accepted


def _honest(env: str) -> tuple[list[list[bytes]], Any]:
    """Returns snapshots: never reset, and at the beginning, in the middle and at the end of an
    episode of the environment that will be forged; and actions."""
    with Pool(env, 3, **SETTINGS) as pool:
        space = pool.spec.action_space()
        space.seed(1)
        actions = np.stack([space.sample() for _ in range(3)])
        seen = [pool.get_state()]
        pool.reset()
        for steps in (0, 3, SETTINGS["max_episode_steps"]):
            for _ in range(steps):
                if not pool.needs_reset(FORGED_ENV):
                    pool.step(actions)
            seen.append(pool.get_state())
        assert pool.needs_reset(FORGED_ENV)
    return seen, actions


def _forge(
    pool: Pool, made: Iterator[forgery.Forgery], actions: Any, env: str, notes: Notes
) -> int:
    honest, accepted = pool.get_state(), 0
    for each in made:
        _note(notes, f"{env}: {each.what}")
        begun = time.process_time()
        try:
            pool.set_state([each.snapshot], [FORGED_ENV])
        except ValueError:
            assert pool.get_state() == honest, "a refused snapshot changed something"
            continue
        accepted += 1
        go_on(pool, actions)
        taken = time.process_time() - begun
        assert taken < MAX_SECONDS, f"what follows took {taken:.1f} s"
        pool.set_state(honest)
    return accepted


def go_on(pool: Pool, actions: Any) -> None:
    """Looks at the forged environment, and steps it: alone, and then with the others."""
    others = pool.get_state(OTHERS)
    for act in (
        lambda: pool.needs_reset(FORGED_ENV) or pool.observe([FORGED_ENV]),
        lambda: not pool.definition.raw.render or pool.render([FORGED_ENV]),
        *[lambda: pool.step(actions[[FORGED_ENV]], [FORGED_ENV])] * 2,
    ):
        # errors do no harm
        with suppress(EnvError):
            act()
    assert pool.get_state(OTHERS) == others, "a neighbour changed"
    for _ in range(2):
        with suppress(EnvError):
            pool.step(actions)


def main(ids: Sequence[str], count: int, notes: Notes) -> None:
    for env in ids:
        forge(env, count, notes)
        # the same between zones of memory that nothing may change
        forged.snapshots(
            env,
            count=count // 2,
            told=lambda callback, _, env=env: _note(notes, f"{env}: {callback}"),
        )
