"""Tasks on `mujoco.batch` that diverge, fail or return what they should not: what users see."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.errors import EnvError, MissingDependencyError, NotResetError, StateError
from parallel_pool.mujoco_batch import BatchVecEnv, BatchVectorEnv, Task
from tests.apis.mujoco_batch.quadrupeds import Quadrupeds
from tests.contract.sliders import MODEL, Sliders
from tests.support.interrupts import interrupt_every_step_wait
from tests.support.same import assert_same
from tests.support.timeouts import wait_for

COUNT = 4
ACTIONS = np.zeros((COUNT, 8), np.float32)


class Faulty(Quadrupeds):
    """Its `fault`, a function of the batch, is called once, before the simulation of a step."""

    fault: Callable[[Any], None] | None = None

    def act(self, batch: Any, actions: Any) -> None:
        super().act(batch, actions)
        fault, self.fault = self.fault, None
        if fault is not None:
            fault(batch)


def others_of(tree: Any) -> Any:
    """The rows but that of world 2."""
    return {key: np.delete(value, 2, 0) for key, value in tree.items()}


def spoil(batch: Any) -> None:
    batch.qvel[2, 5] = np.nan


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_world_that_diverges_is_named_and_starts_anew(mode: str) -> None:
    options: Any = {"autoreset_mode": mode, "num_threads": 1}
    task = Faulty()
    with (
        closing(BatchVectorEnv(task, COUNT, **options)) as envs,
        closing(BatchVectorEnv(Quadrupeds, COUNT, **options)) as twin,
    ):
        for each in (envs, twin):
            each.reset(seed=5)
            each.step(ACTIONS)
        task.fault = spoil
        seen, rewards, terminated, truncated, infos = envs.step(ACTIONS)
        wanted, *_ = twin.step(ACTIONS)
        assert terminated.tolist() == [False, False, True, False] and not truncated.any()
        assert rewards[2] == Quadrupeds.diverged_reward
        named = infos["final_info"] if mode == "SameStep" else infos
        assert named["diverged"].tolist() == named["_diverged"].tolist() == terminated.tolist()
        assert_same(others_of(seen), others_of(wanted), "results")
        assert all(np.isfinite(value).all() for value in seen.values())
        if mode == "Disabled":
            with pytest.raises(NotResetError):
                envs.step(ACTIONS)
            envs.reset(options={"reset_mask": terminated})
        for _ in range(5):
            seen, _, terminated, _, infos = envs.step(ACTIONS)
            wanted, *_ = twin.step(ACTIONS)
            assert not terminated.any() and "diverged" not in infos
            assert_same(others_of(seen), others_of(wanted), "results")


def test_a_diverged_world_is_named_to_stable_baselines3() -> None:
    task = Faulty()
    with closing(BatchVecEnv(task, COUNT, num_threads=1)) as envs:
        envs.reset()
        task.fault = spoil
        _, rewards, dones, infos = envs.step(ACTIONS)
        assert dones.tolist() == [False, False, True, False] and rewards[2] == -5
        assert [info.get("diverged") for info in infos] == [None, None, True, None]
        assert infos[2]["TimeLimit.truncated"] is False


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_an_error_of_mujocos_names_its_worlds_and_the_others_go_on(mode: str) -> None:
    class Unsolved(Faulty):
        varies = (*Quadrupeds.varies, "opt.integrator")

    task = Unsolved()
    options: Any = {"autoreset_mode": mode, "num_threads": 2}
    with (
        closing(BatchVectorEnv(task, COUNT, **options)) as envs,
        closing(BatchVectorEnv(Quadrupeds, COUNT, **options)) as twin,
    ):
        for each in (envs, twin):
            each.reset(seed=5)

        def fault(batch: Any) -> None:
            batch.expand("opt.integrator")[[1, 3]] = 99

        task.fault = fault
        with pytest.raises(
            EnvError, match=r"Unsolved: environment 1 \(and 1 more\) failed.*ntegrator"
        ) as raised:
            envs.step(ACTIONS)
        assert raised.value.env_ids == (1, 3)
        wanted, *_ = twin.step(ACTIONS)
        observed = envs.pool.observe()
        keys = sorted(wanted)
        for i in (0, 2):
            for key, leaf in zip(keys, observed, strict=True):
                assert_same(leaf[i], wanted[key][i], "results")
        if mode == "Disabled":
            with pytest.raises(NotResetError):
                envs.step(ACTIONS)
            envs.reset(options={"reset_mask": np.isin(np.arange(COUNT), (1, 3))})
        for _ in range(3):
            seen, *_ = envs.step(ACTIONS)
            wanted, *_ = twin.step(ACTIONS)
            for i in (0, 2):
                assert_same(
                    {k: seen[k][i] for k in keys}, {k: wanted[k][i] for k in keys}, "results"
                )


@pytest.mark.quick(5, sanitizers=True)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("method", ["act", "observe", "reward", "terminated", "infos"])
def test_an_exception_of_the_task_is_raised_and_all_begin_again(mode: str, method: str) -> None:
    class Broken(Quadrupeds):
        is_broken = False

    def broken(self: Any, *arguments: Any) -> Any:
        if self.is_broken:
            raise ZeroDivisionError("the battery is empty")
        return getattr(super(Broken, self), method)(*arguments)

    setattr(Broken, method, broken)
    with closing(BatchVectorEnv(Broken, COUNT, autoreset_mode=mode)) as envs:
        envs.reset(seed=1)
        envs.task.is_broken = True  # type: ignore[attr-defined]
        with pytest.raises(ZeroDivisionError, match="the battery is empty") as raised:
            envs.step(ACTIONS)
        assert isinstance(raised.value.__cause__, EnvError)
        assert raised.value.__cause__.env_ids == (0, 1, 2, 3)
        envs.task.is_broken = False  # type: ignore[attr-defined]
        if mode == "Disabled":
            with pytest.raises(NotResetError):
                envs.step(ACTIONS)
            envs.reset()
        _, rewards, *_ = envs.step(ACTIONS)
        assert rewards.any() == (mode == "Disabled")


WRONG: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "reward of another shape": (
        "reward",
        lambda b: b.qpos,
        r"reward returned an ndarray of dtype float64 and shape \(3, 1\): return one for each"
        r" world, \(3,\)",
    ),
    "reward that is a list": ("reward", lambda b: [0, 0, 0], r"reward returned a list.*an array"),
    "reward of texts": ("reward", lambda b: np.array(["a"] * 3), "return real numbers"),
    "one flag": (
        "terminated",
        lambda b: False,
        r"terminated returned a bool.*array of bools, \(3,\)",
    ),
    "flags that are numbers": ("terminated", lambda b: np.zeros(3), "terminated .*float64.*bools"),
    "observation of another dtype": (
        "observe",
        lambda b: np.zeros((3, 3), np.float32),
        r"observe returned an ndarray of dtype float32 .*: return float64 of shape \(3, 3\)",
    ),
    "observation of another shape": (
        "observe",
        lambda b: np.zeros((3, 4)),
        r"observe returned .* shape \(3, 4\): return float64 of shape \(3, 3\)",
    ),
    "infos of another shape": (
        "infos",
        lambda b: {"a": np.zeros(2)},
        r"infos\['a'\] is .* its first axis must have 3 worlds",
    ),
    "infos that are a list": ("infos", lambda b: [], "infos returned a list.*a dict of arrays"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_result_is_a_sentence_that_names_the_function(name: str) -> None:
    method, wrong, message = WRONG[name]
    with closing(BatchVectorEnv(Sliders, 3)) as envs:
        envs.reset(seed=1)
        before = getattr(envs.task, method)
        setattr(envs.task, method, wrong)
        with pytest.raises((TypeError, ValueError), match=message):
            envs.step([1, 1, 1])
        setattr(envs.task, method, before)
        envs.reset(seed=1)
        envs.step([1, 1, 1])


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"observe": lambda self, b: [1]}, {}, r"observe\(\) is a list.*an array \(3, \.\.\.\)"),
        ({"observe": lambda self, b: np.zeros(2)}, {}, "first axis must have 3 worlds"),
        ({"observe": lambda self, b: np.array(["x"] * 3)}, {}, "return numbers or bools"),
        ({}, {"frame_skip": 0}, "frame_skip=0: choose 1 or more"),
        ({}, {"max_episode_steps": 0}, "max_episode_steps=0: choose 1 or more"),
        ({}, {"num_envs": 0}, "num_envs=0: choose 1 or more"),
        ({}, {"model": 3}, "model=3 is an int: give a path, a text in MJCF or an MjModel"),
        (
            {},
            {"model": "<mujoco><a/></mujoco>"},
            "MuJoCo refuses the model: .*unrecognized element",
        ),
        ({}, {"autoreset_mode": "never"}, "autoreset_mode='never': choose"),
        ({}, {"render_mode": "human"}, "mode='human': choose"),
        ({"varies": ("qpos",)}, {}, "qpos"),
    ],
)
def test_wrong_arguments(changes: Any, options: Any, message: str) -> None:
    wrong = type("Wrong", (Sliders,), changes)
    with pytest.raises((TypeError, ValueError), match=message):
        BatchVectorEnv(wrong, **{"num_envs": 3, **options})


def test_there_is_no_such_file() -> None:
    with pytest.raises(OSError, match=r"model='robot.xml': there is no such file"):
        BatchVectorEnv(Sliders, 3, model="robot.xml")


@pytest.mark.parametrize("task", [None, 3, object(), int, "Sliders"])
def test_only_tasks_are_taken(task: Any) -> None:
    with pytest.raises(TypeError, match=r"class derived from parallel_pool\.mujoco_batch\.Task"):
        BatchVectorEnv(task, 3)


@pytest.mark.parametrize("has_file", [True, False])
def test_an_older_mujoco_is_named_with_the_cure(
    has_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mujoco

    # with and without the file of a newer version beside it
    if not has_file:
        monkeypatch.setitem(sys.modules, "mujoco.batch", None)
        monkeypatch.delattr(mujoco, "batch", raising=False)
    monkeypatch.setattr(mujoco, "__version__", "3.17.0")
    with pytest.raises(
        MissingDependencyError,
        match=r"need MuJoCo 4\.0 or newer, and 3\.17\.0 is installed: pip install"
        r" 'parallel_pool\[mujoco-batch\]'",
    ):
        BatchVectorEnv(Sliders, 3)


def test_some_worlds_cant_step_alone() -> None:
    with closing(BatchVectorEnv(Sliders, 3)) as envs:
        with pytest.raises(NotResetError):
            envs.step([0, 0, 0])
        envs.reset(seed=1)
        with pytest.raises(ValueError, match="stepped together"):
            envs.pool.step([1], [0])
        with closing(BatchVectorEnv(Sliders, 3)) as others:
            # one after another
            for env_id in (2, 0, 1):
                with pytest.raises(NotResetError):
                    others.pool.step([1, 1, 1])
                others.pool.reset([env_id], seed=1 + env_id)
            assert_same(others.pool.step([1, 1, 1]).obs, envs.pool.step([1, 1, 1]).obs, "step")
        with pytest.raises(ValueError, match="options="):
            envs.reset(options={"speed": 3})
        with pytest.raises(AttributeError):
            envs.set_attr("speed", 3)
        with pytest.raises(ValueError, match="actions hold numbers that are not in"):
            envs.step(np.array([1, 2**63, 1], np.uint64))
        assert envs.get_attr("knob") == (0, 0, 0)


def test_a_text_a_path_and_a_model_are_the_same() -> None:
    import mujoco

    results = []
    for model in (MODEL, mujoco.MjModel.from_xml_string(MODEL)):
        with closing(BatchVectorEnv(Sliders, 2, model=model)) as envs:
            envs.reset(seed=1)
            results.append(envs.step([1, 1])[:-1])
    assert_same(*results, "models")


class Silent(Task):
    """Has no methods."""

    model = MODEL


def test_a_task_without_its_methods_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        BatchVectorEnv(Silent, 2)


class Caller(Sliders):
    """Its `call` is called in a step."""

    call: Callable[[], Any] | None = None

    def reward(self, batch: Any) -> Any:
        if self.call is not None:
            self.call()
        return super().reward(batch)


def test_a_task_cant_call_its_own_pool() -> None:
    with closing(BatchVectorEnv(Caller, 3)) as envs:
        envs.reset(seed=1)
        calls: dict[str, Callable[[], Any]] = {
            "step": lambda: envs.step([0, 0, 0]),
            "reset": envs.reset,
            "get_state": envs.pool.get_state,
            "observe": envs.pool.observe,
            "call": lambda: envs.call("spec"),
        }
        for name, call in calls.items():
            vars(envs.task)["call"] = call
            with pytest.raises(StateError):
                envs.step([0, 0, 0])
                pytest.fail(f"not refused: {name}")
            vars(envs.task)["call"] = None
            envs.reset(seed=1)
        envs.step([1, 1, 1])


def test_one_that_is_dropped_leaves_no_threads() -> None:
    """Without the garbage collector's help."""

    def threads() -> set[str]:
        return set(os.listdir("/proc/self/task"))

    # those of earlier tests may end meanwhile
    gc.collect()
    gc.disable()
    try:
        before = threads()
        envs = BatchVectorEnv(Sliders, 8, num_threads=3)
        envs.reset(seed=1)
        envs.step([1] * 8)
        own = threads() - before
        assert len(own) == 2
        del envs
        wait_for(lambda: not threads() & own)
    finally:
        gc.enable()


def test_a_task_has_worlds_once() -> None:
    task = Sliders()
    with closing(BatchVectorEnv(task, 3)), pytest.raises(ValueError, match="has 3 worlds already"):
        BatchVectorEnv(task, 2)
    # those are closed
    with closing(BatchVectorEnv(task, 2)) as envs:
        assert envs.reset(seed=1)[0].shape == (2, 3)
    assert task.before.shape == (2,)


@pytest.mark.parametrize("method", ["act", "terminated", "reset_worlds"])
def test_own_values_that_are_replaced_are_named(method: str) -> None:
    class Replacing(Sliders):
        is_wrong = False

    def replacing(self: Any, batch: Any, *arguments: Any) -> Any:
        result = getattr(super(Replacing, self), method)(batch, *arguments)
        if self.is_wrong:
            self.before = batch.qpos[:, 0]
        return result

    setattr(Replacing, method, replacing)
    with closing(BatchVectorEnv(Replacing, 3)) as envs:
        envs.reset(seed=1)
        vars(envs.task)["is_wrong"] = True
        with pytest.raises(TypeError, match=r"Replacing\.before was replaced.*self\.before\[:\]"):
            if method == "reset_worlds":
                envs.reset()
            envs.step([1, 1, 1])


SPACES: dict[str, tuple[Any, Any, Any]] = {
    "Discrete": (spaces.Discrete(3, start=-1), [-1, 0, 1], [[-2, 0, 0], [0, 0, 2]]),
    "MultiDiscrete": (
        spaces.MultiDiscrete([2, 3]),
        [[0, 0], [1, 2], [1, 1]],
        [[[0, 0], [2, 0], [0, 0]], [[0, -1]] * 3],
    ),
    "MultiBinary": (spaces.MultiBinary(2), [[0, 1]] * 3, [[[0, 2]] * 3, [[-1, 0]] * 3]),
}


@pytest.mark.parametrize("kind", SPACES)
def test_actions_outside_their_space_step_nothing(kind: str) -> None:
    space, good, wrong = SPACES[kind]

    class Chosen(Sliders):
        action_space = space

        def act(self, batch: Any, actions: Any) -> None:
            super().act(batch, actions.reshape(3, -1)[:, 0])

    dtype = space.dtype
    with closing(BatchVectorEnv(Chosen, 3)) as envs, closing(BatchVectorEnv(Chosen, 3)) as twin:
        for each in (envs, twin):
            each.reset(seed=1)
        for actions in wrong:
            for form in (actions, np.array(actions), np.array(actions, dtype)):
                with pytest.raises(ValueError, match=r"actions\[.*outside its space: choose from"):
                    envs.step(form)
                with pytest.raises(ValueError, match="outside its space"):
                    envs.step_async(form)
        assert_same(envs.step(good)[:-1], twin.step(np.array(good, dtype))[:-1], kind)


@pytest.mark.slow
def test_ctrl_c_loses_no_result_for_stable_baselines3() -> None:
    """It comes at every place where Python looks for it, while a step's results are received."""
    actions = np.array([2, 0, 2])
    with closing(BatchVecEnv(Sliders, 3, seed=5)) as envs, closing(BatchVecEnv(Sliders, 3)) as twin:
        twin.seed(5)
        assert_same(envs.reset(), twin.reset(), "reset")
        interrupt_every_step_wait(envs, actions, partial(twin.step, actions), twin, turns=5)
