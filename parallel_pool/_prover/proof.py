"""Proof: what was compared without a difference, and what was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parallel_pool._lazy import public


@public("testing")
@dataclass(frozen=True)
class Proof:
    """What `prove` has compared without finding a difference.

    Attributes:
        ours: what was compared, as it was given.
        reference: what it was compared with.
        tolerance: by which floats could differ; 0: the bits are the same.
        seed: of the search.
        steps: of single environments, with the same results on both sides.
        episodes: how many ended.
        ends: episodes by "terminated", "truncated" and "both".
        longest: steps of the longest episode.
        observations: the least and the greatest value of each component.
        actions: how often each action was taken, or the least and the greatest value.
        infos: how many results had each key.
        options: steps with each value of each option.
        cells: coarse cells of states that were reached.
        pictures: how many were compared.
        lines: of the source in C that have code; 0 if not measured.
        lines_reached: how many of them were reached.
        branches: directions that its conditions can take.
        branches_reached: how many of them were taken.
        lines_missed: number and text of each line that was not reached.
        not_covered: what this proof says nothing of, in sentences.
        sequences: seeds, each with actions that reached something rare, for `prove(sequences=...)`.
        seconds: that it took.
        report: all of this in Markdown.

    Example:
        >>> proof = parallel_pool.testing.prove("CartPole-v1", "CartPole-v1", steps=2000)
        >>> proof.steps >= 2000, proof.ends["terminated"] > 10
        (True, True)
    """

    ours: str
    reference: str
    tolerance: float
    seed: int
    steps: int
    episodes: int
    ends: Mapping[str, int]
    longest: int
    observations: Mapping[str, tuple[float, float]]
    actions: Mapping[str, str]
    infos: Mapping[str, int]
    options: Mapping[str, Mapping[str, int]]
    cells: int
    pictures: int
    lines: int
    lines_reached: int
    branches: int
    branches_reached: int
    lines_missed: tuple[tuple[int, str], ...]
    not_covered: tuple[str, ...]
    sequences: tuple[tuple[int, list[object]], ...]
    seconds: float
    report: str
