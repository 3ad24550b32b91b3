"""PoolParallelEnv equals a plain loop over the same PettingZoo environments."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.test import parallel_api_test

from parallel_pool._apis.pettingzoo.joint_env import JointEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import EnvError, StateError, WorkerError
from tests.support.agent_arrays import check_order_only
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same
from tests.support.sampling import thinned

MODES = list(AutoresetMode)

# by agent: the observation that replaces one that the environment did not return
NOTHING: dict[Any, Any] = {
    "walker": np.zeros(2, np.float32),
    "bird": np.int64(0),
    7: {"grid": np.zeros((2, 2), np.int16), "mask": np.zeros(3, np.int8)},
    "late": np.zeros((), np.float64),
}


class Relay(ParallelEnv[Any, Any, Any]):
    """Agents with spaces of many kinds, that end at different times; one appears later.

    Args:
        longest: largest number of steps of an agent.
        leaves_dead: whether agents stay in `agents` after their end.
        order: of the agents.
        fails_at: step of every episode that raises.
    """

    def __init__(
        self,
        longest: int = 5,
        leaves_dead: bool = False,
        order: Sequence[Any] = ("walker", "bird", 7, "late"),
        fails_at: int = -1,
    ) -> None:
        self.metadata = {"name": "relay_v0"}
        self.render_mode = "ansi"
        self.longest, self.leaves_dead, self.fails_at = longest, leaves_dead, fails_at
        self.possible_agents = list(order)
        self.agents = []
        self.seen = {
            "walker": spaces.Box(-9, 9, (2,), np.float32),
            "bird": spaces.Discrete(50),
            7: spaces.Dict(grid=spaces.Box(0, 99, (2, 2), np.int16), mask=spaces.MultiBinary(3)),
            "late": spaces.Box(-9, 9, (), np.float64),
        }
        self.acts = {
            "walker": spaces.Discrete(4),
            "bird": spaces.Box(-1, 1, (2,), np.float32),
            7: spaces.MultiDiscrete([3, 4]),
            "late": spaces.Dict(x=spaces.Discrete(2), y=spaces.MultiBinary(2)),
        }
        self.rng = np.random.default_rng()
        self.last_actions: dict[Any, Any] = {}

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        return self.seen[agent]

    def action_space(self, agent: Any) -> spaces.Space[Any]:
        return self.acts[agent]

    def observe(self) -> dict[Any, Any]:
        a, b = self.rng.random(2), self.rng.integers(0, 50, 5)
        shown: dict[Any, Any] = {
            "walker": a.astype(np.float32),
            "bird": b[0],
            7: {"grid": b[1:].reshape(2, 2).astype(np.int16), "mask": (b[:3] % 2).astype(np.int8)},
            "late": np.array(a.sum()),
        }
        return {agent: shown[agent] for agent in self.agents}

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.count = 0
        self.ends = {a: int(self.rng.integers(1, self.longest + 1)) for a in self.possible_agents}
        self.agents = [agent for agent in self.possible_agents if agent != "late"]
        infos: dict[Any, Any] = {agent: {} for agent in self.agents}
        infos[self.agents[0]] = {"options": (options or {}).get("low", -1)}
        return self.observe(), infos

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        assert list(actions) == [a for a in self.agents if self.ends[a] > self.count], actions
        if self.count == self.fails_at:
            raise ZeroDivisionError(f"at step {self.count}")
        self.count += 1
        self.last_actions = actions
        self.agents = list(actions)
        observations = self.observe()
        draw = self.rng.random()
        rewards = {agent: draw + i for i, agent in enumerate(self.agents)}
        over = [agent for agent in self.agents if self.ends[agent] == self.count]
        terminations = {agent: agent in over and draw < 0.5 for agent in self.agents}
        truncations = {agent: agent in over and draw >= 0.5 for agent in self.agents}
        infos: dict[Any, Any] = {agent: {} for agent in self.agents}
        last = self.agents[-1]
        infos[last] = {"action": self.last_actions[last], "n": self.count}
        infos["common"] = {"draw": draw}
        if self.count == 2 and len(over) < len(self.agents) and "late" in self.possible_agents:
            self.agents.append("late")
            self.ends["late"] += 2
        if not self.leaves_dead or len(over) == len(self.agents):
            self.agents = [agent for agent in self.agents if agent not in over]
        return observations, rewards, terminations, truncations, infos

    def state(self) -> np.ndarray[Any, Any]:
        return np.array([self.count, len(self.agents)])

    def render(self) -> Any:
        return f"step {self.count}"


class Crowd(ParallelEnv[Any, Any, Any]):
    """More agents than a pool has arrays; observations are sums of their actions."""

    def __init__(self) -> None:
        self.metadata = {"name": "crowd_v0"}
        self.possible_agents = [f"agent_{i}" for i in range(40)]
        self.space = spaces.Box(-1, 99, (2,), np.float32)
        self.acts = spaces.Discrete(3)

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        return self.space

    def action_space(self, agent: Any) -> spaces.Space[Any]:
        return self.acts

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        self.sums = dict.fromkeys(self.agents, 0 if seed is None else seed)
        return self.observe(), {agent: {} for agent in self.agents}

    def observe(self) -> dict[Any, Any]:
        return {agent: np.full(2, self.sums[agent], np.float32) for agent in self.agents}

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        for agent, action in actions.items():
            self.sums[agent] += action
        shown = self.observe()
        rewards = {agent: float(action) for agent, action in actions.items()}
        over = {agent: self.sums[agent] > 8 for agent in actions}
        self.agents = [agent for agent in self.agents if not over[agent]]
        return shown, rewards, over, dict.fromkeys(actions, False), {a: {} for a in actions}


@contextmanager
def pool(env_fns: Sequence[Callable[[], Any]], **kwargs: Any) -> Iterator[PoolParallelEnv]:
    kwargs = {"num_workers": min(2, len(env_fns)), "context": "fork", **kwargs}
    with PoolParallelEnv(env_fns, **kwargs) as envs:
        yield envs


ENVS: dict[str, Callable[[], Any]] = {
    "relay": Relay,
    "relay of another order": partial(Relay, order=(7, "walker", "late", "bird")),
    "crowd": Crowd,
}


def test_environments_pass_pettingzoos_own_test() -> None:
    # without agents that appear later: PettingZoo's test gives them no action
    parallel_api_test(Relay(order=("walker", "bird", 7)), num_cycles=30)
    parallel_api_test(Crowd(), num_cycles=30)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", ENVS)
def test_results_are_those_of_a_plain_loop(name: str, mode: AutoresetMode) -> None:
    loop = Loop([ENVS[name]] * 5, mode, NOTHING)
    rng = np.random.default_rng(4)
    with pool([ENVS[name]] * 5, autoreset_mode=mode) as envs:
        assert not envs.agents
        assert_same(envs.reset(seed=3), loop.reset(3), "reset")
        deaths = ends = 0
        for step in range(40):
            assert_same(envs.live, loop.live(), f"live before step {step}")
            before = envs.live
            actions = sample(envs, rng)
            result, expected = envs.step(actions), loop.step(actions)
            assert_same(result, expected, f"step {step}")
            over = ~np.any(list(envs.live.values()), axis=0)
            if mode is AutoresetMode.DISABLED and over.any():
                options = {"reset_mask": over.copy(), "low": step}
                again = envs.reset(seed=step, options=options)
                assert_same(again, loop.reset(step, over, step), f"reset at {step}")
            deaths += sum((result[2][a] | result[3][a]).sum() for a in envs.possible_agents)
            ends += int(np.any(list(before.values()), axis=0).sum())
        assert deaths > 20
        # with NEXT_STEP some steps were resets
        assert (ends < 5 * 40) == (mode is AutoresetMode.NEXT_STEP)


def test_observations_and_rewards_of_dead_agents_are_zeros() -> None:
    with pool([Relay] * 4, num_workers=1) as envs:
        observations, _ = envs.reset(seed=1)
        assert envs.agents == ["walker", "bird", 7] and envs.num_agents == 3
        assert envs.max_num_agents == 4
        assert not observations["late"].any() and observations["walker"].all()
        rng = np.random.default_rng(0)
        alive = dead_rows = 0
        for _ in range(20):
            lived = {agent: lives.copy() for agent, lives in envs.live.items()}
            over = ~np.any(list(lived.values()), axis=0)
            observations, rewards, *_ = envs.step(sample(envs, rng))
            dead = ~lived["walker"] & ~over
            assert not observations["walker"][dead].any() and not rewards["walker"][dead].any()
            assert observations["walker"][lived["walker"]].all()
            assert rewards["walker"][lived["walker"]].all()
            alive, dead_rows = alive + int(lived["walker"].sum()), dead_rows + int(dead.sum())
        assert alive > 10 and dead_rows > 10


@pytest.mark.slow
def test_dead_agents_that_stay_among_the_agents_do_not_act() -> None:
    """`Relay` asserts which agents act."""
    with pool([partial(Relay, leaves_dead=True)] * 3, num_workers=1) as envs:
        envs.reset(seed=1)
        rng = np.random.default_rng(0)
        ends = 0
        for _ in range(40):
            envs.step(sample(envs, rng))
            ends += int((~np.any(list(envs.live.values()), axis=0)).sum())
        assert ends > 6


@pytest.mark.slow
def test_results_are_the_callers_own() -> None:
    loop = Loop([Relay] * 3, AutoresetMode.NEXT_STEP, NOTHING)
    rng = np.random.default_rng(5)
    with pool([Relay] * 3) as envs:
        assert_same(envs.reset(seed=2), loop.reset(2), "reset")
        for step in range(12):
            actions = sample(envs, rng)
            result = envs.step(actions)
            assert_same(result, loop.step(actions), f"step {step}")
            for part in result[:4]:
                for value in (*part.values(), *envs.live.values()):
                    for array in value.values() if isinstance(value, dict) else [value]:
                        array[...] = 1
            assert_same(envs.live, loop.live(), f"live after step {step}")


# ------------------------------------------------------------------------------------ actions --


@pytest.mark.slow
def test_actions_of_agents_that_are_live_nowhere_may_be_left_out() -> None:
    with pool([Relay] * 3) as envs:
        envs.reset(seed=1)
        actions = sample(envs, np.random.default_rng(0))
        del actions["late"]
        envs.step(actions)
        del actions[7]
        with pytest.raises(ValueError, match=r"no actions for agent 7, which is live in env.* \d"):
            envs.step(actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda actions: [actions], TypeError, "actions are a list: give a dict"),
        (lambda actions: actions | {"unknown": [1]}, ValueError, "no agent 'unknown'"),
        (
            lambda actions: actions | {"walker": [1]},
            ValueError,
            r"\['walker'\] has length 1",
        ),
        (lambda actions: actions | {"walker": "xyz"}, TypeError, r"actions\['walker'\] are a str"),
        (lambda actions: actions | {"walker": np.array(1)}, ValueError, "has length 0: give one"),
        (lambda actions: actions | {"walker": (1,)}, ValueError, r"\['walker'\] has length 1"),
        (lambda actions: actions | {"walker": {"x": [1] * 3}}, TypeError, "walker.* are a dict"),
        (
            lambda actions: actions | {"late": {"x": [1] * 3}},
            ValueError,
            r"actions\['late'\] has the parts \['x'\]: give a dict with an array for each of",
        ),
        (lambda actions: actions | {"late": [1] * 3}, ValueError, "late.* the parts a list of 3"),
    ],
)
def test_wrong_actions_step_nothing(change: Any, error: Any, match: str) -> None:
    loop = Loop([Relay] * 3, AutoresetMode.NEXT_STEP, NOTHING)
    with pool([Relay] * 3) as envs:
        envs.reset(seed=1)
        loop.reset(1)
        actions = sample(envs, np.random.default_rng(0))
        with pytest.raises(error, match=match):
            envs.step(change(actions))
        assert_same(envs.step(actions), loop.step(actions), "step")


@pytest.mark.parametrize(
    ("actions", "match"),
    [
        (np.zeros((4, 1), int), r"actions\['agent_1'\] has shape \(4, 1\): give shape \(4,\)"),
        ([[0], [0, 1], [0], [0]], r"actions\['agent_1'\] has rows of several shapes: give shape"),
    ],
)
def test_actions_that_can_not_be_stacked_name_the_agent(actions: Any, match: str) -> None:
    with PoolParallelEnv("mpe/simple_spread_v3", 4) as envs:
        envs.reset(seed=1)
        own = dict.fromkeys(envs.possible_agents, np.zeros(4, int))
        with pytest.raises(ValueError, match=match):
            envs.step({**own, "agent_1": actions})


@pytest.mark.parametrize("options", [5, [], "reset_mask"])
def test_options_of_native_games_that_are_no_dict(options: Any) -> None:
    with (
        PoolParallelEnv("mpe/simple_spread_v3", 2) as envs,
        pytest.raises(TypeError, match=r"options=.*: give a dict"),
    ):
        envs.reset(options=options)


def test_steps_before_reset_and_after_the_end_are_refused() -> None:
    with pool([Relay] * 2, autoreset_mode=AutoresetMode.DISABLED) as envs:
        actions = sample(envs, np.random.default_rng(0))
        with pytest.raises(ResetNeeded, match="call reset"):
            envs.step(actions)
        envs.reset(seed=1)
        with pytest.raises(StateError, match="reset_mask"):
            for _ in range(20):
                envs.step(actions)


# ------------------------------------------------------------------ methods and attributes --


@pytest.mark.slow
def test_methods_and_attributes_are_the_environments() -> None:
    with pool([Relay, partial(Relay, longest=6)]) as envs:
        assert envs.metadata["name"] == "relay_v0" and envs.render_mode == "ansi"
        assert envs.observation_space("bird") == spaces.Discrete(50)
        assert envs.action_space(7) == spaces.MultiDiscrete([3, 4])
        envs.reset(seed=1)
        assert envs.get_attr("longest") == (5, 6)
        envs.set_attr("longest", [8, 9])
        assert envs.get_attr("longest") == (8, 9)
        assert envs.call("action_space", "walker") == (spaces.Discrete(4),) * 2
        assert envs.state().tolist() == [[0, 3], [0, 3]]
        assert envs.render() == ("step 0", "step 0")
        assert repr(envs) == "PoolParallelEnv(num_envs=2, agents=['walker', 'bird', 7, 'late'])"
        assert not envs.closed
    assert envs.closed


def test_joint_environment_is_a_gymnasium_environment() -> None:
    env = JointEnv(Relay)
    with pytest.raises(ResetNeeded):
        env.step({})
    env.action_space.seed(1)
    total, ends = 0.0, []
    observation, _ = env.reset(seed=1)
    for _ in range(40):
        assert env.observation_space.contains(observation)
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert reward == observation["reward"].sum()
        total += reward
        assert (terminated or truncated) == (not env.env.agents)
        if terminated or truncated:
            assert terminated != truncated
            ends.append(terminated)
            observation, _ = env.reset()
    assert total > 0 and True in ends and False in ends


# ------------------------------------------------------------ wrong arguments and failures --


class Turns(AECEnv[Any, Any, Any]):
    """An environment whose agents act in turn (PettingZoo's AEC)."""

    def __init__(self) -> None:
        self.metadata, self.possible_agents = {"name": "turns_v0"}, ["a"]


class Surprise(Relay):
    """Adds an agent that is not in possible_agents."""

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        result = super().reset(seed, options)
        self.agents.append("uninvited")
        return result


class Deserted(Relay):
    """Has no agents in its first episode."""

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        result = super().reset(seed, options)
        if seed is None:
            return result
        self.agents = []
        return {}, {}


@pytest.mark.slow
def test_an_episode_without_agents_is_over() -> None:
    with pool([Deserted] * 2) as envs:
        observations, _ = envs.reset(seed=1)
        assert not envs.agents and not observations["walker"].any()
        # the next step resets, without a seed
        observations, rewards, *_ = envs.step(sample(envs, np.random.default_rng(0)))
        assert envs.live["walker"].all() and observations["walker"].all()
        assert not rewards["walker"].any()


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("env_fns", "error", "match"),
    [
        ([Turns], TypeError, "aec_to_parallel"),
        ([lambda: gymnasium.make("CartPole-v1")], TypeError, "no possible_agents"),
        ([Relay(), Relay], TypeError, r"env_fns\[0\]"),
        ([], ValueError, "env_fns is empty"),
        ([Relay, partial(Relay, order=("walker", "bird"))], RuntimeError, "Environment 1 has Dict"),
        (
            [Relay, partial(Relay, order=("bird", "walker", 7, "late"))],
            RuntimeError,
            "same possible_agents, in the same order.*Environment 1 has Dict",
        ),
    ],
)
def test_wrong_environments_are_refused(env_fns: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match), pool(env_fns):
        pass


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"env_fns": Relay}, TypeError, "give a list of functions"),
        ({"env_fns": "relay_v0"}, TypeError, r"env_fns='relay_v0' is a str: give a list"),
        ({"num_workers": 3}, ValueError, "num_workers <= num_envs"),
        ({"autoreset_mode": "sometimes"}, ValueError, "'sometimes': choose"),
        ({"context": "thread"}, ValueError, "thread"),
        ({"on_error": "ignore"}, ValueError, "ignore"),
        ({"prepare_resets": True}, ValueError, "without episode_seeds=True"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        PoolParallelEnv(**{"env_fns": [Relay] * 2, **arguments})


@pytest.mark.slow
def test_agents_that_are_not_in_possible_agents_are_refused() -> None:
    with (
        pool([Surprise]) as envs,
        pytest.raises(ValueError, match="'uninvited' is none of possible_agents"),
    ):
        envs.reset(seed=1)


class Wrong(Relay):
    """Returns what a function makes of its results; the agents are "walker" and "bird"."""

    def __init__(self, method: str, change: Callable[[Any], Any]) -> None:
        super().__init__(longest=99, order=("walker", "bird"))
        self.method, self.change = method, change

    def changed(self, method: str, *parts: Any) -> Any:
        if method != self.method:
            return parts
        changed = self.change(self, *parts)
        return parts if changed is KEPT else changed

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        return self.changed("reset", *super().reset(seed, options))

    def step(self, actions: Any) -> Any:
        return self.changed("step", *super().step(actions))


KEPT = object()


def listed(*agents: Any) -> Callable[..., Any]:
    """Returns a function that changes the environment's `agents`."""

    def change(env: Any, *parts: Any) -> Any:
        env.agents = agents[0] if len(agents) == 1 else list(agents)
        return KEPT

    return change


def with_part(at: int, **changes: Any) -> Callable[..., Any]:
    """Returns a function that changes a part of a result."""
    return lambda env, *parts: (*parts[:at], parts[at] | changes, *parts[at + 1 :])


def with_none(at: int, value: Any = None) -> Callable[..., Any]:
    return lambda env, *parts: (*parts[:at], value, *parts[at + 1 :])


def lacks(agent: str) -> Callable[..., Any]:
    """Returns a function that leaves the observation of an agent out."""
    return lambda env, seen, *parts: ({a: o for a, o in seen.items() if a != agent}, *parts)


WRONG_RESULTS: list[tuple[str, Any, type[Exception], str]] = [
    ("reset", lambda env, *_: None, TypeError, "reset returned a NoneType, None: return 2 dicts"),
    ("step", lambda env, *_: None, TypeError, "step returned a NoneType, None: return 5 dicts"),
    ("step", lambda env, *parts: parts[:4], ValueError, "step returned 4 values: return 5 dicts"),
    ("reset", with_none(0), TypeError, "reset returned a NoneType, None as observations"),
    ("reset", with_none(1, []), TypeError, r"reset returned a list, \[\] as infos"),
    *[
        ("step", with_none(at), TypeError, f"step returned a NoneType, None as {name}: return 5")
        for at, name in enumerate(
            ("observations", "rewards", "terminations", "truncations", "infos")
        )
    ],
    ("reset", lacks("bird"), ValueError, "reset returned no observation for agent 'bird', which"),
    ("step", lacks("walker"), ValueError, "step returned no observation for agent 'walker', which"),
    ("step", listed("bird", "bird"), ValueError, r"agents=\['bird', 'bird'\] list 'bird' twice"),
    ("step", listed("bird", "cat"), ValueError, "agent 'cat' is none of possible_agents"),
    ("step", listed(None), TypeError, "after step the environment's agents are a NoneType, None"),
    ("reset", listed("walker"), TypeError, "after reset the environment's agents are a str"),
    ("step", with_part(1, bird="1"), TypeError, "a str, '1' as the reward of agent 'bird': give"),
    ("step", with_part(1, bird=None), TypeError, "None as the reward of agent 'bird'"),
    ("step", with_part(1, bird=np.zeros(2)), TypeError, r"shape \(2,\) as the reward of agent"),
    ("step", with_part(1, cat=1.0), ValueError, "rewards with 'cat', which is none of possible"),
    ("step", with_part(0, cat=1.0), ValueError, "observations with 'cat', which is none of"),
    ("step", with_part(2, bird=None), TypeError, "None as one of terminations, of agent 'bird'"),
    ("step", with_part(3, bird="no"), TypeError, "'no' as one of truncations, of agent 'bird'"),
    ("step", with_part(4, bird=[1]), TypeError, r"a list, \[1\] as the infos of agent 'bird'"),
    ("reset", with_part(1, bird=3), TypeError, "an? int, 3 as the infos of agent 'bird'"),
    ("step", with_part(0, bird=0.5), TypeError, "0.5 as the observation of agent 'bird'"),
    ("step", with_part(0, bird=None), TypeError, "None as the observation of agent 'bird'"),
    ("step", with_part(0, walker=np.zeros(3)), ValueError, r"shape \(3,\): its space has \(2,\)"),
    ("reset", with_part(0, walker=["a", "b"]), TypeError, "reset returned a list, .* 'walker'"),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(("method", "change", "error", "match"), WRONG_RESULTS)
def test_wrong_results_name_environment_agent_and_method(
    method: str, change: Any, error: Any, match: str, num_workers: int
) -> None:
    env_fns = [partial(Relay, order=("walker", "bird")), partial(Wrong, method, change)]
    context = "fork" if num_workers else None
    with pool(env_fns, num_workers=num_workers, context=context) as envs:
        with pytest.raises(error, match=match) as caught:
            envs.reset(seed=1)
            envs.step(sample(envs, np.random.default_rng(0)))
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (1,)
        assert "environment 1 failed" in str(cause)


class LacksAKey(Relay):
    """Leaves a part of the observation of one agent out."""

    def observe(self) -> dict[Any, Any]:
        seen = super().observe()
        del seen[7]["mask"]
        return seen


@pytest.mark.slow
def test_an_observation_that_lacks_a_key() -> None:
    with (
        pool([LacksAKey]) as envs,
        pytest.raises(ValueError, match="observation of agent 7: it has no 'mask': return one of"),
    ):
        envs.reset(seed=1)


def test_an_agent_that_is_possible_twice() -> None:
    match = r"possible_agents=\['walker', 'bird', 'walker'\] lists 'walker' twice"
    with pytest.raises(ValueError, match=match):
        PoolParallelEnv([partial(Relay, order=("walker", "bird", "walker"))], num_workers=0)


@pytest.mark.slow
def test_an_environment_that_raises_begins_another_episode() -> None:
    with pool([Relay, partial(Relay, longest=9, fails_at=1)]) as envs:
        rng = np.random.default_rng(0)
        envs.reset(seed=[0, 4])
        envs.step(sample(envs, rng))
        with pytest.raises(ZeroDivisionError, match="at step 1"):
            envs.step(sample(envs, rng))
        _, rewards, terminations, _, infos = envs.step(sample(envs, rng))
        assert rewards["walker"][1] == 0 and not terminations["walker"][1]
        assert infos["walker"]["_options"][1]
        assert envs.live["walker"][1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_environments_of_a_dead_worker_are_made_again_and_truncated(mode: AutoresetMode) -> None:
    env_fns = [partial(Relay, longest=3)] * 4
    with pool(env_fns, on_error="restart", autoreset_mode=mode) as envs:
        rng = np.random.default_rng(0)
        envs.reset(seed=1)
        envs.step(sample(envs, rng))
        lived = {agent: lives.copy() for agent, lives in envs.live.items()}
        pid = envs.pool.apply(lambda env: os.getpid())[3]
        os.kill(pid, signal.SIGKILL)
        _, rewards, terminations, truncations, infos = envs.step(sample(envs, rng))
        assert infos["worker_restarted"].tolist() == [False, False, True, True]
        assert infos["restart_seed"][2:].all()
        for agent in envs.possible_agents:
            assert not rewards[agent][2:].any() and not terminations[agent][2:].any()
            assert (truncations[agent][2:] == lived[agent][2:]).all()
        assert any(lives[2:].any() for lives in lived.values())
        if mode is not AutoresetMode.SAME_STEP:
            assert not np.any(list(envs.live.values()), axis=0)[2:].any()
        if mode is AutoresetMode.DISABLED:
            over = ~np.any(list(envs.live.values()), axis=0)
            envs.reset(options={"reset_mask": over, "low": 1})
        elif mode is AutoresetMode.NEXT_STEP:
            _, _, _, _, infos = envs.step(sample(envs, rng))
            assert infos["walker"]["_options"][2:].all()
        assert envs.live["walker"][2:].all()
        for _ in range(3):
            if mode is not AutoresetMode.DISABLED:
                envs.step(sample(envs, rng))


@pytest.mark.slow
def test_environments_that_raise_are_made_again_and_truncated() -> None:
    """With on_error="restart"; the others are not affected."""
    loop = Loop([Relay], AutoresetMode.NEXT_STEP, NOTHING)
    with pool([Relay, partial(Relay, longest=9, fails_at=1)], on_error="restart") as envs:
        rng = np.random.default_rng(0)
        envs.reset(seed=[3, 4])
        loop.reset(3)
        for step in range(3):
            lived = envs.live
            actions = sample(envs, rng)
            _, rewards, terminations, truncations, infos = envs.step(actions)
            expected = loop.step(only_first(actions))
            for agent in envs.possible_agents:
                assert rewards[agent][0] == expected[1][agent][0]
                assert envs.live[agent][0] == (agent in loop.envs[0].agents)
                if step == 1:
                    assert rewards[agent][1] == 0 and not terminations[agent][1]
                    assert truncations[agent][1] == lived[agent][1]
                    assert not envs.live[agent][1]
            assert ("worker_restarted" in infos) == (step == 1)
        assert envs.live["walker"][1] and infos["walker"]["_options"][1]


def only_first(actions: dict[Any, Any]) -> dict[Any, Any]:
    """Actions of the first environment only."""
    return {
        agent: {key: value[:1] for key, value in own.items()} if isinstance(own, dict) else own[:1]
        for agent, own in actions.items()
    }


class Fatal(Relay):
    """Ends its process at its first step."""

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


@pytest.mark.slow
def test_a_dead_worker_without_restart_is_an_error() -> None:
    with pool([Relay, Fatal]) as envs:
        envs.reset(seed=1)
        with pytest.raises(WorkerError, match="killed by SIGKILL while it stepped environment 1"):
            envs.step(sample(envs, np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("mode", thinned(MODES[:2], 2), ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", ENVS)
def test_an_asynchronous_pool_differs_in_order_only(name: str, mode: AutoresetMode) -> None:
    with (
        pool([ENVS[name]] * 5, autoreset_mode=mode) as synchronous,
        pool([ENVS[name]] * 5, autoreset_mode=mode, batch_size=2) as asynchronous,
    ):
        check_order_only(synchronous, asynchronous, rounds=15)


@pytest.mark.slow
def test_stacked_arrays_need_arrays() -> None:
    with pool([Chatter] * 2) as envs:
        envs.reset(seed=1)
        with pytest.raises(TypeError, match=r"agent .a. has spaces without arrays \(Text"):
            envs.reset_arrays()
        # dicts show them as before
        observations, *_ = envs.step({"a": [0, 1], "b": [1, 1]})
        assert observations["a"] == ("0", "1") and observations["b"].tolist() == [1, 1]
    with pytest.raises(TypeError, match="no arrays, or too many: leave batch_size out"):
        pool([Chatter] * 2, batch_size=1).__enter__()


@pytest.mark.parametrize("steps", [0, 2])
def test_the_last_text_of_an_environment_that_is_made_again_is_kept(steps: int) -> None:
    """It is an object, which only this process has."""
    options: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "on_error": "restart"}
    with pool([partial(Chatter, fails_at=steps)], **options) as envs:
        envs.reset(seed=1)
        for action in range(steps):
            envs.step({"a": [action], "b": [1]})
        observations, _, _, truncations, infos = envs.step({"a": [0], "b": [1]})
        assert truncations["a"].all() and observations["a"] == ("start",)
        assert infos["final_obs"]["a"] == (str(steps - 1) if steps else "start",)


class Chatter(ParallelEnv[Any, Any, Any]):
    """One of its agents sees text; step `fails_at` of each episode raises."""

    def __init__(self, fails_at: int = -1) -> None:
        self.metadata, self.possible_agents = {"name": "chatter_v0"}, ["a", "b"]
        self.fails_at = fails_at

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        return spaces.Text(3) if agent == "a" else spaces.Discrete(4)

    def action_space(self, agent: Any) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.count = ["a", "b"], 0
        return {"a": "start", "b": 0}, {"a": {}, "b": {}}

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        if self.count == self.fails_at:
            raise ArithmeticError("an environment that fails")
        self.count += 1
        none = {"a": False, "b": False}
        shown = {"a": str(actions["a"]), "b": int(actions["b"])}
        return shown, {"a": 0.0, "b": 0.0}, none, none, {"a": {}, "b": {}}


@pytest.mark.slow
def test_names_of_unknown_agents_and_strings_as_env_fns_are_refused() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="`knights` doesn't exist"):
        PoolParallelEnv("knights")
    with PoolParallelEnv([Relay] * 2, num_workers=1) as envs:
        for ask in (envs.observation_space, envs.action_space):
            for agent in ("unknown", ["a"]):
                with pytest.raises(KeyError, match=r"there is no agent .*: choose one of "):
                    ask(agent)
