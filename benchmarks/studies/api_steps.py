"""What a step costs in each API, here and in another checkout: `... studies.api_steps BEFORE`.

`python -m benchmarks.studies.api_steps BEFORE [WORD ...]` measures loops over few cheap
environments on one thread, so that most of a step is Python: of each API its plain step, and steps
that end episodes or have infos. The loops use public names alone, so both checkouts run the same
text, each in processes of its own under its own interpreter, in turns as in
`benchmarks.studies.checkouts`. The table shows the CPU time of a step of all rows, in microseconds,
and how many times less it is in this checkout: medians of the rounds, quartiles in brackets.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.two_checkouts import (
    measure,
    parser_of,
    print_head,
    python_of,
    read_arguments,
    times,
)
from parallel_pool._bench import tree
from parallel_pool._bench.player_proxy import PlayerProxy
from parallel_pool._bench.rounds import Spread, ratio
from parallel_pool._command import until_interrupted

PLAYER = Path(__file__).with_name("api_steps_player.py")
ROUNDS, TURNS, SECONDS = 7, 10, 0.5
# steps before anything is measured
WARM_UP = 1000
HEADER = (
    "| loop | rows | before, us | after, us | before / after |\n| --- | ---: | ---: | ---: | ---: |"
)


@dataclass(frozen=True)
class Loop:
    """A loop over environments.

    Attributes:
        title: for the table.
        rows: environments.
        setup: makes `envs` and resets them; `rows` is known.
        actions: of one step, made from a generator `rng`; `actions` has eight of them.
        step: takes a step with `action`.
    """

    title: str
    rows: int
    setup: str
    actions: str = "rng.integers(2, size=rows)"
    step: str = "envs.step(action)"


SAME_STEP = "num_threads=1, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP"
STATISTICS = "num_threads=1, wrappers=[gymnasium.wrappers.RecordEpisodeStatistics]"
FOUR = "rng.integers(4, size=rows)"
AGENTS = "{agent: rng.integers(5, size=rows) for agent in envs.possible_agents}"


def vector(name: str, options: str = "num_threads=1") -> str:
    """Returns the text that makes a vector environment."""
    made = f'parallel_pool.make_vec("{name}", rows, {options})'
    return f"envs = {made}\nenvs.reset(seed=1)"


def envpool(name: str, maker: str = "make_gymnasium") -> str:
    """Returns the text that makes a pool of EnvPool's API on one thread."""
    return f'envs = parallel_pool.{maker}("{name}", num_envs=rows, num_threads=1)\nenvs.reset()'


LOOPS = (
    Loop("make_vec, CartPole-v1", 1, vector("CartPole-v1")),
    Loop("make_vec, CartPole-v1", 16, vector("CartPole-v1")),
    Loop("make_vec, infos (FrozenLake-v1)", 16, vector("FrozenLake-v1"), FOUR),
    Loop("make_vec, SAME_STEP", 16, vector("FrozenLake-v1", SAME_STEP), FOUR),
    Loop("make_vec, RecordEpisodeStatistics", 16, vector("CartPole-v1", STATISTICS)),
    Loop("make_gymnasium, CartPole-v1", 16, envpool("CartPole-v1")),
    Loop("make_gymnasium, infos (FrozenLake-v1)", 16, envpool("FrozenLake-v1"), FOUR),
    Loop("make_dm, CartPole-v1", 16, envpool("CartPole-v1", "make_dm")),
    Loop(
        "PoolVecEnv, CartPole-v1",
        16,
        'envs = parallel_pool.PoolVecEnv("CartPole-v1", rows, num_threads=1)\nenvs.reset()',
    ),
    Loop(
        "PoolParallelEnv, mpe/simple_spread_v3",
        16,
        "from parallel_pool.compat.pettingzoo import PoolParallelEnv\n"
        'envs = PoolParallelEnv("mpe/simple_spread_v3", rows)\nenvs.reset(seed=1)',
        AGENTS,
    ),
    Loop("make_vec, worker processes", 8, vector("CartPole-v1", 'backend="process"')),
)


def player(checkout: Path, loop: Loop, hash_seed: int) -> PlayerProxy:
    """Makes the player of a loop in a process of a checkout, and warms it up."""
    parts = {"setup": loop.setup, "actions": loop.actions, "step": loop.step, "rows": loop.rows}
    command = [python_of(checkout), "-P", "-W", "ignore", str(PLAYER), json.dumps(parts)]
    variables = {"PYTHONPATH": str(checkout), "PYTHONHASHSEED": str(hash_seed)}
    name = f"{loop.title} of {checkout}"
    made = PlayerProxy(name, command, {**os.environ, **variables}).made()
    made.children = (made.pid, *tree.descendants(made.pid))
    made.play(WARM_UP)
    return made


def compare(before: Path, loop: Loop, rounds: int) -> str:
    """Measures a loop in both checkouts; returns its row of the table."""

    def make(checkout: Path, hash_seed: int) -> PlayerProxy:
        return player(checkout, loop, hash_seed)

    theirs, ours = measure(before, make, rounds, SECONDS, TURNS)
    costs = [Spread.of(each.cpu_us for each in samples).median for samples in (theirs, ours)]
    cells = [loop.title, str(loop.rows), *(f"{cost:.1f}" for cost in costs)]
    return f"| {' | '.join([*cells, times(ratio(ours, theirs, cpu=True))])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = parser_of(
        "python -m benchmarks.studies.api_steps",
        "Compares what a step costs in each API with another checkout.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="measures loops with it in the title"
    )
    options = read_arguments(parser, arguments, ROUNDS, "loop")
    words = options.words
    loops = [loop for loop in LOOPS if not words or any(word in loop.title for word in words)]
    if not loops:
        parser.error(f"no loop has {' or '.join(words)} in its title")
    print_head(options.before, HEADER)
    for loop in loops:
        print(compare(options.before, loop, options.rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
