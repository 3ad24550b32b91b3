"""The superinstructions of the Atari interpreter are those that their generator writes."""

from __future__ import annotations

import sys

import pytest

from tests.parity import atari_superinstructions

pytestmark = pytest.mark.proven("csrc/envs/atari")


def test_file_has_the_format_of_the_generator() -> None:
    written = atari_superinstructions.LIST.read_text()
    sequences = list(atari_superinstructions.read(written))
    assert atari_superinstructions.text(sequences) == written
    assert len(set(sequences)) == atari_superinstructions.COUNT


def test_choice_takes_what_saves_most() -> None:
    """LDA, STA runs twice as often as LDA, CLC; the branch ends a stretch."""
    known = atari_superinstructions.Profile()
    load, store, clear = "LDA, RRA", "STA, WTR", "CLC, IMP"
    known.add({0: (load, 20), 2: (store, 20), 4: ("BNE, BNR", 20), 9: (load, 10), 11: (clear, 10)})
    assert known.stretches == {
        (load, store, "BNE, BNR"): [0.25, 0, 0],
        (load, clear): [0.125, 0],
    }
    chosen = atari_superinstructions.choose(known, 2)
    assert chosen == [(load, store, "BNE, BNR"), (load, clear)]
    assert known.jumps(set(chosen)) == pytest.approx(0.375)


@pytest.mark.slow
def test_list_is_what_the_generator_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["atari_superinstructions", "--check"])
    assert atari_superinstructions.main() == 0
