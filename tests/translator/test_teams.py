"""Classes of PettingZoo's parallel API, translated, return what they return in Python."""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool import PoolParallelEnv
from parallel_pool._contract import twins
from parallel_pool._translator import translation

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test

from parallel_pool.compat.pettingzoo import env, parallel_env
from tests.translator.translator_sources import OF_TRANSLATED

pytestmark = pytest.mark.proven(*OF_TRANSLATED, "tests/translator/teams")

TEAMS = Path(__file__).parent / "teams"
CLASSES = [
    ("arena", "Arena"),
    ("auction", "SealedAuction"),
    ("commons", "Commons"),
    ("crossing", "Crossing"),
    ("drift", "Drift"),
    ("knockout", "Knockout"),
    ("lights", "Lights"),
    ("market", "Market"),
    ("pickers", "Pickers"),
    ("potato", "HotPotato"),
    ("prisoner", "PrisonerAndGuard"),
    ("relay", "Relay"),
    ("rps", "MaskedRPS"),
    ("swarm", "Swarm"),
    ("tag", "ContinuousTag"),
    ("tanks", "Tanks"),
    ("team_grid", "TeamGrid"),
    ("torus", "Pursuit"),
    ("votes", "Votes"),
]


def team(module: str, name: str) -> Any:
    sys.path.insert(0, str(TEAMS))
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        sys.path.remove(str(TEAMS))


def compiled(module: str, name: str) -> tuple[Any, str]:
    cls = team(module, name)
    (task_id,) = parallel_pool.compile(cls)
    return cls, task_id


@pytest.mark.slow
@pytest.mark.parametrize("module, name", CLASSES)
def test_a_class_gives_the_same_bits(module: str, name: str) -> None:
    cls, task_id = compiled(module, name)
    for seed in (3, 10):
        twins.compare(cls, task_id, steps=200, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, name, options",
    [
        ("commons", "Commons", {"capacity": 20.0, "growth": 0.5}),
        ("torus", "Pursuit", {"size": 6, "max_steps": 9}),
        ("rps", "MaskedRPS", {"rounds": 3}),
    ],
)
def test_numbers_are_options(module: str, name: str, options: dict[str, Any]) -> None:
    cls, task_id = compiled(module, name)
    twins.compare(cls, task_id, steps=100, options=options, native_options=options)


@pytest.mark.slow
@pytest.mark.parametrize("module, name", CLASSES)
def test_a_class_keeps_the_contract_of_native_environments(module: str, name: str) -> None:
    parallel_pool.testing.check(compiled(module, name)[1])


@pytest.mark.slow
def test_other_agents_are_another_translation() -> None:
    cls, task_id = compiled("torus", "Pursuit")
    with pytest.raises(ValueError, match=r"self.possible_agents than n_pursuers=5 gives"):
        PoolParallelEnv(task_id, 2, n_pursuers=5)
    (other,) = parallel_pool.compile(cls, "Five-v0", n_pursuers=5)
    twins.compare(cls, other, steps=100, options={"n_pursuers": 5}, native_options={})


# ------------------------------------------------------------------------------------- APIs --


@pytest.mark.slow
def test_a_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "my_game.py"
    path.write_text((TEAMS / "rps.py").read_text().replace("MaskedRPS", "MyGame"))
    assert parallel_pool.load_source(path) == ["MyGame-v0"]
    with PoolParallelEnv("MyGame-v0", 3) as envs:
        assert envs.possible_agents == ["player_0", "player_1"]


def test_one_game_passes_pettingzoos_tests() -> None:
    for module, name in (("prisoner", "PrisonerAndGuard"), ("tanks", "Tanks"), ("arena", "Arena")):
        _, task_id = compiled(module, name)
        parallel_api_test(parallel_env(task_id), num_cycles=50)
    api_test(env(compiled("prisoner", "PrisonerAndGuard")[1]), num_cycles=50)


def test_a_wrong_call_of_one_game_changes_nothing() -> None:
    _, task_id = compiled("prisoner", "PrisonerAndGuard")
    game = parallel_env(task_id)
    game.reset(seed=1)
    wrong = (
        ({"prisoner": 0}, KeyError, "'guard'"),
        ({"prisoner": 0, "guard": 0, "cook": 1}, ValueError, "'cook'"),
        ({"prisoner": 0, "guard": [1, 2]}, ValueError, "'guard'"),
        ({"prisoner": 0, "guard": 4}, ValueError, "4"),
        ([0, 0], TypeError, "list"),
    )
    for actions, error, words in wrong:
        with pytest.raises(error, match=words):
            game.step(actions)
    fresh = parallel_env(task_id)
    fresh.reset(seed=1)
    actions = {"prisoner": 1, "guard": 2}
    assert str(game.step(actions)) == str(fresh.step(actions))
    copied = pickle.loads(pickle.dumps(game))
    assert str(copied.reset(seed=5)) == str(game.reset(seed=5))


def test_a_class_with_one_agent_is_no_game() -> None:
    from tests.translator.probes import Control

    (task_id,) = parallel_pool.compile(Control)
    with pytest.raises(ValueError, match=r"gymnasium\.make"):
        parallel_env(task_id)


def test_agents_are_rows_of_a_vector_environment() -> None:
    _, task_id = compiled("commons", "Commons")
    envs = PoolParallelEnv(task_id, 4).as_vector_env()
    observations, infos = envs.reset(seed=1)
    assert observations.shape == (20, 3) and infos["energy"].shape == (20,)
    envs.action_space.seed(1)
    for _ in range(30):
        *_, infos = envs.step(envs.action_space.sample())
    assert not infos["live"].all()
    envs.close()


def test_a_time_limit_truncates_who_lives() -> None:
    _, task_id = compiled("commons", "Commons")
    with PoolParallelEnv(task_id, 8, max_episode_steps=4) as envs:
        envs.reset(seed=0)
        for _ in range(4):
            before = envs.live
            actions = {agent: np.full(8, 1) for agent in envs.possible_agents}
            _, _, terminations, truncations, _ = envs.step(actions)
        for agent in envs.possible_agents:
            assert (truncations[agent] == (before[agent] & ~terminations[agent])).all()
        assert not any(live.any() for live in envs.live.values())


def test_pictures_and_attributes_are_those_of_the_class() -> None:
    cls, task_id = compiled("team_grid", "TeamGrid")
    theirs = cls()
    theirs.reset(seed=4)
    game = parallel_env(task_id, render_mode="rgb_array")
    game.reset(seed=4)
    with PoolParallelEnv(task_id, 2, render_mode="rgb_array") as envs:
        envs.reset(seed=4)
        for step in range(20):
            actions = {agent: (step + i) % 5 for i, agent in enumerate(theirs.agents)}
            theirs.step(actions)
            game.step(actions)
            envs.step({agent: np.full(2, action) for agent, action in actions.items()})
            assert (game.render() == theirs.render()).all()
        assert (envs.render()[0] == theirs.render()).all()
        assert envs.get_attr("where")[0] == theirs.where
        assert envs.get_attr("agents")[0] == theirs.agents
        whole = envs.get_attr("unwrapped")[0]
        state = theirs.np_random.bit_generator.state
        assert whole.np_random.bit_generator.state == state
        assert whole.scores == theirs.scores
        with pytest.raises(AttributeError, match="np_random"):
            envs.call("_free_cell")
    game.close()


def test_a_trace_says_that_the_class_could_be_compiled() -> None:
    cls = team("rps", "MaskedRPS")
    with PoolParallelEnv([cls] * 2, num_workers=0) as envs:
        with envs.pool.trace() as trace:
            envs.reset(seed=0)
        found = trace.report().translation
    assert found is not None and "call parallel_pool.compile(MaskedRPS)" in found.cure


# ---------------------------------------------------------------------------------- refusals --

GAME = """\
import random
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from pettingzoo import ParallelEnv

class Game(ParallelEnv):
    metadata = {"name": "game"}
    def __init__(self):
        self.possible_agents = ["a", "b"]
    def observation_space(self, agent):
        return Box(0, 9, (2,), np.float64)
    def action_space(self, agent):
        return Discrete(3)
    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.n = 0
        return {a: np.zeros(2) for a in self.agents}, {a: {} for a in self.agents}
    def step(self, actions):
        self.n += 1
        seen = {a: np.array([self.n, int(actions[a])]) / 10 for a in self.agents}
        rewards = {a: 0.5 for a in self.agents}
        ends = {a: self.n > 8 for a in self.agents}
        cuts = {a: False for a in self.agents}
        infos = {a: {"n": self.n} for a in self.agents}
        if self.n > 8:
            self.agents = []
        return seen, rewards, ends, cuts, infos
"""
# what is changed, what is written instead, the message and its line
REFUSED = {
    "random": ("self.n += 1", "self.n += random.randint(1, 2)", "random.randint is not seeded", 21),
    "numpy": ("self.n += 1", "self.n += np.random.randint(2)", "randint is not seeded", 21),
    "seed": ("default_rng(seed)", "default_rng(7)", "use the seed|with another seed", 16),
    "depends": ("self.n = 0", "self.n = 0 if seed is None else 1", "got a seed", 18),
    "names": ('["a", "b"]', "[0, 1]", "the agent 0 is no text", 8),
    "none": ('["a", "b"]', "[]", "possible_agents must be a list", 8),
    "twice": ('["a", "b"]', '["a", "a"]', "has an agent twice", 8),
    "space": (
        "return Discrete(3)",
        'return Discrete(3) if agent == "a" else Box(0, 1)',
        "differ",
        8,
    ),
    "keys": (
        "return Box(0, 9, (2,), np.float64)",
        "return Dict({agent: Discrete(2)})",
        "b sees b, and a a",
        8,
    ),
    "taken": (
        "return Box(0, 9, (2,), np.float64)",
        'return Dict({"live": Discrete(2)})',
        "an observation can't be named 'live'",
        8,
    ),
    "tuple": (
        "return Box(0, 9, (2,), np.float64)",
        "return Tuple((Discrete(2), Discrete(2)))",
        "write a MultiDiscrete",
        8,
    ),
    "dict": (
        "return Box(0, 9, (2,), np.float64)",
        'return Dict({"x": Box(0, 9, (2,), np.float64)})',
        "an observation is .*its space a Dict",
        19,
    ),
    "array": ("seen = {a: np.array", 'seen = {a: {"x": np.array', "and its space Box", 0),
    "four": ("cuts, infos\n", "infos\n", "step.. must return observations, rewards", 29),
    "list": ("rewards, ends", "list(rewards), ends", "the rewards are .*dict by agent", 29),
    "text": ('{"n": self.n}', '{"n": "many"}', "infos of agents are numbers and arrays: write", 29),
    "read": (
        'infos = {a: {"n": self.n} for a in self.agents}',
        'infos = {a: {} for a in self.agents}; infos["a"]["n"] = 1; self.n += infos["a"]["n"]',
        "a dict whose keys depend on the way is not read here",
        26,
    ),
    "mark": ('{"n": self.n}', '{"live": self.n}', "can't be named 'live'", 29),
}


def source(tmp_path: Path, old: str, new: str, name: str) -> Path:
    assert GAME.count(old) == 1
    if name == "array":
        old, new = "/ 10 for", "/ 10} for"
        text = GAME.replace("seen = {a: np.array", 'seen = {a: {"x": np.array').replace(old, new)
    else:
        text = GAME.replace(old, new)
    path = tmp_path / f"game_{name}.py"
    path.write_text(text)
    return path


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_translated_is_said_with_file_and_line(name: str, tmp_path: Path) -> None:
    old, new, message, line = REFUSED[name]
    path = source(tmp_path, old, new, name)
    with pytest.raises(parallel_pool.SourceError, match=message) as found:
        parallel_pool.load_source(path)
    text = str(found.value)
    assert text.startswith(f"{path}:")
    assert not line or int(text.split(":")[1]) == line, text


@pytest.mark.slow
def test_an_unknown_agent_is_an_error_of_the_environment(tmp_path: Path) -> None:
    path = source(tmp_path, "if self.n > 8:\n", "if self.n > 8000:\n", "stranger")
    text = path.read_text().replace(
        "            self.agents = []", '            self.agents = ["c"]'
    )
    path.write_text(text.replace("8000", "3"))
    with pytest.raises(
        parallel_pool.SourceError, match=r"fails in C only.*none of possible_agents"
    ):
        parallel_pool.load_source(path)


def test_two_generators_with_one_seed_are_refused(tmp_path: Path) -> None:
    lines = "self.rng = np.random.default_rng(seed)"
    two = f"{lines}\n            self.other = np.random.default_rng(seed)"
    path = source(tmp_path, lines, two, "two")
    draws = "self.n += int(self.rng.integers(2) + self.other.integers(2))"
    path.write_text(path.read_text().replace("self.n += 1", draws))
    with pytest.raises(parallel_pool.SourceError, match="two generators have the seed"):
        parallel_pool.load_source(path)


def test_a_class_in_turns_is_refused() -> None:
    from pettingzoo import AECEnv

    with pytest.raises(TypeError, match=r"pettingzoo\.ParallelEnv's"):
        parallel_pool.compile(AECEnv)


# ---------------------------------------------------------------------------------- mistakes --

MISTAKES = {
    "r->reward[": ("r->reward[0 * ", "the reward of a"),
    "|= PP_GIVEN_OBS": ("|= 0", "the observations are those of"),
    "|= PP_GIVEN_TERMINATION": ("|= 0", "the terminations are those of"),
    "? PP_GIVEN_TRUNCATED : 0": (
        "? PP_GIVEN_TRUNCATED : PP_GIVEN_TRUNCATED",
        "the truncation of a",
    ),
    "<< PP_GIVEN_PLACE": ("* 0", "agents is"),
    "INT64_C(1) << (PP_GIVEN_INFOS + 0)": ("0", "infos of a are"),
    "== 10": ("== 11", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("right", [each for each in MISTAKES if MISTAKES[each][1]])
def test_a_mistake_of_the_translator_is_found(monkeypatch: Any, tmp_path: Path, right: str) -> None:
    wrong, where = MISTAKES[right]
    translate = translation.translate

    def spoilt(*args: Any) -> Any:
        made = translate(*args)
        assert right in made.text
        made.text = made.text.replace(right, wrong)
        return made

    monkeypatch.setattr(translation, "translate", spoilt)
    path = source(tmp_path, "0.5 for a", '0.5 if a == "a" else 1.5 for a', "spoilt")
    with pytest.raises(parallel_pool.SourceError, match=where) as found:
        parallel_pool.load_source(path)
    assert "please report it" in str(found.value)
