"""Games: holds a class of PettingZoo's and its translation against each other, bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
from parallel_pool._apis.pettingzoo.single import parallel_env
from parallel_pool._contract.reseeding import is_reseeded
from parallel_pool._prover.comparison import is_same
from parallel_pool._prover.contract_error import ContractError

NUM_ENVS = 3
MODES = ("NextStep", "SameStep")
NAMES = ("observations", "rewards", "terminations", "truncations", "infos")


def compare(
    cls: Any,
    task_id: str,
    steps: int,
    seed: int,
    options: Mapping[str, Any],
    native_options: Mapping[str, Any],
) -> None:
    """Steps both with the same random actions, many games through resets, and one game.

    Args:
        cls: the class in Python.
        task_id: of its translation.
        steps: of each game.
        seed: of both, and of the actions.
        options: of the class's constructor.
        native_options: of the translation.

    Raises:
        ContractError: a result differs; the message shows both.
    """
    pair = _Pair(cls, task_id, steps, seed, options, native_options)
    for mode in MODES:
        pair.compare_many(mode)
    pair.compare_one()


@dataclass(frozen=True)
class _Pair:
    """A class, its translation, and how they are played; the attributes are those of `compare`."""

    cls: Any
    task_id: str
    steps: int
    seed: int
    options: Mapping[str, Any]
    native_options: Mapping[str, Any]

    def make(self) -> Any:
        return self.cls(**self.options)

    def compare_many(self, mode: str) -> None:
        ours = PoolParallelEnv(self.task_id, NUM_ENVS, autoreset_mode=mode, **self.native_options)
        made = [self.make] * NUM_ENVS
        theirs = PoolParallelEnv(made, autoreset_mode=mode, num_workers=0)
        with ours, theirs:
            _check_spaces(theirs, ours)
            _check("reset", theirs.reset(seed=self.seed), ours.reset(seed=self.seed), NAMES[::4])
            _check("reset", [theirs.live], [ours.live], ["live"])
            spaces = [theirs.action_space(agent) for agent in theirs.possible_agents]
            is_once = is_reseeded(self.cls, self.options)
            for i, space in enumerate(spaces):
                space.seed(self.seed + i)
            for step in range(self.steps):
                actions = {
                    agent: np.array([space.sample() for _ in range(NUM_ENVS)])
                    for agent, space in zip(theirs.possible_agents, spaces, strict=True)
                }
                what = f"{mode}, step {step} of seed {self.seed}, with the actions {actions}"
                expected, found = theirs.step(actions), ours.step(actions)
                if is_once and np.any([*expected[2].values(), *expected[3].values()]):
                    return
                _check(what, expected, found, NAMES)
                _check(what, [theirs.live], [ours.live], ["live"])

    def compare_one(self) -> None:
        """Compares what an agent gets, and who gets nothing."""
        theirs, ours = self.make(), parallel_env(self.task_id, **self.native_options)
        _check_spaces(theirs, ours)
        spaces = {agent: theirs.action_space(agent) for agent in theirs.possible_agents}
        for i, space in enumerate(spaces.values()):
            space.seed(self.seed + i)
        acting: list[Any] = []
        for step in range(self.steps):
            what = f"one game, step {step} of seed {self.seed}"
            if not acting:
                results = theirs.reset(seed=self.seed + step), ours.reset(seed=self.seed + step)
                _check_one(f"{what}, reset", *results, NAMES[::4])
                ended: set[Any] = set()
            else:
                actions = {agent: spaces[agent].sample() for agent in acting}
                results = theirs.step(actions), ours.step(actions)
                what += f", with the actions {actions}"
                _check_one(what, *results, NAMES)
                flags = [*results[0][2].items(), *results[0][3].items()]
                ended = {agent for agent, flag in flags if flag}
            _check(what, [theirs.agents], [ours.agents], ["agents"])
            acting = [agent for agent in theirs.agents if agent not in ended]
        ours.close()


def _check_spaces(theirs: Any, ours: Any) -> None:
    _check("at first", [theirs.possible_agents], [ours.possible_agents], ["possible_agents"])
    for agent in theirs.possible_agents:
        for name in ("observation_space", "action_space"):
            one, other = getattr(theirs, name)(agent), getattr(ours, name)(agent)
            if one != other:
                raise ContractError(f"{name} of {agent} is {other}, and in Python {one}")


def _check_one(what: str, expected: Any, found: Any, names: Any) -> None:
    for name, one, other in zip(names, expected, found, strict=True):
        if set(one) != set(other):
            raise ContractError(f"{what}: {name} are of {list(other)}, and in Python {list(one)}")
        for agent in one:
            _check_values(f"{what}: {name} of {agent}", one[agent], other[agent])


def _check_values(what: str, one: Any, other: Any) -> None:
    """Compares values whose types the native ones take from spaces and fields."""
    if isinstance(one, Mapping):
        if set(one) != set(other):
            raise ContractError(f"{what} have {list(other)}, and in Python {list(one)}")
        for key in one:
            _check_values(f"{what}, {key}", one[key], other[key])
    elif not is_same(np.asarray(one).astype(np.asarray(other).dtype), np.asarray(other)):
        raise ContractError(f"{what} is\n{other}\nand in Python\n{one}")


def _check(what: str, expected: Any, found: Any, names: Any) -> None:
    for name, one, other in zip(names, expected, found, strict=True):
        if name == "infos":
            one, other = _told(one), _told(other)
        if not is_same(one, other):
            raise ContractError(f"{what}: {name} is\n{other}\nand in Python\n{one}")


def _told(infos: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns infos with what is there only, and all numbers as floats.

    In Gymnasium's array they have the dtype that the first environment gives, which cuts off those
    that are floats at other times.
    """
    found: dict[Any, Any] = {}
    for key, value in infos.items():
        if key in ("final_info", "_final_info", "_final_obs"):
            found[key] = _told(value) if isinstance(value, Mapping) else value
        elif isinstance(value, Mapping):
            own = {
                name: np.asarray(each)[value[f"_{name}"]].astype(np.float64)
                for name, each in value.items()
                if f"_{name}" in value and value[f"_{name}"].any()
            }
            if own:
                found[key] = own
    return found
