"""The schedule: what is played in a proof of a game, the same for everybody who asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# of a game's frames, played besides in every mode
MODE_SHARE = 20
# frames of one session
LONGEST = 5_000
SHORTEST = 150


@dataclass(frozen=True)
class Style:
    """How a player plays.

    Attributes:
        hold: steps that an action is kept for, on average.
        frame_skip: frames in one step; only the last is drawn on our side.
        sticky: the probability that a frame repeats the action before.
        full_actions: all 18 actions instead of those that the game uses.
        restart: steps between new games, on average, besides those that must begin; 0: none.
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


# some go on for as long as a game does, others see many of its beginnings
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
    """A piece of a proof, which begins with a console just loaded; it needs no other piece.

    Attributes:
        rom: ale_py's name of the game.
        number: from 1; what chance decides follows from it and the ROM.
        frames: how many are compared.
        mode, difficulty: None leaves what the game begins with.
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
    """Returns the sessions of a proof: so many frames as a game begins, then all its settings.

    Each mode is played for a twentieth of `frames` besides, shared by the difficulties.
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
    """Returns how many sessions so many frames are."""
    return max(-(-frames // LONGEST), at_least, 1)


def parts(whole: int, count: int) -> Iterator[int]:
    """Shares a number out: parts that differ by one at most."""
    for i in range(count):
        yield whole * (i + 1) // count - whole * i // count
