"""The template and the engine's test environments do what their files say."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import EnvError, PoolError

ENVS = Path(__file__).resolve().parents[2] / "csrc" / "envs"
NUM_ENVS = 5


def named(pool: Pool, batch: tuple[Any, ...]) -> dict[str, Any]:
    return {column.name: array for column, array in zip(pool.columns, batch, strict=True)}


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


class Walk:
    """The template's corridor, in Python."""

    def __init__(self, seed: int, length: int, slip_probability: float) -> None:
        self.rng, self.length, self.slip_probability = generator(seed), length, slip_probability

    def reset(self, start: int = 0) -> None:
        self.position, self.slips, self.steps = start, 0, 0
        self.reward, self.terminated, self.truncated = 0.0, False, False

    def step(self, action: int) -> None:
        if self.terminated or self.truncated:
            self.reset()
            return
        stride = 1 if action == 1 else -1
        if self.rng.random() < self.slip_probability:
            stride, self.slips = -stride, self.slips + 1
        self.position = max(0, self.position + stride)
        self.steps += 1
        self.terminated = self.position == self.length - 1
        self.truncated = self.steps >= 30
        self.reward = 1.0 if self.terminated else -0.01

    def observation(self) -> list[np.float32]:
        walked = np.float32(self.position) / np.float32(self.length - 1)
        return [walked, np.float32(1) - walked]


def assert_walks(pool: Pool, batch: tuple[Any, ...], walks: list[Walk]) -> None:
    rows = named(pool, batch)
    assert rows["obs"].dtype == np.float32
    assert rows["obs"].tolist() == [walk.observation() for walk in walks]
    assert rows["slips"].tolist() == [walk.slips for walk in walks]
    assert rows["reward"].tolist() == [walk.reward for walk in walks]
    assert rows["terminated"].tolist() == [walk.terminated for walk in walks]
    assert rows["truncated"].tolist() == [walk.truncated for walk in walks]


def run_template(definition: Any) -> None:
    options = {"length": 6, "slip_probability": 0.3}
    limits = {"max_episode_steps": 30, "reward_dtype": "float64"}
    rng = np.random.default_rng(0)
    with Pool(definition, NUM_ENVS, options=options, **limits) as pool:
        walks = [Walk(40 + i, **options) for i in range(NUM_ENVS)]
        for seed, start in ((40, 2), (None, 0)):
            batch = pool.reset(seed=seed, options={"start": start})
            for walk in walks:
                walk.reset(start)
            assert_walks(pool, batch, walks)
            for _ in range(200):
                actions = rng.integers(2, size=NUM_ENVS)
                batch = pool.step(actions)
                for walk, action in zip(walks, actions, strict=True):
                    walk.step(action)
                assert_walks(pool, batch, walks)

        with pytest.raises(ValueError, match="start=5"):
            pool.reset(options={"start": 5})
        picture = pool.render()
        assert picture.shape == (NUM_ENVS, 8, 48, 3)
        red = [row[0, ::8, 0].tolist().index(200) for row in picture]
        assert red == [walk.position for walk in walks]


def test_template_in_the_tree() -> None:
    run_template("test/Template-v0")


def test_template_outside_the_tree(tmp_path: Path) -> None:
    """A copy with another name, compiled by the command in its opening comment, does the same."""
    text = (ENVS / "_template.c").read_text()
    text = text.replace("test/Template-v0", "mine/Corridor-v0").replace("test_template", "corridor")
    source, library = tmp_path / "corridor.c", tmp_path / "corridor.so"
    source.write_text(text)

    (command,) = [
        line.strip(" *") for line in text.splitlines() if line.strip(" *").startswith("gcc ")
    ]
    from parallel_pool import get_include

    command = command.replace('"$INCLUDE"', shlex.quote(str(get_include())))
    compiler = shlex.split(os.environ.get("CC") or "cc")
    done = subprocess.run(
        [*compiler, *shlex.split(command)[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run_template(registry.load(library, "pp_env_corridor_v0"))
    with pytest.raises(TypeError, match="symbol=None is a NoneType: give a string"):
        registry.load(library, None)  # type: ignore[arg-type]


def test_duel() -> None:
    """Two players: rewards are opposite, scores add up, and the stake comes from the generator."""
    with Pool("test/Duel-v0", 1, max_episode_steps=0, reward_dtype="float64") as pool:
        rng, actions = generator(8), np.random.default_rng(1)
        rows = named(pool, pool.reset(seed=8))
        score, played, ended = [0, 0], 0, False
        stake = 2 if rng.integers(0, 3) == 0 else 1
        for _ in range(300):
            assert rows["stake"].tolist() == [stake]
            assert rows["score"].tolist() == [[score, score[::-1]]]
            assert rows["round"].tolist() == [played]
            moves = actions.integers(3, size=(1, 2))
            rows = named(pool, pool.step(moves))
            reward = [0, 0]
            if ended:
                score, played = [0, 0], 0
            else:
                ahead = (moves[0, 0] - moves[0, 1]) % 3
                if ahead:
                    winner = 0 if ahead == 1 else 1
                    score[winner] += stake
                    reward[winner], reward[1 - winner] = stake, -stake
                played += 1
                assert rows["last_move"].tolist() == moves.tolist()
            stake = 2 if rng.integers(0, 3) == 0 else 1
            assert rows["reward"].tolist() == [reward]
            ended = not ended and abs(score[0] - score[1]) >= 5
            assert rows["terminated"].tolist() == [ended]


def test_heap_snapshots() -> None:
    """Snapshots of any length bring back the diary, in the same environment or another."""
    with Pool("test/Heap-v0", 3, seed=2) as pool:
        pool.reset()
        sizes = []
        for _ in range(6):
            pool.step(np.zeros(3, np.int64))
            sizes.append(len(pool.get_state([0])[0]))
        assert sizes == sorted(set(sizes)), "a longer diary makes a longer snapshot"

        states = pool.get_state()
        first = [named(pool, pool.step(np.full(3, 1))) for _ in range(20)]
        pool.set_state(states)
        again = [named(pool, pool.step(np.full(3, 1))) for _ in range(20)]
        pool.set_state(states[::-1])
        swapped = [named(pool, pool.step(np.full(3, 1))) for _ in range(20)]
    for a, b, c in zip(first, again, swapped, strict=True):
        for name in ("obs", "last", "reward", "terminated"):
            assert a[name].tolist() == b[name].tolist() == c[name][::-1].tolist()


@pytest.mark.parametrize("where", ["step", "observe"])
def test_fault_once(where: str) -> None:
    """Only the chosen environment fails, and only at the chosen step."""
    options = {"fail_on": where, "fail_at_step": 3, "fail_env": 1}
    with Pool("test/Fault-v0", 3, options=options) as pool:
        pool.reset()
        for count in (1, 2):
            assert named(pool, pool.step([0, 0, 0]))["count"].tolist() == [count] * 3
        with pytest.raises(EnvError, match=f"made to fail in {where} 3") as caught:
            pool.step([0, 0, 0])
        assert list(caught.value.env_ids) == [1]
        for _ in range(4):
            pool.step([0, 0, 0])


def test_fault_reset() -> None:
    with Pool("test/Fault-v0", 2, options={"fail_on": "reset", "fail_env": 0}) as pool:
        with pytest.raises(EnvError, match="made to fail in reset 1"):
            pool.reset()
        assert named(pool, pool.reset())["count"].tolist() == [0, 0]


def test_fault_init() -> None:
    with pytest.raises(PoolError, match=r"environment 0 .*made to fail in init"):
        Pool("test/Fault-v0", 2, options={"fail_on": "init"})


def test_fault_unknown_callback() -> None:
    with pytest.raises(ValueError, match="fail_on='nowhere'"):
        Pool("test/Fault-v0", 2, options={"fail_on": "nowhere"})


def test_fault_delays_change_no_results() -> None:
    """Spinning and sleeping change nothing but the time."""
    with Pool("test/Fault-v0", 2, options={"spin": 1000, "sleep_ms": 1}) as pool:
        pool.reset()
        rows = named(pool, pool.step([1, 0]))
    assert rows["obs"].tolist() == [[1.0], [1.0]]
    assert rows["reward"].tolist() == [1.0, 0.0]
