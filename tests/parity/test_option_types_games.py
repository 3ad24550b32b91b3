"""Options of games and particle worlds keep the caller's type, as test_option_types.py has it."""

from __future__ import annotations

import importlib
import inspect
from contextlib import closing
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import registry
from tests.parity.test_mpe import Pair
from tests.parity.test_option_types import BOOLS, INTEGERS, TYPES, compare
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs")

gymnasium.register_envs(ale_py)

# ------------------------------------------------------------------------------------- Atari --

# a value for floats, one for integers and booleans, and what must be set for it to have an effect
ATARI: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "mode": (1, 1, {}),
    "difficulty": (1, 1, {}),
    "frameskip": (3, 3, {}),
    "repeat_action_probability": (0.37, 1, {}),
    "full_action_space": (1, 1, {}),
    "continuous": (1, 1, {}),
    "continuous_action_threshold": (0.3, 1, {"continuous": True}),
    "max_num_frames_per_episode": (60, 60, {}),
}
FLOATS = {"repeat_action_probability", "continuous_action_threshold"}


def atari_may_refuse(name: str, kind: str) -> bool:
    """Returns whether native environments may refuse a value that ale-py accepts."""
    if name in ("full_action_space", "continuous"):
        return kind not in BOOLS
    if name == "continuous_action_threshold" and kind == "uint8":
        return True
    return kind in BOOLS or (name in FLOATS and kind == "array")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in ATARI for kind in TYPES])
def test_atari_options_of_all_types(name: str, kind: str) -> None:
    of_float, of_integer, also = ATARI[name]
    value = TYPES[kind](of_integer if kind in INTEGERS or kind in BOOLS else of_float)
    outcome = compare("ALE/Breakout-v5", {name: value, **also})
    if name == "frameskip" and kind in ("int32", "int64", "uint8", "array"):
        # Gymnasium takes no integer but Python's, and we do
        assert outcome.startswith('native only: Error("Invalid frameskip type')
        return
    assert outcome in ("same", "both refused") or atari_may_refuse(name, kind), outcome
    assert not outcome.startswith("refused") or "give " in outcome


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "float16", "float32", "float64"])
def test_a_stick_is_compared_in_the_type_of_the_threshold(kind: str) -> None:
    """The float32 that 0.3 rounds to is beyond np.float64(0.3), and not beyond 0.3."""
    threshold = TYPES[kind](0.3)
    sides = [np.float32(0), np.float32(1)]
    near = [np.float32(0.3), *(np.nextafter(np.float32(0.3), side) for side in sides)]
    near += [np.float32(np.float16(0.3)), np.float32(0.29)]
    sticks = [(radius, angle, 0) for radius in near for angle in (0, np.pi)]
    sticks += [(0, 0, fire) for fire in near]
    options = {
        "continuous": True,
        "continuous_action_threshold": threshold,
        "obs_type": "ram",
        "repeat_action_probability": 0.0,
    }
    theirs = gymnasium.make_vec("ALE/Pong-v5", 1, vectorization_mode="sync", **options)
    ours = parallel_pool.make_vec("ALE/Pong-v5", 1, backend="native", **options)
    with closing(theirs), closing(ours):
        for stick in sticks:
            seen = []
            for env in (ours, theirs):
                env.reset(seed=[1])
                seen.append([env.step(np.array([stick], np.float32)) for _ in range(12)])
            assert_same(*seen, str(stick))


# ---------------------------------------------------------------------------- particle worlds --

# values of the options of particle worlds that are no booleans: for floats, and for integers
WORLD: dict[str, tuple[Any, Any]] = {
    "local_ratio": (0.37, 1),
    **dict.fromkeys(("N", "num_good", "num_adversaries", "num_obstacles"), (2, 2)),
    **dict.fromkeys(("num_food", "num_forests", "num_collectors"), (2, 2)),
    **dict.fromkeys(("num_deposits", "num_treasures", "max_cycles"), (2, 2)),
    **dict.fromkeys(("num_agent_neighbors", "num_landmark_neighbors"), (1, 1)),
}


def world_cases() -> list[tuple[str, str, str]]:
    found = []
    for task_id, definition in registry.definitions().items():
        if definition.family == "mpe":
            named = importlib.import_module(f"mpe2.{task_id.removeprefix('mpe/')}")
            parameters = inspect.signature(named.raw_env.__init__).parameters
            names = [name for name in definition.options if name in parameters]
            found += [(task_id, name, kind) for name in names for kind in TYPES]
    assert {name for _, name, _ in found} >= {"local_ratio", "N", "num_treasures"}
    return found


@pytest.mark.quick(23)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("task_id", "name", "kind"), thinned(world_cases(), 17))
def test_options_of_worlds_of_all_types(task_id: str, name: str, kind: str) -> None:
    is_bool = name not in WORLD
    of_float, of_integer = WORLD.get(name, (True, True))
    value = TYPES[kind](of_integer if kind in INTEGERS or kind in BOOLS else of_float)
    options = {"max_cycles": 10, name: value}
    world = task_id.removeprefix("mpe/")
    try:
        pair = Pair(world, options)
    except Exception as error:
        # theirs is made first
        if is_refused_by_mpe2(world, options):
            return
        assert kind in BOOLS or kind not in INTEGERS or is_bool, error
        assert "give " in str(error)
        return
    with closing(pair):
        rng = np.random.default_rng(1)
        pair.reset(3)
        while not pair.step(rng):
            pass


def is_refused_by_mpe2(world: str, options: dict[str, Any]) -> bool:
    try:
        with closing(importlib.import_module(f"mpe2.{world}").parallel_env(**options)) as env:
            env.reset(seed=3)
    except Exception:
        return True
    return False
