"""The sessions of a proof, which depend on the game and the number of frames alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# each mode is also played for this part of a game's frames: 1 / MODE_SHARE
MODE_SHARE = 20
# number of frames in one session
LONGEST = 5_000
SHORTEST = 150


@dataclass(frozen=True)
class Style:
    """How a player plays.

    Attributes:
        hold: average number of steps for which an action is held.
        frame_skip: frames in one step; our side draws only the last one.
        sticky: probability that a frame repeats the previous action.
        full_actions: all 18 actions instead of those that the game uses.
        restart: average number of steps between new games before the end of one; 0: none.
    """

    hold: int
    frame_skip: int = 1
    sticky: float = 0.0
    full_actions: bool = False
    restart: int = 0

    def __str__(self) -> str:
        words = [f"actions held for {self.hold}"]
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
        return f"session {self.number} ({setting}{self.style})"


def schedule(
    rom: str, modes: Sequence[int], difficulties: Sequence[int], frames: int
) -> list[Session]:
    """Returns the sessions of a proof: first `frames` frames in the default setting.

    Then each mode is played for a twentieth of `frames`, which its difficulties share.
    """
    at_least = min(len(STYLES), frames // SHORTEST)
    pieces: list[tuple[int | None, int | None, int]]
    pieces = [(None, None, size) for size in parts(frames, pieces_of(frames, at_least))]
    in_mode = max(frames // MODE_SHARE, len(difficulties))
    for mode in modes:
        for difficulty, whole in zip(difficulties, parts(in_mode, len(difficulties)), strict=True):
            pieces += [(mode, difficulty, size) for size in parts(whole, pieces_of(whole))]
    return [
        Session(rom, i + 1, size, STYLES[i % len(STYLES)], mode, difficulty)
        for i, (mode, difficulty, size) in enumerate(pieces)
    ]


def pieces_of(frames: int, at_least: int = 1) -> int:
    """Returns the number of sessions that this many frames need."""
    return max(-(-frames // LONGEST), at_least, 1)


def parts(whole: int, count: int) -> Iterator[int]:
    """Divides a number into parts that differ by one at most."""
    for i in range(count):
        yield whole * (i + 1) // count - whole * i // count
