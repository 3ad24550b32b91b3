"""compile and load_source of Python: ids, options, errors of the program, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool import testing
from parallel_pool._contract import twins
from tests.translator import probes

HEAD = """
import math
import random
from enum import Enum

import gymnasium
import numpy as np
from gymnasium import spaces


class NAME(gymnasium.Env):
    def __init__(self, size=3, speed=0.5):
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Discrete(4)
        self.size, self.speed = size, speed
        self.table = np.arange(6)
        self.generator = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.items = []
        self.found = None
        return np.zeros(2), {}

    def step(self, action):
        self.count += 1
        value = 0.0
"""
TAIL = """
        return np.array([value, self.count]), 1.0, False, False, {}
"""


def source(folder: Path, body: str, name: str = "mine.py") -> Path:
    """Writes a class whose step has these lines; returns the file."""
    path = folder / name
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    path.write_text(HEAD.replace("NAME", path.stem.title().replace("_", "")) + lines + TAIL)
    return path


# the first line of the statements that a test adds
FIRST = HEAD.count("\n") + 1


def run(folder: Path, body: str, steps: int = 3, name: str = "mine.py") -> Any:
    (task_id,) = parallel_pool.load_source(source(folder, body, name))
    with parallel_pool.Pool(task_id, 2, seed=0) as pool:
        pool.reset()
        for _ in range(steps):
            batch = pool.step(np.zeros(2, np.int64))
        return batch.obs.copy()


INNER = "inner is a function in a function"
REFUSED = {
    "self.speed = 'fast'": "self.speed: a value is a float at one place and a str at another",
    "self.count = 0.5": "self.count is an int after reset(), and a float here: write a float from",
    "value = random.random()": "random.random is not seeded by reset(): use self.np_random",
    "value = np.random.rand()": "numpy.random.rand is not seeded by reset(): use self.np_random",
    "value = self.generator.random()": "is a generator of its own: use self.np_random",
    "value = float(open('x').read())": "open() is not translated",
    "text = f'{self.speed}'": "texts that are made while the program runs are not translated",
    "value = [i for i in self.items if i][0:2:3]": "a slice of a list with a step",
    "self.observation_space = spaces.Discrete(2)": "self.observation_space",
    "def inner():\n    nonlocal value\n    value = 2": INNER,
    # names that mean something else where the function is called
    "k = 3\ndef inner(x): return x * k\nk += sum(inner(1) for k in range(3))": INNER,
    "k = 3\ndef inner(): return k\ndef other(k): return inner()\nk += other(1)": INNER,
    "value = self.nothing": "self.nothing is assigned nowhere before this line",
    "with open('x') as file:\n    pass": "a with statement is not translated",
    "value = self.action_space.sample()": "draw from self.np_random",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_translated_is_said_with_file_and_line(body: str, tmp_path: Path) -> None:
    path = source(tmp_path, body, "refused.py")
    with pytest.raises(parallel_pool.SourceError) as found:
        parallel_pool.load_source(path)
    text = str(found.value)
    assert REFUSED[body] in text
    line = int(text.split(":")[1])
    # what an attribute is at first is said of the class
    assert text.startswith(f"{path}:") and (0 <= line - FIRST <= 1 or "part of a state" in text)


RAISED = {
    "raise ValueError(f'the wheel fell off after {self.count}')": (
        "ValueError: the wheel fell off after 2"
    ),
    "assert self.count < 2, 'too late'": "AssertionError: too late",
    "value = 1 / (2 - self.count)": "ZeroDivisionError: division by zero",
    "value = 7 % (2 - self.count)": "ZeroDivisionError: integer",
    "value = self.table[self.count * 4]": "IndexError: index 8 is out of bounds for axis 0 with",
    "value = [1, 2][self.count]": "IndexError: list index out of range",
    "value = 2**62 * self.count": "OverflowError: the int leaves 64 bits",
    "value = math.sqrt(1 - self.count)": "ValueError: math domain error",
    "value = {1: 2}[self.count]": "KeyError",
    "self.items.pop()": "IndexError: pop from an empty list",
    "value = None if self.count > 1 else 1.0\nvalue = value + 1": "TypeError",
}


@pytest.mark.slow
@pytest.mark.parametrize("number, body", enumerate(RAISED))
def test_an_exception_names_environment_kind_file_and_line(
    number: int, body: str, tmp_path: Path
) -> None:
    guarded = body if "self.count" in body else f"if self.count == 2:\n    {body}"
    guarded = guarded.replace("raise ", "if self.count == 2:\n    raise ")
    (task_id,) = parallel_pool.load_source(source(tmp_path, guarded, f"raising_{number}.py"))
    with parallel_pool.Pool(task_id, 2, seed=0) as pool:
        pool.reset()
        pool.step(np.zeros(2, np.int64))
        with pytest.raises(parallel_pool.EnvError) as found:
            pool.step(np.zeros(2, np.int64))
        assert RAISED[body] in str(found.value)
        assert f"(raising_{number}.py, line" in str(found.value)
        # it is reset, and goes on
        pool.step(np.zeros(2, np.int64))


@pytest.mark.slow
def test_a_shape_that_changes_is_said(tmp_path: Path) -> None:
    body = "self.table = np.arange(3 + self.count)"
    with pytest.raises(parallel_pool.SourceError, match="must not change; make it as large as any"):
        parallel_pool.load_source(source(tmp_path, body, "grows.py"))


@pytest.mark.slow
def test_other_environments_go_on_when_one_fails(tmp_path: Path) -> None:
    body = "if action == 3:\n    raise RuntimeError('no')"
    (task_id,) = parallel_pool.load_source(source(tmp_path, body, "some.py"))
    with parallel_pool.Pool(task_id, 40, num_threads=1, seed=0) as pool:
        pool.reset()
        actions = np.zeros(40, np.int64)
        actions[[5, 30]] = 3
        with pytest.raises(parallel_pool.EnvError, match="environment 5"):
            pool.step(actions)
        counts = pool.step(np.zeros(40, np.int64)).obs[:, 1]
        assert counts[5] == counts[30] == 0 and (np.delete(counts, [5, 30]) == 2).all()


@pytest.mark.slow
def test_an_exception_can_be_caught(tmp_path: Path) -> None:
    body = (
        "try:\n    value = 10 // (2 - self.count)\nexcept ZeroDivisionError:\n    value = -1.0\n"
        "try:\n    value += self.table[self.count + 4]\nexcept (IndexError, KeyError):\n"
        "    value -= 100.0"
    )
    assert run(tmp_path, body, 1, "caught.py")[0, 0] == 15
    assert run(tmp_path, body, 2, "caught.py")[0, 0] == -101


@pytest.mark.slow
def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    assert run(tmp_path, "value = 1.0", 1, "changed.py")[0, 0] == 1
    assert run(tmp_path, "value = 2.0", 1, "changed.py")[0, 0] == 2


@pytest.mark.slow
def test_options_are_those_of_the_constructor(tmp_path: Path) -> None:
    (task_id,) = parallel_pool.load_source(
        source(tmp_path, "value = self.speed * self.size", "options.py")
    )
    for options, value in (({}, 1.5), ({"speed": 2.0}, 6.0), ({"size": 5, "speed": 0.1}, 0.5)):
        with parallel_pool.Pool(task_id, 1, seed=0, options=options) as pool:
            pool.reset()
            assert pool.step([0]).obs[0, 0] == value
    with pytest.raises(TypeError, match="sped"):
        parallel_pool.Pool(task_id, 1, options={"sped": 1.0})
    with pytest.raises(TypeError, match="speed='fast'"):
        parallel_pool.Pool(task_id, 1, options={"speed": "fast"})


@pytest.mark.slow
def test_a_constructor_that_refuses_its_options_is_named(tmp_path: Path) -> None:
    path = source(tmp_path, "value = self.speed", "strict.py")
    check = "        if speed > 9:\n            raise ValueError('too fast')\n        self.size,"
    path.write_text(path.read_text().replace("        self.size,", check))
    (task_id,) = parallel_pool.load_source(path)
    with pytest.raises(ValueError, match=r"Strict\(speed=10\.0\) fails in Python: ValueError: too"):
        parallel_pool.Pool(task_id, 1, options={"speed": 10.0})


@pytest.mark.slow
def test_options_that_change_more_than_numbers_need_another_translation(tmp_path: Path) -> None:
    (task_id,) = parallel_pool.load_source(
        source(tmp_path, "value = np.ones(self.size).sum()", "frozen.py")
    )
    with pytest.raises(ValueError, match=r"compile\(Frozen, size=5\)"):
        parallel_pool.Pool(task_id, 1, options={"size": 5})


@pytest.mark.slow
def test_options_differ_between_environments(tmp_path: Path) -> None:
    (task_id,) = parallel_pool.load_source(source(tmp_path, "value = self.speed", "each.py"))
    speeds = [0.5, 1.5, 2.5]
    envs = parallel_pool.make_vec(task_id, 3, speed=parallel_pool.each(speeds))
    envs.reset(seed=0)
    assert envs.step(np.zeros(3, int))[0][:, 0].tolist() == speeds
    envs.close()


@pytest.mark.parametrize("text", ["", "import gymnasium\n", "class (:\n", "1 / 0\n"])
def test_files_without_environments_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "without_class.py"
    path.write_text(text)
    with pytest.raises(parallel_pool.SourceError, match=r"without_class\.py"):
        parallel_pool.load_source(path)


def test_only_classes_are_compiled() -> None:
    for given in (probes.Integers(), int, "CartPole-v1"):
        with pytest.raises(TypeError, match="give a class"):
            parallel_pool.compile(given)


@pytest.mark.slow
def test_an_id_may_be_given() -> None:
    assert parallel_pool.compile(probes.Floats, task_id="probes/Floats-v3") == ["probes/Floats-v3"]
    twins.compare(probes.Floats, "probes/Floats-v3", steps=20)


@pytest.mark.slow
@pytest.mark.parametrize("check", testing.NATIVE_CHECKS, ids=str)
def test_the_contract_holds(check: testing.Check) -> None:
    (task_id,) = parallel_pool.compile(probes.Random)
    check(task_id)


@pytest.mark.slow
def test_another_process_takes_the_library_from_the_cache(tmp_path: Path) -> None:
    path = source(tmp_path, "value = self.np_random.random()", "cached.py")
    program = (
        "import sys, parallel_pool, numpy as np\n"
        f"(task_id,) = parallel_pool.load_source({str(path)!r})\n"
        "envs = parallel_pool.make_vec(task_id, 2)\n"
        "envs.reset(seed=1)\n"
        "print(envs.backend, envs.step(np.zeros(2, int))[0].tolist())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert printed[0] == printed[1] and printed[0].startswith("native [[0.5118216247")


@pytest.mark.slow
def test_programs_that_are_used_stay_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes remove the oldest at any time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = (
        "import sys, parallel_pool\n"
        "from parallel_pool._translator import load\n"
        "load.MAX_KEPT_PROGRAMS = 1\n"
        "parallel_pool.load_source(sys.argv[1])"
    )

    def translate(name: str) -> set[str]:
        """Translates a class; returns the names of those in the cache."""
        command = [sys.executable, "-c", program, str(source(tmp_path, "", f"{name}.py"))]
        subprocess.run(command, check=True)
        return {path.name.partition("_")[0] for path in translated()}

    def translated() -> list[Path]:
        return list((tmp_path / "cache").glob("**/translated/*.c"))

    translate("used")
    assert translate("forgotten") == {"used", "forgotten"}
    for path in translated():
        os.utime(path, (0, 0))
    translate("used")
    assert translate("last") == {"used", "last"}
