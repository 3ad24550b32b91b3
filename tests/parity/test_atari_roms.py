"""A short comparison of every ROM with ale-py."""

from __future__ import annotations

import pytest

from tests.parity import atari_core, atari_roms
from tests.sampling import ATARI_GAMES, sampled


@pytest.fixture(scope="module")
def library() -> atari_core.Library:
    # not fully optimised, as building would take longer than playing
    return atari_core.Library(atari_core.build(("-O1",)))


@pytest.mark.parametrize("name", sampled(atari_roms.names(), ATARI_GAMES))
def test_console_is_exact(library: atari_core.Library, name: str) -> None:
    assert atari_roms.compare(library, name, 40) == ""


def test_comparison_can_fail(library: atari_core.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    act = atari_core.Console.act
    monkeypatch.setattr(atari_core.Console, "act", lambda self, a, draw: act(self, 3, draw))
    assert atari_roms.compare(library, "enduro", 60) != ""
