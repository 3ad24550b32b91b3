"""Forged snapshots with checksums that fit: each gives an error or a state that does no harm.

Nothing crashes, writes outside of its memory or loops, whatever the bytes are. Each test runs in a
process of its own, so that a crash is a failure that names the id and the bytes.
"""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Callable

import numpy as np
import pytest

from parallel_pool._contract import forgery
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from tests.support import forged_states
from tests.support.sampling import ATARI_GAMES, FEW_ATARI_GAMES

pytestmark = pytest.mark.proven(
    "csrc/native", "csrc/os", "csrc/pool", "csrc/threads", "parallel_pool/_engine", by="env"
)

IDS = sorted(registry.definitions())
FAMILIES = sorted({registry.find(env).family for env in IDS})
# of families whose steps or whose making take long, those that make check and the sanitizers run
FEW = {
    "ale": ["ALE/Breakout-v5"],
    "atari": ["Pong-v5"],
    "atari_players": ["atari/pong_v3"],
    "box2d": ["BipedalWalker-v3", "LunarLander-v3"],
    "control_suite": ["StackerStack2-v1", "dm_control/lqr-lqr_2_1-v0"],
    "mujoco": ["Ant-v5", "Reacher-v5"],
    "procgen": ["procgen-coinrun-v0"],
    "robotics": ["AntMaze_UMaze-v5", "FetchPickAndPlace-v4", "HandManipulateEgg-v1"],
}
# in make check: ids of each family, snapshots of each id, and families that share a process
QUICK_IDS, QUICK_COUNT, FAMILIES_TOGETHER = 3, 40, 4

# Snapshots of each id in make test, and of the ids that run no code of their own on their bytes.
#
# COUNT: three thousand reach hardly more of the checks than a thousand (of Pong's: 25 and 20).
#
# Atari: all games of all APIs share the console and its check, so a game adds its cartridge's
# mapper and program, its controllers, and its rule. ATARI_GAMES has each mapper and controller; one
# API plays them COUNT times. Another API adds its own fields, which are the same in all games, so
# few games stand for all. No rule indexes by a byte of RAM, and parity/test_atari_rules.py gives
# each rule any bytes. EnvPool's id and ale-py's share a game's cartridge and rule, so each of the
# other games plays in one API.
#
# MuJoCo: a task's state and its check depend on the model alone, which the versions of a task
# share, and HumanoidStandup with Humanoid. They differ in rewards and observations, which index
# nothing.
COUNT, SHARED_COUNT = 1000, 40
OWN_GAMES = {
    "ale": FEW_ATARI_GAMES,
    "atari": ATARI_GAMES,
    # two players, and four; a large cartridge
    "atari_players": {"pong", "warlords", "double_dunk"},
}
# BabyAI's levels differ in what a reset makes; a key in a box is the only thing that only some have
BABYAI = {"BabyAI-BossLevel-v0", "BabyAI-KeyInBox-v0", "BabyAI-PutNextS5N2Carrying-v0"}
# A snapshot of Procgen holds a seed and actions, which the library plays again: no byte reaches a
# game's own state. So one game of each kind of distribution mode stands for all
PROCGEN = {"procgen-coinrun-v0", "CaveflyerMemory-v0", "LeaperExploration-v0"}
# Tasks of dm_control's suite share the check, and index nothing by what a snapshot holds. They
# differ in what a reset draws, and whether they write numbers of the snapshot into the model
SUITE = {
    *("dm_control/hopper-hop-v0", "dm_control/lqr-lqr_2_1-v0", "dm_control/reacher-easy-v0"),
    "StackerStack2-v1",
}
# Gymnasium-Robotics' tasks share the check, too, and differ in the numbers that they keep
ROBOTS = {
    *("AntMaze_UMaze-v5", "FetchPickAndPlace-v4", "PointMaze_UMaze-v3", "AdroitHandPen-v1"),
    *("HandReach-v3", "HandManipulateEgg-v1", "FrankaKitchen-v1"),
}
# ids that share a process
TOGETHER = 6


def has_own_code(env: str) -> bool:
    """Returns whether the snapshots of no other id reach the same code."""
    definition = registry.find(env)
    if definition.family in OWN_GAMES:
        return definition.variant in OWN_GAMES[definition.family]
    if definition.family == "mujoco":
        return env.endswith("-v5") and not env.startswith("HumanoidStandup")
    if env.startswith("BabyAI-"):
        return env in BABYAI
    if definition.family == "procgen":
        return env in PROCGEN
    if definition.family == "control_suite":
        return env in SUITE
    if definition.family == "robotics":
        return env in ROBOTS
    return True


GAMES = sorted(
    {str(registry.find(env).variant) for env in IDS if registry.find(env).family == "ale"}
)


def is_repeated(env: str) -> bool:
    """Returns whether the other API's id of this game is forged, too."""
    definition = registry.find(env)
    if definition.family not in ("ale", "atari"):
        return False
    return GAMES.index(str(definition.variant)) % 2 == (definition.family == "ale")


OWN = [env for env in IDS if has_own_code(env)]
SHARED = [env for env in IDS if not has_own_code(env) and not is_repeated(env)]
GROUPS = [SHARED[at : at + TOGETHER] for at in range(0, len(SHARED), TOGETHER)]


@pytest.mark.sanitizers
@pytest.mark.parametrize(
    "families",
    [FAMILIES[at : at + FAMILIES_TOGETHER] for at in range(0, len(FAMILIES), FAMILIES_TOGETHER)],
    ids=", ".join,
)
def test_some_forged_snapshots_do_no_harm(families: list[str]) -> None:
    ids = []
    for family in families:
        of_family = [env for env in IDS if registry.find(env).family == family]
        ids += FEW.get(family) or of_family[:: math.ceil(len(of_family) / QUICK_IDS)]
    forged_states.run(ids, QUICK_COUNT)


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _loop() -> None:
    while True:
        pass


def _fail() -> None:
    raise RuntimeError("planted")


@pytest.mark.parametrize(
    ("harm", "words"),
    [(_end, "ended with SIGKILL"), (_loop, "an endless loop"), (_fail, "RuntimeError: planted")],
)
def test_harm_is_reported_with_id_and_bytes(
    harm: Callable[[], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forged_states, "ENDLESS_SECONDS", 0.2)
    monkeypatch.setattr(forged_states, "go_on", lambda *_: harm())
    with pytest.raises(AssertionError, match=rf"(?s)CartPole-v1: (the state|\d bytes).*{words}"):
        forged_states.run(["CartPole-v1"], QUICK_COUNT)


def test_forgeries_reach_single_fields() -> None:
    """Nearly all of a console's bytes are pictures, which may be anything."""
    reasons = set()
    with Pool("Pong-v5", 1, seed=5, num_threads=1) as pool:
        snapshots = pool.get_state()
        pool.reset()
        for _ in range(3):
            snapshots += pool.get_state()
            pool.step(np.zeros(1, np.int64))
        for each in forgery.forgeries(pool, snapshots[-1], 400, 1, others=snapshots):
            try:
                pool.set_state([each.snapshot])
            except ValueError as error:
                reasons.add(re.sub(r"=\S+", "", str(error)))
    fields = {reason for reason in reasons if "is not in" in reason}
    assert len(fields) >= 8, fields


@pytest.mark.slow
@pytest.mark.parametrize("env", OWN)
def test_forged_snapshots_do_no_harm(env: str) -> None:
    forged_states.run([env], COUNT)


@pytest.mark.slow
@pytest.mark.parametrize("ids", GROUPS, ids=lambda ids: f"{ids[0]} to {ids[-1]}")
def test_forged_snapshots_of_shared_code_do_no_harm(ids: list[str]) -> None:
    forged_states.run(ids, SHARED_COUNT)
