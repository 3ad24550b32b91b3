"""Sampling: which cases of a long parametrization make check runs."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.sampling import choose

pytest_plugins = ["pytester"]

GAMES, MODES = ("pong", "breakout", "seaquest"), ("next_step", "same_step")
CONFTEST = """
import pytest
from tests.support import sampling

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    sampling.mark_slow(items)
"""
CASES = [{("game", game), ("mode", mode)} for game, mode in product(GAMES, MODES)]


@pytest.mark.parametrize("name", ["test_a", "test_b", "test_c", "test_d"])
def test_a_few_cases_have_each_value_of_each_argument(name: str) -> None:
    chosen = choose(CASES, 3, name)
    assert len(chosen) == 3
    assert set().union(*(CASES[number] for number in chosen)) == set().union(*CASES)


def test_tests_with_the_same_cases_run_different_ones() -> None:
    chosen = [choose(CASES, 1, f"test_{number}") for number in range(40)]
    assert set().union(*chosen) == set(range(len(CASES)))
    assert chosen == [choose(CASES, 1, f"test_{number}") for number in range(40)]


def test_fewer_cases_than_asked_for_are_all_quick() -> None:
    assert choose(CASES, 9, "test_a") == set(range(6))
    assert choose([], 9, "test_a") == set()


@pytest.mark.slow
def test_fields_of_dataclasses_are_values(pytester: pytest.Pytester) -> None:
    """The three cases of one id do not keep out the others."""
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  quick")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import dataclasses, pytest

        @dataclasses.dataclass(frozen=True)
        class Case:
            id: str
            options: dict = dataclasses.field(default_factory=dict)

        @pytest.mark.quick(3)
        @pytest.mark.parametrize("case", [Case(id) for id in "aaaabaaac"], ids=lambda c: c.id)
        def test_cases(case):
            open(f"{case.id}.seen", "w").close()
        """
    )
    pytester.inline_run("-m", "not slow").assertoutcome(passed=3)
    assert sorted(path.name for path in pytester.path.glob("*.seen")) == [
        "a.seen",
        "b.seen",
        "c.seen",
    ]


@pytest.mark.slow
def test_the_mark_makes_other_cases_slow(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  sanitizers\n  quick")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.quick(2)
        @pytest.mark.parametrize("mode", ["a", "b"])
        @pytest.mark.parametrize("game", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
        def test_cases(game, mode): pass

        @pytest.mark.quick(1, sanitizers=True)
        @pytest.mark.parametrize("number", range(5))
        def test_memory(number): pass

        @pytest.mark.quick(1, sanitizers=3)
        @pytest.mark.parametrize("letter", "abcdefgh")
        def test_threads(letter): pass

        @pytest.mark.quick(1)
        def test_alone(): pass

        def test_without_mark(): pass
        """
    )
    pytester.inline_run("-m", "not slow and not sanitizers").assertoutcome(passed=6)
    # the quick case of eight may be one of those three
    (passed, skipped, failed) = pytester.inline_run("-m", "not slow").listoutcomes()
    assert len(passed) in (12, 13) and not skipped and not failed
    pytester.inline_run().assertoutcome(passed=23)


@pytest.mark.slow
def test_sanitizers_run_all_cases_of_some_folders(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  sanitizers\n  quick")
    pytester.makeconftest(CONFTEST)
    for folder in ("core", "tools"):
        path = pytester.mkdir(folder) / f"test_{folder}.py"
        path.write_text(
            "import pytest\n"
            "@pytest.mark.quick(1)\n"
            "@pytest.mark.parametrize('number', range(3))\n"
            "def test_numbers(number): pass\n"
        )
    pytester.inline_run("-m", "not slow and not sanitizers").assertoutcome(passed=2)
    pytester.inline_run("-m", "not slow").assertoutcome(passed=4)
