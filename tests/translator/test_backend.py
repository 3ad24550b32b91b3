"""backend="compiled" steps the translation of a class that is registered with Gymnasium."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.wrappers import ClipReward, RecordEpisodeStatistics, TimeAwareObservation

import parallel_pool
from parallel_pool._contract.twins import is_same
from parallel_pool._engine import registry
from parallel_pool._translator import files, load
from parallel_pool.compat.gymnasium import NativeVectorEnv, ProcessVectorEnv
from parallel_pool.compat.sb3 import PoolVecEnv

CLASS = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 9}

    def __init__(self, size=3, speed=0.5, name="slow", render_mode=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.size, self.render_mode = size, render_mode
        self.speed = 2 * speed if name == "fast" else speed

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=self.size)
        return self.place.copy(), {}

    def step(self, action):
        self.place = self.place + self.speed * (2 * action - 1) + self.np_random.normal()
        return self.place.copy(), float(self.place.sum()), bool(self.place[0] > 4), False, {}

    def render(self):
        return np.zeros((2, 2, 3), np.uint8)


class Unlucky(Walk):
    def step(self, action):
        open("x")
        return self.place.copy(), 0.0, False, False, {}


class Needy(Walk):
    def __init__(self, size):
        super().__init__(size)
"""


class Module:
    """A module that Gymnasium's registry names, and nobody has imported yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: list[str] = []

    def register(self, cls: str = "Walk", **arguments: Any) -> str:
        """Registers a class; returns the id, which no other test uses."""
        task_id = f"{self.name.title()}{cls}{len(self.ids)}-v0"
        self.ids.append(task_id)
        gymnasium.register(task_id, f"{self.name}:{cls}", **arguments)
        return task_id


@pytest.fixture
def module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Module]:
    made = Module("walk" + "".join(filter(str.isalnum, request.node.name))[:80].lower())
    (tmp_path / f"{made.name}.py").write_text(CLASS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield made
    sys.modules.pop(made.name, None)
    for task_id in made.ids:
        del gymnasium.registry[task_id]


def assert_same_as_sync(ours: Any, task_id: str, wrappers: Any = None, **options: Any) -> None:
    """Steps what was made and SyncVectorEnv, through resets, and closes both."""
    theirs = gymnasium.make_vec(task_id, 3, "sync", wrappers=wrappers, **options)
    assert (ours.single_observation_space, ours.single_action_space) == (
        theirs.single_observation_space,
        theirs.single_action_space,
    )
    try:
        assert is_same(ours.reset(seed=4), theirs.reset(seed=4))
        theirs.action_space.seed(5)
        ended = False
        for _ in range(40):
            action = theirs.action_space.sample()
            found, expected = ours.step(action), theirs.step(action)
            # episodes are timed
            for *_, infos in (found, expected):
                infos.get("episode", {}).pop("t", None)
                infos.get("episode", {}).pop("_t", None)
            assert is_same(found, expected)
            ended |= bool((expected[2] | expected[3]).any())
        assert ended
    finally:
        ours.close()
        theirs.close()


def compiled(task_id: Any, **options: Any) -> Any:
    return parallel_pool.make_vec(task_id, 3, backend="compiled", **options)


@pytest.mark.slow
def test_an_id_is_compiled_at_its_first_use(module: Module) -> None:
    task_id = module.register(max_episode_steps=11)
    assert parallel_pool.make_vec(task_id, 1, num_workers=0).backend == "process"
    ours = compiled(task_id)
    assert isinstance(ours, NativeVectorEnv) and repr(ours).startswith("NativeVectorEnv(")
    assert ours.backend == "native"
    assert ours.backend_reason == f"{task_id} is native, compiled from {module.name}:Walk"
    assert ours.pool.max_episode_steps == registry.find(task_id).max_episode_steps == 11
    assert_same_as_sync(ours, task_id)
    # native from now on, unless the class itself is asked for
    auto = parallel_pool.make_vec(task_id, 3)
    assert (auto.backend, auto.backend_reason) == (ours.backend, ours.backend_reason)
    itself = parallel_pool.make_vec(task_id, 1, backend="process", num_workers=0)
    assert isinstance(itself, ProcessVectorEnv) and itself.backend == "process"
    assert repr(itself).startswith("ProcessVectorEnv(")


@pytest.mark.slow
def test_gymnasiums_make_vec_takes_it(module: Module) -> None:
    task_id = module.register(max_episode_steps=9)
    ours = gymnasium.make_vec(
        task_id, 3, vectorization_mode="parallel_pool", vector_kwargs={"backend": "compiled"}
    )
    assert ours.spec.kwargs["vector_kwargs"] == {"backend": "compiled"}
    again = gymnasium.make_vec(ours.spec)
    for each in (ours, again):
        assert_same_as_sync(each, task_id)


@pytest.mark.slow
@pytest.mark.parametrize(
    "registered, given",
    [
        ({"speed": 0.7, "name": "fast"}, {}),
        ({"size": 5, "name": "fast"}, {"speed": 0.1}),
        ({"size": 4}, {"size": 2}),
        ({}, {"name": "fast"}),
        ({}, {"speed": 3}),
        ({"speed": 0.1}, {"size": 6, "name": "slow", "max_episode_steps": 7}),
    ],
)
def test_options_of_the_registration_and_of_the_call(
    module: Module, registered: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    task_id = module.register(max_episode_steps=9, kwargs={**registered})
    for _ in range(2):
        assert_same_as_sync(compiled(task_id, **given), task_id, **given)
    # the id is not changed by what a call has added
    assert_same_as_sync(compiled(task_id), task_id)
    assert_same_as_sync(parallel_pool.make_vec(task_id, 3), task_id)
    # nor are its options where no spec gives them
    defaults = {name: option.default for name, option in registry.find(task_id).options.items()}
    expected = {"size": 3, "speed": 0.5, **registered}
    assert {name: defaults[name] for name in ("size", "speed")}.items() <= expected.items()


@pytest.mark.slow
def test_arguments_without_a_default(module: Module) -> None:
    task_id = module.register("Needy", max_episode_steps=9)
    assert_same_as_sync(compiled(task_id, size=2), task_id, size=2)


@pytest.mark.slow
def test_numbers_differ_between_environments(module: Module) -> None:
    task_id = module.register(max_episode_steps=9)
    ours = compiled(task_id, speed=parallel_pool.each([0.0, 1e6, -1e6]))
    ours.reset(seed=1)
    assert [abs(each) > 1e5 for each in ours.step([1, 1, 1])[0][:, 0]] == [False, True, True]
    ours.close()
    with pytest.raises(ValueError, match=r"size=each.*only numbers that change no shape may dif"):
        compiled(task_id, size=parallel_pool.each([2, 3, 4]))


@pytest.mark.slow
def test_a_class_that_was_compiled_before_is_not_compiled_again(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = module.register(max_episode_steps=9)
    cls = gymnasium.envs.registration.load_env_creator(f"{module.name}:Walk")
    assert parallel_pool.compile(cls) == [task_id]
    monkeypatch.setattr(load, "translate", None)
    assert_same_as_sync(compiled(task_id), task_id)


@pytest.mark.slow
def test_a_class_of_the_same_name_is_another(module: Module) -> None:
    task_id = module.register(max_episode_steps=9)
    compiled(task_id).close()
    before = files.classes_by_id[task_id]
    path = Path(sys.modules.pop(module.name).__file__ or "")
    path.write_text(path.read_text().replace("2 * action - 1", "3 * action"))
    assert_same_as_sync(compiled(task_id), task_id)
    assert files.classes_by_id[task_id] is not before


@pytest.mark.slow
def test_a_class_in_place_of_its_name() -> None:
    from tests.translator.probes import Random

    spec = EnvSpec("GivenRandom-v0", Random, max_episode_steps=9)
    ours = compiled(spec)
    assert ours.backend == "native" and "tests.translator.probes:Random" in ours.backend_reason
    ours.close()


@pytest.mark.slow
def test_a_module_that_only_imports_the_class(module: Module, tmp_path: Path) -> None:
    (tmp_path / f"by_{module.name}.py").write_text(f"from {module.name} import Walk\n")
    task_id = module.register(max_episode_steps=9)
    gymnasium.registry[task_id].entry_point = f"by_{module.name}:Walk"
    assert_same_as_sync(compiled(task_id), task_id)
    assert parallel_pool.make_vec(task_id).backend == "native"


def test_a_native_id_is_what_it_is() -> None:
    ours = parallel_pool.make_vec("CartPole-v1", 3, backend="compiled")
    assert (ours.backend, ours.backend_reason) == ("native", "CartPole-v1 is native")
    ours.close()


# ------------------------------------------------------------------------------------ wrappers --


@pytest.mark.slow
def test_wrappers_that_the_engine_has_itself(module: Module) -> None:
    task_id = module.register(
        max_episode_steps=9,
        order_enforce=False,
        disable_env_checker=True,
        additional_wrappers=(
            WrapperSpec(
                "ClipReward", "gymnasium.wrappers:ClipReward", {"min_reward": -1, "max_reward": 1}
            ),
        ),
    )
    assert_same_as_sync(compiled(task_id), task_id)
    wrappers = [RecordEpisodeStatistics, partial(ClipReward, min_reward=0, max_reward=0.5)]
    assert_same_as_sync(compiled(task_id, wrappers=wrappers), task_id, wrappers)


def test_other_wrappers_are_refused(module: Module) -> None:
    said = r"backend='compiled', but .*TimeAwareObservation.*: leave the wrapper out, wrap the vec"
    with pytest.raises(ValueError, match=said):
        compiled(module.register(), wrappers=[TimeAwareObservation])
    own = WrapperSpec("TimeAwareObservation", "gymnasium.wrappers:TimeAwareObservation", {})
    with pytest.raises(ValueError, match=said):
        compiled(module.register(additional_wrappers=(own,)))
    with pytest.raises(ValueError, match="AtariPreprocessing is for Atari games"):
        compiled(module.register(), wrappers=[gymnasium.wrappers.AtariPreprocessing])
    # nothing was compiled for that
    assert not any(task_id in registry.loaded_by_id for task_id in module.ids)


# ------------------------------------------------------------------------------------- errors --


def test_what_is_not_translated_is_an_error(module: Module) -> None:
    task_id = module.register("Unlucky")
    line = CLASS[: CLASS.index('open("x")')].count("\n") + 1
    with pytest.raises(parallel_pool.SourceError, match=rf"\.py:{line}: io.open\(\) is not transl"):
        compiled(task_id)


def make_walk(**options: Any) -> Any:
    raise AssertionError("is not called")


@pytest.mark.parametrize("entry", [make_walk, f"{__name__}:make_walk"])
def test_a_function_is_not_compiled(entry: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match=r"make_walk.*register the class"):
        compiled(EnvSpec("Function-v0", entry))


@pytest.mark.slow
def test_a_compiled_environment_draws(module: Module) -> None:
    task_id = module.register(max_episode_steps=9)
    envs = compiled(task_id, render_mode="rgb_array")
    envs.reset(seed=0)
    assert envs.render()[0].shape == (2, 2, 3)
    envs.close()


@pytest.mark.slow
def test_wrong_arguments(module: Module) -> None:
    task_id = module.register(max_episode_steps=9)
    with pytest.raises(
        TypeError, match=f"{task_id} has no option sped: those of Walk are size, sp"
    ):
        compiled(task_id, sped=1.0)
    with pytest.raises(ValueError, match="render_mode='ansi'"):
        compiled(task_id, render_mode="ansi")
    with pytest.raises(parallel_pool.SourceError, match=r"Walk\(name=.* keeps options that are"):
        compiled(task_id, name={1: 2})
    with pytest.raises(ValueError, match="backend='compiled', but the environments are made by fu"):
        parallel_pool.PoolVectorEnv([make_walk] * 2, backend="compiled")


@pytest.mark.slow
def test_auto_leaves_to_the_class_what_its_translation_can_not_do(module: Module) -> None:
    task_id = module.register(max_episode_steps=9, kwargs={"name": "slow"})
    compiled(task_id).close()
    reasons = "these options need another translation|has no option name"
    for given in ({"name": "fast"}, {"size": 5}):
        with pytest.warns(UserWarning, match=reasons):
            made = parallel_pool.make_vec(task_id, 1, **given)
        assert made.backend == "process"
        made.close()
    assert made.single_observation_space.shape == (5,)


# ------------------------------------------------------------------------------- other APIs --


@pytest.mark.slow
def test_stable_baselines_takes_it(module: Module) -> None:
    task_id = module.register(max_episode_steps=9, kwargs={"speed": 0.7, "name": "fast"})
    made = {name: PoolVecEnv(task_id, 2, backend=name, seed=1) for name in ("process", "compiled")}
    assert [each.backend for each in made.values()] == ["process", "native"]
    python, ours = made.values()
    assert is_same(python.reset(), ours.reset())
    for _ in range(20):
        expected, found = (each.step(np.ones(2, np.int64)) for each in (python, ours))
        assert is_same(expected[:3], found[:3])
    for each in made.values():
        each.close()


@pytest.mark.slow
def test_stable_baselines_refuses_what_is_not_compiled(module: Module) -> None:
    clip = WrapperSpec("ClipReward", "gymnasium.wrappers:ClipReward", {"max_reward": 1})
    task_id = module.register(additional_wrappers=(clip,))
    with pytest.raises(ValueError, match=r"backend='compiled', but the spec of .* adds ClipReward"):
        PoolVecEnv(task_id, 2, backend="compiled")
    for backend, said in (("compiled", "made by functions"), ("cluster", "ClusterVecEnv")):
        with pytest.raises(ValueError, match=said):
            PoolVecEnv([make_walk], backend=backend)
