"""The table of games equals ale-py's data, and games start in every mode as in ale-py."""

from __future__ import annotations

import re

import pytest

from tests.parity import atari_core, atari_facts, atari_roms, atari_rules
from tests.support.sampling import FEW_ATARI_GAMES, sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")


@pytest.fixture(scope="module")
def library() -> atari_core.Library:
    return atari_core.Library(atari_core.build())


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", sampled(atari_roms.names(), FEW_ATARI_GAMES))
def test_game_starts_as_in_ale(library: atari_core.Library, name: str) -> None:
    assert not list(atari_facts.differences(library, name, 8, count=2))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double_dunk", "video_cube"])
def test_actions_that_choose_a_mode_may_stick(library: atari_core.Library, name: str) -> None:
    assert not list(atari_facts.differences(library, name, 8, count=4, sticky=0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["adventure", "breakout", "double_dunk", "klax", "lost_luggage", "video_cube"]
)
def test_row_equals_what_ale_reports(name: str) -> None:
    assert atari_facts.row(name) in atari_facts.TABLE.read_text()


def test_table_has_every_game_once() -> None:
    rows = re.findall(r"^GAME\((\w+),", atari_facts.TABLE.read_text(), re.MULTILINE)
    assert rows == atari_roms.names() == atari_rules.names()


@pytest.mark.slow
def test_check_can_fail(library: atari_core.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = atari_core.Console.set
    monkeypatch.setattr(atari_core.Console, "set", lambda self, mode, _: choose(self, 0, 0))
    found = list(atari_facts.differences(library, "breakout", 4))
    assert all("reset: RAM at [50" in line for line in found), found
    assert len(found) == 11  # all of the twelve modes but the first
