"""Measures how long it takes to make many environments, and how much memory each one takes.

Each measurement runs in a new process, since emulators load some data once per process:
`python -m benchmarks.scenes.creation WHO ENV_ID NUM_ENVS` imports, then times `make` until the
first observations have arrived.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parallel_pool._bench import python_players, race, tree
from parallel_pool._bench.contender import Task
from parallel_pool._bench.outcome import Bar, Outcome, Row
from parallel_pool._bench.rounds import Spread

ROOT = Path(__file__).resolve().parents[2]

# The contenders, and the family of each as in --vs.
WHO = {"parallel_pool.make": "ours", "EnvPool": "envpool", "ale-py AtariVectorEnv": "ale"}
PACKAGES = {"EnvPool": "envpool", "ale-py AtariVectorEnv": "ale_py"}
OURS, ENVPOOL, ALE = WHO

# The contenders that start a worker process for each environment.
WORKERS = {
    python_players.pool_vector_env.name: python_players.pool_vector_env,
    python_players.async_vector_env.name: python_players.async_vector_env,
    python_players.subproc_vec_env.name: python_players.subproc_vec_env,
}
WHO |= {name: who.family for name, who in WORKERS.items()}

MEMORY = (
    "memory: growth of the process from {few} to {num_envs} environments; ours excludes the result"
    " batches, the rivals' includes theirs, which can't be measured apart"
)
WORKERS_MEMORY = (
    "memory: growth of all processes together from {few} to {num_envs} workers; shared memory is"
    " counted once"
)


@dataclass(frozen=True)
class Creation:
    """A scene that makes environments.

    Attributes:
        name, title: for the command line and tables.
        task_id: as parallel_pool and EnvPool call it.
        num_envs, few: two numbers of environments; their difference gives the memory of one.
        who: names of the contenders.
        bars: "time" in seconds, "memory of each" in KB; a value without a bar is only shown.
        setting: for the table.
        memory: the note that explains the memory.
        once: names of contenders so slow that they run only in the first round.
    """

    name: str
    title: str
    task_id: str
    num_envs: int
    few: int
    who: tuple[str, ...]
    bars: Mapping[str, float] = field(default_factory=dict)
    frame_skip: int = 1
    setting: str = "2 threads"
    memory: str = MEMORY
    once: tuple[str, ...] = ()


CREATIONS = (
    Creation(
        name="create-pong-64",
        title="make() of 64 Pong-v5 environments until the first observations",
        task_id="Pong-v5",
        num_envs=64,
        few=16,
        who=(OURS, ENVPOOL, ALE),
        bars={"time": 0.5, "memory of each": 128.0},
        frame_skip=4,
    ),
    Creation(
        name="create-ant-256",
        title="make() of 256 Ant-v5 environments until the first observations",
        task_id="Ant-v5",
        num_envs=256,
        few=16,
        who=(OURS, ENVPOOL),
    ),
    Creation(
        name="workers-64-start",
        title="CartPole-v1 in 64 worker processes until the first observations",
        task_id="CartPole-v1",
        num_envs=64,
        few=4,
        who=tuple(WORKERS),
        setting=race.workers_setting(64, 64),
        memory=WORKERS_MEMORY,
        # each of its workers imports torch, which takes minutes on two cores
        once=(python_players.subproc_vec_env.name,),
    ),
)


def resident_bytes() -> int:
    """Returns the bytes of resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def tree_bytes() -> int:
    """Returns the bytes of this process and its descendants; shared memory counts once."""
    return 1024 * tree.memory_of([os.getpid(), *tree.descendants(os.getpid())])


def make_ours(task_id: str, num_envs: int) -> Callable[[], Any]:
    """Returns a function that calls `parallel_pool.make` with 2 threads, as the rivals have."""
    import parallel_pool

    # loads the modules, and the ROM or model file into the system's cache
    parallel_pool.make(task_id, env_type="gymnasium", num_envs=1, num_threads=1).close()

    def make() -> Any:
        env = parallel_pool.make(
            task_id, env_type="gymnasium", num_envs=num_envs, num_threads=2, seed=1
        )
        return env, env.reset()

    return make


def make_envpool(task_id: str, num_envs: int) -> Callable[[], Any]:
    """Returns a function that calls EnvPool's `make`."""
    import envpool

    envpool.make(task_id, env_type="gymnasium", num_envs=1, num_threads=1)

    def make() -> Any:
        env = envpool.make(task_id, env_type="gymnasium", num_envs=num_envs, num_threads=2, seed=1)
        return env, env.reset()

    return make


def make_ale(task_id: str, num_envs: int) -> Callable[[], Any]:
    """Returns a function that calls AtariVectorEnv's constructor."""
    import ale_py
    from ale_py.vector_env import AtariVectorEnv

    from parallel_pool._bench.rivals import rom_name

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    rom = rom_name(task_id.rpartition("-")[0])
    AtariVectorEnv(rom, 1, num_threads=1).close()

    def make() -> Any:
        env = AtariVectorEnv(rom, num_envs, num_threads=2)
        return env, env.reset(seed=1)

    return make


MAKERS = dict(zip((OURS, ENVPOOL, ALE), (make_ours, make_envpool, make_ale), strict=True))


def make_workers(who: str, task_id: str, num_envs: int) -> Callable[[], Any]:
    """Returns a function that starts a worker process for each environment.

    Each contender uses its own default start method.
    """
    contender = WORKERS[who]
    make = python_players.START.get(who, contender.make)
    # imports what is needed, and starts the fork server if the contender uses one
    make(Task(task_id, 1, 1, 1, 2, 500)).close()
    # making a player also resets its environments
    return lambda: (make(Task(task_id, num_envs, num_envs, num_envs, 2, 500)), None)


def batch_bytes(env: Any) -> int:
    """Returns the bytes of our pool's result batch, which no environment owns; 0 for rivals."""
    from parallel_pool import Pool, testing

    try:
        pool = testing.inspect(env).pool
    except TypeError:
        return 0
    if not isinstance(pool, Pool):
        return 0
    # only one batch was received; the pool's others were never written, so they take no memory yet
    return pool.batch_size * sum(c.dtype.itemsize * math.prod(c.shape) for c in pool.columns)


def child(who: str, task_id: str, num_envs: int) -> dict[str, float]:
    """Makes the environments in this process; returns the seconds and bytes that this took."""
    is_tree = who in WORKERS
    make = make_workers(who, task_id, num_envs) if is_tree else MAKERS[who](task_id, num_envs)
    used = tree_bytes if is_tree else resident_bytes
    before = used()
    start = time.perf_counter()
    env, _ = keep = make()
    seconds = time.perf_counter() - start
    memory = used() - before - batch_bytes(env)
    if is_tree:
        env.close()
    del keep
    return {"seconds": seconds, "bytes": memory}


def in_child(who: str, task_id: str, num_envs: int) -> dict[str, float]:
    """Runs `child` in a new process."""
    command = [sys.executable, "-m", "benchmarks.scenes.creation", who, task_id, str(num_envs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def is_installed(who: str) -> bool:
    """Returns whether this contender is installed."""
    import importlib.util

    if who in WORKERS:
        return race.is_installed(WORKERS[who])
    return who not in PACKAGES or importlib.util.find_spec(PACKAGES[who]) is not None


def run(
    scene: Creation,
    families: Collection[str],
    rounds: int,
    *,
    tick: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Measures all contenders in interleaved rounds.

    The memory of one environment is the difference in memory between many and few environments,
    divided by the difference in their number.
    """
    contenders = [who for who in scene.who if WHO[who] in {"ours", *families} and is_installed(who)]
    seconds: dict[str, list[float]] = {who: [] for who in contenders}
    kilobytes: dict[str, list[float]] = {who: [] for who in contenders}
    for i in range(rounds):
        for who in contenders:
            if i and who in scene.once:
                continue
            many, few = (in_child(who, scene.task_id, n) for n in (scene.num_envs, scene.few))
            seconds[who].append(many["seconds"])
            growth = many["bytes"] - few["bytes"]
            kilobytes[who].append(growth / (scene.num_envs - scene.few) / 1024)
            tick(who)
    # without ours there is nothing to compare with
    ours = next((who for who in contenders if WHO[who] == "ours"), "")
    memory = {who: Spread.of(values).median for who, values in kilobytes.items()}
    rows = [
        Row(
            who,
            f"{scene.setting}, {memory[who]:.0f} KB per env",
            "ours" if who == ours else "same",
            Spread.of(values),
            ratios={}
            if who == ours or not ours
            else {
                ours: Spread.of(
                    their / our for our, their in zip(seconds[ours], values, strict=False)
                )
            },
            samples=values,
        )
        for who, values in seconds.items()
    ]
    time_of = next((row.value.median for row in rows if row.role == "ours"), None)
    reached = {"time": (time_of, " s"), "memory of each": (memory.get(ours), " KB")}
    bars = [
        Bar(what, goal, reached[what][0], at_least=False, unit=reached[what][1])
        for what, goal in scene.bars.items()
    ]
    notes = [scene.memory.format(few=scene.few, num_envs=scene.num_envs)]
    missing = [WORKERS[who] for who in scene.who if who in WORKERS and not is_installed(who)]
    notes += [race.absent(who) for who in missing]
    notes += [f"{who} was measured in the first round only" for who in scene.once if who in memory]
    return Outcome(scene.name, scene.title, "s", scene.frame_skip, rounds, rows, bars, notes)


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
