"""Measures how Atari environments scale with threads: `python -m benchmarks.studies.atari_scaling`.

Three tables:

- Threads, measured: 1, 2, 4, ... threads up to the cores of this machine, each with 16
  environments, in batches of 8 for each thread, interleaved in rounds. It shows the steps of a
  thread as a share of what one thread does alone.
- Memory traffic, counted: cachegrind simulates a core with this machine's L1 and L2, and counts the
  cache lines that a step takes from beyond L2. (valgrind has no AVX-512, so it runs the build for
  AVX2.) "Far" is measured: one thread with thousands of environments, whose states fit in no cache,
  the slowest that memory alone can make a thread.
- The model of 16 threads: a step takes as long as one thread's alone, or as long as a far one if no
  state is found in the cache that the cores share. It waits for other cores at each shared line
  that it writes, and the caller takes its time for each batch on the same cores.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.report import page, publish, table
from benchmarks.scenes import atari_games
from parallel_pool._bench import race, rivals
from parallel_pool._bench.contender import Task
from parallel_pool._bench.rounds import Player, Sample, interleave, ratio, timed
from parallel_pool._command import until_interrupted

# of the race of 57 games: the fastest, the three in the middle, and the slowest
GAMES = ("bowling", "seaquest", "pitfall", "atlantis", "solaris")
ENVS, BATCH = 16, 8
# of an environment's state and of a row of results, and batches that are in use at once
STATE_MB, RESULT_MB, RING = 0.152, 0.0282, 4
# environments of the far pool, 620 MB in all
FAR_ENVS = 4096
# far and near pools play so many agent steps in each environment, and are then timed for so many,
# because a game changes as it goes on; near ones are made so often
OPENING, TIMED_STEPS, NEAR_POOLS = 60, 20, 48
SECONDS = 0.5
# agent steps of one environment before cachegrind's count begins, and in it
SKIPPED_STEPS, COUNTED_STEPS = 40, 40
LINE = 64
# the model's machine: cores, cache lines that a step writes and other threads have written (the
# head of its queue, the row and the count of its batch, the gate of its pool), the time to take one
# of them from another core, and the memory's bandwidth for 16 cores
CORES, SHARED_LINES, TRANSFER_US, BANDWIDTH = 16, 4, 0.3, 80e9
# the bars: a thread's share of the steps of one thread, and frames a second of the median game
SHARE_BAR, FRAMES_BAR = 0.9, 1_000_000


class Traffic(NamedTuple):
    """What cachegrind counts in a step of one environment.

    Attributes:
        instructions: of all threads.
        near: bytes that come from beyond L1.
        far: bytes that come from beyond L2, and those that are written back to there, at most.
    """

    instructions: float
    near: float
    far: float


class Game(NamedTuple):
    """The figures of a game.

    Attributes:
        samples: with each number of threads, by name.
        far: CPU time of a far step in proportion to that of a near one.
        traffic: None if it was not counted.
        batch_us: CPU time of the caller for a batch that is complete.
    """

    name: str
    samples: Mapping[str, Sequence[Sample]]
    far: float
    traffic: Traffic | None
    batch_us: float


def task(game: str, threads: int, envs: int = ENVS) -> Task:
    """Returns the task of a game for this many threads."""
    one = atari_games.task(game)
    return replace(one, num_envs=envs * threads, batch_size=BATCH * threads, num_threads=threads)


def thread_counts(cores: int) -> list[int]:
    """Returns 1, 2, 4, ... and the number of cores."""
    counts = [2**i for i in range(cores.bit_length()) if 2**i <= cores]
    return sorted({*counts, cores})


def name_of(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


# ---------------------------------------------------------------------------------- measured --


def measure(game: str, counts: Sequence[int], rounds: int) -> dict[str, list[Sample]]:
    """Plays a game with each number of threads; returns the samples by name."""
    with ExitStack() as stack:
        players: dict[str, Player] = {}
        for threads in counts:
            who = rivals.envpool_api
            players[name_of(threads)] = stack.enter_context(race.playing(who, task(game, threads)))
        return interleave(players, rounds, SECONDS, turns=2)


def far_ratio(game: str, far_envs: int, near_pools: int) -> float:
    """Returns the CPU time of a step with so many environments in proportion to that with 16."""
    near = statistics.median(opening_us(game, ENVS) for _ in range(near_pools))
    return opening_us(game, far_envs) / near


def opening_us(game: str, envs: int) -> float:
    """Returns the CPU time of a step early in a game, by one thread, in microseconds."""
    with race.playing(rivals.envpool_api, task(game, 1, envs)) as player:
        player.play(OPENING * envs // BATCH)
        return timed(player, TIMED_STEPS * envs // BATCH).cpu_us


def caller_us(game: str, batches: int) -> float:
    """Returns the microseconds that the caller needs for a batch whose steps are done."""
    import parallel_pool

    one = task(game, 2)
    options = {"num_envs": one.num_envs, "batch_size": one.batch_size, "num_threads": 2}
    env = parallel_pool.make(one.task_id, env_type="gymnasium", **options)
    with env:
        env.async_reset()
        times = []
        for _ in range(batches):
            # long enough for all environments in flight to finish; this core stays awake
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end:
                pass
            begun = time.thread_time()
            *_, info = env.recv()
            ids = info["env_id"]
            env.send(ids * 0, ids)
            times.append(time.thread_time() - begun)
    return statistics.median(times) * 1e6


# ----------------------------------------------------------------------------------- counted --


def play(game: str, steps: int) -> None:
    """Steps each of the environments of one thread this often; what cachegrind runs."""
    with race.playing(rivals.envpool_api, task(game, 1)) as player:
        player.play(steps * ENVS // BATCH)


def count(game: str) -> Traffic:
    """Returns the traffic of a step: the difference of a long play and a short one."""
    short, long = (events(game, steps) for steps in (SKIPPED_STEPS, SKIPPED_STEPS + COUNTED_STEPS))
    return traffic({name: (long[name] - short[name]) / (COUNTED_STEPS * ENVS) for name in long})


def traffic(event: Mapping[str, float]) -> Traffic:
    """Returns the traffic from cachegrind's events of a step."""
    near = event["I1mr"] + event["D1mr"] + event["D1mw"]
    read, written = event["ILmr"] + event["DLmr"], event["DLmw"]
    # a line that was missed by a write is written back once; of those missed by a read, at most
    # the data are
    back = written + event["DLmr"]
    return Traffic(event["Ir"], near * LINE, (read + written + back) * LINE)


def events(game: str, steps: int) -> dict[str, int]:
    """Plays under cachegrind; returns its counts by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "cachegrind.out")
        level1, level2 = (cache(level) for level in (1, 2))
        command = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=yes",
            f"--cachegrind-out-file={out}",
        ]
        command += [f"--D1={level1}", f"--LL={level2}", sys.executable, "-m", __spec__.name]
        subprocess.run(
            [*command, "--play", game, str(steps)], check=True, capture_output=True, text=True
        )
        return parse(out.read_text())


def parse(text: str) -> dict[str, int]:
    """Returns the sums of a file of cachegrind's, by the events' names."""
    lines = dict(line.split(":", 1) for line in text.splitlines() if re.match(r"\w+:", line))
    return dict(zip(lines["events"].split(), map(int, lines["summary"].split()), strict=True))


def cache(level: int) -> str:
    """Returns the data cache of this machine's first core, as cachegrind's options have it."""
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        facts = {each.name: each.read_text().strip() for each in folder.iterdir() if each.is_file()}
        if facts["level"] == str(level) and facts["type"] != "Instruction":
            size = int(facts["size"].removesuffix("K")) * 1024
            ways = int(facts["ways_of_associativity"])
            # cachegrind wants a number of sets that is a power of two
            sets = 1 << (size // ways // LINE).bit_length() - 1
            return f"{sets * ways * LINE},{ways},{LINE}"
    raise RuntimeError(f"the system does not tell the size of the L{level} cache")


# ------------------------------------------------------------------------------------- model --


class Model(NamedTuple):
    """What 16 threads of 16 cores do.

    Attributes:
        step_us: CPU time of a step.
        share: the steps of a thread, as a share of those of one thread alone.
        frames: a second, of all threads.
        far_share, far_frames: the same, if no state is found in a shared cache.
        bandwidth: share of the machine's memory bandwidth; None if traffic was not counted.
    """

    step_us: float
    share: float
    frames: float
    far_share: float
    far_frames: float
    bandwidth: float | None


def model(game: Game) -> Model:
    """Returns the model of a game on a machine of 16 cores like those of this one."""
    alone = statistics.median(sample.cpu_us for sample in game.samples[name_of(1)])
    added = SHARED_LINES * TRANSFER_US + game.batch_us / (BATCH * CORES)
    step, far = alone + added, alone * max(1.0, game.far) + added
    steps, far_steps = CORES / step * 1e6, CORES / far * 1e6
    moved = None if game.traffic is None else steps * game.traffic.far / BANDWIDTH
    frames, far_frames = steps * atari_games.SKIP, far_steps * atari_games.SKIP
    return Model(step, alone / step, frames, alone / far, far_frames, moved)


# ------------------------------------------------------------------------------------ report --


def report(games: Sequence[Game], rounds: int, far_envs: int) -> str:
    """Returns the three tables."""
    shared = CORES * (ENVS * STATE_MB + RING * BATCH * RESULT_MB)
    counts = list(games[0].samples)
    return page(
        "Atari: how environments scale with threads",
        f"`python -m benchmarks.studies.atari_scaling`: {ENVS} environments and a batch of {BATCH}"
        f" for each thread, {rounds} interleaved rounds, medians.",
        "## Threads, measured",
        "",
        "Frames a second, and in parentheses the steps of a thread as a share of one thread's.",
        "",
        *table(["game", *counts], (measured_row(game, counts) for game in games)),
        "",
        "## Memory traffic, counted by cachegrind",
        "",
        f"Of one step of one environment ({ENVS} environments, one thread, L1 {cache(1)}, L2"
        f" {cache(2)}). Far: CPU time of a step of {far_envs} environments, whose states fit in no"
        f" cache, in proportion to that of {ENVS}.",
        "",
        *table(
            ["game", "instructions", "KB from beyond L1", "KB beyond L2, both ways", "far"],
            (counted_row(game) for game in games),
        ),
        "",
        f"## {CORES} threads on {CORES} such cores, a model",
        "",
        f"A step takes one thread's CPU time, {SHARED_LINES} transfers of a shared cache line of"
        f" {TRANSFER_US} us each, and its part of the caller's time for a batch. States and results"
        f" take {shared:.0f} MB of the cache that the cores share. If nothing is found there, a"
        " step takes the CPU time of a far one, and"
        f" this part of {BANDWIDTH / 1e9:.0f} GB/s of memory's bandwidth.",
        "",
        *table(
            [
                *("game", "us a step, alone", "caller, us a batch", "us a step, 16 threads"),
                *("share of one thread's", "frames/s", "share, all far", "frames/s, all far"),
                "of the bandwidth",
            ],
            (model_row(game) for game in games),
        ),
        "",
        *verdict([model(game) for game in games]),
    )


def measured_row(game: Game, counts: Sequence[str]) -> list[str]:
    cells = [game.name]
    for name in counts:
        threads = int(name.split()[0])
        rate = statistics.median(sample.rate for sample in game.samples[name])
        share = ratio(game.samples[name], game.samples[counts[0]]).median / threads
        cells.append(f"{rate * atari_games.SKIP:,.0f} ({share:.2f})")
    return cells


def counted_row(game: Game) -> list[str]:
    counted = ["-"] * 3
    if game.traffic is not None:
        each = game.traffic
        counted = [f"{each.instructions:,.0f}", f"{each.near / 1e3:.0f}", f"{each.far / 1e3:.0f}"]
    return [game.name, *counted, f"{game.far:.2f}"]


def model_row(game: Game) -> list[str]:
    found = model(game)
    alone = statistics.median(sample.cpu_us for sample in game.samples[name_of(1)])
    moved = "-" if found.bandwidth is None else f"{found.bandwidth:.0%}"
    cells = [game.name, f"{alone:.1f}", f"{game.batch_us:.1f}", f"{found.step_us:.1f}"]
    shares = f"{found.share:.2f}", f"{found.frames:,.0f}"
    return [*cells, *shares, f"{found.far_share:.2f}", f"{found.far_frames:,.0f}", moved]


def verdict(models: Sequence[Model]) -> list[str]:
    share = min(found.share for found in models)
    frames = statistics.median(found.frames for found in models)
    return [
        f"Bars: a thread's share {SHARE_BAR} (least of the model: {share:.2f}), and"
        f" {FRAMES_BAR:,} frames/s of the median game (median of the model: {frames:,.0f})."
    ]


# ------------------------------------------------------------------------------------- command --


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.atari_scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"({' '.join(GAMES)})")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--far", type=int, default=FAR_ENVS, help="environments of the far pool")
    parser.add_argument("--near-pools", type=int, default=NEAR_POOLS, help="near pools for it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the tables go, too")
    parser.add_argument("--play", nargs=2, metavar=("GAME", "STEPS"), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    options = arguments_of(arguments)
    if options.play:
        play(options.play[0], int(options.play[1]))
        return 0
    counts = thread_counts(len(os.sched_getaffinity(0)))
    counts_traffic = shutil.which("valgrind") is not None
    games = [
        Game(
            name,
            measure(name, counts, options.rounds),
            far_ratio(name, options.far, options.near_pools),
            count(name) if counts_traffic else None,
            caller_us(name, 100),
        )
        for name in options.games or GAMES
    ]
    text = report(games, options.rounds, options.far)
    publish(text, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
