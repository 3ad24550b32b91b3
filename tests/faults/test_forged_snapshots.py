"""Forged snapshots with checksums that fit: each gives an error or a state that does no harm.

Nothing crashes, writes outside of its memory or loops, whatever the bytes are. Each test runs in a
process of its own, so that a crash is a failure that names the id and the bytes.
"""

from __future__ import annotations

import pytest

from parallel_pool._engine import registry
from tests import forged_states
from tests.sampling import ATARI_GAMES, sampled

IDS = sorted(registry.definitions())
FAMILIES = sorted({registry.find(env).family for env in IDS})
# of families whose steps or whose making take long, those that make check and the sanitizers run
FEW = {
    "ale": ["ALE/Breakout-v5"],
    "atari": ["Pong-v5"],
    "atari_players": ["atari/pong_v3"],
    "box2d": ["BipedalWalker-v3", "LunarLander-v3"],
    "mujoco": ["Ant-v5", "Reacher-v5"],
}
# snapshots of each id in make check and in make test; all games of Atari share the code that reads
# a snapshot, so some of them stand for all
QUICK_COUNT, COUNT, GAME_COUNT = 80, 3000, 300


@pytest.mark.parametrize("family", FAMILIES)
def test_some_forged_snapshots_do_no_harm(family: str) -> None:
    ids = FEW.get(family) or [env for env in IDS if registry.find(env).family == family]
    forged_states.run(ids, QUICK_COUNT)


@pytest.mark.parametrize("env", sampled(IDS, ()))
def test_forged_snapshots_do_no_harm(env: str) -> None:
    variant = registry.find(env).variant
    count = GAME_COUNT if variant and variant not in ATARI_GAMES else COUNT
    forged_states.run([env], count)
