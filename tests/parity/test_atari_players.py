"""Atari games of several players equal PettingZoo's, and refuse what PettingZoo does not have."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)

from parallel_pool import PoolParallelEnv, UnprovenError
from parallel_pool._engine.pool import Pool
from parallel_pool._families import atari_proofs
from parallel_pool._prove_atari import players
from parallel_pool.compat.pettingzoo import env, parallel_env
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/atari")

MODES = list(AutoresetMode)
GAMES = list(players.ids())
# joysticks and paddles, two and four players, NTSC and PAL
FEW = {"warlords_v3", "maze_craze_v3"}


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def reference(name: str, **options: Any) -> Any:
    """Returns PettingZoo's own game in turns."""
    module = importlib.import_module(f"pettingzoo.atari.{name}")
    return module.env(auto_rom_install_path=str(players.rom_folder()), **options)


def test_all_games_are_proven() -> None:
    proofs = atari_proofs.read(atari_proofs.PLAYERS)
    assert sorted(proofs) == sorted(GAMES) and len(GAMES) == 24
    for name, proof in proofs.items():
        assert proof.difference is None, name
        assert proof.modes, name


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each game with its defaults, and with one of two sets of options."""
    others = [
        {"obs_type": "ram", "full_action_space": True},
        {"obs_type": "grayscale_image", "max_cycles": 9},
    ]
    for number, name in enumerate(GAMES):
        yield name, {}
        yield name, others[number % 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, marks=() if name in FEW and not options else pytest.mark.slow)
        for name, options in cases()
    ],
    ids=str,
)
def test_results_are_those_of_a_plain_loop(name: str, options: dict[str, Any]) -> None:
    mode = MODES[len(name) % len(MODES)]
    loop = Loop([partial(players.reference, name, **options)] * 2, mode)
    rng = np.random.default_rng(1)
    # PettingZoo goes on after a truncation: its loop here ends there, as ours does
    steps = 8 if "max_cycles" in options else 40
    with PoolParallelEnv(players.ids()[name], 2, autoreset_mode=mode, **options) as envs:
        assert envs.possible_agents == loop.agents
        assert [envs.observation_space(agent) for agent in loop.agents] == [*loop.spaces.values()]
        assert_same(envs.reset(seed=3), loop.reset(3), "reset")
        for step in range(steps):
            actions = sample(envs, rng)
            assert_same(envs.step(actions), loop.step(actions), f"step {step}")


def test_the_frame_limit_truncates() -> None:
    with PoolParallelEnv("atari/pong_v3", 1, max_cycles=6, frame_skip=4) as envs:
        envs.reset(seed=0)
        actions = {agent: [0] for agent in envs.possible_agents}
        assert not envs.step(actions)[3]["first_0"].any()
        assert envs.step(actions)[3]["first_0"].all() and not envs.agents


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(GAMES, {"warlords_v3"}))
def test_a_game_in_turns_equals_the_reference(name: str) -> None:
    ours, theirs = env(players.ids()[name]), reference(name)
    assert ours.metadata == theirs.metadata
    ours.reset(seed=5)
    theirs.reset(seed=5)
    rng = np.random.default_rng(2)
    for turn in range(60):
        assert ours.agent_selection == theirs.agent_selection and ours.agents == theirs.agents
        assert_same(ours.last(), theirs.last(), f"turn {turn}")
        assert ours.rewards == theirs.rewards
        assert ours._cumulative_rewards == theirs._cumulative_rewards
        action = int(rng.integers(ours.action_space(ours.agent_selection).n))
        ours.step(action)
        theirs.step(action)


@pytest.mark.parametrize("name", sampled(GAMES, {"pong_v3"}))
def test_pettingzoos_own_tests_pass(name: str) -> None:
    task_id = players.ids()[name]
    short = {"max_cycles": 12, "obs_type": "ram"}
    api_test(env(task_id), num_cycles=20)
    parallel_api_test(parallel_env(task_id), num_cycles=20)
    seed_test(partial(env, task_id, **short), num_cycles=12)
    parallel_seed_test(partial(parallel_env, task_id, **short), num_cycles=12)
    max_cycles_test(
        SimpleNamespace(env=partial(env, task_id), parallel_env=partial(parallel_env, task_id))
    )
    render_test(partial(env, task_id))


# -------------------------------------------------------------------------------- preprocessing --


class Preprocessed:
    """What the options of preprocessing mean, around PettingZoo's game."""

    def __init__(self, name: str, *, sticky: float, skip: int, size: int, stack: int) -> None:
        self.game = players.reference(name, obs_type="grayscale_image")
        self.sticky, self.skip, self.size, self.stack = sticky, skip, size, stack

    def reset(self, seed: int) -> Any:
        self.rng, _ = seeding.np_random(seed)
        seen, _ = self.game.reset(seed=seed)
        self.held: dict[str, int] = {}
        self.last = self.before = next(iter(seen.values()))[..., 0]
        self.frames = [np.zeros((self.size, self.size), np.uint8)] * self.stack
        return self.observed()

    def step(self, actions: dict[str, int]) -> Any:
        sums = dict.fromkeys(self.game.possible_agents, 0.0)
        for _ in range(self.skip):
            played = dict(actions)
            for agent in self.game.agents:
                if self.held and self.rng.random() < self.sticky:
                    played[agent] = self.held[agent]
            self.held = played
            self.before = self.last
            seen, rewards, *_ = self.game.step(played)
            self.last = next(iter(seen.values()))[..., 0]
            for agent, reward in rewards.items():
                sums[agent] += float(reward)
        return self.observed(), sums

    def observed(self) -> dict[str, Any]:
        picture = cv2.resize(
            np.maximum(self.last, self.before), (self.size, self.size), interpolation=cv2.INTER_AREA
        )
        self.frames = [*self.frames[1:], picture]
        agents = self.game.possible_agents
        marks = np.eye(len(agents), dtype=np.uint8) * 255
        return {
            agent: np.stack(
                [*self.frames, *(np.full_like(picture, mark) for mark in marks[i])], axis=-1
            )
            for i, agent in enumerate(agents)
        }


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["boxing_v2", "quadrapong_v4"], {"quadrapong_v4"}))
def test_preprocessing(name: str) -> None:
    options: dict[str, Any] = {
        "obs_type": "grayscale_image",
        "repeat_action_probability": 0.3,
        "frame_skip": 3,
        "max_pool": True,
        "screen_height": 84,
        "screen_width": 84,
        "stack_size": 3,
        "agent_indicator": True,
    }
    expected = Preprocessed(name, sticky=0.3, skip=3, size=84, stack=3)
    rng = np.random.default_rng(7)
    with PoolParallelEnv(players.ids()[name], 1, **options) as envs:
        first = expected.reset(11)
        seen, _ = envs.reset(seed=11)
        for step in range(30):
            for agent in envs.possible_agents:
                np.testing.assert_array_equal(seen[agent][0], first[agent], f"step {step}")
            actions = {agent: int(rng.integers(6)) for agent in envs.possible_agents}
            seen, rewards, *_ = envs.step({agent: [a] for agent, a in actions.items()})
            first, sums = expected.step(actions)
            assert {agent: float(values[0]) for agent, values in rewards.items()} == sums


# ------------------------------------------------------------------------------------- wrong use --


@pytest.mark.parametrize(
    ("game", "options", "message"),
    [
        ("pong_v3", {"num_players": 3}, "num_players=3: choose 2 or 4"),
        ("pong_v3", {"num_players": 5}, "num_players=5: choose 2 to 4"),
        ("pong_v3", {"game_version": "quadrapong"}, "with 2 players: choose classic, two_paddles"),
        ("combat_plane_v2", {"game_version": "tank"}, "choose bi-plane, jet"),
        ("maze_craze_v3", {"visibilty_level": 4}, "visibilty_level=4: choose 0 to 3"),
        ("boxing_v2", {"obs_type": "rgb"}, "choose rgb_image, grayscale_image or ram"),
        ("boxing_v2", {"obs_type": "ram", "stack_size": 4}, "these are for images"),
        ("boxing_v2", {"max_cycles": 0}, "max_cycles=0: choose 1 to"),
    ],
)
def test_wrong_options_are_named(game: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(f"atari/{game}", options=options)


def test_other_roms_are_refused() -> None:
    with pytest.raises(UnprovenError, match="is not the one that was proven"):
        Pool("atari/pong_v3", options={"rom": bytes(2048)})


@pytest.fixture
def empty_table(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "proofs.json"
    path.write_text(json.dumps({}))
    monkeypatch.setattr(atari_proofs, "PLAYERS", path)
    yield


def test_games_that_are_not_proven_are_refused(empty_table: None) -> None:
    with pytest.raises(UnprovenError, match=r"pong_v3 was never compared.*functions that make"):
        Pool("atari/pong_v3")
    with atari_proofs.proving():
        Pool("atari/pong_v3").close()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
