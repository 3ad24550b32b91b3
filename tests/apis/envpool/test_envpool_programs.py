"""Programs written for EnvPool run after a change of their import line."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecMonitor

import parallel_pool as envpool
from parallel_pool._apis.envpool import dummy_vec_env
from tests.support.sampling import thinned

NUM_ENVS = 4
needs_procgen = pytest.mark.skipif(
    importlib.util.find_spec("procgen") is None, reason="procgen-mirror is not installed here"
)


class Statistics(gymnasium.Wrapper):
    """The wrapper of CleanRL's and LeanRL's programs, for a step that returns five values."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.num_envs = getattr(env, "num_envs", 1)
        self.returns = np.zeros(self.num_envs, np.float32)

    def reset(self, **kwargs: Any) -> Any:
        self.returns[:] = 0
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        observations, rewards, terminated, truncated, infos = super().step(action)
        self.returns += infos["reward"]
        infos["r"] = self.returns.copy()
        self.returns *= 1 - infos["terminated"]
        return observations, rewards, terminated, truncated, infos


@pytest.mark.parametrize("env_type", ["gym", "gymnasium"])
def test_a_program_of_cleanrls_shape(env_type: str) -> None:
    options = {"num_envs": NUM_ENVS, "episodic_life": True, "reward_clip": True, "seed": 1}
    envs = envpool.make("Breakout-v5", env_type=env_type, **options)
    envs.num_envs = NUM_ENVS
    envs.single_action_space = envs.action_space
    envs.single_observation_space = envs.observation_space
    envs.is_vector_env = True
    limit = envs.spec.config.max_episode_steps
    with Statistics(envs) as wrapped:
        assert isinstance(wrapped.action_space, gymnasium.spaces.Discrete)
        assert wrapped.get_wrapper_attr("single_action_space") == wrapped.action_space
        assert wrapped.unwrapped is envs
        first = wrapped.reset()
        observations = first if env_type == "gym" else first[0]
        assert observations.shape == (NUM_ENVS, *wrapped.observation_space.shape)
        random = np.random.default_rng(0)
        returns = np.zeros(NUM_ENVS)
        for _ in range(150):
            action = random.integers(wrapped.action_space.n, size=NUM_ENVS)
            observations, rewards, *_, infos = wrapped.step(action)
            assert rewards.shape == infos["lives"].shape == infos["r"].shape == (NUM_ENVS,)
            returns = np.maximum(returns, infos["r"])
            assert (infos["elapsed_step"] < limit).all()
        assert returns.max() > 0
    assert envs.closed


# the first Procgen environment of a process reads all pictures, which takes it two seconds
LEVELS = [
    ("MiniGrid-DoorKey-5x5-v0", {"max_episode_steps": 25}),
    ("BabyAI-GoToLocal-v0", {"room_size": 6, "max_episode_steps": 25}),
    pytest.param(
        "CoinrunEasy-v0",
        {"num_levels": 200, "max_episode_steps": 60},
        marks=[needs_procgen, pytest.mark.slow],
    ),
    pytest.param(
        "LeaperExtreme-v0", {"use_backgrounds": False}, marks=[needs_procgen, pytest.mark.slow]
    ),
]


@pytest.mark.parametrize(("task_id", "options"), thinned(LEVELS, 4))
def test_a_program_that_plays_levels(task_id: str, options: dict[str, Any]) -> None:
    """Each end is followed by the row of a reset, without a reward."""
    envs = envpool.make(task_id, env_type="gymnasium", num_envs=NUM_ENVS, seed=1, **options)
    random = np.random.default_rng(0)
    with envs:
        envs.reset()
        ends, last = 0, np.zeros(NUM_ENVS, bool)
        for _ in range(400):
            action = random.integers(envs.action_space.n, size=NUM_ENVS)
            _, rewards, terminated, truncated, infos = envs.step(action)
            assert (rewards[last] == 0).all() and ((infos["elapsed_step"] == 0) == last).all()
            last = terminated | truncated
            ends += last.sum()
        assert ends >= NUM_ENVS


@pytest.mark.quick(1)
@pytest.mark.parametrize(("task_id", "options"), LEVELS)
def test_a_program_that_receives_the_first_to_finish(task_id: str, options: dict[str, Any]) -> None:
    """The loop of EnvPool's own guide: no step of an environment is lost or doubled."""
    pool = envpool.make_gymnasium(task_id, num_envs=NUM_ENVS, batch_size=2, seed=1, **options)
    steps = np.full(NUM_ENVS, -1)
    with pool:
        pool.async_reset()
        for left in reversed(range(42)):
            *_, infos = pool.recv()
            ids = infos["env_id"]
            following = np.where(infos["elapsed_step"] == 0, 0, steps[ids] + 1)
            assert np.array_equal(infos["elapsed_step"], following)
            steps[ids] = infos["elapsed_step"]
            # the last two receives bring all, also one whose thread was held up until then
            if left >= NUM_ENVS // 2:
                pool.send(np.zeros(2, np.int32), ids)
        assert (steps >= 0).all()


@pytest.mark.filterwarnings("error")
def test_a_wrapper_shows_the_spec() -> None:
    with Statistics(envpool.make_gymnasium("Pong-v5", max_episode_steps=99)) as wrapped:
        assert wrapped.spec.config.max_episode_steps == 99
        assert wrapped.spec.additional_wrappers[0].name == "Statistics"
        assert wrapped.unwrapped.spec.additional_wrappers == ()


# a stand-in for OpenAI's gym before 0.26, which need not be installed
OLD_GYM = """
import sys, types
import numpy as np

gym = types.ModuleType("gym")
gym.__version__ = "0.23.1"

class Box:
    def __init__(self, low, high, shape, dtype):
        self.low, self.high, self.shape, self.dtype = low, high, shape, dtype

class Discrete:
    def __init__(self, n):
        self.n = n

class Wrapper:
    def __init__(self, env):
        self.env = env
    def __getattr__(self, name):
        return getattr(self.env, name)
    def reset(self, **kwargs):
        return self.env.reset(**kwargs)
    def step(self, action):
        return self.env.step(action)

gym.spaces = types.SimpleNamespace(Box=Box, Discrete=Discrete)
gym.Wrapper = Wrapper
sys.modules["gym"] = gym
"""


@pytest.mark.sanitizers
def test_a_program_for_old_gym() -> None:
    """CleanRL's published programs unpack four values from a step and expect gym's spaces."""
    script = f"""{OLD_GYM}
import gym
import parallel_pool as envpool

class Statistics(gym.Wrapper):
    def step(self, action):
        observations, rewards, dones, infos = super().step(action)
        infos["l"] = infos["elapsed_step"] * (1 - dones)
        return observations, rewards, dones, infos

envs = envpool.make("CartPole-v1", env_type="gym", num_envs=3, seed=1, max_episode_steps=15)
envs.num_envs = 3
envs.single_action_space = envs.action_space
envs.single_observation_space = envs.observation_space
envs = Statistics(envs)
assert isinstance(envs.single_action_space, gym.spaces.Discrete) and envs.action_space.n == 2
assert isinstance(envs.single_observation_space, gym.spaces.Box)
assert envs.single_observation_space.shape == (4,)
assert envs.reset().shape == (3, 4)

same = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=3, seed=1, max_episode_steps=15)
same.reset()
kinds = set()
for step in range(60):
    action = np.array([0, step % 2, 1])
    observations, rewards, dones, infos = envs.step(action)
    expected, _, terminated, truncated, _ = same.step(action)
    assert (observations == expected).all() and (dones == (terminated | truncated)).all()
    assert (infos["TimeLimit.truncated"] == truncated).all()
    kinds |= set(zip(terminated.tolist(), truncated.tolist()))
assert len(kinds) >= 3
old, new = (each.rollout(20).collect(lambda seen: action) for each in (envs.env, same))
assert (old.observations == new.observations).all() and (old.rewards == new.rewards).all()
assert (old.truncations == new.truncations).all() and (old.terminations.any())
assert list(old.infos[0]) == list(new.infos[0])
assert len(same.step(action)) == 5

envs = envpool.make_gym("CartPole-v1", num_envs=4, batch_size=2)
envs.async_reset()
observations, rewards, dones, infos = envs.recv()
assert envs.recv(reset=True).shape == (2, 4)
try:
    pool = envpool.make_gym("test/Fault-v0", fail_on="step")
    pool.reset()
    pool.step(np.ones(1, int))
except envpool.EnvError as error:
    assert len(error.batch) == 4
else:
    raise SystemExit("the environment did not fail")

gym.__version__ = "0.26.2"
assert len(envpool.make_gym("CartPole-v1").step(np.zeros(1, int))) == 5
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------- Stable-Baselines3 --

REFUSED = r"batches, here of 4 environments, .* one environment: use .*\('CartPole-v1', 4\)"


@pytest.fixture(scope="module")
def model() -> Any:
    return stable_baselines3.PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8)


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [lambda pool: pool, Statistics], ids=["bare", "wrapped"])
@pytest.mark.parametrize("env_type", ["gym", "gymnasium"])
def test_stable_baselines_refuses_a_pool(env_type: str, wrap: Any, model: Any) -> None:
    pool = envpool.make("CartPole-v1", env_type, num_envs=NUM_ENVS, seed=0)
    env = wrap(pool)
    for use in (
        lambda: stable_baselines3.PPO("MlpPolicy", env),
        lambda: stable_baselines3.DQN("MlpPolicy", env),
        lambda: model.set_env(env),
        lambda: evaluate_policy(model, env),
        lambda: DummyVecEnv([lambda: env]),
        lambda: make_vec_env(lambda: env, 1),
    ):
        with pytest.raises(TypeError, match=REFUSED):
            use()
    # a single environment is accepted as before
    DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]).reset()
    # no refused call has used the pool: its first step is still a reset
    assert pool.step(np.zeros(NUM_ENVS, int))[4]["elapsed_step"].tolist() == [0] * NUM_ENVS
    pool.close()


@pytest.mark.slow
def test_the_refusal_does_not_depend_on_the_order_of_imports() -> None:
    script = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
import parallel_pool, stable_baselines3
pool = parallel_pool.make_gym("CartPole-v1", num_envs=4)
import stable_baselines3
try:
    stable_baselines3.PPO("MlpPolicy", pool)
except TypeError as error:
    print(error)
"""
    late = script.replace("import parallel_pool, stable_baselines3", "import parallel_pool")
    for program, first in [(script, ["stable_baselines3"]), (script, []), (late, [])]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, *first], capture_output=True, text=True
        )
        assert "would treat it as one environment" in done.stdout, done.stderr


def test_installing_the_refusal_again_changes_nothing() -> None:
    before = DummyVecEnv.__init__
    dummy_vec_env.install(object)
    assert DummyVecEnv.__init__ is before


class Adapter(VecEnvWrapper):
    """The adapter of EnvPool's own example between a pool and Stable-Baselines3."""

    def __init__(self, venv: Any) -> None:
        super().__init__(venv=venv, observation_space=venv.observation_space)

    def step_async(self, actions: Any) -> None:
        self.actions = actions

    def reset(self) -> Any:
        return self.venv.reset()[0]

    def step_wait(self) -> Any:
        obs, rewards, terminated, truncated, _ = self.venv.step(self.actions)
        dones = terminated | truncated
        infos = []
        for i in range(self.num_envs):
            infos.append({"terminal_observation": obs[i]} if dones[i] else {})
            if dones[i]:
                obs[i] = self.venv.reset(np.array([i]))[0][0]
        return obs, rewards, dones, infos


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_adapter_for_stable_baselines_is_accepted() -> None:
    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=NUM_ENVS, seed=0)
    model = stable_baselines3.PPO(
        "MlpPolicy", VecMonitor(Adapter(pool)), n_steps=16, batch_size=64, n_epochs=1, device="cpu"
    )
    model.learn(128)
    assert model.num_timesteps == 128 and len(model.ep_info_buffer) > 0
    pool.close()


@pytest.mark.sanitizers
def test_envpools_modules_are_found_under_the_alias() -> None:
    script = """
import sys
import parallel_pool as envpool
assert envpool.registration.make_gym is envpool.make_gym
assert envpool.registration.list_all_envs() == envpool.list_all_envs()
from parallel_pool.python.protocol import ArraySpec, EnvPool, EnvSpec
assert envpool.python.protocol.EnvPool is EnvPool is envpool.EnvPool
assert envpool.python.envpool.EnvPoolMixin is EnvPool
assert not {"gymnasium", "dm_env"} & sys.modules.keys()
assert isinstance(envpool.make_spec("CartPole-v1"), envpool.EnvSpec)
assert envpool.EnvSpec is EnvSpec
assert isinstance(envpool.make_spec("CartPole-v1").state_array_spec["obs"], ArraySpec)
from parallel_pool.registration import make_dm
assert isinstance(envpool.make_gym("CartPole-v1"), envpool.GymnasiumEnvPool)
assert isinstance(make_dm("CartPole-v1"), envpool.DMEnvPool)
assert issubclass(envpool.DMEnvPool, EnvPool)
try:
    envpool.python.protocol.Nothing
except AttributeError as error:
    assert "no attribute 'Nothing'" in str(error)
else:
    raise SystemExit("found")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
