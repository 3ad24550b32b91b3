"""Measures what a mixture costs: `python -m benchmarks.studies.mixed [--envs N ...]`.

A pool of 57 Atari games, N environments of each, beside pools of one game with as many
environments in all, one thread, turn by turn: CPU time of a step, as a mean over the games. A ratio
of 1 means that the mixture is as fast as the mean of its games.

The mixture itself costs little: that is the second table, a mixture of one game beside a pool of
it. What is lost in the first is the processor's: each game has a program of its own, and with few
environments of a game its code is in no cache when its turn comes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import parallel_pool
from benchmarks.harness import report
from benchmarks.scenes.atari_games import GAMES
from parallel_pool import Pool
from parallel_pool._bench import machine
from parallel_pool._bench.rounds import CLOCK, Spread
from parallel_pool._command import until_interrupted
from parallel_pool._engine import registry
from parallel_pool._engine.specs import Definition

ENVS = (1, 4, 8)
# Steps before the first turn, steps of a turn, and turns. Games get slower while they are played:
# at first most lines of the screen stand still. So all pools have played as many steps as the
# mixture at each turn. The first step of a turn is not timed: other pools have displaced what it
# needs.
OPENING, STEPS, TURNS = 100, 4, 15
BATCHES_OF_ACTIONS = 16
# of the second table
ALONE = ("pong", "breakout", "seaquest")
ALONE_ENVS, ALONE_TURNS = 32, 25


def definition_of(game: str) -> Definition:
    """Returns EnvPool's environment of a game, by ale-py's name."""
    known = registry.definitions().values()
    return next(it for it in known if it.family == "atari" and it.variant == game)


class Player:
    """A pool with random actions, one thread."""

    def __init__(self, definition: Definition, num_envs: int) -> None:
        self.pool = Pool(definition, num_envs, num_threads=1, seed=0)
        space = self.pool.spec.batched_action_space(num_envs)
        space.seed(0)
        self._actions = [space.sample() for _ in range(BATCHES_OF_ACTIONS)]
        self._at = 0
        self.pool.reset()
        self._play(OPENING)

    def _play(self, steps: int) -> None:
        for _ in range(steps):
            self.pool.step(self._actions[self._at % BATCHES_OF_ACTIONS])
            self._at += 1

    def turn(self) -> float:
        """Returns the CPU time of a step of one environment, in microseconds."""
        self._play(1)
        before = CLOCK.cpu(())
        self._play(STEPS)
        return (CLOCK.cpu(()) - before) / (STEPS * self.pool.num_envs) * 1e6


def beside_games(games: Sequence[str], envs: int) -> tuple[float, float, Spread]:
    """Returns the times of a step in pools of one game (the mean of the games), and in the mixture:
    medians of the turns, and the spread of their ratio."""
    definitions = {game: definition_of(game) for game in games}
    mixture = parallel_pool.mixed(f"Study{len(games)}-v0", definitions)
    count = len(games) * envs
    with ExitStack() as stack:

        def player(definition: Definition) -> Player:
            made = Player(definition, count)
            stack.callback(made.pool.close)
            return made

        mixed = player(mixture)
        players = [player(definition) for definition in definitions.values()]
        turns = []
        for _ in range(TURNS):
            together = mixed.turn()
            turns.append((statistics.mean(each.turn() for each in players), together))
    singles, mixtures = zip(*turns, strict=True)
    ratio = Spread.of(single / together for single, together in turns)
    return statistics.median(singles), statistics.median(mixtures), ratio


def alone(game: str) -> Spread:
    """Returns how much faster a mixture of one game is than a pool of that game."""
    definition = definition_of(game)
    mixture = parallel_pool.mixed(f"Study-{game}-v0", {game: definition})
    players = [Player(each, ALONE_ENVS) for each in (definition, mixture)]
    turns = [[player.turn() for player in players] for _ in range(ALONE_TURNS)]
    for player in players:
        player.pool.close()
    return Spread.of(single / mixed for single, mixed in turns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.mixed", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--envs", type=int, nargs="*", default=ENVS, metavar="N", help="environments of each game")
    add("--games", type=int, default=len(GAMES), help="so many of the games (57)")
    add("--out", type=Path, help="file for the tables")
    options = parser.parse_args(arguments)
    lines = [
        f"{machine.cpu_name()}, commit {machine.commit()}\n",
        "| games | environments of each | one game, µs | mixture, µs | ratio, quartiles |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    games = GAMES[:: max(1, len(GAMES) // options.games)][: options.games]
    for envs in options.envs:
        single, mixed, ratio = beside_games(games, envs)
        row = f"| {len(games)} | {envs} | {single:.1f} | {mixed:.1f} | {report.share(ratio)} |"
        lines.append(row)
        print(row, flush=True)
    second = ["", "| a mixture of one game | ratio, quartiles |", "| --- | ---: |"]
    for game in ALONE:
        spread = alone(game)
        second.append(f"| {game} | {report.share(spread)} |")
    print("\n".join(second), flush=True)
    if options.out:
        options.out.write_text("\n".join(lines + second) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
