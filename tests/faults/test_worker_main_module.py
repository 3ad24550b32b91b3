"""Classes that a program's `__main__` defines: they are sent to workers and back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.timeouts import TEST_TIMEOUT

pytestmark = pytest.mark.usefixtures("alarm")


# ------------------------------------------------------------------------------------ __main__ --

PROGRAM = """
import sys
import gymnasium
import numpy as np
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.process_pool import ProcessPool


class Point:
    def __init__(self, x):
        self.x = x


class Odd(Exception):
    pass


class Narrow(gymnasium.spaces.Box):
    pass


class Env(gymnasium.Env):
    observation_space = Narrow(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)
    where = Point("there")

    def reset(self, *, seed=None, options=None):
        assert options is None or type(options["point"]) is Point
        return np.zeros(1, np.float32), {"kind": Point}

    def step(self, action):
        if action == 1:
            raise Odd("from afar", Point(3))
        return np.zeros(1, np.float32), 0.0, False, False, {"point": Point(2), "number": 1.0}

    def take(self, point):
        assert type(point) is Point
        return Point(point.x + 1)


env = ProcessVectorEnv([Env] * 3, context=sys.argv[1], num_workers=2)
assert type(env.single_observation_space) is Narrow
infos = env.reset(options={"point": Point(1)})[1]
assert all(kind is Point for kind in infos["kind"]), infos
infos = env.step([0] * 3)[4]
assert all(type(point) is Point and point.x == 2 for point in infos["point"]), infos
try:
    env.step([0, 1, 0])
except Odd as odd:
    assert odd.args[0] == "from afar" and type(odd.args[1]) is Point
else:
    raise AssertionError
assert [type(each) for each in env.get_attr("where")] == [Point] * 3
assert [each.x for each in env.call("take", Point(5))] == [6] * 3
env.set_attr("where", Point("here"))
assert [each.x for each in env.get_attr("where")] == ["here"] * 3
assert env.pool.apply(lambda one: type(one).__name__ + Point.__name__) == ["EnvPoint"] * 3
env.close()
print("all is well")
"""


# the same in a child of multiprocessing, where the main module has another name
CHILD = """
import multiprocessing, sys
import gymnasium
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv


class Point:
    pass


class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        assert options is None or type(options["point"]) is Point
        return 0, {"point": Point()}


def train():
    env = ProcessVectorEnv([Env] * 2, context=sys.argv[1], num_workers=1)
    for options in (None, {"point": Point()}):
        infos = env.reset(options=options)[1]
        assert all(type(point) is Point for point in infos["point"]), infos
    env.close()
    print("all is well")


if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=train)
    child.start()
    child.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "source"),
    [("fork", PROGRAM), ("spawn", PROGRAM), ("forkserver", PROGRAM), ("forkserver", CHILD)],
    ids=["fork", "spawn", "forkserver", "child"],
)
def test_definitions_of_main_are_sent_both_ways(tmp_path: Path, method: str, source: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(source)
    done = subprocess.run(
        [sys.executable, str(program), method],
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout == "all is well\n", done.stderr
