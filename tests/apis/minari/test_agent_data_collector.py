"""Each agent's episodes are those that Minari's own collector records of that agent alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from pettingzoo import ParallelEnv

from parallel_pool.compat.pettingzoo import PoolParallelEnv, parallel_env
from parallel_pool.errors import StateError

minari = pytest.importorskip("minari", reason="recording needs Minari")
pytest.importorskip("h5py", reason="recording needs h5py")

from parallel_pool.compat.minari import AgentDataCollector  # noqa: E402
from tests.support.minari_files import (  # noqa: E402
    UNSEEDED,
    action_of,
    assert_same_episodes,
    contents,
)
from tests.support.sampling import sampled  # noqa: E402

pytestmark = [pytest.mark.usefixtures("alarm"), pytest.mark.filterwarnings("ignore::UserWarning")]

MODES = list(AutoresetMode)


class Guests(ParallelEnv[Any, Any, Any]):
    """Agents that leave at different times, most with a flag; one comes later.

    Args:
        fails_at: the step of its life that raises.
    """

    metadata = {"name": "guests_v0"}  # noqa: RUF012
    render_mode = None

    def __init__(self, fails_at: int = -1) -> None:
        self.possible_agents = ["host", "guest", "late"]
        self.agents: list[str] = []
        self.fails_at, self.taken = fails_at, 0
        self.rng = np.random.default_rng()

    def observation_space(self, agent: str) -> Any:
        if agent == "guest":
            return spaces.Dict(x=spaces.Box(-9, 9, (2,), np.float32), n=spaces.Discrete(9))
        return spaces.Box(-9, 9, (3,), np.float64)

    def action_space(self, agent: str) -> Any:
        return spaces.Box(-1, 1, (2,), np.float32) if agent == "guest" else spaces.Discrete(3)

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.count = 0
        self.ends = {a: int(self.rng.integers(1, 7)) for a in self.possible_agents}
        self.ends["late"] += 3
        self.agents = ["host", "guest"]
        return self._show(), self._infos()

    def step(self, actions: Any) -> Any:
        self.count += 1
        self.taken += 1
        if self.taken == self.fails_at:
            raise ZeroDivisionError("as asked")
        shown, infos, draw = self._show(), self._infos(), self.rng.random()
        rewards = {a: draw + float(np.sum(actions[a])) for a in self.agents}
        over = {a: self.ends[a] == self.count for a in self.agents}
        terminations = {a: over[a] and draw < 0.5 for a in self.agents}
        truncations = {a: over[a] and 0.5 <= draw < 0.75 for a in self.agents}
        self.agents = [a for a in self.agents if not over[a]]
        if self.count == 3 and self.agents:
            self.agents.append("late")
            shown["late"], infos["late"] = self._one("late"), {"count": self.count}
        return shown, rewards, terminations, truncations, infos

    def _show(self) -> Any:
        return {agent: self._one(agent) for agent in self.agents}

    def _one(self, agent: str) -> Any:
        drawn = self.rng.random(3)
        if agent == "guest":
            return {"x": drawn[:2].astype(np.float32), "n": np.int64(self.count)}
        return drawn

    def _infos(self) -> Any:
        return {agent: {"count": self.count} for agent in self.agents}


class One(gymnasium.Env[Any, Any]):
    """Shows what one agent was shown, as a script says that is written beforehand."""

    def __init__(self, env: Any, agent: Any) -> None:
        self.observation_space = env.observation_space(agent)
        self.action_space = env.action_space(agent)
        self.result: Any = None

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.result

    def step(self, action: Any) -> Any:
        return self.result


class Agents:
    """Plays parallel environments one by one; Minari's collectors record each agent of each."""

    def __init__(self, make: Callable[[], Any], count: int) -> None:
        self.envs = [make() for _ in range(count)]
        self.agents = self.envs[0].possible_agents
        self.recorded = [
            {
                agent: minari.DataCollector(One(env, agent), record_infos=True)
                for agent in self.agents
            }
            for env in self.envs
        ]
        self.order: dict[Any, list[int]] = {agent: [] for agent in self.agents}
        self._steps = [dict.fromkeys(self.agents, 0) for _ in self.envs]

    def reset(self, i: int, seed: int | None = None) -> None:
        for agent in self.agents:
            self._end(i, agent)
        observations, infos = self.envs[i].reset(seed=seed)
        for agent in self.envs[i].agents:
            self._begin(i, agent, observations, infos, seed)

    def _begin(self, i: int, agent: Any, shown: Any, infos: Any, seed: int | None) -> None:
        collector = self.recorded[i][agent]
        collector.env.result = shown[agent], infos.get(agent, {})
        collector.reset(seed=seed, options=None if seed is not None else {UNSEEDED: False})

    def step(self, i: int, actions: Any) -> bool:
        """Steps one environment; returns whether no agent is left."""
        env = self.envs[i]
        before = list(env.agents)
        own = {a: action_of(env.action_space(a), actions[a], i) for a in before}
        shown, rewards, terminations, truncations, infos = env.step(own)
        for agent in before:
            collector = self.recorded[i][agent]
            flags = bool(terminations[agent]), bool(truncations[agent])
            collector.env.result = shown[agent], rewards[agent], *flags, infos.get(agent, {})
            collector.step(own[agent])
            self._steps[i][agent] += 1
            if agent not in env.agents:
                # without a flag, the collector truncates at its next reset
                self._end(i, agent)
        for agent in env.agents:
            if agent not in before:
                self._begin(i, agent, shown, infos, None)
        return not env.agents

    def _end(self, i: int, agent: Any) -> None:
        if self._steps[i][agent]:
            self.order[agent].append(i)
        self._steps[i][agent] = 0

    def finish(self, root: Path) -> dict[Any, Any]:
        """Returns by agent the episodes of all environments, in the order in which they ended."""
        found: dict[Any, Any] = {}
        for agent in self.agents:
            kept = []
            for i, collectors in enumerate(self.recorded):
                self._end(i, agent)
                collectors[agent].create_dataset(f"single/{agent}_{i}-v0")
                kept.append(iter(contents(root / "single" / f"{agent}_{i}-v0")))
            found[agent] = [next(kept[i]) for i in self.order[agent]]
        return found


def play(envs: Any, agents: Agents, steps: int, seed: int) -> None:
    """Steps both, after a reset, with random actions."""
    pool = envs.env
    rng = np.random.default_rng(seed)
    over = [False] * pool.num_envs
    envs.reset(seed=seed)
    for i in range(pool.num_envs):
        agents.reset(i, seed + i)
    for _ in range(steps):
        actions = {agent: batch_of(pool, agent, rng) for agent in pool.possible_agents}
        envs.step(actions)
        for i in range(pool.num_envs):
            if over[i]:
                agents.reset(i)
                over[i] = False
                continue
            over[i] = agents.step(i, actions)
            if over[i] and pool.autoreset_mode is AutoresetMode.SAME_STEP:
                agents.reset(i)
                over[i] = False
        if pool.autoreset_mode is AutoresetMode.DISABLED and any(over):
            envs.reset(options={"reset_mask": np.array(over)})
            for i in np.flatnonzero(over).tolist():
                agents.reset(i)
            over = [False] * pool.num_envs


def batch_of(pool: Any, agent: Any, rng: Any) -> Any:
    space = pool.action_space(agent)
    if isinstance(space, spaces.Discrete):
        return rng.integers(0, space.n, pool.num_envs)
    return rng.uniform(-1, 1, (pool.num_envs, *space.shape)).astype(space.dtype)


def guests(mode: AutoresetMode) -> tuple[Any, Callable[[], Any]]:
    return PoolParallelEnv([Guests] * 3, autoreset_mode=mode, num_workers=1), Guests


def guests_here(mode: AutoresetMode) -> tuple[Any, Callable[[], Any]]:
    return PoolParallelEnv([Guests] * 3, autoreset_mode=mode, num_workers=0), Guests


def spread(mode: AutoresetMode) -> tuple[Any, Callable[[], Any]]:
    pool = PoolParallelEnv("mpe/simple_spread_v3", 2, autoreset_mode=mode)
    return pool, lambda: parallel_env("mpe/simple_spread_v3")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize(
    "make", sampled([guests, guests_here, spread], {spread}), ids=lambda make: make.__name__
)
def test_episodes_are_those_of_minaris_collector(
    make: Callable[[AutoresetMode], Any], mode: AutoresetMode, datasets: Path
) -> None:
    pool, make_one = make(mode)
    envs = AgentDataCollector(pool, "many-v2", record_infos=True, write_every=30, author="me")
    agents = Agents(make_one, pool.num_envs)
    # the second reset cuts episodes off
    play(envs, agents, 60, seed=5)
    play(envs, agents, 8, seed=11)
    found = envs.finish()
    expected = agents.finish(datasets)
    envs.close()
    assert list(found) == pool.possible_agents
    for agent, dataset in found.items():
        own = envs.dataset_ids[agent]
        assert own == f"many/{agent}-v2"
        assert_same_episodes(contents(datasets / own), expected[agent])
        assert minari.load_dataset(own).total_episodes == dataset.total_episodes > 3
        assert dataset.observation_space == pool.observation_space(agent)


class Strangers(Guests):
    """An agent's name can't be part of a dataset's."""

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["host", "the guest"]


class Mortal(Guests):
    """Raises in its fifteenth step."""

    def __init__(self) -> None:
        super().__init__(fails_at=15)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_episodes_that_failed_are_dropped(on_error: str, mode: AutoresetMode) -> None:
    options: dict[str, Any] = {"timeout": 60} if on_error == "restart" else {}
    made = PoolParallelEnv(
        [Mortal, Guests], autoreset_mode=mode, num_workers=1, on_error=on_error, **options
    )
    with AgentDataCollector(made, "mortal-v0", record_infos=True) as envs:
        envs.reset(seed=1)
        rng = np.random.default_rng(1)
        failures = 0
        for _ in range(80):
            actions = {agent: batch_of(made, agent, rng) for agent in made.possible_agents}
            try:
                failures += "worker_restarted" in envs.step(actions)[4]
            except ZeroDivisionError:
                failures += 1
        datasets = envs.finish()
    assert failures
    for agent, dataset in datasets.items():
        assert dataset.total_episodes > 3
        for episode in dataset:
            ends = episode.terminations | episode.truncations
            assert ends[-1] and not ends[:-1].any()
            counts = episode.infos["count"].tolist()
            # no step is missing, and none is of another episode
            first = 3 if agent == "late" else 0
            assert counts == list(range(first, first + len(ends) + 1))


def test_episodes_that_cannot_be_stored_are_dropped_alone() -> None:
    """One exception tells of all agents; the dataset of each has all else."""
    made = PoolParallelEnv([Guests] * 2, num_workers=0)
    envs = AgentDataCollector(made, "dropped-v0")
    rng = np.random.default_rng(1)

    def step() -> None:
        envs.step({agent: batch_of(made, agent, rng) for agent in made.possible_agents})

    envs.reset(seed=1, options={"name": None})
    step()
    # cuts the episodes of all agents off
    envs.reset()
    with pytest.raises(ValueError, match=r"dropped/host-v0: .* dropped/guest-v0: .*call step\(\)"):
        step()
    for _ in range(20):
        step()
    datasets = envs.finish()
    envs.close()
    assert min(dataset.total_episodes for dataset in datasets.values()) > 2


def test_a_refused_argument_leaves_no_dataset(datasets: Path) -> None:
    """Nor does an agent whose dataset exists leave those of the others."""
    minari.create_dataset_from_buffers(
        "spread/agent_1-v0",
        [],
        observation_space=spaces.Discrete(2),
        action_space=spaces.Discrete(2),
    )
    with PoolParallelEnv("mpe/simple_spread_v3", 2) as made:
        with pytest.raises(TypeError, match="record_infos=4"):
            AgentDataCollector(made, "spread-v0", record_infos=4)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="agent_1-v0 already exists"):
            AgentDataCollector(made, "spread-v0")
        assert list(minari.list_local_datasets()) == ["spread/agent_1-v0"]
        minari.delete_dataset("spread/agent_1-v0")
        AgentDataCollector(made, "spread-v0").finish()


def test_what_is_wrong_is_refused(datasets: Path) -> None:
    with PoolParallelEnv("mpe/simple_spread_v3", 2) as made:
        with pytest.raises(ValueError, match="a name with a version"):
            AgentDataCollector(made, "spread")
        with pytest.raises(TypeError, match="give a PoolParallelEnv"):
            AgentDataCollector(gymnasium.make("CartPole-v1"), "spread-v0")
        envs = AgentDataCollector(made, "spread-v0")
        envs.finish()
        with pytest.raises(StateError, match="after finish"):
            envs.reset()
    made = PoolParallelEnv([Strangers], num_workers=0)
    with pytest.raises(ValueError, match="Malformed dataset ID: names/the guest-v0"):
        AgentDataCollector(made, "names-v0")
    assert not (datasets / "names").exists()
    made.close()
    with (
        PoolParallelEnv("mpe/simple_spread_v3", 2, batch_size=1) as made,
        pytest.raises(StateError, match="leave batch_size out"),
    ):
        AgentDataCollector(made, "spread-v0")
