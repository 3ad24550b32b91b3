"""Plays Procgen's own ProcgenGym3Env, in a process that has gym3 and gym.

Its input has a line for each play, [{"game": "coinrun", ...}, "rows.npy"], and it answers when the
rows are in the file. Importing procgen imports an old gym, which would change what our pools
return, so this has a process of its own. It imports nothing of ours.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[3]
# what the Makefile installs: gym3 and gym, without what they ask for
FOLDER = Path(sys.prefix) / "procgen-reference"
NUM_ACTIONS = 15
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
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "rows.npy")
        player = _player()
        assert player.stdin is not None and player.stdout is not None
        player.stdin.write(json.dumps([asdict(play), str(target)]) + "\n")
        player.stdin.flush()
        said = []
        for line in player.stdout:
            said.append(line)
            if line == DONE:
                return np.asarray(np.load(target))
    raise AssertionError("".join(said))


@functools.cache
def _player() -> subprocess.Popen[str]:
    """Starts the process, which plays all that is asked for: it loads the pictures once."""
    paths = [str(FOLDER)] if FOLDER.exists() else []
    paths += filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    player = subprocess.Popen(
        [sys.executable, "-m", "tests.support.reference.procgen_player"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # no sanitizer of ours: its reports would be about the library alone
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "LD_PRELOAD": ""},
    )
    # without input it ends
    assert player.stdin is not None
    atexit.register(player.stdin.close)
    return player


def main() -> None:
    for line in sys.stdin:
        job, target = json.loads(line)
        np.save(target, _rows(Play(**job)))
        print(DONE, end="", flush=True)


def _rows(play: Play) -> Array:
    import procgen

    env = procgen.ProcgenGym3Env(
        num=play.num,
        env_name=play.game,
        rand_seed=play.seed,
        distribution_mode=play.mode,
        num_threads=0,
        **play.options,
    )
    rows = np.zeros((1 + play.steps, play.num), ROW)
    _read(env, rows[0])
    for row, action in zip(rows[1:], play.actions(), strict=True):
        env.act(action)
        _read(env, row)
    return rows


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
