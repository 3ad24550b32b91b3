"""A short comparison of some ROMs with ale-py, by the console alone.

test_atari_proofs.py compares every game, through a pool.
"""

from __future__ import annotations

import pytest

from tests.parity import atari_core, atari_roms
from tests.support.sampling import ATARI_GAMES, FEW_ATARI_GAMES, sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")


@pytest.fixture(scope="module")
def library() -> atari_core.Library:
    return atari_core.Library(atari_core.build())


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", sampled(sorted(ATARI_GAMES), FEW_ATARI_GAMES))
def test_console_is_exact(library: atari_core.Library, name: str) -> None:
    assert atari_roms.compare(library, name, 40) == ""


@pytest.mark.slow
def test_comparison_can_fail(library: atari_core.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    act = atari_core.Console.act
    monkeypatch.setattr(atari_core.Console, "act", lambda self, a, draw: act(self, 3, draw))
    assert atari_roms.compare(library, "enduro", 60) != ""
