"""Measures the CPU time of all processes of a worker pool that is idle.

Each measurement runs in a new process: `python -m benchmarks.scenes.idle WHO SECONDS` makes a pool,
steps it for a while, and sleeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection

from benchmarks.scenes import python_rivals
from parallel_pool._bench import player_proxy, python_players, race, tree
from parallel_pool._bench.contender import CONTENDERS, Contender, Task
from parallel_pool._bench.json_lines import only_json
from parallel_pool._bench.outcome import Bar, Outcome, Row
from parallel_pool._bench.rounds import Spread

NAME = "idle-workers"
TITLE = "CPU time of 16 CartPole-v1 in worker processes that are idle for 2 s"
OURS = python_players.pool_vector_env
RIVALS = (
    python_players.async_vector_env,
    python_players.subproc_vec_env,
    python_rivals.shmem_vector_env,
    python_rivals.puffer_2,
)
TASK = Task("CartPole-v1", 16, 16, 2, 2, 500)
SECONDS, BAR_MS = 2.0, 1.0


def child(who: str, seconds: float) -> float:
    """Makes a pool in this process; returns the milliseconds of CPU time that it uses idle."""
    make = player_proxy.MAKERS.get(who) or CONTENDERS[who].make
    player = make(CONTENDERS[who].task(TASK))
    player.play(race.WARM_UP)
    try:
        return idle_ms(seconds)
    finally:
        player.close()


def idle_ms(seconds: float) -> float:
    """Sleeps; returns the CPU time of this process and its descendants meanwhile, in ms."""
    pids = [os.getpid(), *tree.descendants(os.getpid())]
    before = tree.cpu_of(pids)
    time.sleep(seconds)
    after = tree.cpu_of(before)
    return 1000 * sum(now - before[pid] for pid, now in after.items())


def in_child(who: Contender, seconds: float) -> float:
    """Runs `child` in a new process."""
    command = [sys.executable, "-m", "benchmarks.scenes.idle", who.name, str(seconds)]
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=directory,
            env=player_proxy.environment(who.folder),
        )
    result: float = json.loads(done.stdout.splitlines()[-1])
    return result


def run(
    families: Collection[str],
    rounds: int,
    *,
    tick: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Measures all contenders in interleaved rounds."""
    wanted = [who for who in (OURS, *RIVALS) if who.family in {"ours", *families}]
    contenders = [who for who in wanted if race.is_installed(who)]
    took: dict[str, list[float]] = {who.name: [] for who in contenders}
    for _ in range(rounds):
        for who in contenders:
            took[who.name].append(in_child(who, SECONDS))
            tick(who.name)
    rows = [row(who, took[who.name]) for who in contenders]
    ours = next((row.value.median for row in rows if row.role == "ours"), None)
    bars = [Bar("CPU time of ours", BAR_MS, ours, at_least=False, unit=" ms")]
    notes = [race.absent(who) for who in wanted if not race.is_installed(who)]
    return Outcome(NAME, TITLE, "ms", 1, rounds, rows, bars, notes)


def row(who: Contender, took: list[float]) -> Row:
    """Returns the row of one contender."""
    role = "ours" if who is OURS else "only"
    setting = race.Entry(who, who.task(TASK), role).setting
    return Row(who.name, setting, role, Spread.of(took), samples=took)


if __name__ == "__main__":
    with only_json() as send:
        send(child(sys.argv[1], float(sys.argv[2])))
