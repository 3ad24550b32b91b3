"""Plays one session on both sides until something differs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parallel_pool.prove_atari.schedule import Session
from parallel_pool.prove_atari.sides import Frame, OurSide, Side

# average number of steps until our state is saved, and from then until it is restored
SAVE = 120
REPLAY = 40

# a move that starts a new game, instead of an action's number
NEW_GAME = -1


@dataclass(frozen=True)
class Outcome:
    """The result of a session.

    Attributes:
        frames: number of frames compared; frames repeated after a restore do not count.
        games: number of games begun.
        difference: the first difference, in words; None if there was none.
    """

    session: Session
    frames: int
    games: int
    difference: str | None = None


class Move(NamedTuple):
    """What both sides did, and the frame that followed on ale_py's."""

    action: int
    expected: Frame


class Differs(Exception):
    """The sides differ; the text says how."""


def difference(ours: Frame, theirs: Frame) -> str:
    """Returns how two frames differ, in words; "" if they are equal."""
    words = [
        f"{name} {mine} instead of {right}"
        for name, mine, right in zip(("reward", "lives", "game over"), ours, theirs, strict=False)
        if mine != right
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


class Match:
    """Both sides of a session, and the moves since our state was saved.

    Attributes:
        frames, games: numbers so far.
    """

    def __init__(self, session: Session, ours: OurSide, theirs: Side) -> None:
        self.session, self.ours, self.theirs = session, ours, theirs
        self.random = np.random.default_rng([session.number, zlib.crc32(session.rom.encode())])
        self.frames = self.games = self.action = 0
        # None: no state is saved
        self.log: list[Move] | None = None
        self.is_over = True

    def play(self) -> None:
        """Plays the whole session.

        Raises:
            Differs: at the first difference.
        """
        mine, right = self.ours.num_actions, self.theirs.num_actions
        if mine != right:
            raise Differs(f"{mine} actions instead of {right}")
        while self.frames < self.session.frames:
            self.do(self.choose())
            self.save_or_restore()
        if self.log:
            self.replay(elsewhere=True)

    def choose(self) -> int:
        """Returns the next move: a new game after an end and now and then; otherwise an action."""
        style = self.session.style
        if self.is_over or (style.restart and self.random.integers(style.restart) == 0):
            return NEW_GAME
        if self.random.integers(style.hold) == 0:
            self.action = int(self.random.integers(self.theirs.num_actions))
        return self.action

    def do(self, action: int) -> None:
        """Makes a move on both sides and compares."""
        expected = make_move(self.theirs, action)
        if action == NEW_GAME:
            self.games += 1
        else:
            self.frames += self.session.style.frame_skip
        self.is_over = expected.over
        if self.log is not None:
            self.log.append(Move(action, expected))
        self.compare(make_move(self.ours, action), expected, "")

    def save_or_restore(self) -> None:
        """Saves our side's state at random times, and restores it some steps later."""
        if self.log is None:
            if self.random.integers(SAVE) == 0:
                self.ours.save()
                self.log = []
        elif self.random.integers(REPLAY) == 0:
            self.replay(elsewhere=bool(self.random.integers(2)))

    def replay(self, *, elsewhere: bool) -> None:
        """Restores the saved state, and repeats all moves since then on our side."""
        assert self.log is not None
        self.ours.restore(elsewhere=elsewhere)
        place = "another environment" if elsewhere else "the same environment"
        for i, move in enumerate(self.log):
            when = f", {len(self.log) - i} moves ago, after its state was put into {place}"
            self.compare(make_move(self.ours, move.action), move.expected, when)
        self.log = None

    def compare(self, ours: Frame, theirs: Frame, when: str) -> None:
        """Raises Differs if two frames differ; when: the words that end its text."""
        found = difference(ours, theirs)
        if found:
            raise Differs(found + when)


def make_move(side: Side, action: int) -> Frame:
    """Makes a move on one side."""
    return side.reset() if action == NEW_GAME else side.step(action)
