"""Proves that MuJoCo options change no bit: simulates models with and without them, and compares.

    python tests/parity/mujoco_switches.py          the table in parallel_pool/_families/mujoco.py
    python tests/parity/mujoco_switches.py --all    all Gymnasium models, all candidates
    python tests/parity/mujoco_switches.py --islands walker2d.xml
                                                    long episodes, with and without islands

It tests the mujoco that it imports. To test another version, put its folder and this repository
into PYTHONPATH. tests/parity/test_mujoco_switches.py tests the table on the installed versions.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from parallel_pool._families.mujoco import SWITCHES

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
CANDIDATES = ("mjDSBL_ISLAND", "mjDSBL_MIDPHASE")
FRAME_SKIP = 5

# the fields that tasks read, and those that the next step depends on
FIELDS = (
    *("time", "qpos", "qvel", "act", "qacc", "qacc_warmstart", "ctrl"),
    *("xpos", "xipos", "site_xpos", "cinert", "cvel"),
    *("qfrc_actuator", "qfrc_constraint", "cfrc_ext"),
)


@dataclass(frozen=True)
class Run:
    """The result of simulating a model.

    Attributes:
        digest: SHA-256 of all fields after all environment steps.
        steps: number of environment steps.
        contacts: the largest number of contacts at a time.
        islands: the largest number of islands at a time; 0 if this version does not count them.
        seconds: CPU time of the thread in mj_step.
    """

    digest: str
    steps: int
    contacts: int
    islands: int
    seconds: float


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def play(path: Path, flags: tuple[str, ...], steps: int, seed: int = 0) -> Run:
    """Steps a model with random actions, in episodes of random length and random initial states.

    Some episodes start with Gymnasium's noise, others with noise up to a hundred times as large, so
    that limbs touch each other and the floor. Some actions exceed their bounds.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    for flag in flags:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, flag))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    digest = hashlib.sha256()
    low, high = model.actuator_ctrlrange.T
    contacts = islands = left = 0
    seconds = 0.0
    for step in range(steps):
        if left == 0:
            left = int(rng.choice([5, 20, 100, 300]))
            scale = float(rng.choice([0.01, 0.1, 1.0, 5.0]))
            mujoco.mj_resetData(model, data)
            data.qpos[:] += scale * rng.uniform(-1, 1, model.nq)
            data.qvel[:] = scale * rng.standard_normal(model.nv)
            mujoco.mj_forward(model, data)
        left -= 1
        width = 1.5 if step % 7 == 0 else 1.0
        data.ctrl[:] = width * rng.uniform(low, high)
        start = time.thread_time()
        mujoco.mj_step(model, data, nstep=FRAME_SKIP)
        seconds += time.thread_time() - start
        mujoco.mj_rnePostConstraint(model, data)
        contacts = max(contacts, data.ncon)
        islands = max(islands, getattr(data, "nisland", 0))
        for name in FIELDS:
            digest.update(np.asarray(getattr(data, name)).tobytes())
    return Run(digest.hexdigest(), steps, contacts, islands, seconds)


def islands_differ(path: Path, episodes: int = 6, steps: int = 1500) -> bool:
    """Returns whether islands change the positions of a model in long episodes.

    Episodes of `play` are too short for some models: a leg must have come to rest.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    flags = model.opt.disableflags
    plain, switched = mujoco.MjData(model), mujoco.MjData(model)
    rng = np.random.default_rng(0)
    high = model.actuator_ctrlrange[:, 1]
    for _ in range(episodes):
        positions = rng.uniform(-0.1, 0.1, model.nq)
        speeds = rng.normal(0, 0.1, model.nv)
        for data in (plain, switched):
            mujoco.mj_resetData(model, data)
            data.qpos[:] += positions
            data.qvel[:] = speeds
        for step in range(steps):
            if step % FRAME_SKIP == 0:
                plain.ctrl[:] = switched.ctrl[:] = rng.uniform(-1, 1, model.nu) * high
            model.opt.disableflags = flags
            mujoco.mj_step(model, plain)
            model.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
            mujoco.mj_step(model, switched)
            if not np.array_equal(plain.qpos, switched.qpos):
                return True
    return False


def known(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the flags that this version has."""
    return tuple(flag for flag in flags if hasattr(mujoco.mjtDisableBit, flag))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every candidate, alone and together")
    parser.add_argument("--steps", type=int, default=2000, help="environment steps of each model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--islands", metavar="FILE", help="one of Gymnasium's models")
    options = parser.parse_args(arguments)
    # MuJoCo writes its log into the current folder
    os.chdir(tempfile.mkdtemp())

    if options.islands:
        changes = islands_differ(ASSETS / options.islands)
        said = "islands change bits" if changes else "islands change no bit"
        print(f"{mujoco.__version__} {options.islands}: {said}")
        return 0
    differ = 0
    for path in sorted(ASSETS.glob("*.xml")):
        sets = {known(SWITCHES.get(sha256(path), ()))}
        if options.all:
            sets = {*((flag,) for flag in known(CANDIDATES)), known(CANDIDATES)}
        plain = play(path, (), options.steps, options.seed)
        for flags in sorted(sets - {()}):
            switched = play(path, flags, options.steps, options.seed)
            same = switched.digest == plain.digest
            differ += not same
            print(
                f"{mujoco.__version__:8} {path.name:28} {'+'.join(flags):29} "
                f"{'same' if same else 'DIFFERENT':9} {plain.seconds / switched.seconds:5.3f}x "
                f"at most {plain.contacts} contacts, {plain.islands} islands; {sha256(path)[:12]}",
                flush=True,
            )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
