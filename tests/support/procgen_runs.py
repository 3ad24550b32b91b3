"""Procgen's games in our pools beside the library's own loop: what to play, and the same rows."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from parallel_pool._engine.pool import Pool
from tests.support.reference.procgen_player import ROW, Play, checksums, expected_blocks

Array = npt.NDArray[Any]

GAMES = (
    *("bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball"),
    *("fruitbot", "heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder", "starpilot"),
)
SPECIAL_MODES = {
    "extreme": ("chaser", "dodgeball", "leaper", "starpilot"),
    "memory": ("caveflyer", "dodgeball", "heist", "jumper", "maze", "miner"),
    "exploration": (
        *("caveflyer", "climber", "coinrun", "heist", "jumper", "leaper", "maze", "ninja"),
    ),
}
TASKS = [
    *((game, mode) for game in GAMES for mode in ("easy", "hard")),
    *((game, mode) for mode, games in SPECIAL_MODES.items() for game in games),
]


def make(play: Play, autoreset: str = "same_step", *, is_vector: bool = False, **more: Any) -> Pool:
    """Returns a pool with the play's environments; `more` are options besides the play's own.

    Args:
        is_vector: they equal those of one ProcgenGym3Env; otherwise each equals one of its own.
    """
    return Pool(
        f"procgen-{play.game}-v0",
        play.num,
        num_threads=2,
        seed=play.seed,
        autoreset=autoreset,
        options={"distribution_mode": play.mode, "vector_seeds": is_vector, **play.options, **more},
    )


def ours(play: Play, *, is_vector: bool = False) -> Array:
    """Returns our rows of the reset and of all steps, ROW (1 + steps, num)."""
    (rows,) = ours_in_blocks(play, 1 + play.steps, is_vector=is_vector)
    return rows


def ours_in_blocks(play: Play, size: int, *, is_vector: bool = False) -> Generator[Array]:
    """Yields the rows of `ours` in blocks of `size` steps, of which the last may be shorter."""
    with make(play, is_vector=is_vector) as pool:
        # the first row is that of the reset
        actions = [None, *play.actions()]
        for start in range(0, len(actions), size):
            own = actions[start : start + size]
            rows = np.zeros((len(own), play.num), ROW)
            for row, action in zip(rows, own, strict=True):
                read(pool.reset() if action is None else pool.step(action), row)
                # the library calls the beginning the end of an episode before
                row["first"] |= action is None
            yield rows


def read(result: Any, row: Array) -> None:
    """Writes the batch of a pool into one row, ROW (num,)."""
    row["frame"] = checksums(result.obs)
    row["reward"], row["first"] = result.reward, result.terminated
    for name in ("prev_level_seed", "prev_level_complete", "level_seed"):
        row[name] = getattr(result, name)
    assert not result.truncated.any()


def assert_same(actual: Array, expected: Array, start: int = 0) -> None:
    """Fails at the first row that differs, and names it; `start` is the step of the first row."""
    if np.array_equal(actual, expected):
        return
    step, env_id = np.argwhere(actual != expected)[0]
    raise AssertionError(
        f"step {start + step}, environment {env_id}: {actual[step, env_id]} should be"
        f" {expected[step, env_id]}, columns {actual.dtype.names}"
    )


def assert_same_run(play: Play, size: int = 500) -> int:
    """Compares a play with the library's own loop, in blocks of `size` steps.

    The other process plays while ours does, and no more than a block of rows is in memory.

    Returns:
        The number of episodes that ended.
    """
    with (
        closing(ours_in_blocks(play, size, is_vector=play.num > 1)) as mine,
        closing(expected_blocks(play, size)) as theirs,
    ):
        # the first rows say that an episode ended before
        ends = -play.num
        for number, (actual, expected) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(actual, expected, number * size)
            ends += int(expected["first"].sum())
    return ends
