"""An environment of one's own beside the built-in one: the CPU time of a step of CartPole.

    python -m benchmarks.studies.own_env

The file of the built-in CartPole, under another id, is compiled outside the tree by
`parallel_pool.load_source`. Both step 1024 environments on one thread, in turn, round by round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import parallel_pool
from benchmarks.harness.report import page, publish, table

ROOT = Path(__file__).resolve().parents[2]
BUILT_IN, OWN = "CartPole-v1", "mine/CartPole-v1"
NUM_ENVS = 1024
# steps of all environments in a round of one player: about 10 ms
STEPS = 500


def source() -> str:
    """Returns the file of CartPole with one definition, which has an id and symbol of its own."""
    text = (ROOT / "csrc" / "envs" / "classic_control" / "cartpole.c").read_text()
    code, _, table = text.partition("const pp_env_def pp_env_cartpole[2] = ")
    # a table of ids is for built-in families
    v1 = table[table.rindex('CARTPOLE_DEFINITION("CartPole-v1")') : table.rindex("},")]
    definition = v1.replace("CartPole-v1", "mine/CartPole-v1")
    return f"{code}const pp_env_def pp_env_own_cartpole = {{{definition}}};\n"


def load(folder: Path) -> float:
    """Compiles and loads the environment; returns the seconds that this took."""
    path = folder / "own_cartpole.c"
    path.write_text(source())
    begun = time.perf_counter()
    parallel_pool.load_source(path)
    return time.perf_counter() - begun


def player(task_id: str) -> parallel_pool.Pool:
    pool = parallel_pool.Pool(task_id, NUM_ENVS, num_threads=1, seed=0)
    pool.reset()
    return pool


def cpu_seconds(pool: parallel_pool.Pool, actions: np.ndarray) -> float:
    """Returns the CPU time of a round."""
    begun = time.process_time()
    for _ in range(STEPS):
        pool.step(actions)
    return time.process_time() - begun


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.own_env", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    actions = np.random.default_rng(0).integers(2, size=NUM_ENVS)
    with tempfile.TemporaryDirectory() as folder:
        built = load(Path(folder))
    pools = {BUILT_IN: player(BUILT_IN), OWN: player(OWN)}
    for pool in pools.values():
        cpu_seconds(pool, actions)
    times: dict[str, list[float]] = {name: [] for name in pools}
    for number in range(options.rounds):
        # who begins changes from round to round
        for name in list(pools)[:: 1 if number % 2 else -1]:
            times[name].append(cpu_seconds(pools[name], actions))
    ratios = [a / b for a, b in zip(times[OWN], times[BUILT_IN], strict=True)]
    rows = [
        [name, f"{statistics.median(times[name]) / STEPS / NUM_ENVS * 1e9:.1f}"] for name in pools
    ]
    report = page(
        "An environment of one's own",
        f"`python -m benchmarks.studies.own_env`: {NUM_ENVS} environments on one thread,"
        f" {options.rounds} interleaved rounds, medians of CPU time.",
        *table(["CartPole", "ns of CPU time for a step"], rows),
        "",
        f"The ratio of a round, our own to the built-in: {statistics.median(ratios):.3f}"
        f" (median). `load_source` compiled it in {built:.2f} s.",
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
