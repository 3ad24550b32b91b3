"""ProcessVectorEnv equals Gymnasium's SyncVectorEnv for all kinds of spaces and infos."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from tests.support.partial_resets import check_partial_resets
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc", "parallel_pool/_engine", "parallel_pool/_workers")

MODES = list(AutoresetMode)


class Custom(gymnasium.Space[Any]):
    """A space that Gymnasium does not know."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return f"sample {self.np_random.integers(1000)}"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom)


SPACES: dict[str, Callable[[], gymnasium.Space[Any]]] = {
    "box": lambda: spaces.Box(-1, 1, (3,)),
    "box of none": lambda: spaces.Box(-1, 1, (0, 2)),
    "number": lambda: spaces.Box(-1, 1, (), np.float64),
    "byte": lambda: spaces.Box(0, 255, (), np.uint8),
    "picture": lambda: spaces.Box(0, 255, (6, 5, 3), np.uint8),
    "discrete": lambda: spaces.Discrete(7),
    "discrete from -3": lambda: spaces.Discrete(5, start=-3),
    "multi discrete": lambda: spaces.MultiDiscrete([[2, 3], [4, 5]]),
    "multi binary": lambda: spaces.MultiBinary((2, 3)),
    "dict": lambda: spaces.Dict(
        b=spaces.Box(-1, 1, (2,)), a=spaces.Dict(x=spaces.Discrete(4), y=spaces.MultiBinary(2))
    ),
    "dict in its own order": lambda: spaces.Dict(
        OrderedDict(b=spaces.Box(-1, 1, (2,)), a=spaces.Discrete(3))
    ),
    "tuple": lambda: spaces.Tuple(
        [spaces.Discrete(3), spaces.Box(-1, 1, (2, 2)), spaces.Tuple([spaces.MultiBinary(3)])]
    ),
    "text": lambda: spaces.Text(9),
    "dict with text": lambda: spaces.Dict(
        word=spaces.Text(5), number=spaces.Box(0, 1, (2,)), pair=spaces.Tuple([spaces.Discrete(2)])
    ),
    "sequence": lambda: spaces.Sequence(spaces.Box(-1, 1, (2,))),
    "stacked sequence": lambda: spaces.Sequence(spaces.Discrete(5), stack=True),
    "graph": lambda: spaces.Graph(spaces.Box(-1, 1, (2,)), spaces.Discrete(3)),
    "one of": lambda: spaces.OneOf([spaces.Discrete(3), spaces.Box(-1, 1, (2,))]),
    "custom": lambda: Custom(),
}


class Teller(gymnasium.Env[Any, Any]):
    """Returns samples of a space and the given infos, and counts its steps.

    Args:
        of: a function that makes the observation space.
        acts: a function that makes the action space.
        length: the steps of an episode; every second episode is truncated, the others terminate.
        tell: a function that returns the infos of a Teller.
        as_shown: a function that converts a sample to the observation.
    """

    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 12}

    def __init__(
        self,
        of: Callable[[], gymnasium.Space[Any]] = SPACES["box"],
        acts: Callable[[], gymnasium.Space[Any]] = SPACES["discrete"],
        length: int = 3,
        tell: Callable[[Any], dict[str, Any]] = lambda teller: {},
        as_shown: Callable[[Any], Any] = lambda sample: sample,
    ) -> None:
        self.observation_space, self.action_space = of(), acts()
        self.length, self.tell, self.as_shown = length, tell, as_shown
        self.count = self.episodes = 0
        self.last_action: Any = None
        self.options: Any = None

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.options = options
        self.count = 0
        self.episodes += 1
        return self.as_shown(self.observation_space.sample()), self.tell(self)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        self.last_action = action
        ends = self.count == self.length
        return (
            self.as_shown(self.observation_space.sample()),
            float(self.np_random.random()),
            ends and self.episodes % 2 == 0,
            ends and self.episodes % 2 == 1,
            self.tell(self),
        )


@contextmanager
def pair(
    env_fns: Sequence[Callable[[], Any]], num_workers: int = 2, **kwargs: Any
) -> Iterator[tuple[VectorEnv[Any, Any, Any], ProcessVectorEnv]]:
    """Yields a SyncVectorEnv and a ProcessVectorEnv of the same environments."""
    theirs = SyncVectorEnv(env_fns, **kwargs)
    num_workers = min(num_workers, len(env_fns))
    ours = ProcessVectorEnv(env_fns, context="fork", num_workers=num_workers, **kwargs)
    try:
        yield theirs, ours
    finally:
        ours.close()
        theirs.close()


def assert_same_result(ours: Any, theirs: Any, where: str) -> None:
    """Asserts what `assert_same` does, and that keys have the same order."""
    assert_same(ours, theirs, where)
    assert order_of(ours) == order_of(theirs), where


def order_of(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, order_of(value[key])) for key in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    return [order_of(part) for part in value] if isinstance(value, tuple | list) else None


def tellers(count: int, **kwargs: Any) -> list[Callable[[], Any]]:
    """Returns functions that make environments whose episodes end at different times."""
    return [partial(Teller, length=2 + i % 4, **kwargs) for i in range(count)]


def run_both(
    theirs: VectorEnv[Any, Any, Any],
    ours: ProcessVectorEnv,
    mode: AutoresetMode,
    steps: int = 14,
    compare: Callable[[Any, Any, str], None] | None = None,
) -> None:
    """Runs both with the same seeds and actions, and the resets that the mode needs."""
    compare = compare or assert_same_result
    compare(ours.reset(seed=5), theirs.reset(seed=5), "reset")
    theirs.action_space.seed(3)
    ends = 0
    for step in range(steps):
        actions = theirs.action_space.sample()
        expected = theirs.step(copy.deepcopy(actions))
        compare(ours.step(actions), expected, f"step {step}")
        ended = expected[2] | expected[3]
        ends += int(ended.sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            masks = [{"reset_mask": ended.copy(), "why": step} for _ in range(2)]
            again = theirs.reset(options=masks[0])
            compare(ours.reset(options=masks[1]), again, f"reset at {step}")
            assert masks[1] == masks[0]
    assert ends > theirs.num_envs


# ------------------------------------------------------------------------------------- spaces --


def few(names: Iterable[str], *in_all: str) -> list[Any]:
    """Returns all names with SAME_STEP, which returns the most, and some names with all modes.

    Quick are the first of these with all modes, and every other name.
    """
    cases = [
        pytest.param(name, mode, id=f"{name}-{mode.name}")
        for name in names
        for mode in MODES
        if name != in_all[0] and (mode is AutoresetMode.SAME_STEP or name in in_all)
    ]
    first = [pytest.param(in_all[0], mode, id=f"{in_all[0]}-{mode.name}") for mode in MODES]
    return [*first, *thinned(cases, 2)]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("name", "mode"), few(SPACES, "box", "discrete", "dict", "text", "graph"))
def test_observations_are_the_same(name: str, mode: AutoresetMode) -> None:
    with pair(tellers(5, of=SPACES[name]), autoreset_mode=mode) as (theirs, ours):
        run_both(theirs, ours, mode)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", thinned(SPACES, 3))
def test_actions_arrive_the_same(name: str) -> None:
    """Environments report the actions that they get in infos: value, type and dtype."""

    def tell(teller: Teller) -> dict[str, Any]:
        action = teller.last_action
        return {"action": [action], "kind": type(action), "dtype": getattr(action, "dtype", None)}

    with pair(tellers(5, acts=SPACES[name], tell=tell)) as (theirs, ours):
        # not the order of keys: in ours it is the order of the space
        compare = partial(assert_same, ordered=False)
        run_both(theirs, ours, AutoresetMode.NEXT_STEP, compare=compare)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "as_shown"),
    [
        ("box", lambda sample: sample.astype(np.float64)),
        ("box", lambda sample: [float(x) for x in sample]),
        ("discrete", int),
        ("discrete", np.array),
        ("number", float),
        ("dict", lambda sample: {**sample, "more": 1}),
        ("dict", lambda sample: {**sample, "b": list(sample["b"])}),
        ("dict", lambda sample: dict(reversed(list(sample.items())))),
        ("tuple", list),
    ],
)
def test_observations_that_are_cast_are_the_same(name: str, as_shown: Callable[[Any], Any]) -> None:
    """`final_obs` holds the environment's own observation, before the cast."""
    env_fns = tellers(5, of=SPACES[name], as_shown=as_shown)
    with pair(env_fns, autoreset_mode=AutoresetMode.SAME_STEP) as (theirs, ours):
        run_both(theirs, ours, AutoresetMode.SAME_STEP)


@pytest.mark.slow
def test_equal_spaces_may_have_their_keys_in_another_order() -> None:
    """Of observations and actions, in some environments of one worker and in all of another."""

    def make(order: str) -> spaces.Dict:
        box, other, number = spaces.Box(-1, 1, (2,)), spaces.Box(5, 6, (2,)), spaces.Discrete(4)
        parts = {"a": box, "b": other, "c": number}
        return spaces.Dict(OrderedDict((key, parts[key]) for key in order))

    env_fns = [
        partial(
            Teller,
            of=partial(make, order),
            acts=partial(make, order),
            tell=lambda teller: {"action": [teller.last_action]},
        )
        for order in ("abc", "bca", "cab", "cba")
    ]
    for observation_mode in ("same", "different"):
        with pair(env_fns, observation_mode=observation_mode) as (theirs, ours):
            run_both(theirs, ours, AutoresetMode.NEXT_STEP)


# -------------------------------------------------------------------------------------- infos --


class Thing:
    """An object that Gymnasium puts into arrays of objects."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and other.number == self.number


INFOS: dict[str, Callable[[Teller], dict[str, Any]]] = {
    "numbers": lambda t: {"int": t.count, "float": t.count / 2, "bool": t.count % 2 == 0},
    "numpy's": lambda t: {"a": np.int32(t.count), "b": np.float16(t.count), "c": np.uint8(t.count)},
    "numpy's bool": lambda t: {"bool": np.bool_(t.count % 2 == 0)},
    "arrays": lambda t: {"a": np.full((2, 3), t.count, np.float32), "b": np.zeros(0)},
    "array of one": lambda t: {"scalar": np.array(t.count)},
    "objects": lambda t: {"text": "x" * t.count, "none": None, "thing": Thing(t.count)},
    "lists": lambda t: {"list": [t.count], "kind": Thing, "tuple": ()},
    "nested": lambda t: {"a": {"b": {"c": t.count, "d": np.arange(2)}, "e": "e"}, "empty": {}},
    "now and then": lambda t: {"seldom": t.count} if t.count == t.length - 1 else {},
    "of some": lambda t: {f"of {t.length}": t.length, "all": {f"{t.count}": t.count}},
    "kinds that change": lambda t: {"x": [1, 2.5, True, np.float32(3)][t.length - 2]},
    "at resets only": lambda t: {"options": t.options, "n": t.episodes} if t.count == 0 else {},
    "names of Gymnasium's": lambda t: {"_x": t.count, "x": t.count, "final": 1},
    "of another order": lambda t: dict.fromkeys("ab" if t.count % 2 else "ba", t.count),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize(("name", "mode"), few(INFOS, "nested", "numbers", "now and then"))
def test_infos_are_the_same(name: str, mode: AutoresetMode) -> None:
    with pair(tellers(6, tell=INFOS[name]), 3, autoreset_mode=mode) as (theirs, ours):
        run_both(theirs, ours, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_infos_come_with_observations_that_are_objects(mode: AutoresetMode) -> None:
    env_fns = tellers(5, of=SPACES["graph"], tell=INFOS["nested"])
    with pair(env_fns, autoreset_mode=mode) as (theirs, ours):
        run_both(theirs, ours, mode)


def test_infos_that_can_not_be_combined_raise_the_same_error() -> None:
    """Arrays of different shapes."""
    env_fns = tellers(3, tell=lambda teller: {"array": np.zeros(teller.length)})
    with pair(env_fns) as (theirs, ours):
        with pytest.raises(ValueError, match="broadcast"):
            theirs.reset(seed=1)
        with pytest.raises(ValueError, match="broadcast"):
            ours.reset(seed=1)


# ------------------------------------------------------------------------------------- resets --


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", thinned(["box", "dict", "text"], 3))
def test_partial_resets_are_the_same(name: str, mode: AutoresetMode) -> None:
    env_fns = tellers(6, of=SPACES[name], tell=INFOS["at resets only"])
    with pair(env_fns, 3, autoreset_mode=mode) as (theirs, ours):
        check_partial_resets(
            theirs,
            ours,
            60,
            lambda step: ({}, {"low": step}),
            compare=assert_same_result,
            num_actions=7,
            spoil=name == "box",
        )


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", [0, 123, [5, 3, 9], [None, 2, None], (1, 2, 3), 2**31, 2**70])
def test_seeds_are_the_same(seed: Any) -> None:
    with pair([lambda: gymnasium.make("CartPole-v1")] * 3) as (theirs, ours):
        theirs.reset(seed=8)
        ours.reset(seed=8)
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
        assert ours.np_random_seed == theirs.np_random_seed
        assert_same(ours.reset(), theirs.reset(), "second reset")
        assert ours.np_random_seed == theirs.np_random_seed
        for own, other in zip(ours.np_random, theirs.np_random, strict=True):
            assert own.bit_generator.state == other.bit_generator.state


# -------------------------------------------------------------------------- real environments --


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", thinned(MODES, 2), ids=lambda mode: mode.name)
@pytest.mark.parametrize(
    ("id", "num_envs", "num_workers"),
    [("CartPole-v1", 1, 1), ("CartPole-v1", 7, 3), ("Blackjack-v1", 5, 2)],
)
def test_environments_of_gymnasium_are_the_same(
    id: str, num_envs: int, num_workers: int, mode: AutoresetMode
) -> None:
    env_fns = [lambda: gymnasium.make(id, max_episode_steps=9)] * num_envs
    with pair(env_fns, num_workers, autoreset_mode=mode) as (theirs, ours):
        run_both(theirs, ours, mode, steps=25)


def test_pictures_and_attributes_are_the_same() -> None:
    env_fns = [
        lambda g=g: gymnasium.make("Pendulum-v1", render_mode="rgb_array", g=g) for g in (9.5, 1.6)
    ]
    with pair(env_fns) as (theirs, ours):
        for name in (
            "num_envs",
            "single_observation_space",
            "observation_space",
            "single_action_space",
            "action_space",
            "metadata",
            "render_mode",
            "spec",
            "closed",
            "autoreset_mode",
        ):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert repr(ours) == repr(theirs).replace("Sync", "Process")
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        assert_same(ours.render(), theirs.render(), "render")
        assert ours.get_attr("g") == theirs.get_attr("g") == (9.5, 1.6)
        for values in (3.5, [1.0, 2.0], (4.0, 5.0)):
            theirs.set_attr("g", values)
            ours.set_attr("g", values)
            assert ours.get_attr("g") == theirs.get_attr("g")
        for call in (("state",), ("get_wrapper_attr", "g"), ("has_wrapper_attr", "nothing")):
            assert_same(ours.call(*call), theirs.call(*call), str(call))
        action = theirs.action_space.sample()
        assert_same(ours.step(action), theirs.step(action), "step")


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["different", "custom"])
def test_observation_modes_are_the_same(kind: str) -> None:
    """Spaces with different bounds."""

    def make(order: str, high: float, *rows: int) -> spaces.Dict:
        parts = {"x": spaces.Box(0, high, (*rows, 2)), "y": spaces.Box(5, 5 + high, (*rows, 2))}
        return spaces.Dict(OrderedDict((key, parts[key]) for key in order))

    env_fns = [partial(Teller, of=partial(make, "xy", high)) for high in (1.0, 2.0, 5.0)]
    mode: Any = kind
    if kind == "custom":
        # also with its keys in another order
        mode = (make("yx", 9, 3), make("yx", 9))
    with pair(env_fns, observation_mode=mode) as (theirs, ours):
        assert ours.observation_space == theirs.observation_space
        assert ours.single_observation_space == theirs.single_observation_space
        run_both(theirs, ours, AutoresetMode.NEXT_STEP)
