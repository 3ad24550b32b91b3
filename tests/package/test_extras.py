"""Each extra alone, installed from the wheel into an empty environment."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support import clean_envs

pytestmark = pytest.mark.package

ROOT = Path(__file__).resolve().parents[2]

# The program that runs without extras.
BARE = """
import gymnasium, numpy as np, parallel_pool
from parallel_pool.compat.gymnasium import PoolVectorEnv

for backend in ("native", "process"):
    envs = gymnasium.make_vec(
        "CartPole-v1", 4, vectorization_mode="parallel_pool", vector_kwargs={"backend": backend}
    )
    envs.reset(seed=0)
    assert envs.step(envs.action_space.sample())[0].shape == (4, 4)
    envs.close()
for make in (parallel_pool.make_gym, parallel_pool.make_gymnasium):
    envs = make("CartPole-v1", num_envs=4)
    envs.reset()
    envs.step(np.zeros(4, int))
    envs.close()
envs = PoolVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
envs.reset(seed=0)
envs.close()
"""

# The first program of each extra. Before the first call that needs the extra, a program imports no
# package of the extra: without the extra, that call must be what fails.
PROGRAMS = {
    "atari": """
import numpy as np, parallel_pool
envs = parallel_pool.make("Pong-v5", env_type="gymnasium", num_envs=2)
envs.reset()
assert envs.step(np.zeros(2, int))[0].shape == (2, 4, 84, 84)
for backend in ("native", "process"):
    if backend == "process":
        import ale_py
    envs = parallel_pool.make_vec("ALE/Pong-v5", 2, backend=backend)
    envs.reset(seed=0)
    assert envs.step(np.zeros(2, int))[0].shape == (2, 210, 160, 3)
    envs.close()
""",
    "mujoco": """
import parallel_pool
for id in ("Ant-v5", "HalfCheetah-v4"):
    for backend in ("native", "process"):
        envs = parallel_pool.make_vec(id, 4, backend=backend)
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
        envs.close()
envs = parallel_pool.make("Ant-v5", env_type="gymnasium", num_envs=4)
envs.reset()
""",
    "mujoco-batch": """
import numpy as np
from parallel_pool.mujoco_batch import BatchVectorEnv, Task
class Ball(Task):
    model = '''<mujoco><worldbody><body><joint name="x" type="slide"/><geom size=".1"/></body>
        </worldbody><actuator><motor joint="x"/></actuator></mujoco>'''
    def observe(self, batch):
        return batch.qpos.copy()
    def reward(self, batch):
        return batch.qvel[:, 0]
envs = BatchVectorEnv(Ball, 8)
envs.reset(seed=0)
assert envs.step(np.zeros((8, 1), np.float32))[0].shape == (8, 1)
""",
    "box2d": """
import parallel_pool
for id in ("LunarLander-v3", "BipedalWalker-v3"):
    envs = parallel_pool.make_vec(id, 2, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    assert len(envs.render()) == 2
    envs.close()
""",
    "sb3": """
from parallel_pool.compat.sb3 import PoolVecEnv
from stable_baselines3 import PPO
model = PPO("MlpPolicy", PoolVecEnv("CartPole-v1", 8), n_steps=16, batch_size=64, device="cpu")
model.learn(256)
""",
    "pettingzoo": """
import numpy as np
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from pettingzoo import ParallelEnv
from gymnasium.spaces import Discrete

class Env(ParallelEnv):
    metadata = {"name": "toy"}
    possible_agents = ["a", "b"]
    def __init__(self):
        self.agents = []
    def observation_space(self, agent):
        return Discrete(3)
    def action_space(self, agent):
        return Discrete(2)
    def reset(self, seed=None, options=None):
        self.agents = ["a", "b"]
        return {agent: 1 for agent in self.agents}, {agent: {} for agent in self.agents}
    def step(self, actions):
        no = {agent: False for agent in self.agents}
        return actions, {agent: 1.0 for agent in self.agents}, no, no, {a: {} for a in self.agents}

with PoolParallelEnv([Env] * 4, num_workers=2) as envs:
    envs.reset(seed=0)
    envs.step({agent: np.ones(4, int) for agent in "ab"})
""",
    "dm": """
import numpy as np, parallel_pool
envs = parallel_pool.make_dm("CartPole-v1", num_envs=4)
envs.reset()
assert envs.step(np.zeros(4, int)).reward.shape == (4,)
""",
    "render": """
import parallel_pool
envs = parallel_pool.make_vec("CartPole-v1", 2, render_mode="rgb_array")
envs.reset(seed=0)
assert len(envs.render()) == 2
envs = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=2, render_mode="rgb_array")
envs.reset()
envs.render()
envs = parallel_pool.make_vec("FrozenLake-v1", 2, render_mode="rgb_array")
envs.reset(seed=0)
assert len(envs.render()) == 2
envs.close()
""",
    "cluster": """
import os
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_ADDRESS"] = "local"
import parallel_pool
envs = parallel_pool.make_vec("CartPole-v1", 4, backend="cluster", num_workers=1)
envs.reset(seed=0)
assert envs.step([0] * 4)[0].shape == (4, 4)
envs.close()
""",
    "openenv": """
import os, signal, threading
from parallel_pool.compat.openenv import OpenEnvApp, serve
from parallel_pool.leases import LeasePool

def play(url):
    from parallel_pool.compat.openenv import OpenEnvEnv
    with OpenEnvEnv(url, token=app.token) as env:
        env.reset(seed=0)
        assert env.step(1)[0].shape == (4,)
    played.append(url)
    os.kill(os.getpid(), signal.SIGINT)

played = []
with LeasePool("CartPole-v1", 2) as pool:
    app = OpenEnvApp(pool)
    try:
        serve(app, port=0, on_start=lambda url: threading.Thread(target=play, args=[url]).start())
    except KeyboardInterrupt:
        assert played
""",
    "jax": """
import numpy as np, parallel_pool
env = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=4)
env.reset()
handle, recv, send, step = env.xla()
handle, results = step(handle, np.zeros(4, np.int32))
assert results[0].shape == (4, 4)
""",
    "minari": """
import parallel_pool
from parallel_pool.compat.minari import VectorDataCollector
envs = parallel_pool.make_vec("CartPole-v1", 2)
envs = VectorDataCollector(envs, "cartpole/random-v0")
envs.reset(seed=1)
for _ in range(50):
    envs.step(envs.action_space.sample())
assert envs.finish().total_steps > 80
""",
    "demo": """
from parallel_pool.__main__ import main
raise SystemExit(main(["demo", "--seconds", "1", "--out", "demo.png"]))
""",
}


MakePython = Callable[[str], Path]


@pytest.fixture(scope="module")
def python_with(
    packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> MakePython:
    """Makes a virtual environment with an extra ("" for none), once; returns its Python."""

    @cache
    def make(extra: str) -> Path:
        folder = tmp_path_factory.mktemp("extra") / (extra or "none")
        extras = [extra] if extra else []
        return clean_envs.clean(folder, packages[1], clean_envs.metadata_of(packages[1]), extras)

    return make


def test_every_extra_has_a_program(packages: tuple[Path, Path]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"])
    assert extras == {*PROGRAMS, "all"}
    # "all" is all of them, and nothing else
    assert set(clean_envs.closure(clean_envs.metadata_of(packages[1]), ["all"])) == set(
        clean_envs.closure(clean_envs.metadata_of(packages[1]), PROGRAMS)
    )


def test_users_get_none_of_the_developers_tools(packages: tuple[Path, Path]) -> None:
    brought = set(clean_envs.closure(clean_envs.metadata_of(packages[1]), ["all"]))
    assert {"ale-py", "mujoco", "stable-baselines3"} <= brought
    tools = {"build", "clang-format", "envpool", "hypothesis", "mypy", "pytest", "ruff"}
    assert not brought & tools


def test_torch_is_no_direct_requirement(packages: tuple[Path, Path]) -> None:
    """A pin would replace the user's CUDA build."""
    requirements = clean_envs.metadata_of(packages[1]).get_all("Requires-Dist")
    assert not any("torch" in line for line in requirements)


def test_package_runs_without_extras(python_with: MakePython, tmp_path: Path) -> None:
    done = clean_envs.run(python_with(""), "-c", BARE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", [*PROGRAMS])
def test_first_program_of_an_extra_alone(
    extra: str, python_with: MakePython, tmp_path: Path
) -> None:
    done = clean_envs.run(python_with(extra), "-c", PROGRAMS[extra], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# without its extra, pettingzoo's program fails at its own import of pettingzoo
@pytest.mark.parametrize("extra", [extra for extra in PROGRAMS if extra != "pettingzoo"])
def test_first_program_says_which_extra_is_missing(
    extra: str, python_with: MakePython, tmp_path: Path
) -> None:
    done = clean_envs.run(python_with(""), "-c", PROGRAMS[extra], cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    # the demo is a command: it prints a sentence
    assert ("MissingDependencyError" in last) == (extra != "demo"), done.stderr
    assert f"pip install 'parallel_pool[{extra}]'" in last, done.stderr


def test_undeclared_packages_are_missing(python_with: MakePython, tmp_path: Path) -> None:
    """A control of `clean_envs`: a package can be imported only if it is declared.

    The first program of mujoco failed like this before packaging was declared.
    """
    for extra, module, is_there in [
        ("mujoco", "packaging", True),
        ("mujoco", "pytest", False),
        ("", "packaging", False),
        ("", "gymnasium", True),
    ]:
        done = clean_envs.run(python_with(extra), "-c", f"import {module}", cwd=tmp_path)
        assert (done.returncode == 0) is is_there, done.stderr
        assert is_there or f"ModuleNotFoundError: No module named '{module}'" in done.stderr


def test_metadata_has_version_and_links(
    packages: tuple[Path, Path], python_with: MakePython, tmp_path: Path
) -> None:
    metadata = clean_envs.metadata_of(packages[1])
    done = clean_envs.run(
        python_with(""), "-c", "import parallel_pool as p; print(p.__version__)", cwd=tmp_path
    )
    assert done.stdout.strip() == metadata["Version"], done.stderr
    assert {url.partition(",")[0] for url in metadata.get_all("Project-URL")} >= {
        "Changelog",
        "Documentation",
        "Source",
    }
