"""Plays Procgen's own ProcgenGym3Env, in a process that has gym3 and gym.

Its input has a line for each play, [{"game": "coinrun", ...}, 100, "rows.npy"]: it answers when the
rows of the reset and of 99 steps are in the file, and for each line "more" that follows it goes on
with the next 100. Importing procgen imports an old gym, which would change what our pools return,
so this has a process of its own, which imports nothing of ours.
"""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# what the Makefile installs: gym3 and gym, without what they ask for
FOLDER = Path(sys.prefix) / "procgen-reference"
NUM_ACTIONS = 15
MORE = "more\n"
DONE = "the rows are written\n"

Array = npt.NDArray[Any]

# what a step returns for one environment; a frame is its checksum
ROW = np.dtype(
    [
        ("frame", np.uint32),
        ("reward", np.float32),
        ("first", np.bool_),
        ("prev_level_seed", np.int32),
        ("prev_level_complete", np.uint8),
        ("level_seed", np.int32),
    ]
)


@dataclass(frozen=True)
class Play:
    """What is played: `num` environments of one ProcgenGym3Env.

    Attributes:
        run: steps for which an action is kept, 1 for random play. Longer runs get further.
        options: of ProcgenGym3Env, besides its distribution_mode.
    """

    game: str
    mode: str = "hard"
    num: int = 1
    seed: int = 0
    steps: int = 100
    run: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def actions(self) -> Array:
        """Returns actions, int64 (steps, num)."""
        random = np.random.default_rng(self.seed)
        count = -(-self.steps // self.run)
        drawn = random.integers(NUM_ACTIONS, size=(count, self.num))
        return np.repeat(drawn, self.run, axis=0)[: self.steps]


def checksums(frames: Array) -> list[int]:
    """Returns one checksum for each frame of a batch."""
    return [zlib.crc32(np.ascontiguousarray(frame)) for frame in frames]


def expected(play: Play) -> Array:
    """Returns the rows of the library's own loop, ROW (1 + steps, num), from another process."""
    (rows,) = expected_blocks(play, 1 + play.steps)
    return rows


def expected_blocks(play: Play, size: int) -> Generator[Array]:
    """Yields the rows of `expected` in blocks of `size` steps, of which the last may be shorter.

    The other process plays the next block while the caller has one.
    """
    left = 1 + play.steps
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "rows.npy")
        _ask(json.dumps([asdict(play), size, str(target)]) + "\n")
        try:
            while left > 0:
                rows = _answer(target)
                left -= len(rows)
                if left > 0:
                    _ask(MORE)
                yield rows
        except GeneratorExit:
            # the next play must not find the answer to this one
            if left > 0:
                _answer(target)
            raise


def _ask(line: str) -> None:
    stdin = _player().stdin
    assert stdin is not None
    stdin.write(line)
    stdin.flush()


def _answer(target: Path) -> Array:
    """Waits until the rows are in the file; returns them."""
    stdout = _player().stdout
    assert stdout is not None
    said = []
    for line in stdout:
        said.append(line)
        if line == DONE:
            return np.asarray(np.load(target))
    raise AssertionError("".join(said))


@functools.cache
def _player() -> subprocess.Popen[str]:
    """Starts the process, which plays all that is asked for: it loads the pictures once."""
    # not at the top: the process itself imports nothing of ours
    from parallel_pool._bench.player_proxy import environment

    player = subprocess.Popen(
        [sys.executable, "-m", "tests.support.reference.procgen_player"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # no sanitizer of ours: its reports would be about the library alone
        env={**environment(FOLDER.name), "LD_PRELOAD": ""},
    )
    # without input it ends
    assert player.stdin is not None
    atexit.register(player.stdin.close)
    return player


def main() -> None:
    for line in sys.stdin:
        if line != MORE:
            job, size, target = json.loads(line)
            blocks = _blocks(Play(**job), size)
        np.save(target, next(blocks))
        print(DONE, end="", flush=True)


def _blocks(play: Play, size: int) -> Generator[Array]:
    import procgen

    env = procgen.ProcgenGym3Env(
        num=play.num,
        env_name=play.game,
        rand_seed=play.seed,
        distribution_mode=play.mode,
        num_threads=0,
        **play.options,
    )
    # the first row is that of the reset
    actions = [None, *play.actions()]
    for start in range(0, len(actions), size):
        own = actions[start : start + size]
        rows = np.zeros((len(own), play.num), ROW)
        for row, action in zip(rows, own, strict=True):
            if action is not None:
                env.act(action)
            _read(env, row)
        yield rows


def _read(env: Any, row: Array) -> None:
    reward, observation, first = env.observe()
    infos = env.get_info()
    row["frame"] = checksums(observation["rgb"])
    row["reward"], row["first"] = reward, first
    for name in ("prev_level_seed", "prev_level_complete", "level_seed"):
        row[name] = [info[name] for info in infos]


def is_installed() -> bool:
    """Returns whether Procgen and the reference's packages are there."""
    return find_spec("procgen") is not None and (FOLDER.exists() or find_spec("gym3") is not None)


if __name__ == "__main__":
    main()
