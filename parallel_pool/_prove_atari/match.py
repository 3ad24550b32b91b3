"""Plays one session on ale_py's console and on several of ours until something differs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parallel_pool._prove_atari.schedule import Session
from parallel_pool._prove_atari.sides import Frame, OurSide, Side

# average number of steps until our state is saved, and from then until it is restored
SAVE = 120
REPLAY = 40

# a move that starts a new game, instead of an action's number
NEW_GAME = -1

# added to the session's number for each game; gives the seed of a console that is switched on again
SEED_STEP = 1_000


@dataclass(frozen=True)
class Outcome:
    """The result of a session.

    Attributes:
        frames: number of frames compared; frames repeated after a restore do not count.
        games: number of games begun.
        difference: the first difference, in words; None if there was none.
        score: the highest score with which a game ended, or was left.
        longest: number of frames of the longest game.
    """

    session: Session
    frames: int
    games: int
    difference: str | None = None
    score: float = 0
    longest: int = 0


class Move(NamedTuple):
    """What all sides did, and the frames that followed on ale_py's.

    Attributes:
        seed: of a new game for which the consoles are switched off and on.
    """

    action: int
    seed: int | None
    expected: Sequence[Frame]


class Differs(Exception):
    """The sides differ; the text says how."""


def difference(ours: Frame, theirs: Frame) -> str:
    """Returns how two frames differ, in words; "" if they are equal."""
    words = [
        f"{name} {found} instead of {expected}"
        for name, found, expected in zip(
            ("reward", "lives", "game over"), ours, theirs, strict=False
        )
        if found != expected
    ]
    if ours.ram.shape != theirs.ram.shape:
        words.append(f"RAM of {ours.ram.size} bytes instead of {theirs.ram.size}")
    elif len(where := np.flatnonzero(ours.ram != theirs.ram)):
        first = where[0]
        words.append(
            f"{len(where)} bytes of RAM, first at {first:#04x}:"
            f" {ours.ram[first]} instead of {theirs.ram[first]}"
        )
    if ours.screen.shape != theirs.screen.shape:
        words.append(f"screen of shape {ours.screen.shape} instead of {theirs.screen.shape}")
    elif not np.array_equal(ours.screen, theirs.screen):
        pixels = np.argwhere((ours.screen != theirs.screen).any(axis=-1))
        row, column = pixels[0]
        words.append(
            f"{len(pixels)} pixels of the screen, first in row {row}, column {column}:"
            f" {ours.screen[row, column].tolist()} instead of"
            f" {theirs.screen[row, column].tolist()}"
        )
    return "; ".join(words)


def whole(frames: Sequence[Frame]) -> Frame:
    """Returns the one frame that a skipping console shows: the last, with the sum of rewards."""
    total = np.sum([frame.reward for frame in frames], axis=0).tolist()
    # a list of each player's
    return frames[-1]._replace(reward=tuple(total) if isinstance(total, list) else total)


def switched_on_again(session: Session, games: int) -> int | None:
    """Returns the seed with which the consoles are switched on after a game's end; None: they stay.

    If a step has several frames and a game ends within it, ale_py goes on to draw random numbers. A
    console of ours that is stepped by frames does not, as its game is over.
    """
    if games == 0 or session.style.frame_skip == 1:
        return None
    return session.number + SEED_STEP * games


class Match:
    """All sides of a session, and the moves since our states were saved.

    Attributes:
        frames, games, score, longest: as in Outcome, so far; without the game in play.
    """

    def __init__(
        self,
        session: Session,
        ours: Sequence[OurSide],
        theirs: Side,
        script: Iterable[int] | None = None,
    ) -> None:
        """Begins a match.

        Args:
            script: the moves, as actions and NEW_GAME; None: random ones.
        """
        self.session, self.ours, self.theirs = session, ours, theirs
        self.random = np.random.default_rng([session.number, zlib.crc32(session.rom.encode())])
        self.script = None if script is None else iter(script)
        self.frames = self.games = self.action = self.longest = self.age = 0
        self.score: float | None = None
        self.points: Any = 0.0
        # None: no state is saved
        self.log: list[Move] | None = None
        self.is_over = True

    def play(self) -> None:
        """Plays the whole session.

        Raises:
            Differs: at the first difference.
        """
        expected = self.theirs.num_actions
        for side in self.ours:
            if side.num_actions != expected:
                raise Differs(
                    f"{side.num_actions} actions instead of {expected} (build {side.name})"
                )
        while self.frames < self.session.frames:
            self.do(self.choose())
            self.save_or_restore()
        if self.log:
            self.replay(elsewhere=True)
        self.end_game()

    def choose(self) -> int:
        """Returns the next move: a new game after the end of one, or at random; else an action."""
        if self.script is not None:
            return next(self.script)
        style = self.session.style
        if self.is_over or (style.restart and self.random.integers(style.restart) == 0):
            return NEW_GAME
        if self.random.integers(style.hold) == 0:
            self.action = int(self.random.integers(self.theirs.num_actions))
        return self.action

    def do(self, action: int) -> None:
        """Makes a move on all sides and compares."""
        is_new = action == NEW_GAME
        seed = switched_on_again(self.session, self.games) if is_new and self.is_over else None
        move = Move(action, seed, make_move(self.theirs, action, seed))
        if is_new:
            self.end_game()
            self.games += 1
        else:
            self.frames += self.session.style.frame_skip
            self.age += self.session.style.frame_skip
        self.points = np.add(self.points, whole(move.expected).reward)
        self.is_over = move.expected[-1].over
        if self.log is not None:
            self.log.append(move)
        for side in self.ours:
            self.compare(side, move, "")

    def end_game(self) -> None:
        """Notes how far the game in play got."""
        if self.games:
            points = float(np.max(self.points))
            self.score = points if self.score is None else max(self.score, points)
        self.longest = max(self.longest, self.age)
        self.points, self.age = 0.0, 0

    def save_or_restore(self) -> None:
        """Saves our sides' states at random times, and restores them some steps later."""
        if self.log is None:
            if self.random.integers(SAVE) == 0:
                for side in self.ours:
                    side.save()
                self.log = []
        elif self.random.integers(REPLAY) == 0:
            self.replay(elsewhere=bool(self.random.integers(2)))

    def replay(self, *, elsewhere: bool) -> None:
        """Restores the saved states, and repeats all moves since then on our sides."""
        assert self.log is not None
        target = "another environment" if elsewhere else "the same environment"
        for side in self.ours:
            side.restore(elsewhere=elsewhere)
            for i, move in enumerate(self.log):
                when = f", {len(self.log) - i} moves ago, after its state was put into {target}"
                self.compare(side, move, when)
        self.log = None

    def compare(self, side: OurSide, move: Move, when: str) -> None:
        """Makes a move on one of our sides, and raises Differs if a frame differs.

        Args:
            when: words that are added to the difference.
        """
        found = make_move(side, move.action, move.seed)
        expected = [whole(move.expected)] if side.skips else move.expected
        # a side may leave out what follows the end of a game
        for i, (one, other) in enumerate(zip(found, expected, strict=False)):
            words = difference(one, other)
            if words:
                frame = f", frame {i + 1} of {len(expected)} in its step" * (len(expected) > 1)
                raise Differs(f"{words} (build {side.name}{frame}){when}")


def make_move(side: Side, action: int, seed: int | None) -> Sequence[Frame]:
    """Makes a move on one side, and returns its frames."""
    return [side.reset(seed)] if action == NEW_GAME else side.step(action)
