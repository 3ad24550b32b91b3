"""Calls of PoolParallelEnv in which one environment fails: what the others returned is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from pettingzoo import ParallelEnv

import parallel_pool
from parallel_pool.compat.pettingzoo import AgentArrays, PoolParallelEnv
from parallel_pool.errors import EnvError, PoolError

MODES = list(AutoresetMode)
KINDS = ["native", "process"]


class Race(ParallelEnv):
    """Agent a leaves after two steps, b after four; the game fails if b chooses 2."""

    metadata = {"name": "race", "render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]
        self.agents = []
        self.time = 0
        self.render_mode = None

    def observation_space(self, agent):  # type: ignore[no-untyped-def]
        return spaces.Box(-100.0, 100.0, (2,), np.float64)

    def action_space(self, agent):  # type: ignore[no-untyped-def]
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):  # type: ignore[no-untyped-def]
        self.agents = ["a", "b"]
        self.time = 0
        return {a: np.zeros(2) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):  # type: ignore[no-untyped-def]
        self.time += 1
        if actions["b"] == 2:
            raise ValueError("b chose 2")
        live = list(self.agents)
        rewards = {a: float(actions[a]) for a in live}
        seen = {a: np.array([self.time, actions[a]], dtype=np.float64) for a in live}
        ends = {a: (a == "a" and self.time >= 2) or self.time >= 4 for a in live}
        self.agents = [a for a in live if not ends[a]]
        return seen, rewards, ends, dict.fromkeys(live, False), {a: {} for a in live}


@pytest.fixture(scope="module")
def race_id() -> str:
    ids = parallel_pool.compile(Race)
    return str(ids[0])


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Returns a function that makes three games."""

    def made(**arguments: Any) -> PoolParallelEnv:
        if request.param == "native":
            task_id = request.getfixturevalue("race_id")
            return PoolParallelEnv(task_id, 3, **arguments)
        return PoolParallelEnv([Race] * 3, num_workers=1, **arguments)

    yield made


def live(envs: PoolParallelEnv) -> list[list[bool]]:
    return np.stack([envs.live["a"], envs.live["b"]], 1).tolist()


def failing(call: Any) -> Any:
    """Returns the batch of a call in which environment 1 fails."""
    with pytest.raises((ValueError, EnvError), match="b chose 2") as caught:
        call()
    error = caught.value if isinstance(caught.value, EnvError) else caught.value.__cause__
    assert isinstance(error, EnvError) and error.env_ids == (1,)
    return error.batch


def actions_of(*b: int) -> dict[str, Any]:
    return {"a": np.ones(len(b), int), "b": np.array(b)}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_what_the_other_environments_returned_is_kept(make: Any, mode: AutoresetMode) -> None:
    with closing(make(autoreset_mode=mode)) as envs:
        envs.reset(seed=1)
        envs.step(actions_of(1, 1, 1))
        arrays = failing(lambda: envs.step(actions_of(1, 2, 1)))
        assert isinstance(arrays, AgentArrays)
        assert arrays.rewards.tolist() == [[1, 1], [0, 0], [1, 1]]
        assert arrays.terminations.tolist() == [[True, False], [False, False], [True, False]]
        assert arrays.observations[0][0].tolist() == [[2, 1], [2, 1]]
        # the next step of environment 1 begins an episode
        assert live(envs) == arrays.live.tolist() == [[False, True], [False, False], [False, True]]
        if mode is AutoresetMode.DISABLED:
            over = ~np.any(list(envs.live.values()), axis=0)
            envs.reset(options={"reset_mask": over})
            assert live(envs)[1] == [True, True]
        _, rewards, *_ = envs.step(actions_of(1, 1, 1))
        assert rewards["b"].tolist() == [1, mode is AutoresetMode.DISABLED, 1]


@pytest.mark.slow
def test_actions_after_a_failure_are_taken(make: Any) -> None:
    """Also in environments that the failed step has reset."""
    with closing(make()) as envs:
        envs.reset(seed=1)
        failing(lambda: envs.step(actions_of(1, 2, 1)))
        for _ in range(3):
            envs.step(actions_of(1, 1, 1))
        assert live(envs)[0] == live(envs)[2] == [False, False]
        failing(lambda: envs.step(actions_of(1, 2, 1)))
        assert live(envs) == [[True, True], [False, False], [True, True]]
        _, rewards, *_ = envs.step(actions_of(1, 1, 1))
        assert rewards["a"].tolist() == rewards["b"].tolist() == [1, 0, 1]


def test_asynchronous_results_beside_a_failure_are_kept(make: Any) -> None:
    with closing(make(batch_size=2)) as envs:
        envs.async_reset(seed=1)
        steps = np.zeros(3, int)
        failures = 0
        for _ in range(40):
            try:
                arrays = envs.recv(timeout=60)
            except (ValueError, EnvError) as error:
                failure = error if isinstance(error, EnvError) else error.__cause__
                assert isinstance(failure, EnvError)
                arrays = failure.batch
                failures += 1
                steps[list(failure.env_ids)] = 0
                failed = np.isin(arrays.env_ids, failure.env_ids)
                assert not arrays.live[failed].any() and not arrays.rewards[failed].any()
            table = np.array(live(envs))
            assert (table[arrays.env_ids] == arrays.live).all()
            chosen = np.ones((len(arrays.env_ids), 2), int)
            for row, env_id in enumerate(arrays.env_ids):
                steps[env_id] += 1
                if env_id == 1 and arrays.live[row, 1] and steps[1] % 5 == 3:
                    chosen[row, 1] = 2
            envs.send(chosen, arrays.env_ids)
        assert failures


def test_other_agents_see_what_a_failed_step_has_shown(make: Any) -> None:
    """And rows that a failed step has ended may be left out of a mask."""
    shown = []

    def others(observations: dict[str, Any]) -> dict[str, Any]:
        shown.append(observations["b"].copy())
        return {"b": np.array([1, 2 if len(shown) == 2 else 1, 1])}

    with closing(make(autoreset_mode=AutoresetMode.DISABLED)) as envs:
        rows = envs.as_vector_env(["a"], others=others)
        rows.reset(seed=1)
        rows.step(np.ones(3, int))
        failing(lambda: rows.step(np.ones(3, int)))
        rows.reset(options={"reset_mask": np.array([False, True, False])})
        rows.step(np.ones(3, int))
        assert shown[-1][0].tolist() == [2, 1] and shown[-1][1].tolist() == [0, 0]


class Bomb:
    """Can be pickled, but not unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


class Spoiled(Race):
    """An info of the first step can't be read."""

    def step(self, actions):  # type: ignore[no-untyped-def]
        *results, infos = super().step(actions)
        return *results, {"a": {"bomb": Bomb()}} if self.time == 1 else infos


def test_steps_go_on_after_infos_that_can_not_be_read() -> None:
    with closing(PoolParallelEnv([Spoiled] * 2, num_workers=1)) as envs:
        envs.reset(seed=1)
        with pytest.raises(PoolError, match="can't be unpickled"):
            envs.step(actions_of(1, 1))
        observations, *_ = envs.step(actions_of(1, 1))
        assert observations["a"].tolist() == [[2, 1], [2, 1]]


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("env_ids", "error", "match"),
    [
        ([9, 1], ValueError, "env_id 9: choose 0 to 2"),
        ([-1, 0], ValueError, "env_id -1: choose 0 to 2"),
        ([0.0, 1.0], TypeError, "env_ids have dtype float64: give integers"),
        ([True, False], TypeError, "env_ids have dtype bool: give integers"),
        ([2**40, 0], ValueError, "env_id 1099511627776: choose 0 to 2"),
        ([[0, 1]], ValueError, "give one axis"),
    ],
)
def test_wrong_env_ids_are_refused(make: Any, env_ids: Any, error: Any, match: str) -> None:
    with closing(make(batch_size=2)) as envs:
        envs.async_reset(seed=1)
        envs.recv(timeout=60)
        with pytest.raises(error, match=match):
            envs.send(np.ones((np.size(env_ids), 2), int), env_ids)
