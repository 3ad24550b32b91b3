"""Spaces and infos of translated classes, in every API: dicts in dicts, tuples, starts, texts."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import parallel_pool
from parallel_pool._prover.comparison import is_same
from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.leases import LeasePool
from tests.support.same import assert_same

NUM_ENVS = 3
STEPS = 60


class Rover(gymnasium.Env):
    """Observes dicts in a dict, and acts in tuples; says in words what happens."""

    def __init__(self):
        arm = spaces.Dict({"joint": spaces.Discrete(3, start=-1), "load": spaces.Box(0, 9, (2, 1))})
        self.observation_space = spaces.Dict(
            {
                "wheels": spaces.MultiDiscrete([3, 4], start=[1, -2]),
                "body": spaces.Dict({"place": spaces.Box(-9, 9, (2,), np.float64), "arm": arm}),
            }
        )
        self.action_space = spaces.Tuple([spaces.Discrete(3, start=-1), spaces.Discrete(4)])
        self.mood = "calm"

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=2)
        self.steps = 0
        return self._seen(), {"reason": None, "mood": self.mood}

    def _seen(self):
        arm = {
            "joint": np.int64(self.steps % 3 - 1),
            "load": np.full((2, 1), self.steps % 10, np.float32),
        }
        return {
            "body": {"arm": arm, "place": self.place.copy()},
            "wheels": np.array([self.steps % 3 + 1, self.steps % 4 - 2]),
        }

    def step(self, action):
        assert self.action_space.contains(action)
        turn, push = action
        self.place += np.array([turn, push - 1.5]) * 0.5
        self.steps += 1
        self.mood = ("wild", "calm")[int(turn == 0)]
        out = bool(np.abs(self.place).max() > 4)
        late = self.steps >= 20
        reason = "left the plain" if out else "no time, “weiß”?" if late else None
        info = {"reason": reason, "mood": self.mood, "speed": push * 0.5, "ground": "sand"}
        if turn > 0:
            info["speed"] = -1.0
        return self._seen(), float(push), out, late, info


class Gate(gymnasium.Env):
    """Acts with -1, 0 and 1; the info is a property of the state."""

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = spaces.Discrete(3, start=-1)
        self.place = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(-1, 2))
        return self._seen(), self._info()

    def _seen(self):
        return np.array([self.place], np.float32)

    def _info(self):
        return {"side": "left" if self.place < 0 else "right", "place": self.place}

    def step(self, action):
        self.place += int(action)
        return self._seen(), 1.0, abs(self.place) > 3, False, self._info()


class Boat(gymnasium.Env):
    """Its infos have keys that some results lack, from several places."""

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 0.0, 0
        info = {"wind": self.np_random.normal()}
        if info_is_long(self.np_random.random()):
            info["note"] = "fresh"
        return np.array([self.place], np.float32), info

    def _info(self, wind):
        info = {
            "wind": wind,
            "steps": self.steps,
            "log": {"depth": {"least": -wind, "name": "sea"}},
        }
        if wind > 1:
            info["gust"] = np.array([wind, 2 * wind])
        if self.steps % 3 == 0:
            info.update({"note": "third" if wind > 0 else None, "count": self.steps // 3})
        return info

    def step(self, action):
        wind = float(self.np_random.normal())
        self.place += (action - 1) * 0.5 + wind * 0.1
        self.steps += 1
        seen = np.array([self.place], np.float32)
        if abs(self.place) > 2:
            return seen, -1.0, True, False, {"sunk": bool(self.place > 0), "log": {"last": 1}}
        if self.steps == 15:
            info = {}
            if action:
                info.update(late="gone")
            return seen, 0.0, False, True, info
        return seen, 0.0, False, False, self._info(wind)


def info_is_long(value):
    return value > 0.5


class Dial(gymnasium.Env):
    """Acts with integers from several starts, and shows one that starts at 5."""

    def __init__(self):
        self.observation_space = spaces.Discrete(7, start=5)
        self.action_space = spaces.MultiDiscrete([2, 5], start=[-3, 10])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(7))
        return self.at + 5, {}

    def step(self, action):
        self.at = (self.at + int(action[0] * action[1])) % 7
        return self.at + 5, float(action[1]), self.at == 0, False, {}


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(AutoresetMode), ids=str)
@pytest.mark.parametrize("cls", [Rover, Gate, Boat, Dial])
def test_vector_environments_return_what_sync_returns(cls: Any, mode: AutoresetMode) -> None:
    (task_id,) = parallel_pool.compile(cls)
    theirs = SyncVectorEnv([cls] * NUM_ENVS, autoreset_mode=mode)
    ours = parallel_pool.make_vec(task_id, NUM_ENVS, autoreset_mode=mode)
    with closing(theirs), closing(ours):
        for name in ("observation_space", "action_space"):
            assert getattr(ours, name) == getattr(theirs, name)
            assert getattr(ours, f"single_{name}") == getattr(theirs, f"single_{name}")
        assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        theirs.action_space.seed(2)
        for step in range(STEPS):
            action = theirs.action_space.sample()
            expected, found = theirs.step(action), ours.step(action)
            # dicts have the keys of the class, in the order of the space and of the first info
            assert_same(found, expected, f"step {step}", ordered=False)
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                again = theirs.reset(options={"reset_mask": ended})
                assert_same(
                    ours.reset(options={"reset_mask": ended}), again, "again", ordered=False
                )


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls", [Rover, Gate, Boat, Dial])
def test_single_environments_return_what_the_class_returns(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    theirs = cls()
    with closing(gymnasium.make(f"parallel_pool/{task_id}", disable_env_checker=True)) as ours:
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        theirs.action_space.seed(1)
        expected, found = theirs.reset(seed=3), ours.reset(seed=3)
        for _ in range(30):
            assert is_same(expected[0], found[0])
            assert found[-1].keys() == expected[-1].keys()
            assert is_same(expected[-1], found[-1])
            assert ours.observation_space.contains(found[0])
            if len(expected) == 5 and (expected[2] or expected[3]):
                expected, found = theirs.reset(seed=3), ours.reset(seed=3)
                continue
            action = theirs.action_space.sample()
            expected, found = theirs.step(action), ours.step(action)


@pytest.mark.quick(1)
@pytest.mark.parametrize("cls", [Gate, Boat])
def test_stable_baselines_gets_texts(cls: Any) -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    (task_id,) = parallel_pool.compile(cls)
    theirs, ours = vec_env.DummyVecEnv([cls] * NUM_ENVS), PoolVecEnv(task_id, NUM_ENVS)
    with closing(theirs), closing(ours):
        for each in (theirs, ours):
            each.seed(4)
        assert_same(ours.reset(), theirs.reset(), "reset")
        assert is_same(theirs.reset_infos, ours.reset_infos)
        theirs.action_space.seed(2)
        for step in range(STEPS):
            action = np.array([theirs.action_space.sample() for _ in range(NUM_ENVS)])
            found, expected = ours.step(action), theirs.step(action)
            assert_same(found[:3], expected[:3], f"step {step}")
            assert is_same(expected[3], found[3])


def test_stable_baselines_refuses_dicts_in_dicts() -> None:
    (task_id,) = parallel_pool.compile(Rover)
    with pytest.raises(ValueError, match=r"a Dict in its Dict of observations \(body.arm.joint, "):
        PoolVecEnv(task_id, 2)


@pytest.mark.slow
def test_compiled_programs_have_masks_of_infos() -> None:
    pytest.importorskip("jax")
    from parallel_pool.compat.jax import xla

    (task_id,) = parallel_pool.compile(Boat)
    with closing(SyncVectorEnv([Boat] * NUM_ENVS)) as theirs:
        theirs.reset(seed=1)
        with closing(parallel_pool.make_vec(task_id, NUM_ENVS)) as envs:
            functions = xla(envs)
            handle, _ = functions.reset(functions.handle, [1, 2, 3])
            for _ in range(20):
                action = np.ones(NUM_ENVS, np.int32)
                handle, (*_, found) = functions.step(handle, action)
                *_, expected = theirs.step(action)
                assert "given" not in found
                none = np.zeros(NUM_ENVS, bool)
                for name in ("_gust", "_note", "_wind", "_sunk", "_late"):
                    assert np.array_equal(found[name], expected.get(name, none)), name


def test_envpools_api_has_codes_of_texts() -> None:
    (task_id,) = parallel_pool.compile(Rover)
    envs = parallel_pool.make_gymnasium(task_id, num_envs=2, seed=1)
    with closing(envs):
        observation, info = envs.reset()
        assert observation["body"]["arm"]["load"].shape == (2, 2, 1)
        assert envs.observation_space["body"]["arm"]["joint"] == spaces.Discrete(3, start=-1)
        assert info["mood"].dtype == np.int32
        assert envs.pool.texts("mood", info["mood"]) == ("calm", "calm")
        assert envs.pool.texts("reason", info["reason"]) == (None, None)
        *_, info = envs.step(np.array([[-1, 3], [0, 0]]))
        assert envs.pool.texts("mood", info["mood"]) == ("wild", "calm")


def test_dm_env_has_bounds_with_starts() -> None:
    (task_id,) = parallel_pool.compile(Dial)
    envs = parallel_pool.make_dm(task_id, num_envs=2, seed=1)
    with closing(envs):
        obs, action = envs.observation_spec().obs, envs.action_spec()
        assert (obs.minimum, obs.maximum) == (5, 11)
        assert (action.minimum.tolist(), action.maximum.tolist()) == ([-3, 10], [-2, 14])


def test_a_lease_takes_tuples() -> None:
    (task_id,) = parallel_pool.compile(Rover)

    async def play() -> Any:
        async with LeasePool(task_id, 1) as pool, pool.lease() as env:
            _, info = await env.reset(seed=3)
            return info, (await env.step((-1, 3)))[4]

    first, second = asyncio.run(play())
    assert first == {"reason": None, "mood": "calm"}
    assert second == {"reason": None, "mood": "wild", "speed": 1.5, "ground": "sand"}


@pytest.mark.slow
def test_compiled_programs_have_dicts_and_codes() -> None:
    jax = pytest.importorskip("jax")
    from parallel_pool.compat.jax import xla

    (task_id,) = parallel_pool.compile(Rover)
    with closing(parallel_pool.make_vec(task_id, 2)) as envs:
        functions = xla(envs)
        handle, (expected, _) = functions.reset(functions.handle)
        _, (found, *_, info) = jax.jit(functions.step)(handle, np.array([[0, 1], [1, 2]], np.int32))
        assert set(found["body"]["arm"]) == set(expected["body"]["arm"]) == {"joint", "load"}
        assert info["mood"].tolist() == expected_codes(envs, ["calm", "wild"])


def expected_codes(envs: Any, texts: list[str]) -> list[int]:
    known = envs.pool.texts("mood", np.arange(9, dtype=np.int32))
    return [known.index(text) for text in texts]


@pytest.mark.parametrize(
    "cls, action, choice", [(Gate, [-2, 0], "-1 to 1"), (Dial, [[-3, 10], [-3, 15]], "10 to 14")]
)
def test_actions_outside_are_refused(cls: Any, action: Any, choice: str) -> None:
    (task_id,) = parallel_pool.compile(cls)
    with closing(parallel_pool.make_vec(task_id, 2)) as envs:
        envs.reset(seed=0)
        for given in (np.array(action), np.array(action, np.int8), action):
            with pytest.raises(ValueError, match=f"outside its space: choose {choice}"):
                envs.step(given)


@pytest.mark.slow
def test_infos_that_results_lack_are_not_mixed() -> None:
    ids = [parallel_pool.compile(cls)[0] for cls in (Boat, Gate)]
    definition = parallel_pool.mixed("Sea-v0", ids)
    with pytest.raises(ValueError, match=r"results of Boat-v0 may lack infos \(.*note.*mixed"):
        parallel_pool.Pool(definition, 2)


def test_tuples_of_other_shapes_are_refused() -> None:
    (task_id,) = parallel_pool.compile(Rover)
    with closing(parallel_pool.make_vec(task_id, 2)) as envs:
        envs.reset(seed=0)
        with pytest.raises(ValueError, match=r"a tuple of arrays of shapes \[\(2,\)\]: give 2 of"):
            envs.step((np.zeros(2, int),))
        # rows, as the pool takes them
        found = envs.step(np.array([[0, 1], [1, 2]]))
        envs.reset(seed=0)
        assert_same(envs.step((np.array([0, 1]), np.array([1, 2]))), found, "a step")


SOURCE = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Refused(gymnasium.Env):
    def __init__(self):
        self.observation_space = OBSERVATION
        self.action_space = ACTION

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2, np.float32), {'start': 1}

    def step(self, action):
        self.count += 1
        late = self.count > 2
        return np.zeros(2, np.float32), 0.0, False, False, INFO
"""
BOX = "spaces.Box(0, 1, (2,))"
REFUSED = {
    ("spaces.Dict({'a.b': spaces.Discrete(2)})", "spaces.Discrete(2)", "{}"): (
        "the key 'a.b' of an observation space is not translated: choose a text without dots"
    ),
    ("spaces.Dict({'obs': spaces.Discrete(2)})", "spaces.Discrete(2)", "{}"): (
        "an observation space Dict whose only key is 'obs' is not translated"
    ),
    (f"spaces.Tuple([{BOX}])", "spaces.Discrete(2)", "{}"): "write a Dict of its parts",
    (BOX, f"spaces.Tuple([spaces.Discrete(2), {BOX}])", "{}"): (
        "is not translated: write a Box, a Discrete, a MultiDiscrete, a MultiBinary, or a Tuple of"
    ),
    (BOX, "spaces.Dict({'a': spaces.Discrete(2)})", "{}"): "or a Tuple of Discretes",
    (BOX, "spaces.Discrete(2)", "{'start': 'yes'}"): (
        "the info 'start' is a text or None at one place, and a number at another"
    ),
    (BOX, "spaces.Discrete(2)", "{'a': f'after {self.count / 2}'}"): (
        "texts that are made while the program runs are not translated"
    ),
    (BOX, "spaces.Discrete(2)", "{'a': (self.count, 2)}"): (
        "which Gymnasium keeps as it is: write np.array() around it"
    ),
    (BOX, "spaces.Discrete(2)", "{'a': ['x', 'y']}"): (
        "only numbers, texts and arrays are translated"
    ),
}


@pytest.mark.parametrize("number, case", list(enumerate(REFUSED)))
def test_what_is_not_translated_is_said(number: int, case: Any, tmp_path: Path) -> None:
    text = SOURCE
    for word, value in zip(("OBSERVATION", "ACTION", "INFO"), case, strict=True):
        text = text.replace(word, value)
    path = tmp_path / f"refused_{number}.py"
    path.write_text(text)
    with pytest.raises(parallel_pool.SourceError) as found:
        parallel_pool.load_source(path)
    assert REFUSED[case] in str(found.value)
    assert str(found.value).startswith(f"{path}:")
