"""Code and diffs of docs/training-libraries.md and rllib.md run, and see our pools' results.

Each program runs in a process of its own, with the packages that make installs into a folder beside
the others. What a library has stored is compared with a second pool that takes the same actions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.tests.library_page import RLLIB, blocks, diffs, patched

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path(sys.prefix) / "training-libraries"


def run(folder: Path, *command: str) -> str:
    """Runs Python with the libraries in a folder of the test's own; returns its output."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(LIBRARIES)]),
        # one thread for each test: pytest's workers keep the other cores busy
        "OMP_NUM_THREADS": "1",
        # a program of a few steps is compiled for longer than it runs
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


# ------------------------------------------------------------------------------------- TorchRL --

# TorchRL imports procgen where it is installed, and procgen needs gym3 and an old gym for that.
WITHOUT_PROCGEN = """
import sys

sys.modules["procgen"] = None
"""

# The rollout of the page's first block: environments that have ended are reset in the same step.
RESET_BY_TORCHRL = """
hand = parallel_pool.make_vec("CartPole-v1", 8, autoreset_mode=AutoresetMode.DISABLED)
hand.reset(seed=0)
observations, _ = hand.reset()
for t in range(100):
    row = rollout[:, t]
    assert (row["observation"].numpy() == observations).all()
    observations, *others, _ = hand.step(row["action"].numpy())
    assert (row["next", "observation"].numpy() == observations).all()
    for name, value in zip(("reward", "terminated", "truncated"), others, strict=True):
        assert (row["next", name][:, 0].numpy() == value).all(), name
    ended = others[1] | others[2]
    if ended.any():
        observations, _ = hand.reset(options={"reset_mask": ended})
print(int(rollout["next", "done"].sum()))
"""

RESET_BY_THE_POOL = """
from torchrl.collectors import Collector

def compare(rollout):
    hand = parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, seed=0)
    observations, _ = hand.reset()
    for t in range(rollout.shape[1]):
        row = rollout[:, t]
        assert (row["observation"].numpy() == observations).all()
        observations, *others, _ = hand.step(row["action"].numpy())
        assert (row["next", "observation"].numpy() == observations).all()
        for name, value in zip(("reward", "terminated", "truncated"), others, strict=True):
            assert row["next", name].shape == (8,)
            assert (row["next", name].numpy() == value).all(), name

compare(rollout)
compare(same)
env.set_seed(0)
collector = Collector(env, None, frames_per_batch=320, total_frames=320)
(batch,) = collector
compare(batch)
print(int(rollout["next", "done"].sum()))
"""


@pytest.mark.parametrize(
    ("block", "check"), [(0, RESET_BY_TORCHRL), (1, RESET_BY_THE_POOL)], ids=["vector", "envpool"]
)
def test_torchrl_collects_our_results(block: int, check: str, tmp_path: Path) -> None:
    out = run(tmp_path, "-c", WITHOUT_PROCGEN + blocks("TorchRL")[block] + check)
    assert int(out.splitlines()[-1]) > 8


# ------------------------------------------------------------------------------------ Tianshou --

# Numba and LLVM are 190 MB; without them the functions that they compile run as Python.
WITHOUT_NUMBA = """
import sys, types

sys.modules["numba"] = types.ModuleType("numba")
sys.modules["numba"].njit = lambda function: function
"""

POLICY = """
import gymnasium
import numpy as np
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch

class UprightPolicy(Policy):
    def forward(self, batch, state=None, **arguments):
        return Batch(act=(np.asarray(batch.obs)[:, 2] > 0).astype(np.int64), state=None)

policy = UprightPolicy(action_space=gymnasium.spaces.Discrete(2))
"""

STORED_BY_TIANSHOU = """
hand = parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, seed=0)
observations, _ = hand.reset()
parts = [part[:] for part in buffer.buffers]
assert stats.n_collected_steps == sum(len(part) for part in parts) == 800
for t in range(100):
    rows = [part[t] for part in parts]
    assert (np.stack([row.obs for row in rows]) == observations).all()
    observations, *others, _ = hand.step(np.stack([row.act for row in rows]))
    assert (np.stack([row.obs_next for row in rows]) == observations).all()
    for name, value in zip(("rew", "terminated", "truncated"), others, strict=True):
        assert (np.stack([row[name] for row in rows]) == value).all(), name
    ended = np.flatnonzero(others[1] | others[2])
    if len(ended):
        observations[ended], _ = hand.reset(ended)
print(stats.n_collected_episodes)
"""


def test_tianshou_collects_our_results(tmp_path: Path) -> None:
    program = WITHOUT_NUMBA + POLICY + blocks("Tianshou")[0] + STORED_BY_TIANSHOU
    assert int(run(tmp_path, "-c", program)) > 8


# ------------------------------------------------------------------------------------ rl_games --

TRAIN_RL_GAMES = """
import numpy as np
from rl_games.common import vecenv

settings = dict(
    name="cartpole", env_name="envpool", env_config=dict(env_name="CartPole-v1", seed=5),
    num_actors=8, horizon_length=16, minibatch_size=64, mini_epochs=1, max_epochs=3,
    device="cpu", torch_compile=False, train_dir=".", print_stats=False,
    learning_rate=1e-3, lr_schedule=None, gamma=0.99, tau=0.95, e_clip=0.2, clip_value=True,
    entropy_coef=0.0, critic_coef=2, grad_norm=1.0, truncate_grads=True, value_bootstrap=True,
    normalize_input=True, normalize_value=True, normalize_advantage=True,
    reward_shaper=dict(scale_value=1.0),
)
mlp = dict(units=[16], activation="relu", initializer=dict(name="default"))
network = dict(name="actor_critic", separate=False, space=dict(discrete=None), mlp=mlp)
algo, model = dict(name="a2c_discrete"), dict(name="discrete_a2c")
params = dict(seed=5, algo=algo, model=model, network=network, config=settings)
runner = Runner()
runner.load(dict(params=params))
agent = runner.algo_factory.create("a2c_discrete", base_name="run", params=runner.params)
agent.train()

assert agent.frame == 3 * 8 * 16
hand = parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, seed=5)
hand.reset()
envs = vecenv.create_vec_env("envpool", 8, env_name="CartPole-v1", seed=5)
envs.reset()
random = np.random.default_rng(0)
ended = 0
for _ in range(100):
    actions = random.integers(2, size=8)
    observations, rewards, dones, infos = envs.step(actions)
    expected, gains, terminated, truncated, _ = hand.step(actions)
    assert (observations == expected).all() and (rewards == gains).all()
    assert (dones == (terminated | truncated)).all() and (infos["time_outs"] == truncated).all()
    ended += dones.sum()
print(ended)
"""


def test_rl_games_trains_on_our_results(tmp_path: Path) -> None:
    out = run(tmp_path, "-c", blocks("rl_games")[0] + TRAIN_RL_GAMES)
    assert int(out.splitlines()[-1]) > 8


# ------------------------------------------------------------------------------- Sample Factory --

TRAIN_SAMPLE_FACTORY = """
from sample_factory.algo.utils.misc import ExperimentStatus
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.train import run_rl

argv = [
    *("--env=cartpole", "--experiment=short", "--train_dir=.", "--device=cpu", "--use_rnn=False"),
    *("--batched_sampling=True", "--num_workers=1", "--num_envs_per_worker=1"),
    *("--worker_num_splits=1", "--serial_mode=True", "--async_rl=False"),
    *("--rollout=32", "--recurrence=1", "--batch_size=512", "--train_for_env_steps=1024"),
]

if __name__ == "__main__":
    import numpy as np

    made = []
    steps = []
    plain = Batch.step

    def step(self, actions):
        result = plain(self, actions)
        steps.append((self, np.array(actions), result))
        return result

    Batch.step = step
    parser, _ = parse_sf_args(argv)
    status = run_rl(parse_full_cfg(parser, argv))
    assert status == ExperimentStatus.SUCCESS
    assert len(steps) >= 64
    ended = 0
    for _, actions, (observations, rewards, terminated, truncated, infos) in steps:
        assert actions.shape == (16,) and observations.shape == (16, 4)
        ended += (terminated | truncated).sum()
    print(ended)
"""


def test_sample_factory_trains(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(blocks("Sample Factory")[0] + TRAIN_SAMPLE_FACTORY)
    assert int(run(tmp_path, str(program)).splitlines()[-1]) > 16
    assert list(tmp_path.rglob("checkpoint_*.pth"))


# --------------------------------------------------------------------------------------- RLlib --

# a Ray of its own, without its dashboard; the environments are stepped in this process
OWN_RAY = """
import ray
ray.init(address="local", num_cpus=2, include_dashboard=False)
"""

TRAINED_BY_RLLIB = """
envs = algorithm.env_runner.env.unwrapped
assert envs.num_envs == 8
print(result["env_runners"]["num_env_steps_sampled"], envs.backend)
algorithm.stop()
ray.shutdown()
"""

# Episodes of the page's configuration and of "sync" have the same bits.
SAMPLED_BY_RLLIB = """
import numpy as np
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

def episodes(env, mode):
    same = config.copy(copy_frozen=False).environment(env).debugging(seed=5)
    runner = SingleAgentEnvRunner(config=same.env_runners(gym_env_vectorize_mode=mode))
    runner.env.action_space.seed(3)
    found = runner.sample(num_timesteps=400, random_actions=True)
    runner.stop()
    return found

ours = episodes(config.env, "vector_entry_point")
theirs = episodes("CartPole-v1", "sync")
assert len(ours) == len(theirs)
for one, other in zip(ours, theirs):
    assert (one.is_terminated, one.is_truncated) == (other.is_terminated, other.is_truncated)
    for name in ("observations", "actions", "rewards"):
        a, b = (np.asarray(getattr(each, f"get_{name}")()) for each in (one, other))
        assert a.dtype == b.dtype and np.array_equal(a, b), name
print(sum(one.is_done for one in ours))
"""


@pytest.mark.parametrize(
    ("heading", "backend"),
    [
        ("A native environment: its id", "native"),
        ("Python environments in workers: a function", "process"),
    ],
    ids=["native", "process"],
)
def test_rllib_samples_our_results_and_trains(heading: str, backend: str, tmp_path: Path) -> None:
    (block,) = blocks(heading, RLLIB)
    program = tmp_path / "program.py"
    program.write_text(OWN_RAY + block + SAMPLED_BY_RLLIB + TRAINED_BY_RLLIB)
    done, trained = run(tmp_path, str(program)).splitlines()[-2:]
    assert int(done) > 8
    steps, used = trained.split()
    assert int(steps) >= 800 and used == backend


# ------------------------------------------------------------------------------------- CleanRL --

# Trains for one rollout and plays the stored actions again.
PLAY_AGAIN = """
import runpy, sys

import numpy as np

found = runpy.run_path("program.py", run_name="__main__")
stored = found["storage"] if "storage" in found else found
rollout = [stored[name] if isinstance(stored, dict) else getattr(stored, name)
           for name in ("obs", "actions", "rewards", "dones")]
rollout = [np.asarray(each) for each in rollout]

import parallel_pool

options = {"episodic_life": True, "reward_clip": True, "seed": 1}
hand = parallel_pool.make_gymnasium("Breakout-v5", num_envs=4, **options)
observations, _ = hand.reset()
ended = np.zeros(4)
for seen, actions, rewards, dones in zip(*rollout, strict=True):
    assert (seen == observations).all() and (dones == ended).all()
    observations, gains, terminated, truncated, _ = hand.step(actions.astype(int))
    assert (rewards == gains).all()
    ended = terminated | truncated
print(len(seen), rollout[1].size)
"""


@pytest.mark.parametrize(
    ("number", "name", "steps"),
    [
        pytest.param(0, "ppo_atari_envpool.py", 24, id="gym"),
        pytest.param(1, "ppo_atari_envpool.py", 24, id="gymnasium"),
        pytest.param(2, "ppo_atari_envpool.py", 24, id="rollouts"),
        pytest.param(3, "ppo_atari_envpool_xla_jax.py", 3, id="jax"),
    ],
)
def test_cleanrls_programs_see_our_results(
    number: int, name: str, steps: int, tmp_path: Path
) -> None:
    diff = diffs()[number]
    assert diff.startswith(f"--- {name}\n")
    published = (LIBRARIES / "cleanrl" / name).read_text()
    (tmp_path / "program.py").write_text(patched(published, diff))
    count = 4 * steps
    sizes = ("--num-envs", "4", "--num-steps", str(steps), "--total-timesteps", str(count))
    once = ("--update-epochs", "1", "--num-minibatches", "1", "--env-id", "Breakout-v5")
    out = run(tmp_path, "-c", PLAY_AGAIN, *sizes, *once)
    assert out.splitlines()[-1] == f"4 {count}"


# Trains for some rollouts; prints what the program prints, but for its speed, and the weights.
TRAIN_CLEANRL = """
import hashlib, runpy

agent = runpy.run_path("program.py", run_name="__main__")["agent"]
numbers = b"".join(each.detach().numpy().tobytes() for each in agent.parameters())
print(hashlib.sha256(numbers).hexdigest())
"""


def test_cleanrls_program_trains_to_the_same_weights_on_rollouts(tmp_path: Path) -> None:
    published = (LIBRARIES / "cleanrl" / "ppo_atari_envpool.py").read_text()
    sizes = ("--num-envs", "4", "--num-steps", "16", "--total-timesteps", "192")
    printed = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "program.py").write_text(patched(published, diffs()[number]))
        out = run(folder, "-c", TRAIN_CLEANRL, *sizes, "--env-id", "Breakout-v5")
        printed.append([line for line in out.splitlines() if not line.startswith("SPS")])
    assert len(printed[0][-1]) == 64
    assert printed[0] == printed[1]


def test_a_diff_that_fits_nowhere_is_an_error() -> None:
    for program in ("import gym\n", "import envpool\nimport gym\n" * 2):
        with pytest.raises(ValueError, match="instead of once"):
            patched(program, diffs()[0])
