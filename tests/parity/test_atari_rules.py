"""Rules of Atari games: what they say of a console's memory is what ALE says."""

from __future__ import annotations

import pytest

from tests.parity import atari_rules

FRAMES = 300


@pytest.mark.parametrize("game", atari_rules.names())
def test_rule_says_what_ale_says(game: str) -> None:
    atari_rules.compare(game, FRAMES, seed=1)
    atari_rules.compare(game, FRAMES, seed=2, poking=0.1)
