"""Finds the rule of an Atari game in ALE's answers: `python -m tests.parity.atari_mining ...`.

The rule is found with ale_py alone, by changing the console's memory and asking:

1. `probe GAME` gives each byte each value, at two moments of a game and shortly before its end, and
   prints which bytes change reward, lives or end, and how: digits, pictures, flags. For most games
   that is the rule. `--mode` does it in another mode.
2. `end GAME` takes the memory of an end, puts it into the same game five frames before, and leaves
   out one byte after another. What remains is what an end needs.
3. `play GAME 45=20 - 47=2` changes bytes frame by frame and prints the answers: for rules that
   remember something (a wrap-around, the last number of lives, what was shown before).
4. Write csrc/envs/atari/games/rules/GAME.c and run `python -m tests.parity.atari_rules GAME`. If
   that finds a difference, `why GAME` reduces the changes before it to those that it needs, and
   prints the bytes for which the difference vanishes when an ordinary game's values are put back:
   the rule must read those as well.

A byte that seems to matter may only be one that the program copies to the byte that does: look at
the memory after the frame. Addresses from 128 on are the cartridge's own RAM.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tests.parity.atari_rules import Difference, Match, Oracle, compare, reads

Answer = tuple[int, ...]  # reward, lives, over
WHAT = ("reward", "lives", "over")


def ranges(values: Iterable[int]) -> str:
    """Returns numbers in a short form: 0-3,7."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def formula(answers: dict[int, int]) -> str:
    """Returns how an answer follows from a byte's value: a line through it, or a table."""
    keys, values = np.array(list(answers)), np.array(list(answers.values()))
    decimal = (keys >> 4 <= 9) & (keys & 15 <= 9)
    ways = {"bcd": keys // 16 * 10 + keys % 16, "value": keys, "low": keys & 15, "high": keys >> 4}
    for name, way in ways.items():
        chosen = decimal if name == "bcd" else np.ones(len(keys), bool)
        if len(set(values[chosen])) < 3:
            continue
        slope = round(np.polyfit(way[chosen], values[chosen], 1)[0])
        start = round(np.median(values[chosen] - slope * way[chosen]))
        wrong = keys[values != slope * way + start]
        if slope and len(wrong) < len(keys) / 2 and not set(wrong) & set(keys[decimal]):
            return f"{slope} * {name} {start:+d}" + (
                f", but for {ranges(wrong)}" * bool(len(wrong))
            )
    groups = defaultdict(list)
    for key, value in answers.items():
        groups[value].append(key)
    return "; ".join(f"{value}: {ranges(at)}" for value, at in groups.items())[:400]


def reach(oracle: Oracle, moment: str) -> bool:
    """Plays a number of frames, or to five frames before an `end`; returns whether it got there."""
    ale, rng = oracle.ale, np.random.default_rng(1)
    ale.reset_game()
    states: list[Any] = []
    action = oracle.actions[0]
    for _ in range(20_000 if moment == "end" else int(moment)):
        states = [*states[-4:], ale.cloneState()]
        if rng.random() < 0.1:
            action = oracle.draw(rng)
        ale.act(action)
        if ale.game_over(with_truncation=False):
            ale.restoreState(states[0])
            return moment == "end"
    return moment != "end"


def probe(oracle: Oracle, moment: str) -> None:
    """Prints which bytes change ALE's answers at a moment, and how."""
    if not reach(oracle, moment):
        print(f"-- {moment}: not reached")
        return
    ale, state = oracle.ale, oracle.ale.cloneState()
    usual = oracle.answer(ale.act(oracle.actions[0]))
    print(f"-- {moment}: untouched, (reward, lives, over) is {usual}")
    for at in range(len(oracle.memory())):
        seen: dict[int, Answer] = {}
        for value in range(256):
            ale.restoreState(state)
            oracle.write(at, value)
            answer = oracle.answer(ale.act(oracle.actions[0]))
            seen.setdefault(oracle.memory()[at], answer)
        for i, what in enumerate(WHAT):
            answers = {value: answer[i] for value, answer in seen.items()}
            if len(set(answers.values())) > 1:
                print(f"   ram[{at}] -> {what}: {formula(answers)}", flush=True)


def smallest(changes: dict[int, int], holds: Callable[[dict[int, int]], bool]) -> dict[int, int]:
    """Returns a part of the changes that is enough for a condition; dropping any one breaks it."""
    for at in list(changes):
        fewer = {k: v for k, v in changes.items() if k != at}
        if holds(fewer):
            changes = fewer
    return changes


def end(oracle: Oracle) -> None:
    """Prints which bytes of the memory at an end also end the game five frames earlier."""
    ale = oracle.ale
    if not reach(oracle, "end"):
        print("no end in random play")
        return
    living, before = ale.cloneState(), oracle.memory()
    while not ale.game_over(with_truncation=False):
        ale.act(oracle.actions[0])
    last = oracle.memory()

    def ends(changes: dict[int, int]) -> bool:
        ale.restoreState(living)
        for at, value in changes.items():
            oracle.write(at, value)
        ale.act(oracle.actions[0])
        return bool(ale.game_over(with_truncation=False))

    changes = {at: now for at, now in enumerate(last) if now != before[at]}
    print("all of it ends the game:", ends(changes))
    print("needed:", smallest(changes, ends))


def play(oracle: Oracle, steps: Sequence[str], moment: str) -> None:
    """Prints the answers to bytes changed frame by frame: `45=20,47=2`, or `-` for none."""
    reach(oracle, moment)
    pokes = [dict(poke.split("=") for poke in step.split(",") if "=" in poke) for step in steps]
    shown = sorted({int(at) for poke in pokes for at in poke})
    for step, poke in zip(steps, pokes, strict=True):
        for at, value in poke.items():
            oracle.write(int(at), int(value, 0))
        answer = oracle.answer(oracle.ale.act(oracle.actions[0]))
        memory = oracle.memory()
        print(f"{step:>20}: {dict(zip(WHAT, answer, strict=True))}", {k: memory[k] for k in shown})


class Recorder(Match):
    """A match that records what was poked and played since the reset, and the last state."""

    def __init__(self, name: str, seed: int, mode: int | None) -> None:
        super().__init__(name, seed, mode)
        self.history: list[tuple[dict[int, int], Any]] = []
        self.before: Any = None

    def reset(self) -> None:
        self.history = []
        super().reset()

    def act(self, action: Any) -> None:
        self.history.append((self.poked, action))
        self.before = self.oracle.ale.cloneState()
        super().act(action)

    def replay(self, history: Sequence[tuple[dict[int, int], Any]]) -> Difference | None:
        """Plays a game again; returns the difference, or None."""
        self.reset()
        try:
            for changes, action in history:
                self.poke(changes)
                if not self.over:
                    self.act(action)
        except Difference as difference:
            return difference
        return None


def shorten(match: Recorder) -> Difference | None:
    """Drops pokes that a difference does not need; returns the difference of the rest."""
    history = match.history
    for i, (changes, action) in enumerate(history):
        for at in list(changes):
            fewer = {k: v for k, v in history[i][0].items() if k != at}
            shorter = [*history[:i], (fewer, action), *history[i + 1 :]]
            if match.replay(shorter):
                history = shorter
    print("poked, by frame:", {i: changes for i, (changes, _) in enumerate(history) if changes})
    return match.replay(history)


def why(name: str, options: argparse.Namespace) -> None:
    """Prints what causes the first difference between a rule and ALE."""
    match = Recorder(name, options.seed, options.mode)
    try:
        compare(name, options.frames, seed=options.seed, poking=options.poking, match=match)
    except Difference:
        difference = shorten(match)
        if difference is None:
            print("a replay of the same game shows no difference: it depends on the reset")
            return
        print(difference)
        put_back(match, difference)
        return
    print("no difference")


def put_back(match: Recorder, difference: Difference) -> None:
    """Prints the bytes for which an ordinary game's value changes the answer."""
    usual = Oracle(match.name, 0)
    reach(usual, "300")
    state, oracle, action = match.before, match.oracle, match.history[-1][1]
    for at, value in enumerate(usual.memory()):
        oracle.ale.restoreState(state)
        old = oracle.memory()[at]
        oracle.write(at, value)
        answer = oracle.answer(oracle.ale.act(action))
        if answer != difference.theirs:
            known = " (the rule reads it)" if at in reads(match.name) else ""
            print(f"   with ram[{at}] = {value} instead of {old}: {answer}{known}")


def main() -> None:
    """Runs one of the tools."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=("probe", "end", "play", "why"))
    parser.add_argument("game")
    parser.add_argument("steps", nargs="*", help="of play: bytes to change, frame by frame")
    parser.add_argument("--at", default="150", help="of play: frames from the reset, or end")
    parser.add_argument("--mode", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--poking", type=float, default=0.05)
    options = parser.parse_args()
    if options.tool == "why":
        why(options.game, options)
        return
    oracle = Oracle(options.game, options.seed)
    if options.mode is not None:
        oracle.ale.setMode(options.mode)
    if options.tool == "probe":
        for moment in ("150", "700", "end"):
            probe(oracle, moment)
    elif options.tool == "end":
        end(oracle)
    else:
        play(oracle, options.steps, options.at)


if __name__ == "__main__":
    main()
