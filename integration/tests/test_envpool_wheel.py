"""Compares Atari and the EnvPool-style API with EnvPool's wheel, if it is installed."""

from __future__ import annotations

from typing import Any

import envpool
import numpy as np
import pytest

import parallel_pool
from integration import newest_envpool
from integration.compare import envpool_api, envpool_names
from integration.compare.envpool_atari import DM_SETS, SETS, EnvPool, ParallelPool, compare
from tests.apis.envpool.test_envpool_programs import Statistics

STEPS = 400

# Sets of options that change how frames are made, when episodes end, and what is drawn at random.
# `python -m integration.compare.envpool_atari --subject parallel_pool` compares all sets.
CHOSEN = ["default", "life", "rgb", "sticky", "dm"]


def play(game: str, options: str, seed: int, our_seed: int) -> str:
    """Plays both; returns the first difference, or an empty string."""
    api = "dm" if options in DM_SETS else "gymnasium"
    rival = EnvPool(f"{game}-v5", seed, api, SETS[options])
    subject = ParallelPool(f"{game}-v5", our_seed, api, SETS[options])
    run = compare(rival, subject, STEPS, actions_seed=seed)
    assert run.difference or run.steps == STEPS
    return run.difference


@pytest.mark.parametrize("options", CHOSEN)
@pytest.mark.parametrize("game", ["Pong", "Breakout"])
def test_atari_equals_the_wheel(game: str, options: str) -> None:
    assert not play(game, options, seed=42, our_seed=42)


def test_another_seed_differs() -> None:
    """A control: shows that the comparison can fail."""
    assert play("Breakout", "default", seed=42, our_seed=43)


@pytest.mark.filterwarnings("ignore")
def test_api_equals_the_wheel(capsys: pytest.CaptureFixture[str]) -> None:
    assert envpool_api.main() == 0, capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_every_name_of_the_wheel_is_here_or_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert envpool_names.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("id", "options"),
    [("Catch-v0", {}), ("Catch-v0", {"height": 4, "width": 9}), ("NChain-v0", {})],
)
def test_games_that_gymnasium_lacks_equal_the_wheel(id: str, options: dict[str, int]) -> None:
    settings = {"num_envs": 40, "seed": 9, **options}
    theirs = envpool.make_gymnasium(id, **settings)
    ours = parallel_pool.make_gymnasium(id, **settings)
    rng = np.random.default_rng(2)
    found, expected = (ours.reset()[0],), (theirs.reset()[0],)
    for step in range(1200):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"step {step}")
        action = rng.integers(0, theirs.action_space.n, 40).astype(np.int32)
        found, expected = ours.step(action)[:4], theirs.step(action)[:4]
    ours.close()


def test_a_program_with_a_wrapper_of_its_own_sees_the_same() -> None:
    def play(package: Any) -> list[Any]:
        options = {"num_envs": 3, "episodic_life": True, "reward_clip": True, "seed": 1}
        envs = Statistics(package.make("Breakout-v5", env_type="gymnasium", **options))
        random = np.random.default_rng(0)
        seen = [envs.reset()[0]]
        for _ in range(STEPS):
            action = random.integers(envs.action_space.n, size=3).astype(np.int32)
            observations, rewards, *flags, infos = envs.step(action)
            seen += [observations, rewards, *flags, infos["lives"], infos["r"]]
        return seen

    theirs, ours = play(envpool), play(parallel_pool)
    assert all(np.array_equal(a, b) for a, b in zip(theirs, ours, strict=True))


@pytest.mark.skipif(not newest_envpool.FOLDER.exists(), reason="found no Python for it")
@pytest.mark.parametrize(
    "words",
    [
        "compare.envpool_names",
        "compare.envpool_api",
        "compare.envpool_atari --subject parallel_pool --games Pong --steps 200",
    ],
)
def test_the_newest_wheel_in_a_newer_python_is_the_same(words: str) -> None:
    done = newest_envpool.run(*words.split(), capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
