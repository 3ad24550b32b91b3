"""For the same memory, rules of Atari games give the reward, lives and end that ALE gives."""

from __future__ import annotations

import pytest

from tests.parity import atari_core, atari_rules
from tests.support.sampling import FEW_ATARI_GAMES, sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")

FRAMES = 150


@pytest.mark.slow
@pytest.mark.parametrize("game", sampled(atari_rules.names(), FEW_ATARI_GAMES))
def test_rule_equals_ale(game: str) -> None:
    atari_rules.compare(game, FRAMES, seed=1)
    atari_rules.compare(game, FRAMES, seed=2, poking=0.1)
    atari_rules.letters(game, seed=1, most=100)


@pytest.mark.slow
def test_letters_in_place_of_a_score() -> None:
    assert atari_rules.letters("blackjack", seed=1) == 91


# bytes changed frame by frame, in combinations that random play hardly ever reaches, and whether
# the game is over after them
@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("game", "pokes", "over"),
    [
        # no lives: over, unless the countdown (32 here, 31 after the frame) counts something else
        ("donkey_kong", [{11: 32, 15: 2, 35: 0}], False),
        ("donkey_kong", [{11: 32, 15: 3, 35: 0}], True),
        # a clock of idle frames restarts, or is set back
        ("hangman", [{113: 255}, {113: 0}], True),
        ("hangman", [{113: 254}, {113: 0}], False),
        ("hangman", [{113: 255}, {113: 1}], False),
        # no player is to move: at the end of a game, but for up to 50 frames also between two moves
        ("othello", [{64: 0}] * 50, False),
        ("othello", [{64: 0}] * 51, True),
    ],
)
def test_rare_memory(game: str, pokes: list[dict[int, int]], over: bool) -> None:
    match = atari_rules.Match(game, seed=1)
    match.reset()
    for _ in range(20):
        match.act(match.oracle.actions[0])
    for changes in pokes:
        match.poke(changes)
        match.act(match.oracle.actions[0])
    assert match.over == over


# games whose rules act in a reset: a reward in the first frame, an end at once, lives before the
# memory holds them, random numbers drawn by ALE
@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "game",
    sampled(
        ["adventure", "beam_rider", "demon_attack", "haunted_house", "qbert", "skiing"],
        {"qbert", "skiing"},
    ),
)
def test_first_frames_after_a_reset(game: str) -> None:
    console = atari_core.Console(atari_core.Library(atari_core.build()), game, seed=5, sticky=0.25)
    oracle = atari_rules.Oracle(game, seed=5, sticky=0.25)
    action = oracle.actions[-1].value
    try:
        for mode in oracle.modes:
            oracle.ale.setMode(mode)
            console.set(mode, oracle.difficulties[0])
            # in the middle of a game, and at its beginning
            for frames in (40, 1, 5):
                console.reset_game()
                oracle.ale.reset_game()
                answers = [(0, console.lives(), console.game_over())]
                expected = [oracle.answer(0)]
                for _ in range(frames):
                    answers.append(
                        (console.act(action, False), console.lives(), console.game_over())
                    )
                    expected.append(oracle.answer(oracle.ale.act(action)))
                assert answers == expected
                assert bytes(console.ram()) == oracle.memory()
    finally:
        console.close()
