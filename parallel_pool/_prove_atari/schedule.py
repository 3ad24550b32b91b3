"""Divides a proof into sessions, which depend only on the game and the number of frames."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# each mode is played for 1 / MODE_SHARE of the game's frames at random, and as long by a search
MODE_SHARE = 20
# 1 / SEARCH_SHARE of the frames in the default setting are played by a search
SEARCH_SHARE = 4
# most frames in one session of random play, and fewest of the first sessions
MAX_SESSION_FRAMES = 5_000
MIN_SESSION_FRAMES = 150


@dataclass(frozen=True)
class Style:
    """How a player plays.

    Attributes:
        hold: average number of steps for which an action is held.
        frame_skip: frames in one step.
        sticky: probability that a frame repeats the previous action.
        full_actions: all 18 actions instead of those that the game uses.
        restart: average number of steps between new games before the end of one; 0: none.
        searched: the moves come from a search for a game that gets far (search.py).
    """

    hold: int
    frame_skip: int = 1
    sticky: float = 0.0
    full_actions: bool = False
    restart: int = 0
    searched: bool = False

    def __str__(self) -> str:
        words = ["searched" if self.searched else f"actions held for {self.hold}"]
        words += [f"{self.frame_skip} frames a step"] * (self.frame_skip > 1)
        words += [f"sticky {self.sticky}"] * (self.sticky > 0)
        words += ["all actions"] * self.full_actions
        words += ["new games"] * (self.restart > 0)
        return ", ".join(words)


# some play games to the end, others begin many games
STYLES = (
    Style(1),
    Style(30, restart=400),
    Style(6, full_actions=True),
    Style(4, sticky=0.25, restart=300),
    Style(5, frame_skip=4),
    Style(100),
    Style(3, frame_skip=4, sticky=0.25, full_actions=True, restart=100),
    Style(12, frame_skip=2, sticky=0.5),
)
SEARCHED = Style(1, frame_skip=4, searched=True)
# Frames one by one: with several in a step, consoles are switched off between games (match.py).
LONG = Style(12, full_actions=True)


@dataclass(frozen=True)
class Session:
    """A part of a proof that can be played alone. It begins with loading the ROM.

    Attributes:
        rom: ale_py's name of the game.
        number: counted from 1; seeds all random choices, together with the ROM.
        frames: number of frames to compare.
        mode, difficulty: None: the game's defaults.
    """

    rom: str
    number: int
    frames: int
    style: Style
    mode: int | None = None
    difficulty: int | None = None

    def __str__(self) -> str:
        setting = "" if self.mode is None else f"mode {self.mode}, difficulty {self.difficulty}, "
        name = "long play" if self.is_long else f"session {self.number}"
        return f"{name} ({setting}{self.style})"

    @property
    def is_long(self) -> bool:
        """Whether this is the one play of `--long`."""
        return self.style == LONG

    @property
    def unbroken(self) -> int:
        """The frames for which the consoles surely stay on."""
        return self.frames if self.style.frame_skip == 1 else 0


def schedule(
    rom: str, modes: Sequence[int], difficulties: Sequence[int], frames: int
) -> list[Session]:
    """Returns the sessions of a proof: first `frames` frames in the default setting.

    A search plays the first and longest session of these; the others are random. Then each mode is
    played at random for a twentieth of `frames`, which its difficulties share, and as long by a
    search, in one difficulty; modes take turns with the difficulties.
    """
    searched = frames // SEARCH_SHARE
    pieces: list[tuple[int | None, int | None, int, Style | None]]
    pieces = [(None, None, searched, SEARCHED)] if searched else []
    at_least = min(len(STYLES), (frames - searched) // MIN_SESSION_FRAMES)
    sizes = parts(frames - searched, pieces_of(frames - searched, at_least))
    pieces += [(None, None, size, None) for size in sizes]
    in_mode = max(frames // MODE_SHARE, len(difficulties))
    for i, mode in enumerate(modes):
        pieces.append((mode, difficulties[i % len(difficulties)], in_mode, SEARCHED))
        for difficulty, whole in zip(difficulties, parts(in_mode, len(difficulties)), strict=True):
            pieces += [(mode, difficulty, size, None) for size in parts(whole, pieces_of(whole))]
    styles = itertools.cycle(STYLES)
    return [
        Session(rom, i + 1, size, style or next(styles), mode, difficulty)
        for i, (mode, difficulty, size, style) in enumerate(pieces)
    ]


def pieces_of(frames: int, at_least: int = 1) -> int:
    """Returns the number of sessions that this many frames need."""
    return max(-(-frames // MAX_SESSION_FRAMES), at_least, 1)


def parts(whole: int, count: int) -> Iterator[int]:
    """Divides a number into parts that differ by one at most."""
    for i in range(count):
        yield whole * (i + 1) // count - whole * i // count
